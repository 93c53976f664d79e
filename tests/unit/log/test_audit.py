"""Every record that does not belong where it stands, and nothing else."""

from msgspec.structs import replace

from statemachine.log.audit import Verifier, verify
from statemachine.log.codec import decode, encode, entry_hash
from statemachine.log.port import Record
from tests.support.logs import JOB, OTHER, chain, history, placed, said


def flaws(*records: Record) -> list[tuple[int, str]]:
    return [(entry.position, entry.reason) for entry in verify(records)]


def rewritten(record: Record) -> Record:
    changed = decode(record.body).changed(actor="mallory")
    return replace(record, body=encode(changed))


def test_a_whole_log_has_no_flaws() -> None:
    assert flaws(*placed([*history(20), *history(5, OTHER)])) == []


def test_a_changed_entry_is_one_flaw_at_the_entry_behind_it() -> None:
    records = placed(history(9))
    records[3] = rewritten(records[3])
    ((position, reason),) = flaws(*records)
    assert position == 5
    assert reason.startswith("it does not name entry 4")


def test_each_changed_entry_is_a_flaw() -> None:
    records = placed(history(9))
    records[2], records[5] = rewritten(records[2]), rewritten(records[5])
    assert [position for position, _ in flaws(*records)] == [4, 7]


def test_a_changed_last_entry_shows_only_in_the_heads() -> None:
    records = placed(history(3))
    verifier = Verifier()
    changed = rewritten(records[-1])
    assert [verifier.check(record) for record in (*records[:-1], changed)] == [None] * 3
    assert verifier.heads[JOB] == (3, entry_hash(changed.body))


def test_a_missing_entry_is_one_flaw() -> None:
    records = placed(history(6))
    del records[2]
    ((position, reason),) = flaws(*records)
    assert (position, reason) == (4, "the job is at entry 2: what lies between is missing or was refused")


def test_a_repeated_entry_is_a_flaw_and_the_rest_is_not() -> None:
    records = placed(history(4))
    assert flaws(*records[:3], replace(records[1], position=9), records[3]) == [
        (9, "the job has its entry 2 already")
    ]


def test_an_entry_that_names_the_one_before_it_under_a_wrong_number_is_a_flaw() -> None:
    first, second = placed(history(2))
    raw = decode(second.body).changed(seq=5)
    assert flaws(first, replace(second, seq=5, body=encode(raw))) == [
        (2, "the job is at entry 1: what lies between is missing or was refused")
    ]


def test_a_late_writers_branch_is_one_flaw_and_the_history_goes_on() -> None:
    good = history(5)
    late = chain(said("late"), said("later"), said("last"), after=2, prev=entry_hash(good[1].body))
    records = placed([*good[:3], *late, *good[3:]])
    assert [position for position, _ in flaws(*records)] == [4]


def test_an_unreadable_entry_is_a_flaw_and_the_next_may_vouch_for_its_bytes() -> None:
    first = history(1)[0]
    torn = b'{"v":1,"job"'
    rest = chain(said("x"), said("y"), after=2, prev=entry_hash(torn))
    records = [Record(1, JOB, 1, first.body), Record(2, JOB, 2, torn), *placed(rest, after=2)]
    ((position, reason),) = flaws(*records)
    assert position == 2
    assert "not JSON" in reason


def test_an_entry_that_became_unreadable_is_a_flaw_and_so_is_the_link_to_it() -> None:
    records = placed(history(5))
    records[2] = replace(records[2], body=b"\x00")
    assert [position for position, _ in flaws(*records)] == [3, 4]


def test_a_flaw_of_one_job_is_none_of_another() -> None:
    mine, theirs = placed(history(4)), placed(history(4, OTHER), after=4)
    skipped = verify([*mine[:1], *mine[2:], *theirs])
    assert {entry.job for entry in skipped} == {JOB}
