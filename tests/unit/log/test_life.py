"""A job's life step by step: which of its records can be read, and the states between its events."""

import pytest
from msgspec.structs import replace

from statemachine.evolve import fold
from statemachine.log import life as life_module
from statemachine.log.codec import decode
from statemachine.log.entry import Entry
from statemachine.log.life import Life, retold, steps_of
from statemachine.log.port import Record
from statemachine.state import JobState
from tests.support.logs import JOB, accepted, admitted, chain, history, placed
from tests.support.newer import newer_cause
from tests.unit.console.test_timeline import restarted


def records(number: int = 3) -> list[Record]:
    return placed(history(number))


def test_every_event_has_the_state_before_it_and_the_step_the_one_behind_all() -> None:
    state = JobState(JOB)
    for record, step in steps_of(JOB, placed(chain(admitted(), (*accepted(1), *accepted(2)), accepted(3)))):
        assert step.entry == decode(record.body)
        assert step.before == state
        for event, before in step.moments():
            assert before == state
            state = fold(state, [event])
        assert step.state == state
        assert (step.whole, step.fault) == (True, "")


def test_an_entry_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[bytes] = []

    def counted(body: bytes) -> Entry:
        bodies.append(body)
        return decode(body)

    monkeypatch.setattr(life_module, "decode", counted)
    monkeypatch.setattr(life_module, "decode_events", counted)
    given = records(5)
    assert all(step.whole for _, step in steps_of(JOB, given))
    assert bodies == [record.body for record in given]


def test_entries_that_count_give_the_same_steps_when_they_are_read_again() -> None:
    story = restarted()
    given = [Record(seq, story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]
    steps = [step for _, step in steps_of(story.uid, given)]
    assert list(retold(JobState(story.uid), story.entries)) == steps
    assert list(retold(steps[3].state, story.entries[4:])) == steps[4:]


def test_a_record_that_does_not_count_changes_nothing_and_says_why() -> None:
    first, second, third = records()
    again, last = [step for _, step in steps_of(JOB, [first, second, second, third])][2:]
    assert (again.entry, again.events, again.whole) == (None, (), False)
    assert again.fault == "the job has its entry 2 already"
    assert again.before is again.state
    assert (last.whole, last.state.accepted) == (True, again.state.accepted + 1)


def test_behind_a_record_that_cannot_be_read_there_is_no_step() -> None:
    first, second, third = records()
    _, broken, behind = [step for _, step in steps_of(JOB, [first, replace(second, body=b"{}"), third])]
    assert broken.fault.startswith("the entry cannot be read")
    assert behind.fault == "the job is in quarantine"
    assert [broken.whole, behind.whole] == [False, False]


def test_what_a_newer_release_observed_is_folded_and_ends_the_steps() -> None:
    life = Life(JOB)
    steps = [life.add(record) for record in placed(newer_cause())]
    assert [step.entry is None for step in steps] == [False, True, False]
    assert [step.whole for step in steps] == [True, False, False]
    assert "cause" in steps[1].fault
    assert [[event.type for event in step.events] for step in steps[1:]] == [["Announced"], ["Announced"]]
    assert life.tracked.seq == 3
