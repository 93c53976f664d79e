"""The worked examples A to E of genericjob.md §7, as stories; their children are also golden files."""

from statemachine.phases import Phase
from tests.support.scenario import Story
from tests.unit.kinds.build import env
from tests.unit.kinds.generic import HTTP, KIND, NAME, container, replicas, restarting, ruled, spec, started

DONE = "The job has finished successfully."

MANUAL = ruled(replicas("worker", 4), success=[{"worker": [0]}], failure=[{"worker": [0]}, {"worker": [1]}])


def failed_with(rule: str) -> tuple[str, str, str]:
    """The condition Failed of a job in which this rule was met."""
    return "True", "Failed", f"The job is failed with rule: {rule}"


def test_example_a_a_failure_that_no_rule_names_is_only_reported() -> None:
    story = started(MANUAL).at(30).pod("worker-2", "Failed", exit_code=1)
    assert story.phase is Phase.RUNNING
    text = f'Replica {NAME}-worker-2 failed: container "sleep" exited with code 1.'
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", text)
    assert story.condition("Failed") is None


def test_example_a_the_failure_that_a_rule_names_is_the_job_s() -> None:
    story = started(MANUAL).pod("worker-2", "Failed", exit_code=1).at(31).pod("worker-1", "Failed")
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == failed_with('{ "worker": [1] }')
    said = failed_with('{ "worker": [1] }')[2]
    assert story.condition("Running") == ("False", "Failed", said)
    assert story.condition("Completed") == ("False", "Failed", said)
    assert ("Failed", said) in story.announced()


def test_example_a_worker_0_succeeds_first_and_so_does_the_job() -> None:
    story = started(MANUAL).pod("worker-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    assert story.condition("Completed") == ("True", "Succeeded", DONE)
    assert story.at(60).pod("worker-1", "Failed").phase is Phase.SUCCEEDED


def test_example_b_a_rule_is_met_by_all_that_it_names() -> None:
    of = ruled(replicas("master", 3), replicas("worker", 2), success=[{"master": [2], "worker": [0, 1]}])
    story = started(of)
    for name in ("worker-1", "master-2", "master-0", "master-1"):
        assert story.pod(name, "Succeeded").phase is Phase.RUNNING
    assert story.pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


def test_example_c_every_replica_has_restarts_of_its_own() -> None:
    story = started(
        ruled(
            restarting("worker", 2, "OnFailure", 2),
            success=[{"worker": [0, 1]}],
            failure=[{"worker": [0, 1]}],
        )
    )
    for attempt in (1, 2):
        story.pod("worker-0", "Failed", exit_code=1).gone("worker-0")
        if attempt == 2:
            story.timer("backoff")
        story.pod("worker-0", "Running")
    assert story.pod("worker-0", "Failed", exit_code=1).phase is Phase.RUNNING
    assert story.replica("worker-0").lost_for_good
    assert [task["restartCount"] for task in story.status["tasks"]] == [2]
    texts = [message for reason, message in story.announced() if reason == "ReplicaRestart"]
    assert texts == [
        f"Restart replica {NAME}-worker-0 (exit code 1), restart {count} of 2" for count in (1, 2)
    ]
    story.pod("worker-1", "Failed", exit_code=1).gone("worker-1").pod("worker-1", "Running")
    assert [task["restartCount"] for task in story.status["tasks"]] == [3]
    assert story.phase is Phase.RUNNING


def test_example_d_variables_are_replaced_in_every_pod() -> None:
    config = '{"host": "$(service.worker[0].host):$(service.port[http])", "index": $(rank)}'
    worker = container(env=[{"name": "TF_CONFIG", "value": config}])
    story = started(spec(replicas("worker", 4, worker), **HTTP))
    pod = story.children[f"Pod/{NAME}-worker-3"]
    assert env(pod) == {"TF_CONFIG": f'{{"host": "{NAME}-worker-0:2222", "index": 3}}'}


def test_example_d_without_a_service_the_job_is_refused() -> None:
    worker = container(env=[{"name": "TF_CONFIG", "value": "$(service.worker[0].host)"}])
    story = Story(spec(replicas("worker", 4, worker)), name=NAME, kind=KIND).submit()
    where = "spec.replicaSpecs[0].template.spec.containers[0].env[0].value"
    message = f"{where}: variable $(service.worker[0].host) cannot be resolved"
    assert (story.phase, story.children) == (Phase.FAILED, {})
    assert story.condition("Failed") == ("True", "InvalidSpec", message)


def test_example_e_all_replicas_are_in_the_pod_group() -> None:
    scheduler = {"t9kScheduler": {"queue": "default", "priority": 10}}
    story = started(spec(replicas("ps", 1), replicas("worker", 4), scheduler=scheduler))
    group = story.children[f"PodGroup/{NAME}"]["spec"]
    assert group == {"minMember": 5, "queue": "default", "priority": 10}
    prefix = "scheduler.tensorstack.dev/"
    for name, type_ in (("ps-0", "ps"), ("worker-3", "worker")):
        pod = story.children[f"Pod/{NAME}-{name}"]
        labels = {key: value for key, value in pod["metadata"]["labels"].items() if key.startswith(prefix)}
        assert pod["spec"]["schedulerName"] == "t9k-scheduler"
        assert labels == {f"{prefix}group-name": NAME, f"{prefix}queue": "default", f"{prefix}role": type_}
