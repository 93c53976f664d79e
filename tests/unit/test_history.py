"""The sentences of the history view, and how a store holds instants."""

from datetime import datetime, timedelta
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from projectors.history.phrases import summary
from projectors.history.sqlite import text
from statemachine.events import (
    Announced,
    Cause,
    CauseClass,
    Event,
    LabelsChanged,
    ReplicaFailed,
    ReplicaUpdated,
    RestartScheduled,
    TimerSet,
)
from statemachine.ids import PodUid, replica_name
from statemachine.observations import Container, ContainerStatus
from tests.support.arbitrary import arbitrary
from tests.support.logs import START

WORKER = replica_name("worker", 1)
OUT_OF_MEMORY = Cause(kind=CauseClass.OUT_OF_MEMORY, rule="T11", exit_code=137)


def test_a_summary_says_the_events_in_order() -> None:
    failed = ReplicaFailed(replica=WORKER, uid=PodUid("u"), cause=OUT_OF_MEMORY)
    restart = RestartScheduled(replica=WORKER, spent=1, limit=2, cause=OUT_OF_MEMORY)
    assert (
        summary([failed, restart])
        == "worker-1 failed (out of memory, exit code 137); worker-1 restart 1 of 2"
    )


def test_a_summary_leaves_timers_out_if_there_is_more_to_say() -> None:
    timer = TimerSet(timer="deadline", due_at=START)
    assert summary([timer, Announced(reason="Noted", message="yes")]) == "Noted: yes"
    assert summary([timer]) == "timer deadline set for 2024-05-17T09:30:00+00:00"


def test_labels_are_one_phrase_however_many_there_are() -> None:
    assert summary([LabelsChanged(labels={"team": "a", "batch": ""})]) == "labels are now team=a, batch"
    assert summary([LabelsChanged()]) == "labels removed"
    many = LabelsChanged(labels={f"k{at}": "v" for at in range(64)})
    assert summary([many]) == "labels are now k0=v, k1=v, k2=v, k3=v, k4=v, 59 more"


def test_a_container_that_ends_beside_others_is_what_an_update_tells() -> None:
    ended = Container(name="train", state=ContainerStatus.TERMINATED, exit_code=7)
    other = Container(name="beside", state=ContainerStatus.RUNNING)
    update = ReplicaUpdated(replica=WORKER, uid=PodUid("u"), containers=(ended, other), ready=True)
    assert summary([update]) == "worker-1 container train ended, exit code 7"
    assert summary([update.changed(containers=(other,))]) == "worker-1 ready"
    assert summary([update.changed(deleting=True)]) == "worker-1 is being deleted"


def test_an_entry_without_events_has_an_empty_summary() -> None:
    assert summary([]) == ""


@given(st.sampled_from(get_args(Event)).flatmap(arbitrary))
def test_every_event_has_a_phrase(event: Event) -> None:
    assert summary([event])


def test_instants_are_stored_such_that_texts_sort_as_time_does() -> None:
    moments = [START + timedelta(microseconds=step) for step in (-1, 0, 1, 999_999, 10**9)]
    texts = [text(moment) for moment in moments]
    assert texts == sorted(texts)
    assert [datetime.fromisoformat(word) for word in texts] == moments
