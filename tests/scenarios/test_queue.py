"""Jobs in a queue of Kueue's: what their Workload says is a part of their history, and explains them."""

from typing import Any

import pytest

from jobledger.lives.wording import events_words, observation_words
from projectors.explain import Explanation, explain
from projectors.explain.model import IncidentKind, Nature
from projectors.history.phrases import event_words, summary
from statemachine.events import QueueChanged
from statemachine.log.codec import decode, encode
from statemachine.observations import WorkloadCondition, WorkloadObserved
from statemachine.phases import Phase
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import Story, workers

PREEMPTOR = "0f8fad5b-d9cb-469f-a165-70867728950e"
PREEMPTED = (
    f"Preempted to accommodate a workload (UID: 7c9e6679-7425-40de-944b-e07fc1f90ae7, JobUID: {PREEMPTOR}) due to "
    "prioritization in the ClusterQueue; preemptor path: /cq; preemptee path: /cq"
)
NO_ROOM = (
    "couldn't assign flavors to pod set worker: "
    "insufficient unused quota for cpu in flavor default, {} more needed"
)


def queued(*, suspended: bool = True) -> TorchStory:
    story = TorchStory(training(suspend=suspended))
    story.labels = {"kueue.x-k8s.io/queue-name": "team-a"}
    return story.submit()


def workload(
    story: Story, *conditions: tuple[str, str, str, str], at: float = 0, **more: Any
) -> WorkloadObserved:
    """The Workload with conditions of type, status, reason, message; those that are True changed `at` that moment."""
    story.at(at)
    observations = tuple(
        WorkloadCondition(type=type_, status=status, reason=reason, message=message, changed_at=story.now)
        for type_, status, reason, message in conditions
    )
    known = {"name": "pytorchjob-retry-1", "uid": "w-1", "queue": "team-a", **more}
    return WorkloadObserved(job=story.uid, at=story.now, conditions=observations, **known)


def waiting(story: Story, at: float, more: int = 2) -> WorkloadObserved:
    return workload(story, ("QuotaReserved", "False", "WaitingForQuota", NO_ROOM.format(more)), at=at)


def admitted(story: Story, at: float, *more: tuple[str, str, str, str]) -> WorkloadObserved:
    yes = (("QuotaReserved", "True", "QuotaReserved", ""), ("Admitted", "True", "Admitted", ""))
    return workload(story, *yes, *more, at=at, cluster_queue="cq", flavors=("spot",))


def evicted(story: Story, at: float, reason: str, message: str) -> WorkloadObserved:
    return workload(
        story, ("QuotaReserved", "False", "Pending", message), ("Evicted", "True", reason, message), at=at
    )


def preempted(story: TorchStory) -> TorchStory:
    """It ran, and somebody more important got its quota."""
    story.see(admitted(story, 10)).at(11).suspend(on=False).at(12).up()
    story.see(evicted(story, 20, "Preempted", PREEMPTED)).at(21).suspend()
    return story.at(22).all_gone()


def why(story: Story) -> Explanation:
    return explain(story.steps)


def test_a_suspended_job_with_the_label_waits_for_kueue_and_not_for_somebody() -> None:
    explanation = why(queued())
    assert explanation.phase is Phase.PAUSED
    assert explanation.answer == (
        "The job has been suspended since 2024-01-09 15:00:00 UTC: it waits in queue team-a. "
        "Nothing abnormal has happened."
    )
    (wait,) = explanation.waits_for
    assert wait.says.startswith("Kueue to admit the job to queue team-a. Its Workload is not known here")
    assert [incident.says for incident in explanation.incidents] == [
        "The job was created suspended: it waits in queue team-a."
    ]


def test_without_the_label_somebody_has_to_resume_the_job() -> None:
    story = TorchStory(training(suspend=True)).submit()
    assert why(story).waits_for[0].says == "Somebody to resume the job; it was paused by alice."


def test_a_kind_that_kueue_does_not_take_in_waits_for_nobody_there() -> None:
    story = Story(workers(1, runMode={"pause": {"enabled": True}}))
    story.labels = {"kueue.x-k8s.io/queue-name": "team-a"}
    assert "Somebody to resume the job" in why(story.submit()).waits_for[0].says


def test_a_job_of_any_kind_with_a_workload_waits_for_kueue() -> None:
    story = Story(workers(1, runMode={"pause": {"enabled": True}})).submit()
    story.see(waiting(story, 3))
    assert why(story).waits_for[0].says == "Kueue to admit the job to queue team-a (WaitingForQuota)."


def test_the_workload_s_reason_and_words_say_what_is_waited_for() -> None:
    story = queued()
    (wait,) = why(story.see(waiting(story, 3))).waits_for
    assert wait.says == "Kueue to admit the job to queue team-a (WaitingForQuota)."
    assert wait.message == NO_ROOM.format(2)
    assert wait.since == story.now


def test_a_reserved_quota_waits_for_admission_checks() -> None:
    story = queued()
    reserved = (
        ("QuotaReserved", "True", "QuotaReserved", ""),
        ("Admitted", "False", "UnsatisfiedAdmissionChecks", "The workload has not all checks ready"),
    )
    story.see(workload(story, *reserved, at=3, cluster_queue="cq"))
    assert why(story).waits_for[0].says == (
        "Kueue's admission checks: quota is reserved for the job in ClusterQueue cq (UnsatisfiedAdmissionChecks)."
    )


def test_an_admission_is_announced_with_cluster_queue_and_flavors() -> None:
    story = queued()
    story.see(admitted(story, 10)).at(11).suspend(on=False)
    incidents = [incident for incident in why(story).incidents if incident.kind is IncidentKind.ADMISSION]
    assert [(incident.nature, incident.says) for incident in incidents] == [
        (Nature.EXPECTED, "Kueue admitted the job (queue team-a, ClusterQueue cq, flavors spot).")
    ]


def test_an_admitted_job_that_is_still_suspended_waits_for_kueue_to_resume_it() -> None:
    story = queued()
    story.see(admitted(story, 10))
    assert why(story).waits_for[0].says == ("Kueue to resume the job, which it has admitted to queue team-a.")


def test_a_preemption_is_abnormal_and_names_preemptor_and_reason() -> None:
    explanation = why(preempted(queued()))
    (incident,) = [incident for incident in explanation.incidents if incident.kind is IncidentKind.EVICTION]
    assert incident.nature is Nature.ABNORMAL
    assert incident.says == (f"Kueue preempted the job for the job with uid {PREEMPTOR}. {PREEMPTED}.")
    assert incident.over_at is None
    assert not explanation.normal
    assert explanation.answer.startswith(
        "The job has been suspended since 2024-01-09 15:00:21 UTC: it waits in queue"
    )
    assert PREEMPTOR in explanation.answer
    assert "The job was suspended: Kueue took its quota away." in [
        incident.says for incident in explanation.incidents
    ]


def test_another_admission_makes_a_preemption_good() -> None:
    story = preempted(queued())
    back = ("Evicted", "False", "QuotaReserved", f"Previously: {PREEMPTED}")
    story.see(admitted(story, 40, back)).at(41).suspend(on=False).at(42).up()
    explanation = why(story)
    (incident,) = [incident for incident in explanation.incidents if incident.kind is IncidentKind.EVICTION]
    assert incident.over_at is not None
    assert "So far: 1 abnormal incident, made good." in explanation.answer


def test_a_preemption_that_was_over_before_anybody_looked_is_announced_once() -> None:
    story = queued()
    story.see(admitted(story, 10))
    back = (
        ("Evicted", "False", "QuotaReserved", f"Previously: {PREEMPTED}"),
        ("Preempted", "False", "QuotaReserved", f"Previously: {PREEMPTED}"),
    )
    later = admitted(story, 40, *back)
    story.see(later)
    (event,) = story.last
    assert isinstance(event, QueueChanged)
    assert event.eviction is not None
    assert (event.eviction.reason, event.eviction.preemptor) == ("Preempted", PREEMPTOR)
    assert story.see(later).last == ()


def test_two_preemptions_are_two_incidents() -> None:
    story = preempted(queued())
    back = ("Evicted", "False", "QuotaReserved", f"Previously: {PREEMPTED}")
    story.see(admitted(story, 40, back))
    story.see(evicted(story, 50, "Preempted", PREEMPTED))
    kinds = [incident.kind for incident in why(story).incidents]
    assert kinds.count(IncidentKind.EVICTION) == 2


def test_a_late_report_from_before_the_last_eviction_says_nothing() -> None:
    """Not that Kueue admitted the job once more, nor that it took the quota away once more."""
    story = queued()
    first, before = workload(story, at=1), waiting(story, 3)
    running, taken = admitted(story, 10), evicted(story, 20, "Preempted", PREEMPTED)
    back = admitted(story, 40, ("Evicted", "False", "QuotaReserved", f"Previously: {PREEMPTED}"))
    for newest in (first, before, running, taken, back):
        assert story.see(newest).last
    for late in (first, before, running, taken, back):
        assert story.see(late).last == ()


def test_a_workload_that_is_deactivated_while_it_is_evicted_is_news() -> None:
    """Its conditions, and their times, are still those of the eviction."""
    story = queued()
    taken = evicted(story, 20, "Preempted", PREEMPTED)
    (event,) = story.see(taken).see(taken.changed(active=False)).last
    assert isinstance(event, QueueChanged)
    assert event.standing == "deactivated"


def test_another_workload_is_news_whatever_became_of_the_one_before() -> None:
    story = preempted(queued())
    (event,) = story.see(workload(story, at=30, uid="w-2")).last
    assert isinstance(event, QueueChanged)
    assert (event.uid, event.standing) == ("w-2", "waiting")


@pytest.mark.parametrize("reason", ["PodsReadyTimeout", "ClusterQueueStopped", "NodeFailures"])
def test_an_eviction_for_another_reason_names_it(reason: str) -> None:
    story = queued()
    story.see(admitted(story, 10)).see(evicted(story, 20, reason, "Exceeded the timeout"))
    (incident,) = [incident for incident in why(story).incidents if incident.kind is IncidentKind.EVICTION]
    assert incident.says == f"Kueue took the job's quota away ({reason}). Exceeded the timeout."


def test_a_deactivated_job_waits_for_somebody_to_activate_its_workload() -> None:
    story = queued()
    off = (
        ("QuotaReserved", "False", "Pending", "The workload is deactivated"),
        ("Evicted", "True", "Deactivated", "The workload is deactivated"),
    )
    explanation = why(story.see(workload(story, *off, at=5, active=False)))
    assert explanation.waits_for[0].says == (
        "Somebody to activate Workload pytorchjob-retry-1 again: Kueue has deactivated it (Deactivated)."
    )
    assert "Kueue has deactivated its Workload" in explanation.answer


def test_what_is_missing_in_numbers_is_no_news() -> None:
    story = queued()
    story.see(waiting(story, 3, more=2))
    assert story.see(waiting(story, 4, more=1)).last == ()
    assert story.see(workload(story, ("QuotaReserved", "False", "NoMatchingFlavor", "none"), at=5)).last


def test_an_admission_whose_quota_was_taken_back_is_none() -> None:
    story = queued()
    story.see(admitted(story, 3))
    taken = (("QuotaReserved", "False", "Pending", "no quota"), ("Admitted", "True", "Admitted", ""))
    (event,) = story.see(workload(story, *taken, at=5)).last
    assert isinstance(event, QueueChanged)
    assert (event.standing, event.reason) == ("waiting", "Pending")


def test_the_same_workload_again_is_no_news() -> None:
    story = queued()
    again = evicted(story, 20, "Preempted", PREEMPTED)
    assert story.see(again).last
    assert story.see(again).last == ()


def test_a_workload_that_is_gone_leaves_the_label() -> None:
    story = queued()
    story.see(waiting(story, 3))
    gone = WorkloadObserved(job=story.uid, at=story.now, name="pytorchjob-retry-1", uid="", gone_uid="w-1")
    assert story.see(gone.changed(gone_uid="w-0")).last == ()
    assert [event.type for event in story.see(gone).last] == ["QueueChanged"]
    assert story.see(gone).last == ()
    assert "Its Workload is not known here" in why(story).waits_for[0].says


def test_a_job_that_has_ended_keeps_what_it_has() -> None:
    story = queued()
    story.see(admitted(story, 10)).at(11).suspend(on=False).at(12).up().pod("master-0", "Succeeded")
    finished = workload(story, ("Finished", "True", "Succeeded", "Job finished successfully"), at=30)
    assert story.see(finished).last == ()


def test_conditions_and_children_stay_as_the_operator_s() -> None:
    plain, story = TorchStory(training(suspend=True)).submit(), queued()
    story.see(waiting(story, 0))
    assert (story.status, list(story.children)) == (plain.status, list(plain.children))


def test_the_history_tells_it_in_both_languages() -> None:
    story = queued()
    story.see(evicted(story, 20, "Preempted", PREEMPTED))
    (event,) = story.last
    assert summary(story.last) == "evicted by Kueue (Preempted); queue team-a: waits for quota (Pending)"
    said = event_words(event)
    assert not isinstance(said, str)
    assert said.text("zh").startswith("被 Kueue 驱逐")
    assert "等待配额" in said.text("zh")
    assert str(observation_words(story.entries[-1].cause)) == "Workload pytorchjob-retry-1, Evicted"
    assert events_words(story.last) == "QueueChanged waiting (Preempted)"


def test_the_explanation_is_there_in_chinese() -> None:
    answer = explain(preempted(queued()).steps, "zh").answer
    assert answer.startswith("Job 自 2024-01-09 15:00:21 UTC 起挂起")


def test_an_entry_with_a_workload_is_read_as_it_was_written() -> None:
    story = preempted(queued())
    assert [decode(body) for body in story.bodies] == story.entries
    assert [encode(entry) for entry in story.entries] == story.bodies
