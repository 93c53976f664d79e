"""Lives of the other kinds that a release records."""

from collections.abc import Callable
from typing import Any

from statemachine.observations import Container, ContainerStatus, WorkloadCondition, WorkloadObserved
from tests.histories.lives import IN_DNS
from tests.support.pytorchjob import TorchStory, running, training
from tests.support.scenario import Story
from tests.unit.kinds import beam, colossal, deepspeed, generic, mpi, tensorflow

# ---- ColossalAIJob ------------------------------------------------------------------------------------------------


def launched() -> Story:
    """The older form: a launcher after its workers, one of which is lost; it ends well and is cleaned up."""
    spec = colossal.old_spec(runPolicy={"cleanUpWorkers": True})
    story = Story(spec, name="gpt", kind=colossal.KIND).submit().at(1).all_pods("Pending")
    story.at(3).ready("worker-0").gone("worker-0").at(5).ready("worker-0", "worker-1")
    story.at(6).pod("launcher-0", "Running").at(20).gone("worker-1")
    return story.at(60).pod("launcher-0", "Succeeded").at(61).gone("worker-0")


def not_launched() -> Story:
    """Paused and resumed; then a worker fails before there is a launcher again."""
    story = Story(colossal.spec(), name="gpt", kind=colossal.KIND).submit()
    story.at(2).ready("worker-0", "worker-1").at(3).pod("launcher-0", "Running").at(10).pause()
    for name in ("launcher-0", "worker-0", "worker-1"):
        story.at(12).gone(name)
    return story.at(30).resume().at(31).ready("worker-0").at(32).pod("worker-1", "Failed", exit_code=255)


def launcher_lost() -> Story:
    """Somebody deletes the launcher's pod."""
    story = Story(colossal.spec(), name="gpt", kind=colossal.KIND).submit().ready("worker-0", "worker-1")
    return story.at(3).pod("launcher-0", "Running").at(9).gone("launcher-0")


def launched_beside_a_service() -> Story:
    """The launcher, too, has a name in the Service of all pods."""
    story = Story(colossal.spec(), name="gpt", kind=colossal.KIND, settings=IN_DNS).submit()
    story.at(2).ready("worker-0", "worker-1").at(3).pod("launcher-0", "Running")
    return story.at(60).pod("launcher-0", "Succeeded")


# ---- MPIJob -------------------------------------------------------------------------------------------------------


def mpi_run() -> Story:
    """The older form, beside a Service of all pods; it ends well and its workers are deleted."""
    spec = mpi.old_spec(runPolicy={"cleanUpWorkers": True})
    story = Story(spec, name="walk", kind=mpi.KIND, settings=IN_DNS).submit().at(1).all_pods("Pending")
    story.at(3).ready("worker-0", "worker-1").at(4).pod("launcher-0", "Running")
    return story.at(60).pod("launcher-0", "Succeeded").at(61).gone("worker-0").gone("worker-1")


def mpi_resumed() -> Story:
    """Paused and resumed with another program; then a worker fails, and mpirun with it."""
    entry = {"type": "launcher", "args": ["./other"]}
    worker = mpi.workers(processesPerWorker=2)
    spec = mpi.spec(worker, runMode={"pause": {"resumeSpecs": [entry]}})
    story = Story(spec, name="walk", kind=mpi.KIND, settings=IN_DNS).submit()
    story.at(2).ready("worker-0", "worker-1").at(3).pod("launcher-0", "Running").at(10).pause()
    for name in ("launcher-0", "worker-0", "worker-1"):
        story.at(12).gone(name)
    story.at(30).resume().at(31).ready("worker-0", "worker-1").at(32).pod("launcher-0", "Running")
    story.at(40).pod("worker-1", "Failed", exit_code=137)
    return story.at(41).pod("launcher-0", "Failed", exit_code=205)


def mpi_refused() -> Story:
    """No container for MPI: the job is refused."""
    return Story(mpi.spec(mpi.workers(2, mpi.container(name="main"))), name="walk", kind=mpi.KIND).submit()


# ---- DeepSpeedJob -------------------------------------------------------------------------------------------------


def _deepspeed(spec: dict[str, Any], kind: str = deepspeed.KIND) -> Story:
    return Story(spec, name="gpt", kind=kind).submit().at(1).all_pods("Pending").at(3).all_pods("Running")


def spelled_as_before() -> Story:
    """The older spelling of the kind, of a field and of a command; paused once, and deleted at its end."""
    config = {"slotPerWorker": 2, "run": {"python": "/t9k/mnt/train.py --lr 0.1"}}
    worker = deepspeed.worker(2, deepspeed.container(env=[{"name": "NOTE", "value": "two\nlines"}]))
    worker["template"]["spec"]["restartPolicy"] = "OnFailure"
    story = _deepspeed(deepspeed.spec(worker, config=config), "DeepspeedJob")
    story.at(10).edit(runMode={"pause": {"enable": True}}).at(12).gone("worker-0").gone("worker-1")
    story.at(40).edit(runMode={"pause": {"enable": False}}).at(42).all_pods("Running")
    story.at(90).pod("worker-1", "Succeeded").pod("worker-0", "Succeeded").at(200).delete()
    return story.at(201).gone("worker-0").gone("worker-1")


def started_anew() -> Story:
    """Every other scale starts all workers again: smaller, changed once more meanwhile, larger."""
    wish = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 3}
    story = _deepspeed(deepspeed.spec(elastic=wish)).at(10).pod("worker-1", "Failed", exit_code=1)
    story.at(11).edit(elastic={"expectedReplicas": 1}).at(12).gone("worker-2").pod("worker-0", "Failed")
    story.at(13).edit(elastic={"expectedReplicas": 2}).at(14).gone("worker-0").gone("worker-1")
    story.at(16).all_pods("Running").at(20).edit(elastic={"expectedReplicas": 4})
    story.at(21).gone("worker-1").at(22).gone("worker-0").at(24).all_pods("Running")
    story.edit(elastic={"expectedReplicas": 9})
    return story.at(60).pod("worker-0", "Succeeded").edit(elastic={"expectedReplicas": 1})


def started_anew_beside_a_service() -> Story:
    """Another scale starts all workers again, and the Service stays."""
    wish = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}
    story = Story(deepspeed.spec(elastic=wish), name="gpt", kind=deepspeed.KIND, settings=IN_DNS).submit()
    story.at(3).all_pods("Running").at(20).edit(elastic={"expectedReplicas": 1}).gone("worker-1").gone(
        "worker-0"
    )
    return story.at(25).pod("worker-0", "Running").at(90).pod("worker-0", "Succeeded")


def budget_used_up() -> Story:
    """Workers that do not answer, then an eviction, then no restart is left; one cannot be seen for a while."""
    policy = {"backoffLimit": 2, "cleanUpPolicy": "Unfinished"}
    story = _deepspeed(deepspeed.spec(deepspeed.worker(3, restartPolicy="ExitCode"), runPolicy=policy))
    story.at(300).pod("worker-0", "Failed", exit_code=138, node="n1").at(301).gone("worker-0")
    story.at(303).pod("worker-0", "Running").at(320).pod(
        "worker-2", "Failed", containers=(), reason="Evicted"
    )
    story.at(321).gone("worker-2").at(323).pod("worker-2", "Running")
    story.at(340).unreadable("worker-0").at(350).pod("worker-0", "Running")
    story.at(400).pod("worker-0", "Failed", exit_code=137)
    return story.at(401).gone("worker-1").gone("worker-2")


# ---- PyTorchJob ---------------------------------------------------------------------------------------------------


def ended_by_exit_codes() -> Story:
    """ExitCode: a pod that 137 ended is made again, and 1 fails the job."""
    story = TorchStory(training()).submit().at(1).all_pods("Pending").at(3).up()
    story.at(20).pod("worker-0", "Failed", exit_code=137, node="n1").at(22).gone("worker-0")
    story.at(25).pod("worker-0", "Running").at(30).pod("worker-1", "Running", deleting=True).gone("worker-1")
    return story.at(33).pod("worker-1", "Running").at(40).pod("worker-0", "Failed", exit_code=1)


def restarted_in_place() -> Story:
    """What the kubelet starts again in a pod counts towards the limit, as an eviction does."""
    story = TorchStory(training(policy="OnFailure", backoffLimit=4)).submit().at(3).up()
    story.at(20).pod("worker-0", "Running", containers=running(1, init=1))
    waiting = (Container(name="pytorch", state=ContainerStatus.WAITING),)
    story.at(30).pod("worker-1", "Failed", containers=waiting, reason="Evicted", message="low on memory")
    story.at(31).gone("worker-1").at(33).pod("worker-1", "Running")
    return story.at(50).pod("master-0", "Running", containers=running(1)).at(52).all_gone()


def suspended() -> Story:
    """Created suspended, resumed, suspended with a worker that fails meanwhile, resumed; ends by its deadline."""
    story = TorchStory(training(suspend=True, activeDeadlineSeconds=60)).submit().at(40).suspend(on=False)
    story.at(42).up().at(50).suspend().at(51).pod("worker-0", "Failed", exit_code=143).all_gone()
    story.at(70).scale(3).at(100).suspend(on=False).at(103).up().timer("deadline")
    return story.at(161).all_gone()


def expired() -> Story:
    """Cleaned up when it had ended, and deleted after its time, which was made longer and stood still once."""
    story = TorchStory(training(cleanPodPolicy="Running", ttlSecondsAfterFinished=100)).submit().at(3).up()
    story.at(50).pod("worker-1", "Succeeded").at(60).pod("master-0", "Succeeded").at(61).all_gone()
    story.at(70).suspend().at(80).edit(runPolicy={"ttlSecondsAfterFinished": 200}).at(90).suspend(on=False)
    story.timer("expiry").at(261).delete()
    return story.gone("master-0").gone("worker-1")


def without_master() -> Story:
    """Elastic workers, an autoscaler that the cluster refuses, scaled up and down; one success is enough."""
    elastic = {"minReplicas": 1, "maxReplicas": 3, "maxRestarts": 100, "metrics": [{"type": "Resource"}]}
    story = TorchStory(training(master=False, elastic=elastic), name="elastic").submit()
    story.refused("HorizontalPodAutoscaler", 403, "no rights", name="elastic").at(3).up()
    story.at(20).scale(3).at(21).pod("worker-2", "Running").at(30).scale(1).at(31).all_gone()
    return story.at(40).scale(2).at(43).pod("worker-1", "Running").at(60).pod("worker-1", "Succeeded")


def let_in() -> Story:
    """Pods that wait for Volcano to let their group in; what was refused is tried again."""
    story = TorchStory(training(workers=1), gang_scheduler="volcano").submit().at(2).group("Pending")
    story.at(9).group("Inqueue").refused(status_=403, message="quota", replica="worker-0", attempt=1).timer(
        "retry"
    )
    story.at(12).up().group("Running").at(20).pod("worker-0", "Succeeded")
    return story.at(60).pod("master-0", "Succeeded").at(61).delete().gone("master-0").gone("worker-0")


def placed_by_another_scheduler() -> Story:
    """One of its templates names a scheduler that is not the gang's; an update takes that back."""
    story = TorchStory(training(workers=1), gang_scheduler="scheduler-plugins", name="own")
    story.spec["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["schedulerName"] = "own-scheduler"
    of = {"Worker": {"template": {"spec": {"schedulerName": "scheduler-plugins"}}}}
    story.submit().at(3).up().at(9).edit(pytorchReplicaSpecs=of)
    return story.at(20).pod("master-0", "Succeeded").at(21).all_gone()


def labelled_while_suspended() -> Story:
    """A PyTorchJob with labels from the beginning, which are changed while it is suspended."""
    story = TorchStory(training(workers=1, suspend=True)).label(queue="night").at(5).label(queue="day")
    return story.at(9).suspend(False).at(11).up().at(20).label()


def taken_over() -> Story:
    """The training operator has run it until now; a pod is refused for a while under the new controller."""
    before = TorchStory(training()).submit().at(3).up()
    story = TorchStory(training()).at(60).adopt(before.status)
    for name in ("master-0", "worker-0", "worker-1"):
        story.pod(name, "Running", attempt=1, uid=f"{name}-of-the-operator")
    story.at(70).gone("worker-1").refused(status_=403, message="quota", replica="worker-1", attempt=2)
    return story.timer("retry").pod("worker-1", "Running").at(90).pod("master-0", "Succeeded")


def _workload(story: TorchStory, *conditions: tuple[str, str, str, str]) -> TorchStory:
    """The job's Workload has conditions of type, status, reason, message, which changed now."""
    observations = tuple(
        WorkloadCondition(type=type_, status=status, reason=reason, message=message, changed_at=story.now)
        for type_, status, reason, message in conditions
    )
    workload = WorkloadObserved(
        job=story.uid,
        at=story.now,
        name="pytorchjob-retry-1",
        uid="w-1",
        queue="team-a",
        conditions=observations,
    )
    return story.see(workload)


def queued() -> TorchStory:
    """In a queue of Kueue's: waits, is let in, and is preempted for another job."""
    story = TorchStory(training(suspend=True))
    story.labels = {"kueue.x-k8s.io/queue-name": "team-a"}
    _workload(story.submit().at(1), ("QuotaReserved", "False", "Pending", "insufficient unused quota"))
    _workload(
        story.at(10), ("QuotaReserved", "True", "QuotaReserved", ""), ("Admitted", "True", "Admitted", "")
    )
    story.at(11).suspend(on=False).at(12).up()
    why = "Preempted to accommodate a workload (UID: 7c9e, JobUID: 0f8fad5b-d9cb-469f-a165-70867728950e)"
    _workload(story.at(20), ("QuotaReserved", "False", "Pending", why), ("Evicted", "True", "Preempted", why))
    return story.at(21).suspend().at(22).all_gone()


# ---- GenericJob ---------------------------------------------------------------------------------------------------


def met_by_a_rule() -> Story:
    """Restarts of each replica, one unseen for a while, a pause; then a failure rule over two types is met."""
    of = generic.ruled(
        generic.restarting("ps", 1, "Never", 0),
        generic.restarting("worker", 2, "OnFailure", 1),
        success=[{"worker": [0, "1"]}],
        failure=[{"worker": [0]}, {"worker": [1], "ps": [0]}],
        cleanUpPolicy="Unfinished",
        **generic.HTTP,
    )
    story = generic.started(of).at(10).pod("worker-1", "Failed", exit_code=1).gone("worker-1")
    story.at(12).pod("worker-1", "Running").pod("ps-0", "Unknown").at(15).pod("ps-0", "Running")
    story.at(20).pause().gone("ps-0").gone("worker-0").gone("worker-1").at(40).resume().all_pods("Running")
    story.at(50).pod("worker-1", "Failed", exit_code=2).at(55).gone("worker-0").pod("worker-0", "Running")
    return story.at(60).pod("ps-0", "Failed", exit_code=3).at(61).gone("worker-0")


def met_by_no_rule() -> Story:
    """All are unseen; then one succeeds and is deleted, and the other fails: no rule says what that means."""
    both = [{"worker": [0, 1]}]
    story = generic.started(generic.ruled(generic.replicas(), success=both, failure=both))
    story.at(9).all_pods("Unknown").at(12).all_pods("Running").at(20).pod("worker-0", "Succeeded")
    return story.at(22).gone("worker-0").at(30).pod("worker-1", "Failed", exit_code=1)


def always_started_again() -> Story:
    """A replica is started again after its success, as often as its limit says, and has succeeded then."""
    of = generic.ruled(generic.restarting("worker", 1, "Always", 1), success=[{"worker": [0]}])
    story = (
        generic.started(of).at(10).pod("worker-0", "Succeeded").gone("worker-0").pod("worker-0", "Running")
    )
    return story.at(30).pod("worker-0", "Succeeded").edit(cleanUpPolicy="All").delete().gone("worker-0")


# ---- BeamJob ------------------------------------------------------------------------------------------------------


def submitted_again() -> Story:
    """A TaskManager is lost and comes back, the program succeeds at the second attempt, the cluster is cleaned up."""
    story = beam.running(beam.spec(2, **beam.CLEAN_UP)).at(20).gone("taskmanager-0")
    story.at(22).pod("taskmanager-0", "Running").at(30).submit_pod("szsn8", "Failed").job(
        active="1", failed="1"
    )
    story.at(31).submit_pod("x4k2p", "Running").flink("c9f62e4d61d089f351ab1f8b29e1df32")
    story.at(60).submit_pod("x4k2p", "Succeeded").job(succeeded="1", failed="1", ended="Complete")
    for name in ("jobmanager-0", "taskmanager-0", "taskmanager-1"):
        story.at(62).gone(name)
    return story


def submit_job_failed() -> Story:
    """The status of the cluster is lost for a while, the Job fails for good, and the job is deleted."""
    story = beam.running().at(20).all_pods("Unknown").at(40).all_pods("Running")
    story.at(50).submit_pod("szsn8", "Failed", **{"container wordcount": "Terminated 1"})
    story.at(51).job(failed="1", ended="Failed", reason="BackoffLimitExceeded", message="Too often.")
    story.at(60).delete()
    for name in ("jobmanager-0", "taskmanager-0", "taskmanager-1"):
        story.at(62).gone(name)
    return story


def submit_job_lost() -> Story:
    """A child is refused for a while; later somebody deletes the Job before it has ended."""
    story = beam.BeamStory(beam.spec(1), name=beam.NAME, kind=beam.KIND).submit().at(1)
    story.refused("ConfigMap", 403, "quota", retryable=True).at(5).timer("retry").at(6).all_pods("Running")
    story.at(7).job().submit_pod("szsn8", "Running").at(20).job_gone().job_lost().submit_pod("szsn8", "")
    return story


# ---- TensorFlowTrainingJob -----------------------------------------------------------------------------------------


def decided_by_the_chief() -> Story:
    """Beside parameter servers and an evaluator that fails for good; paused once, with a TensorBoard, cleaned up."""
    of = tensorflow.spec(
        tensorflow.replicas("ps", 2, tensorflow.listening(3333)),
        tensorflow.replicas("worker", 2, restartPolicy="ExitCode"),
        tensorflow.replicas("chief"),
        tensorflow.replicas("evaluator", restartPolicy="Never"),
        runPolicy={"cleanUpPolicy": "Unfinished"},
        tensorboardSpec={"image": "tensorboard:2"},
    )
    story = Story(of, name=tensorflow.NAME, kind=tensorflow.KIND, settings=IN_DNS).submit().board()
    story.at(3).all_pods("Running").at(9).pod("evaluator-0", "Failed", exit_code=1)
    story.at(12).pod("worker-1", "Failed", exit_code=143).gone("worker-1").at(14).pod("worker-1", "Running")
    story.at(20).gone("ps-0").at(22).pod("ps-0", "Running").at(30).pause()
    for name in ("ps-0", "ps-1", "worker-0", "worker-1", "chief-0", "evaluator-0"):
        story.at(32).gone(name)
    story.at(60).resume().at(62).all_pods("Running").at(90).pod("worker-0", "Succeeded")
    story.at(91).pod("chief-0", "Succeeded")
    return story.at(92).gone("ps-0").gone("ps-1").gone("worker-1").gone("evaluator-0")


def decided_by_worker_0() -> Story:
    """There is no chief: worker 0 is restarted until no restart is left."""
    of = tensorflow.spec(tensorflow.replicas("worker", 2), runPolicy={"backoffLimit": 1})
    story = tensorflow.started(of).at(20).pod("worker-0", "Failed", exit_code=1, node="n1").gone("worker-0")
    return story.at(25).pod("worker-0", "Running").at(40).pod("worker-0", "Failed", exit_code=1)


# ---- XGBoostTrainingJob -------------------------------------------------------------------------------------------


def decided_by_the_master() -> Story:
    """A worker is evicted and another lost, it is paused once; it ends with its master and is cleaned up."""
    container = {"name": "xgboost", "image": "xgboost:2", "command": ["python", "train.py"]}
    types = [
        {
            "type": type_,
            "replicas": number,
            "template": {"spec": {"containers": [container]}},
            "restartPolicy": "OnFailure",
        }
        for type_, number in (("worker", 2), ("master", 1))
    ]
    of = {"replicaSpecs": types, "runPolicy": {"backoffLimit": 2, "cleanUpPolicy": "All"}}
    story = (
        Story(of, name="trees", kind="XGBoostTrainingJob", settings=IN_DNS).submit().at(3).all_pods("Running")
    )
    story.at(9).pod("worker-1", "Failed", containers=(), reason="Evicted").gone("worker-1")
    story.at(12).pod("worker-1", "Running").at(20).gone("worker-0").at(21).pod("worker-0", "Running").at(
        30
    ).pause()
    for name in ("worker-0", "worker-1", "master-0"):
        story.at(32).gone(name)
    story.at(60).resume().at(62).all_pods("Running").at(90).pod("worker-0", "Succeeded")
    story.at(95).pod("master-0", "Succeeded")
    return story.at(96).gone("worker-0").gone("worker-1").gone("master-0")


LIVES: tuple[Callable[[], Story], ...] = (
    launched,
    not_launched,
    launcher_lost,
    launched_beside_a_service,
    mpi_run,
    mpi_resumed,
    mpi_refused,
    spelled_as_before,
    started_anew,
    started_anew_beside_a_service,
    budget_used_up,
    ended_by_exit_codes,
    restarted_in_place,
    suspended,
    expired,
    without_master,
    let_in,
    placed_by_another_scheduler,
    labelled_while_suspended,
    taken_over,
    queued,
    met_by_a_rule,
    met_by_no_rule,
    always_started_again,
    submitted_again,
    submit_job_failed,
    submit_job_lost,
    decided_by_the_chief,
    decided_by_worker_0,
    decided_by_the_master,
)
