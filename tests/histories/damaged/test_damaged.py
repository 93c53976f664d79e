"""Damaged histories get the verdict that they must get, at the place where the damage is."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from projectors.verify import Verdict, Verification
from statemachine.ids import JobUid
from statemachine.log.codec import decode
from statemachine.log.port import EntryDraft, Record, Snapshot
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.upcasters import UPCASTERS, Raw
from tests.harness.program import run
from tests.histories.damaged.cases import CASES, NEWEST, OTHER, Case, event
from tests.histories.damaged.mutations import Records, forged, reversed_
from tests.histories.record import HERE
from tests.support.scenario import Story, workers


def records(life: str = "restarted", folder: str = NEWEST) -> list[Record]:
    """A recorded life as a log holds it."""
    bodies = (HERE / folder / f"{life}.jsonl").read_bytes().splitlines()
    return [Record(seq, decode(body).job, seq, body) for seq, body in enumerate(bodies, 1)]


def verdicts(log: Iterable[Record], *snapshots: Snapshot) -> Sequence[Verdict]:
    """What verification says of each job."""
    verification = Verification(snapshots)
    for record in log:
        verification.take(record)
    return verification.verdicts()


def summed_up(case: Case, reported: Sequence[Verdict]) -> tuple[str, int, str]:
    """The verdict, and the place and the text of what it is for."""
    for verdict in reported:
        if verdict.difference is not None:
            return "invalid", verdict.difference.seq, verdict.difference.says
    for verdict in reported:
        for warning in verdict.warnings:
            return "warning", warning.seq, warning.says
    return "valid", case.at, case.says


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_damaged_history_gets_its_verdict_where_it_is_damaged(case: Case) -> None:
    verdict, at, says = summed_up(case, verdicts(case.damage(records(case.life, case.release))))
    assert (verdict, at) == (case.verdict, case.at), says
    assert case.says in says


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_damaged_history_folds_as_far_as_it_holds(case: Case) -> None:
    reader = Reader()
    log = case.damage(records(case.life, case.release))
    assert sum(reader.accept(record) is not None for record in log) == case.folds


def test_there_are_cases_of_every_verdict_and_no_two_of_a_name() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 40
    assert set(Counter(case.verdict for case in CASES)) == {"valid", "warning", "invalid"}


# ---- several jobs ------------------------------------------------------------------------------------------------


def other() -> list[Record]:
    """Another job's history, under a uid of its own."""
    bodies = (
        Story(workers(2), uid=OTHER).submit().all_pods("Running").at(9).pod("worker-0", "Succeeded").bodies
    )
    return [Record(seq, JobUid(OTHER), seq, body) for seq, body in enumerate(bodies, 1)]


def mixed(*logs: Records) -> Records:
    """The records of several jobs, by turns."""
    by_turns = sorted((seq, number) for number, log in enumerate(logs) for seq in range(len(log)))
    return [replace(logs[number][seq], position=at) for at, (seq, number) in enumerate(by_turns, 1)]


def test_two_jobs_by_turns_are_both_in_order() -> None:
    reported = verdicts(mixed(records(), other()))
    assert [(verdict.entries, verdict.difference, verdict.warnings) for verdict in reported] == [
        (10, None, []),
        (len(other()), None, []),
    ]


def test_a_damage_of_one_job_is_none_of_the_other() -> None:
    mine, theirs = verdicts(mixed(reversed_(records()), other()))
    assert mine.difference is not None
    assert theirs.difference is None


def test_an_entry_that_stands_under_another_job_is_missing_in_one_and_too_much_in_the_other() -> None:
    log = mixed(records(), other())
    moved = [
        replace(record, job=JobUid(OTHER)) if record.body == records()[3].body else record for record in log
    ]
    mine, theirs = verdicts(moved)
    assert mine.difference is not None
    assert (mine.difference.seq, mine.difference.says[:21]) == (5, "the job is at entry 3")
    assert theirs.difference is not None
    assert (theirs.difference.seq, theirs.difference.says[:21]) == (4, "it says that it is en")


# ---- snapshots ---------------------------------------------------------------------------------------------------


def snapshot(seq: int, life: str = "restarted") -> Snapshot:
    """The state of a life behind one of its entries, as it is saved."""
    reader = Reader()
    for record in records(life)[:seq]:
        reader.accept(record)
    return next(iter(reader.unsaved()))


@pytest.mark.parametrize("seq", [1, 4, 10])
def test_a_snapshot_of_the_history_is_in_order(seq: int) -> None:
    (verdict,) = verdicts(records(), snapshot(seq))
    assert (verdict.difference, verdict.snapshots) == (None, 1)


@pytest.mark.parametrize(
    ("changed", "at", "says"),
    [
        ({"head": "0" * 64}, 4, "names another entry"),
        ({"seq": 5}, 5, "names another entry"),
        ({"body": snapshot(3).body}, 4, "holds another state"),
        ({"body": snapshot(4).body[:-1]}, 4, "cannot be read"),
        ({"body": b""}, 4, "cannot be read"),
        ({"seq": 11}, 11, "which the log does not have"),
    ],
    ids=["head", "seq", "state", "torn", "empty", "ahead"],
)
def test_a_snapshot_that_does_not_match_is_reported(changed: Raw, at: int, says: str) -> None:
    (verdict,) = verdicts(records(), replace(snapshot(4), **changed))
    assert verdict.difference is not None
    assert verdict.difference.seq == at
    assert says in verdict.difference.says


def test_a_snapshot_of_a_job_that_the_log_does_not_have_is_reported() -> None:
    sound, lost = verdicts(records(), replace(snapshot(4), job=JobUid(OTHER)))[::-1]
    assert sound.difference is None
    assert lost.difference is not None
    assert lost.difference.says == "a snapshot was taken at entry 4, which the log does not have"


# ---- versions ----------------------------------------------------------------------------------------------------


def _is_failed_again(raw: Raw) -> Raw:
    return {**raw, "type": "ReplicaFailed", "v": 1}


def test_an_event_of_an_older_version_is_in_order_with_its_upcaster_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = forged(4, event(0, type="ReplicaBroke"))(records())
    assert verdicts(log)[0].difference is not None
    monkeypatch.setitem(UPCASTERS, ("ReplicaBroke", 1), _is_failed_again)
    (verdict,) = verdicts(log)
    assert (verdict.difference, verdict.decided_again) == (None, 10)


@pytest.mark.parametrize(
    "path", sorted(HERE.glob("0.1.0*/*.jsonl")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_a_history_of_any_policy_is_in_order(path: Path) -> None:
    (verdict,) = verdicts(records(path.stem, path.parent.name))
    assert (verdict.difference, verdict.warnings) == (None, [])


def test_a_spec_of_a_megabyte_is_in_order() -> None:
    spec = workers(1)
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["x" * 1_000_000]
    story = Story(spec).submit().all_pods("Running")
    reported = verdicts([Record(seq, story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)])
    assert [(verdict.difference, verdict.decided_again) for verdict in reported] == [
        (None, len(story.bodies))
    ]


# ---- the program -------------------------------------------------------------------------------------------------

CODES = {"valid": 0, "warning": 0, "invalid": 1}


async def _stored(path: Path, log: Records) -> None:
    store = await SqliteLog.open(path)
    await store.append([EntryDraft(record.job, record.seq, record.body) for record in log])
    await store.close()


@pytest.mark.parametrize(
    "name", ["whole", "clock_put_back", "newer_policy", "entry_removed", "entry_torn", "cause_forged"]
)
def test_the_program_says_what_is_wrong_with_a_store_and_where(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    asyncio.run(_stored(tmp_path / "ledger.db", case.damage(records(case.life))))
    said = run("replay", "--verify", "-o", "json", "--store", str(tmp_path / "ledger.db"))
    (reported,) = json.loads(said.stdout)
    findings = [*([reported["difference"]] if reported["difference"] else []), *reported["warnings"]]
    places = {(finding["seq"], case.says in finding["says"]) for finding in findings[:1]}
    assert (said.returncode, places) == (CODES[case.verdict], {(case.at, True)} if case.at else set())
    assert (f", entry {case.at}: " in said.stderr) == (case.verdict != "valid")
    assert ("jobledger: warning: " in said.stderr) == (case.verdict == "warning")
