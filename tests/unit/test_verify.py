"""What verification finds, and what it does not complain about."""

from collections.abc import Iterable

from msgspec.structs import replace

from projectors.verify import Verdict, Verification
from statemachine.events import Announced
from statemachine.log.codec import decode, encode, encode_state, entry_hash
from statemachine.log.entry import GENESIS, Entry
from statemachine.log.port import Record, Snapshot
from statemachine.log.reader import Reader
from tests.support.scenario import Story, workers


def story() -> Story:
    story = Story(workers(2)).submit().all_pods("Pending").at(3).all_pods("Running")
    return story.at(9).pod("worker-1", "Failed", exit_code=3).gone("worker-1")


def records(bodies: Iterable[bytes]) -> list[Record]:
    return [Record(number, story().uid, number, body) for number, body in enumerate(bodies, 1)]


def rewritten(bodies: list[bytes], seq: int, change: dict[str, object]) -> list[bytes]:
    """The history with one entry changed, and the hashes behind it made to fit."""
    entries: list[Entry] = [decode(body) for body in bodies]
    entries[seq - 1] = entries[seq - 1].changed(**change)
    prev, result = GENESIS, []
    for entry in entries:
        result.append(encode(entry.changed(prev=prev)))
        prev = entry_hash(result[-1])
    return result


def snapshot(story: Story, seq: int) -> Snapshot:
    reader = Reader()
    for record in records(story.bodies)[:seq]:
        reader.accept(record)
    return next(iter(reader.unsaved()))


def verdict(bodies: Iterable[bytes], *snapshots: Snapshot) -> Verdict:
    verification = Verification(snapshots)
    for record in records(bodies):
        verification.take(record)
    (outcome,) = verification.verdicts()
    return outcome


def test_a_history_as_it_was_written_is_in_order() -> None:
    life = story()
    outcome = verdict(life.bodies, snapshot(life, 4))
    assert outcome.difference is None
    assert (outcome.entries, outcome.decided_again, outcome.only_folded, outcome.snapshots) == (7, 7, 0, 1)
    assert (outcome.namespace, outcome.name) == ("demo", "mnist")


def test_a_changed_byte_breaks_the_chain_behind_it() -> None:
    bodies = story().bodies
    bodies[2] = bodies[2].replace(b"Waiting", b"Running")
    difference = verdict(bodies).difference
    assert difference is not None
    assert difference.seq == 3 or "does not name entry 3" in difference.says


def test_a_missing_entry_is_reported() -> None:
    life = story()
    verification = Verification()
    for record in records(life.bodies):
        if record.seq != 3:
            verification.take(record)
    (outcome,) = verification.verdicts()
    assert outcome.difference is not None
    assert (outcome.difference.seq, outcome.difference.says) == (
        4,
        "the job is at entry 2: what lies between is missing or was refused",
    )


def test_a_decision_that_would_be_another_today_is_shown_with_both_sides() -> None:
    bodies = story().bodies
    events = list(decode(bodies[5]).events)
    place = next(number for number, event in enumerate(events) if isinstance(event, Announced))
    events[place] = Announced(reason="ReplicaRestart", message="as it was said then")
    difference = verdict(rewritten(bodies, 6, {"events": tuple(events)})).difference
    assert difference is not None
    assert (difference.seq, difference.says) == (6, f"event {place + 1} is decided otherwise now")
    assert [body["message"] for body in difference.recorded] == ["as it was said then"]
    assert difference.now[0]["message"].startswith("Restart replica mnist-7ac1b-worker-1")


def test_events_that_are_missing_or_too_many_are_shown() -> None:
    bodies = story().bodies
    events = decode(bodies[0]).events
    fewer = verdict(rewritten(bodies, 1, {"events": events[:-1]})).difference
    more = verdict(
        rewritten(bodies, 1, {"events": (*events, Announced(reason="Odd", message="odd"))})
    ).difference
    assert fewer is not None
    assert (fewer.says, fewer.recorded) == ("more events are decided now", ())
    assert more is not None
    assert (more.says, more.now) == ("fewer events are decided now", ())


def test_entries_of_another_policy_are_folded_and_counted_only() -> None:
    bodies = story().bodies
    events = (*decode(bodies[5]).events, Announced(reason="Odd", message="said by other rules"))
    outcome = verdict(rewritten(bodies, 6, {"events": events, "policy": 99}))
    assert outcome.difference is None
    assert (outcome.decided_again, outcome.only_folded) == (6, 1)


def test_a_record_that_cannot_be_read_is_reported_and_ends_the_history() -> None:
    bodies = story().bodies
    bodies[3] = b"{"
    outcome = verdict(bodies)
    assert outcome.difference is not None
    assert outcome.difference.seq == 4
    assert outcome.difference.says.startswith("the entry is not JSON")
    assert outcome.decided_again == 3


def test_a_snapshot_of_another_state_is_reported() -> None:
    life = story()
    wrong = replace(snapshot(life, 4), body=encode_state(Story(workers(2)).submit().state))
    difference = verdict(life.bodies, wrong).difference
    assert difference is not None
    assert difference.says == "the snapshot holds another state than the entries fold to"


def test_a_snapshot_of_another_entry_is_reported() -> None:
    life = story()
    difference = verdict(life.bodies, replace(snapshot(life, 4), head="0" * 64)).difference
    assert difference is not None
    assert difference.says == "the snapshot names another entry than the log has there"


def test_a_snapshot_ahead_of_the_log_is_reported() -> None:
    life = story()
    difference = verdict(life.bodies[:3], snapshot(life, 4)).difference
    assert difference is not None
    assert difference.says == "a snapshot was taken at entry 4, which the log does not have"


def test_a_snapshot_of_another_layout_is_left_alone() -> None:
    life = story()
    outcome = verdict(life.bodies, replace(snapshot(life, 4), version=99, body=b"?"))
    assert (outcome.difference, outcome.snapshots) == (None, 0)
