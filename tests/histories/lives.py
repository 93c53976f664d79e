"""Lives of PyTorchTrainingJobs that a release records."""

from datetime import timedelta
from typing import Any

from statemachine.ids import CLUSTER_DOMAIN
from statemachine.observations import Container, ContainerStatus
from tests.support.scenario import START, Story, replica_type, workers

IN_DNS = {CLUSTER_DOMAIN: "cluster.local"}
"""What a job keeps where Services have names."""


def succeeded() -> Story:
    """Four workers, all goes well, the job is deleted afterwards."""
    story = Story(workers(4)).submit().at(1).all_pods("Pending").at(3).all_pods("Running")
    story.at(60).pod("worker-0", "Succeeded").at(90).delete()
    for index in range(4):
        story.at(91 + index).gone(f"worker-{index}")
    return story


def restarted() -> Story:
    """137 and an eviction are restarted, the next failure uses up the budget."""
    story = Story(workers(2, policy="ExitCode", runPolicy={"backoffLimit": 2})).submit().all_pods("Running")
    story.at(20).pod("worker-0", "Failed", exit_code=137, node="n1").at(21).gone("worker-0")
    story.at(25).pod("worker-0", "Running").at(30).pod("worker-1", "Failed", containers=(), reason="Evicted")
    story.at(31).gone("worker-1").at(33).pod("worker-1", "Running")
    oom = Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=137, reason="OOMKilled")
    return story.at(40).pod("worker-0", "Failed", containers=(oom,))


def paused_and_resumed() -> Story:
    """A pause in the middle, with a pod that ends meanwhile, and a node that is lost after it."""
    story = Story(workers(2, runMode={"pause": {"enable": False}})).submit().all_pods("Running")
    story.at(10).pause().at(11).pod("worker-0", "Failed", exit_code=143).gone("worker-0").gone("worker-1")
    story.at(100).resume().at(101).all_pods("Running").at(110).pod("worker-0", "Unknown")
    return story.at(120).pod("worker-0", "Running").at(130).gone("worker-1").pod("worker-1", "Running")


def back_in_sight() -> Story:
    """Two workers are lost and back, one that runs and one that does not yet; a second loss is reported late."""
    story = Story(workers(2)).submit().at(2).all_pods("Pending").at(5).pod("worker-0", "Running")
    story.at(10).pod("worker-1", "Unknown", **_written(10)).at(14).pod("worker-1", "Pending", **_written(14))
    story.at(20).pod("worker-0", "Unknown", **_written(20)).at(30).pod("worker-0", "Running", **_written(30))
    story.at(31).pod("worker-0", "Unknown", **_written(25)).pod("worker-1", "Unknown", **_written(12))
    story.at(40).pod("worker-1", "Running").at(50).pod("worker-0", "Unknown", **_written(50))
    return story.at(60).pod("worker-0", "Succeeded", **_written(60))


def _written(seconds: float) -> dict[str, Any]:
    return {"written_at": START + timedelta(seconds=seconds)}


def elastic() -> Story:
    """Scaled down and up, while the API server refuses a pod for a while."""
    spec = workers(1, torchrunConfig={"enabled": True}, scheduler={"t9kScheduler": {"priority": 10}})
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["train.py"]
    spec["elastic"] = {"enabled": True, "minReplicas": 2, "maxReplicas": 5, "expectedReplicas": 3}
    story = Story(spec).submit().refused(status_=403, message="exceeded quota", replica="worker-2", attempt=1)
    story.timer("retry").all_pods("Running").at(20).edit(elastic={"expectedReplicas": 2}).gone("worker-2")
    story.at(30).edit(elastic={"expectedReplicas": 4}).pod("worker-2", "Running").pod("worker-3", "Running")
    return story.edit(elastic={"expectedReplicas": 9}).at(40).pod("worker-0", "Succeeded")


def deadline() -> Story:
    """Two types share a budget; the deadline ends the job."""
    spec = workers(1, replica_type("ps", 1), runPolicy={"activeDeadlineSeconds": 60, "cleanUpPolicy": "All"})
    story = Story(spec).submit().all_pods("Running").at(30).pod("ps-0", "Failed", exit_code=2).gone("ps-0")
    return story.pod("ps-0", "Running").timer("deadline").gone("ps-0").gone("worker-0")


def refused() -> Story:
    """Never ran: the spec breaks a rule of the controller."""
    spec = workers(1)
    del spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"]
    return Story(spec).submit().edit(runPolicy={"backoffLimit": 1})


def refused_for_two_reasons() -> Story:
    """A quota is full for long, then a pod of a job of the same name is in the way, then it is the quota again."""
    story = Story(workers(1)).submit()
    name_taken: dict[str, Any] = {"status_": 409, "name_taken": True, "replica": "worker-0", "attempt": 1}
    quota: dict[str, Any] = {"status_": 403, "message": "exceeded quota", "replica": "worker-0", "attempt": 1}
    story.refused(**name_taken).timer("retry")
    for _ in range(7):
        story.refused(**quota)
        if "retry" in story.state.timers:
            story.timer("retry")
    story.refused(**name_taken).timer("retry").refused(**name_taken).refused(**quota).timer("retry")
    return story.pod("worker-0", "Running").pod("worker-0", "Succeeded")


def boarded() -> Story:
    """With a TensorBoard that is made, changed, and refused."""
    story = Story(workers(1, tensorboardSpec={"image": "tb:1"})).submit().board(running=False).board()
    story.all_pods("Running").edit(tensorboardSpec={"image": "tb:2"}).board()
    return story.refused("TensorBoard", 404, "no such kind", name="mnist-7ac1b").pod("worker-0", "Succeeded")


def terminating() -> Story:
    """Somebody's finalizer holds the deleted job: a failure, a pod that is lost, and nothing is made again."""
    story = Story(workers(3, policy="OnFailure")).submit().at(2).all_pods("Running").at(10).terminate()
    story.at(12).pod("worker-1", "Failed", exit_code=1).at(14).gone("worker-2").at(30).delete()
    return story.at(31).gone("worker-0").gone("worker-1")


def adopted() -> Story:
    """The log was lost while the job ran with a restart behind it: one pod is of a later attempt."""
    before = Story(workers(2, policy="OnFailure")).submit().at(2).all_pods("Running")
    before.at(9).pod("worker-1", "Failed", exit_code=1).gone("worker-1").at(12).pod("worker-1", "Running")
    story = Story(before.spec).at(100).adopt(before.status)
    story.pod("worker-0", "Running", attempt=1, uid="a").pod("worker-1", "Running", attempt=2, uid="b")
    return story.at(200).pod("worker-0", "Succeeded")


def backed_off() -> Story:
    """Lost, and restarted, again and again: the third pod waits, and the pace is not the usual one."""
    settings = {"restart.backoff": "5", "restart.backoffMax": "8", "restart.backoffReset": "60"}
    story = Story(workers(2, policy="OnFailure"), settings=settings).submit().at(2).all_pods("Running")
    story.at(5).gone("worker-1").pod("worker-1", "Running").at(9).pod("worker-1", "Failed", exit_code=1)
    story.at(11).gone("worker-1").timer("backoff").pod("worker-1", "Running").gone("worker-1").timer(
        "backoff"
    )
    story.pod("worker-1", "Running").at(story.clock + 70).gone("worker-1").pod("worker-1", "Running")
    return story.pod("worker-0", "Succeeded")


def labelled() -> Story:
    """Labels from the beginning, changed beside the spec, while it runs, and after its end, and taken off."""
    story = Story(workers(1)).label(team="a", batch="").at(3).all_pods("Running").at(5).label(team="b")
    story.labels = {"team": "c"}
    story.at(7).edit(runPolicy={"backoffLimit": 5}).at(9).pod("worker-0", "Succeeded").at(20).label()
    return story.at(30).label(team="late").at(40).delete().gone("worker-0")


def labelled_by_version() -> Story:
    """Labels change twice; a report of the version in between comes late, and a cluster is put back from a backup."""
    story = Story(workers(1)).submit(version=11, **_written(0)).at(1).all_pods("Running")
    for seconds, version, colour in ((5, 20, "red"), (9, 30, "blue"), (5, 20, "red"), (60, 25, "green")):
        story.labels = {"colour": colour}
        story.at(10 + seconds).submit(version=version, **_written(seconds))
    return story.at(90).pod("worker-0", "Succeeded")


def sharing_a_service() -> Story:
    """All pods have their names in one Service; scaled, and paused, by a bridge that no longer says so."""
    spec = workers(1, torchrunConfig={"enabled": True})
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["train.py"]
    spec["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 3, "expectedReplicas": 2}
    story = Story(spec, settings=IN_DNS).submit().at(2).all_pods("Running")
    story.settings = {}
    story.at(5).edit(elastic={"expectedReplicas": 3}).at(7).pod("worker-2", "Running").at(9).pause()
    for index in range(3):
        story.at(10).gone(f"worker-{index}")
    return story.at(20).resume().at(22).all_pods("Running").at(60).pod("worker-0", "Succeeded")


def adopted_with_services_of_their_own() -> Story:
    """The log was lost: whether the pods share a Service is not known, so each gets one, also those made later."""
    before = Story(workers(2, policy="OnFailure"), settings=IN_DNS).submit().at(2).all_pods("Running")
    story = Story(before.spec, settings=IN_DNS).at(100).adopt(before.status)
    story.pod("worker-0", "Running", attempt=1, uid="a").pod("worker-1", "Running", attempt=1, uid="b")
    story.at(120).pod("worker-1", "Failed", exit_code=1).gone("worker-1").at(124).pod("worker-1", "Running")
    return story.at(130).edit(runPolicy={"backoffLimit": 9}).at(200).pod("worker-0", "Succeeded")
