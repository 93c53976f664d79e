"""Why: what can happen to a job whose rules decide its result, in the words that users read."""

from projectors.explain import explain
from tests.unit.kinds.generic import replicas, restarting, ruled, spec, started

MANUAL = ruled(replicas("worker", 4), success=[{"worker": [0]}], failure=[{"worker": [0]}, {"worker": [1]}])


def test_a_failure_that_no_rule_names_leaves_the_job_to_its_rules() -> None:
    why = explain(started(MANUAL).pod("worker-2", "Failed").steps)
    assert why.answer.startswith("The job is running: 3 of 4 replicas up, without worker-2.")
    assert why.incidents[-1].says.endswith(
        "The job goes on: its success and failure rules decide its result."
    )


def test_the_failure_that_met_the_rule_is_the_root_and_not_one_that_did_no_harm() -> None:
    why = explain(started(MANUAL).pod("worker-2", "Failed").pod("worker-1", "Failed", exit_code=3).steps)
    assert why.answer == (
        'The job has failed: The job is failed with rule: { "worker": [1] }. It began with worker-1: container '
        '"sleep" ended with exit code 3.'
    )
    assert why.root_cause is not None
    assert why.root_cause.says.startswith("worker-1 failed")


def test_that_no_rule_was_met_is_said() -> None:
    of = ruled(replicas(), success=[{"worker": [0, 1]}], failure=[{"worker": [0, 1]}])
    why = explain(started(of).pod("worker-1", "Failed").pod("worker-0", "Succeeded").steps)
    assert why.answer == (
        "The job has failed: All replicas have ended but no success or failure rule is fulfilled. It began with "
        'worker-1: container "sleep" ended with exit code 1.'
    )


def test_success_is_that_of_a_rule() -> None:
    why = explain(started(MANUAL).pod("worker-0", "Succeeded").steps)
    assert why.incidents[-1].says == (
        "The job has succeeded: a success rule is met by replicas that ended with exit code 0."
    )


def test_restarts_are_counted_for_each_replica() -> None:
    story = started(spec(restarting("worker", 2, "OnFailure", 1))).pod("worker-0", "Failed").gone("worker-0")
    story.pod("worker-0", "Running").pod("worker-1", "Failed").gone("worker-1").pod("worker-1", "Running")
    said = [incident.says for incident in explain(story.steps).incidents if incident.kind.value == "restart"]
    assert [word.rpartition(". ")[2] for word in said] == ["It is restarted (restart 1 of 1)."] * 2


def test_a_job_none_of_whose_replicas_is_observed_waits_for_all_of_them() -> None:
    why = explain(started(spec()).pod("worker-0", "Unknown").pod("worker-1", "Unknown").steps)
    assert why.answer.startswith("It is not known how the job is: the status of all its replicas is lost.")
    assert why.incidents[-1].says == "The status of none of the job's replicas can be obtained."
    assert [wait.says for wait in why.waits_for] == ["The status of the replicas that run."]
