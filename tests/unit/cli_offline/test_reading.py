"""`history`, `why`, `replay`, `dead-letters`: what they print, and that no secret is among it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from jobledger.lives.point_in_time import Moment
from jobledger.lives.rendering import span
from statemachine.errors import ConfigError
from tests.unit.cli_offline.conftest import SECRET, Ask, failed, write


def test_history_is_a_line_an_entry(ask: Ask) -> None:
    lines = ask("history", "mnist").out.splitlines()
    assert lines[0].split() == ["SEQ", "TIME", "PHASE", "SEEN", "DECIDED"]
    assert len(lines) == 1 + len(failed().entries)
    assert "2024-01-09T15:00:20Z   Running   pod worker-1 Failed, exit code 7 " in lines[4]
    assert "RestartScheduled worker-1 (1/3)" in lines[4]
    assert lines[-1].split()[2] == "Failed"


@pytest.mark.parametrize(("wish", "seqs"), [("3", [3]), ("2-4", [2, 3, 4]), ("7-", [7, 8]), ("-2", [1, 2])])
def test_entries_are_picked_by_number(ask: Ask, wish: str, seqs: list[int]) -> None:
    entries = json.loads(ask("history", "mnist", f"--seq={wish}", "-o", "json").out)
    assert [item["seq"] for item in entries] == seqs


@pytest.mark.parametrize("wish", [":", "3:7", "x", "1-x", "1-2-3", "²", "9" * 20])
def test_a_number_that_is_none_is_refused(wish: str) -> None:
    with pytest.raises(ConfigError, match="names no entries"):
        span(wish)


def test_entries_that_are_not_there_are_refused_with_those_that_are(ask: Ask) -> None:
    said = ask("history", "mnist", "--seq", "99")
    assert (said.code, said.err.splitlines()[-1]) == (
        2,
        "jobledger: --seq 99: demo/mnist has the entries 1 to 8",
    )


def test_history_as_data_holds_the_entry_as_written_its_hash_and_the_phase_after(ask: Ask) -> None:
    first, second = json.loads(ask("history", "mnist", "--seq", "1-2", "-o", "json").out)
    assert second["prev"] == first["hash"]
    assert (first["phase"], first["cause"]["type"], first["events"][0]["type"]) == (
        "Pending",
        "JobObserved",
        "JobAdmitted",
    )
    assert (
        yaml.safe_load(ask("history", "mnist", "--seq", "1-2", "-o", "yaml").out)[0]["hash"] == first["hash"]
    )


def test_history_as_data_has_a_spec_that_is_written_once_in_cause_and_event(ask: Ask) -> None:
    (first,) = json.loads(ask("history", "mnist", "--seq", "1", "-o", "json").out)
    assert first["v"] == 2
    assert first["cause"]["spec"] == first["events"][0]["spec"]
    assert "replicaSpecs" in first["cause"]["spec"]


def test_full_history_shows_every_field(ask: Ask) -> None:
    out = ask("history", "mnist", "--full", "--seq", "4").out
    assert "budget_before: 3" in out
    assert "exit_code: 7" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["history", "mnist"],
        ["history", "mnist", "--full"],
        ["history", "mnist", "-o", "json"],
        ["history", "mnist", "-o", "yaml"],
        ["why", "mnist"],
        ["why", "mnist", "-o", "json"],
        ["replay", "mnist"],
        ["replay", "--verify"],
        ["dead-letters", "list"],
        ["dead-letters", "list", "-o", "yaml"],
        ["dead-letters", "show", "1"],
    ],
)
def test_no_secret_is_printed(ask: Ask, arguments: list[str]) -> None:
    said = ask(*arguments)
    assert said.code == 0
    assert SECRET not in said.out + said.err


def test_why_answers_with_the_root_cause(ask: Ask) -> None:
    out = " ".join(ask("why", "mnist").out.split())
    assert "Root cause (entry 8, 2024-01-09 15:01:00 UTC) worker-0 failed" in out
    assert "restarts used: 1 of 1" in out


def test_why_as_data_is_the_published_form(ask: Ask) -> None:
    why = json.loads(ask("why", "mnist", "-o", "json").out)
    assert (why["version"], why["phase"], why["rootCause"]["replica"]) == (
        "jobledger.dev/why/v1",
        "Failed",
        "worker-0",
    )


def test_the_answer_is_the_same_after_the_job_was_deleted(ask: Ask, tmp_path: Path) -> None:
    path, story = tmp_path / "later.db", failed()
    write(path, story)
    before = ask("why", "mnist", "--store", path).out
    path = tmp_path / "much-later.db"
    write(path, story.delete().gone("worker-0"))
    after = ask("why", "mnist", "--store", path)
    assert after.out == before
    assert "deleted since" in after.err


def test_replay_gives_the_status_of_then(ask: Ask) -> None:
    now = yaml.safe_load(ask("replay", "mnist").out)
    then = yaml.safe_load(ask("replay", "mnist", "--at", "2024-01-09T15:00:21Z").out)
    first = json.loads(ask("replay", "mnist", "--at", "1", "-o", "json").out)
    assert (now["phase"], then["phase"], first["phase"]) == ("Failed", "Running", "Pending")
    assert (now["backoffCount"], then["backoffCount"], first["backoffCount"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ("0", "--at 0: demo/mnist has the entries 1 to 8"),
        ("9", "--at 9: demo/mnist has the entries 1 to 8"),
        ("2020-01-01", "demo/mnist was not known then; its first entry is of 2024-01-09T15:00:00Z"),
        ("-40000000m", "is no moment"),
        ("noon", "is no moment"),
        ("-5x", "is no moment"),
    ],
)
def test_a_moment_that_is_none_is_refused(ask: Ask, wish: str, says: str) -> None:
    for verb in ("replay", "why"):
        said = ask(verb, "mnist", "--at", wish)
        assert (said.code, said.out) == (2, "")
        assert says in said.err


def test_moments_are_numbers_times_or_a_while_ago() -> None:
    now = datetime(2024, 5, 17, 12, tzinfo=UTC)
    assert Moment.parse("") == Moment()
    assert Moment.parse(" 12 ") == Moment(seq=12)
    assert Moment.parse("2024-05-17T09:30:00") == Moment(time=datetime(2024, 5, 17, 9, 30, tzinfo=UTC))
    assert Moment.parse("2024-05-17T09:30:00+02:00") == Moment(time=datetime(2024, 5, 17, 7, 30, tzinfo=UTC))
    assert Moment.parse("-1h30m", now) == Moment(time=datetime(2024, 5, 17, 10, 30, tzinfo=UTC))


def test_a_whole_store_verifies(ask: Ask) -> None:
    said = ask("replay", "--verify")
    assert said.code == 0
    assert said.out.startswith("ok: 3 jobs, 14 entries, 14 decisions made again, 0 of another policy version")
    assert said.out.endswith("3 snapshots compared\n")


def test_one_job_verifies_alone_and_as_data(ask: Ask) -> None:
    (verdict,) = json.loads(ask("replay", "--verify", "quota", "-o", "json").out)
    assert (verdict["name"], verdict["decidedAgain"], verdict["difference"]) == ("quota", 2, None)


def test_a_difference_is_shown_with_what_was_recorded_and_exit_code_1(ask: Ask, tmp_path: Path) -> None:
    path, story = tmp_path / "changed.db", failed()
    story.bodies[-1] = story.bodies[-1].replace(b"The job has failed", b"All has gone well")
    write(path, story, snapshots=False)
    said = ask("replay", "--verify", "--store", path)
    assert (said.code, said.out.split(":")[0]) == (1, "1 job of 1 not as recorded")
    assert "jobledger: demo/mnist (bbbb-2222), entry 8: event" in said.err
    assert said.err.index("All has gone well") < said.err.index("The job has failed")


def test_replay_needs_one_job(ask: Ask) -> None:
    assert ask("replay").code == 2
    assert ask("replay", "mnist", "quota").code == 2
    assert ask("replay", "mnist", "--verify", "--at", "1").code == 2
