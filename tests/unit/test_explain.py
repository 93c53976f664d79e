"""Entries → why: each thing that can happen to a job, with its cause and what followed."""

from datetime import timedelta
from typing import Any

import jsonschema
import pytest

from projectors.explain import Explanation, as_text, explain, json_schema
from projectors.explain.model import Incident, IncidentKind, Nature, StepKind
from statemachine.events import CauseClass
from statemachine.log.codec import decode
from statemachine.log.life import retold
from statemachine.observations import Container, ContainerStatus
from statemachine.state import JobState
from tests.support.scenario import START, Story, replica_type, workers

OOM = (Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=137, reason="OOMKilled"),)


def running(replicas: int = 2, **spec: Any) -> Story:
    return (
        Story(workers(replicas, **spec)).submit().all_pods("Pending").at(3).all_pods("Running", node="node-1")
    )


def of_kind(story: Story, kind: IncidentKind) -> list[Incident]:
    return [incident for incident in explain(story.steps).incidents if incident.kind is kind]


def the(story: Story, kind: IncidentKind) -> Incident:
    (incident,) = of_kind(story, kind)
    return incident


def steps(incident: Incident) -> list[tuple[int, StepKind, tuple[str, ...]]]:
    return [(step.seq, step.what, step.replicas) for step in incident.led_to]


def test_a_healthy_job_says_that_nothing_abnormal_happened() -> None:
    why = explain(running().steps)
    assert why.normal
    assert why.answer == "The job is running: all 2 replicas are up. Nothing abnormal has happened."
    assert [incident.kind for incident in why.incidents] == [IncidentKind.START]
    assert why.incidents[0].over_at == START + timedelta(seconds=3)
    assert (why.root_cause, why.waits_for) == (None, ())


def test_labels_are_no_incident_and_change_nothing_that_is_said() -> None:
    plain = running().at(9)
    labelled = running().at(9).label(team="a").at(12).label()
    assert len(labelled.entries) == len(plain.entries) + 2
    explanation = explain(labelled.steps).model_copy(update={"entries": len(plain.entries)})
    assert explanation == explain(plain.steps)


def test_a_restart_tells_evidence_rule_budget_and_what_was_made_and_deleted() -> None:
    story = running().at(20).pod("worker-1", "Failed", containers=OOM, node="node-1")
    story.at(22).gone("worker-1").at(25).pod("worker-1", "Running")
    incident = the(story, IncidentKind.RESTART)
    assert incident.cause is not None
    assert (incident.cause.cause_class, incident.cause.container) == (CauseClass.OUT_OF_MEMORY, "pytorch")
    assert (incident.cause.exit_code, incident.cause.node, incident.cause.pod_uid) == (
        137,
        "node-1",
        "worker-1.1",
    )
    assert incident.cause.rule == "R8 OnFailure"
    assert incident.cause.rule_says.startswith("restart policy OnFailure")
    assert incident.budget is not None
    assert (incident.budget.limit, incident.budget.before, incident.budget.after) == (3, 3, 2)
    assert steps(incident) == [
        (6, StepKind.DISMISSED, ("worker-1",)),
        (7, StepKind.GONE, ("worker-1",)),
        (7, StepKind.REQUESTED, ("worker-1",)),
        (8, StepKind.RUNNING, ("worker-1",)),
    ]
    assert incident.over_at == START + timedelta(seconds=25)
    assert explain(story.steps).answer.endswith("So far: 1 abnormal incident, made good.")


def test_the_root_cause_is_the_first_failure_of_the_chain_that_ended_the_job() -> None:
    story = running(3, runPolicy={"backoffLimit": 1})
    story.at(20).pod("worker-2", "Failed", exit_code=7).gone("worker-2").at(24).pod("worker-2", "Running")
    story.at(30).pod("worker-1", "Failed", containers=OOM).at(31).pod("worker-0", "Failed", exit_code=1)
    why = explain(story.steps)
    assert why.root_cause is not None
    assert (why.root_cause.replica, why.root_cause.at) == ("worker-1", START + timedelta(seconds=30))
    assert "the restart budget is used up. It began with worker-1: " in why.answer
    assert why.restarts is not None
    assert (why.restarts.spent, why.restarts.left) == (1, 0)


def test_the_first_failure_is_the_one_that_happened_first_not_the_one_observed_first() -> None:
    story = running(2, policy="Never")
    story.at(30).pod("worker-0", "Failed", exit_code=1, happened_at=START + timedelta(seconds=29))
    assert story.phase == "Failed"
    story.at(31).pod("worker-1", "Failed", containers=OOM, happened_at=START + timedelta(seconds=27))
    why = explain(story.steps)
    assert why.root_cause is not None
    assert why.root_cause.replica == "worker-1"
    assert "The job had ended before this was seen." in why.root_cause.says


def test_a_worker_that_stays_failed_lets_the_job_go_on_and_says_so() -> None:
    story = running(2, policy="Never").at(9).pod("worker-1", "Failed", exit_code=139)
    incident = the(story, IncidentKind.FAILURE)
    assert "exit code 139 (SIGSEGV)" in incident.says
    assert incident.says.endswith("The job goes on: worker-0 decides its result.")
    assert explain(story.steps).root_cause is None


@pytest.mark.parametrize(
    ("fields", "cause", "says"),
    [
        ({"reason": "Evicted", "message": "low on memory"}, CauseClass.DISRUPTED, "(Evicted; low on memory)"),
        ({"disruption": "PreemptionByScheduler"}, CauseClass.DISRUPTED, "preempted or evicted"),
        ({"reason": "NodeLost", "node": "n-7"}, CauseClass.NODE_LOST, "node n-7 was lost"),
        ({}, CauseClass.EVIDENCE_LOST, "nothing that was seen tells why"),
    ],
)
def test_failures_of_the_infrastructure_are_named_as_such(fields: Any, cause: CauseClass, says: str) -> None:
    incident = the(running().at(9).pod("worker-1", "Failed", containers=(), **fields), IncidentKind.RESTART)
    assert incident.cause is not None
    assert incident.cause.cause_class is cause
    assert says in incident.says


def test_a_pod_that_vanished_is_explained_with_its_cost_and_its_return() -> None:
    story = running().at(9).gone("worker-1").at(12).pod("worker-1", "Running")
    incident = the(story, IncidentKind.LOSS)
    assert incident.says.endswith("It is created again, at no cost to the restart budget.")
    assert [step.what for step in incident.led_to] == [StepKind.GONE, StepKind.REQUESTED, StepKind.RUNNING]
    assert incident.over_at == START + timedelta(seconds=12)


def test_how_a_deleted_pod_ended_tells_more_than_that_it_is_gone() -> None:
    story = running().at(8).pod("worker-1", "Running", deleting=True)
    story.at(9).pod(
        "worker-1", "Failed", containers=(), deleting=True, disruption="EvictionByEvictionAPI"
    ).gone("worker-1")
    incident = the(story, IncidentKind.LOSS)
    assert incident.cause is not None
    assert (incident.cause.cause_class, incident.cause.reason) == (
        CauseClass.DISRUPTED,
        "EvictionByEvictionAPI",
    )


def test_a_paused_job_says_since_when_and_by_whom() -> None:
    story = running().at(60).pause()
    why = explain(story.steps)
    assert why.answer.startswith("The job has been paused by alice since 2024-01-09 15:01:00 UTC.")
    assert why.normal
    assert [wait.says for wait in why.waits_for] == [
        "Somebody to resume the job; it was paused by alice.",
        "worker-0 and worker-1: old pod is still there (pause)",
    ]


def test_a_resume_ends_the_pause_and_is_over_when_the_job_runs() -> None:
    story = (
        running().at(60).pause().gone("worker-0").gone("worker-1").at(90).resume().at(95).all_pods("Running")
    )
    pause, resume = the(story, IncidentKind.PAUSE), the(story, IncidentKind.RESUME)
    assert (pause.by, pause.nature, pause.over_at) == (
        "alice",
        Nature.ASKED_FOR,
        START + timedelta(seconds=90),
    )
    assert steps(pause)[0] == (6, StepKind.DISMISSED, ("worker-0", "worker-1"))
    assert resume.over_at == START + timedelta(seconds=95)


def test_a_job_created_paused_says_so() -> None:
    story = Story(workers(1, runMode={"pause": {"enabled": True}})).submit()
    assert the(story, IncidentKind.PAUSE).says == "The job was created paused by alice."


def elastic(expected: int) -> dict[str, Any]:
    spec = workers(1, torchrunConfig={"enabled": True})
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["train.py"]
    return {
        **spec,
        "elastic": {"enabled": True, "minReplicas": 1, "maxReplicas": 9, "expectedReplicas": expected},
    }


def test_scaling_tells_from_what_to_what_by_whom_and_which_pods() -> None:
    story = Story(elastic(3)).submit().all_pods("Running").at(50)
    story.edit(elastic={"expectedReplicas": 1}).gone("worker-2").gone("worker-1")
    story.at(70).edit(elastic={"expectedReplicas": 2}).pod("worker-1", "Running")
    down, up = of_kind(story, IncidentKind.SCALE)
    assert down.says == "The scale was changed from 3 to 1 replicas by alice."
    assert [step.replicas for step in down.led_to] == [("worker-2", "worker-1"), ("worker-2",), ("worker-1",)]
    assert [step.what for step in up.led_to] == [StepKind.REQUESTED, StepKind.RUNNING]
    assert explain(story.steps).normal


def test_a_change_of_the_run_policy_is_explained_with_its_new_value() -> None:
    story = running().edit(runPolicy={"backoffLimit": 9})
    assert the(story, IncidentKind.CHANGE).says == "spec.runPolicy.backoffLimit (now 9) was changed by alice."


def test_a_change_that_is_not_allowed_is_explained_with_the_reason() -> None:
    story = running().edit(replicaSpecs=workers(5)["replicaSpecs"])
    assert the(story, IncidentKind.CHANGE).says.startswith("A change by alice was ignored: ")


def test_a_refused_write_tells_message_count_and_next_try() -> None:
    story = Story(workers(1)).submit()
    for second in (0, 1):
        story.at(second).refused(status_=403, message="exceeded quota", replica="worker-0", attempt=1)
        story.timer("retry") if second == 0 else None
    why = explain(story.steps)
    assert "exceeded quota. The next try is due at 2024-01-09 15:00:03 UTC." in why.answer
    assert the(story, IncidentKind.REFUSAL).times == 2
    assert (why.waits_for[0].message, why.waits_for[0].next_try_at) == (
        "exceeded quota",
        START + timedelta(seconds=3),
    )
    story.at(4).pod("worker-0", "Running")
    assert the(story, IncidentKind.REFUSAL).over_at == START + timedelta(seconds=4)
    assert explain(story.steps).waits_for == ()


def test_a_write_refused_for_good_is_the_root_cause() -> None:
    why = explain(Story(workers(1)).submit().refused(status_=422, message="no such volume").steps)
    assert why.root_cause is not None
    assert why.root_cause.says == (
        "The job has failed: the API server refused one of its objects for good (422): no such volume."
    )


def test_a_pod_that_can_never_be_started_is_the_root_cause() -> None:
    story = Story(workers(1)).submit()
    story.pod("worker-0", "Failed", exit_code=127, reason="CannotStart", message='"train" was not found')
    why = explain(story.steps)
    assert why.root_cause is not None
    assert why.root_cause.says == (
        'The job has failed: one of its pods can never be started here: "train" was not found.'
    )
    assert why.root_cause.cause is not None
    assert why.root_cause.cause.cause_class == "refused by the API"


def test_an_invalid_spec_is_the_root_cause_with_its_field() -> None:
    why = explain(Story(workers(0)).submit().steps)
    assert why.answer.startswith("The job was refused: spec.replicaSpecs[0].replicas: ")
    assert why.root_cause is not None
    assert why.restarts is None


def test_a_deadline_is_explained_with_its_length_and_whom_it_cost() -> None:
    story = running(runPolicy={"activeDeadlineSeconds": 60})
    assert explain(story.steps).waits_for[0].next_try_at == START + timedelta(seconds=60)
    story.timer("deadline")
    why = explain(story.steps)
    assert why.answer == "The job has failed: it was active for longer than its deadline of 60 s."
    assert the(story, IncidentKind.CLEAN_UP).led_to[0].replicas == ("worker-0", "worker-1")


def test_a_lost_status_is_explained_until_it_is_known_again() -> None:
    story = running().at(9).pod("worker-0", "Unknown", containers=())
    assert explain(story.steps).answer.startswith("It is not known how the job is")
    story.at(15).pod("worker-0", "Running")
    assert the(story, IncidentKind.STATUS_LOST).over_at == START + timedelta(seconds=15)


def test_a_deletion_is_explained_with_whom_and_until_nothing_is_left() -> None:
    story = running().at(40).delete().gone("worker-0").at(44).gone("worker-1")
    why = explain(story.steps)
    assert why.answer == "The job was deleted by alice at 2024-01-09 15:00:40 UTC, while it was Running."
    assert the(story, IncidentKind.DELETION).over_at == START + timedelta(seconds=44)
    assert (why.deleted_at, why.waits_for) == (START + timedelta(seconds=40), ())


def test_deleting_a_job_that_had_ended_does_not_change_the_answer() -> None:
    story = running(1, policy="Never").at(9).pod("worker-0", "Failed", exit_code=3)
    before = explain(story.steps)
    after = explain(story.at(40).delete().gone("worker-0").steps)
    assert as_text(after) == as_text(before)
    assert after.model_dump_json() == before.model_dump_json()


def test_a_success_mentions_what_went_wrong_on_the_way() -> None:
    story = (
        running(2, policy="Never")
        .at(9)
        .pod("worker-1", "Failed", exit_code=3)
        .at(12)
        .pod("worker-0", "Succeeded")
    )
    assert explain(story.steps).answer == "The job has succeeded. On the way there: 1 abnormal incident."


def test_a_restart_after_success_is_nothing_abnormal() -> None:
    story = Story(workers(1, replica_type("helper", 1, restartPolicy="Always"))).submit().all_pods("Running")
    story.at(9).pod("helper-0", "Succeeded")
    assert the(story, IncidentKind.RESTART).nature is Nature.EXPECTED
    assert explain(story.steps).normal


def test_a_pending_job_names_the_replicas_that_are_not_up_and_what_their_containers_wait_for() -> None:
    waiting = (Container(name="pytorch", state=ContainerStatus.WAITING, reason="ImagePullBackOff"),)
    story = (
        Story(workers(3)).submit().pod("worker-0", "Running").pod("worker-1", "Pending", containers=waiting)
    )
    why = explain(story.steps)
    assert why.answer.startswith("The job is starting: 1 of 3 replicas up, without worker-1 and worker-2.")
    assert [wait.says for wait in why.waits_for] == [
        'worker-1: pod exists, and does not run yet (container "pytorch" waits: ImagePullBackOff)',
        "worker-2: pod asked for, and not seen yet",
    ]


def test_the_same_entries_give_the_same_bytes_whether_decided_just_now_or_read_from_the_log() -> None:
    story = running().at(9).pod("worker-1", "Failed", exit_code=3).gone("worker-1")
    explanation = explain(story.steps)
    read = explain(retold(JobState(story.uid), map(decode, story.bodies)))
    assert read.model_dump_json() == explanation.model_dump_json()
    assert as_text(read) == as_text(explanation)


def test_an_explanation_satisfies_the_published_schema() -> None:
    why = explain(running().at(9).pod("worker-1", "Failed", containers=OOM).steps)
    jsonschema.validate(why.model_dump(mode="json"), json_schema())
    assert Explanation.model_validate_json(why.model_dump_json()) == why


@pytest.mark.parametrize("width", [40, 80, 120])
def test_text_keeps_to_its_width(width: int) -> None:
    story = running(9).at(9).pod("worker-1", "Failed", containers=OOM, message="word " * 60)
    lines = as_text(explain(story.steps), width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_what_a_cluster_says_cannot_write_on_the_terminal() -> None:
    story = Story(workers(1)).submit().refused(status_=403, message="a\n\x1b[31mred\x07")
    text = as_text(explain(story.steps))
    assert all(line.isprintable() for line in text.splitlines())
    assert "a  [31mred" in text


def test_no_entries_are_no_job() -> None:
    with pytest.raises(ValueError, match="nothing to explain"):
        explain([])
