"""`jobledger events` on a store: what it prints and writes, and what it refuses."""

import json
from pathlib import Path

import pytest
import yaml

from jobledger.publishing.filters import Sought, Wanted
from projectors.contract.asyncapi import document
from statemachine.log.identity import identity
from tests.unit.cli_offline.conftest import SECRET, Ask, job, write


def exported(ask: Ask, path: Path) -> list[bytes]:
    assert ask("events", "export", "--to", path).code == 0
    return path.read_bytes().splitlines(keepends=True)


def test_all_events_are_written_to_a_file_a_directory_and_standard_output_alike(
    ask: Ask, tmp_path: Path
) -> None:
    lines = exported(ask, tmp_path / "a.jsonl")
    assert ask("events", "export", "--to", tmp_path).out == f"{len(lines)} events in {tmp_path}\n"
    assert (tmp_path / "events.jsonl").read_bytes() == b"".join(lines)
    assert ask("events", "export", "--to", "-").out.encode() == b"".join(lines)
    assert not list(tmp_path.glob(".*.part"))
    assert SECRET.encode() not in b"".join(lines)


def test_the_source_has_the_name_of_the_ledger(
    ask: Ask, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBLEDGER_LEDGER__NAME", "prod-1")
    [first, *_] = exported(ask, tmp_path / "a.jsonl")
    assert json.loads(first)["source"].startswith("jobledger://prod-1/demo/pytorchtrainingjobs.")
    assert identity(store).name == "prod-1"
    monkeypatch.setenv("JOBLEDGER_LEDGER__NAME", "prod-2")
    said = ask("events", "export", "--to", "-")
    assert said.code == 2
    assert "is called prod-1" in said.err


def test_a_span_of_time_is_written_alone(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    ask(
        "events", "export", "--to", path, "--since", "2024-01-09T15:00:20Z", "--until", "2024-01-09T15:00:25Z"
    )
    times = {json.loads(line)["recordedtime"] for line in path.read_bytes().splitlines()}
    assert times == {"2024-01-09T15:00:20.000000Z"}


@pytest.mark.parametrize(
    ("more", "subjects"),
    [
        (("--type", "job.failed"), {"mnist"}),
        (("--type", "dev.jobledger.job.child_*"), {"quota"}),
        (("quota", "--type", "job.*"), {"quota"}),
        (("demo/quota", "--type", "job.*"), {"quota"}),
        (("cccc", "--type", "job.*"), {"quota"}),
        (("-n", "other"), set()),
        (("-l", "team=a"), set()),
        (("--after", "2030-01-01T00:00:00Z"), set()),
    ],
)
def test_events_are_chosen(ask: Ask, more: tuple[str, ...], subjects: set[str]) -> None:
    lines = ask("events", "tail", "-o", "jsonl", *more).out.splitlines()
    assert {json.loads(line)["subject"] for line in lines} == subjects


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("quoter",), 'no job "quoter"; did you mean "quota"?'),
        (("quota", "-n", "other"), 'no job "quota" in namespace "other"; '),
        (("other/quota",), 'no job "other/quota"; did you mean "demo/quota"?'),
        (("0123456789",), 'no job "0123456789"; `jobledger get -A` lists all jobs'),
        (("ccc",), 'no job "ccc"; '),
    ],
)
def test_a_job_that_the_log_does_not_have_is_named(ask: Ask, more: tuple[str, ...], sentence: str) -> None:
    said = ask("events", "tail", *more)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"jobledger: the log has {sentence}")


@pytest.mark.parametrize(
    "more", [("-l", "team=a"), ("--after", "2030-01-01T00:00:00Z"), ("--type", "job.expired")]
)
def test_a_job_without_an_event_that_is_wanted_is_no_mistake(ask: Ask, more: tuple[str, ...]) -> None:
    assert ask("events", "tail", "quota", *more) == (0, "", "")


def test_a_log_that_is_followed_is_said_once_to_have_no_such_job_yet() -> None:
    sought = Sought(Wanted("quota", namespace="demo"))
    sentence = 'the log has no job "quota" in namespace "demo" yet; events follow once there is one'
    assert [sought.missing((), follows=True) for _ in range(2)] == [sentence, ""]


def test_a_job_that_is_held_is_in_the_log_though_nothing_of_it_is_published() -> None:
    sought = Sought(Wanted("cccc"))
    assert not sought.missing(["cccc-3333"], follows=False)
    assert sought.missing(["dddd-3333"], follows=False)


def test_events_are_listed_for_people(ask: Ask) -> None:
    said = ask("events", "tail", "--type", "job.failed")
    assert said.out.split() == ["2024-01-09T15:01:00.000000Z", "ERROR", "job.failed", "demo/mnist"]


def test_what_is_exported_is_verified_and_valid(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    count = len(exported(ask, path))
    assert (
        ask("events", "verify", "--in", f"file:{path}").out
        == f"ok: {count} events of the log, {count} in {path}\n"
    )
    assert ask("events", "validate", path) == (0, f"{count} events, none of them wrong\n", "")


def test_every_damage_of_a_file_is_named(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = exported(ask, path)
    foreign = lines[0].replace(b'"aaaa-1111/1/0"', b'"zzzz/1/0"', 1)
    changed = lines[1].replace(b"Pending", b"pending")
    path.write_bytes(b"".join([changed, foreign, *lines[3:5], lines[4], lines[2], b"torn"]))
    said = ask("events", "verify", "--in", f"file:{path}")
    names = [line.split(": ")[1] for line in said.err.splitlines()]
    assert said.code == 1
    assert set(names) == {"duplicate", "damaged", "missing", "different", "out of order", "extra"}
    assert "more" in said.err


def test_what_a_file_says_against_the_contract_is_named_by_line(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = exported(ask, path)[0]
    bad = [
        good.replace(b'"accepted":true', b'"accepted":"so"'),
        good.replace(b"job.created.v1", b"job.made.v1"),
    ]
    path.write_bytes(b"".join([good, *bad, b"{\n", good.replace(b'"id"', b'"no"')]))
    said = ask("events", "validate", path)
    assert said.code == 2
    assert [line.partition(": ")[0] for line in said.err.splitlines()] == [
        f"{path}:{n}" for n in (2, 3, 4, 5)
    ]
    assert "accepted" in said.err
    assert said.out == "5 events, 4 of them wrong\n"


def test_a_job_that_cannot_be_read_is_held_and_said_to_be(ask: Ask, store: Path, tmp_path: Path) -> None:
    store.unlink()
    write(store, job("mnist", "eeee-5555").submit().all_pods("Running"), broken="mnist", snapshots=False)
    said = ask("events", "export", "--to", tmp_path / "a.jsonl")
    assert said.code == 1
    assert "job eeee-5555 is not published from entry 2 on" in said.err


def test_events_are_published_to_a_directory_once(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    lines = exported(ask, tmp_path / "a.jsonl")
    publish = ("events", "publish", "--to", f"file:{folder}", "--once")
    assert ask(*publish) == (0, f"{len(lines)} events more in {folder}\n", "")
    path = folder / "events-1.jsonl"
    assert path.read_bytes() == b"".join(lines)
    path.write_bytes(path.read_bytes()[:-10])
    assert ask("events", "verify", "--in", f"file:{folder}").code == 1
    assert ask(*publish).out == f"1 event more in {folder}\n"
    assert ask("events", "verify", "--in", f"file:{folder}").code == 0


def test_a_publisher_says_which_jobs_it_cannot_read(ask: Ask, store: Path, tmp_path: Path) -> None:
    store.unlink()
    write(store, job("mnist", "eeee-5555").submit().all_pods("Running"), broken="mnist", snapshots=False)
    said = ask("events", "publish", "--to", f"file:{tmp_path / 'archive'}", "--once")
    assert said.code == 1
    assert "job eeee-5555 is not published from entry 2 on" in said.err


def test_a_schema_is_printed_open_or_closed(ask: Ask) -> None:
    opened, closed = (
        json.loads(ask("events", "schema", "job.failed", *more).out) for more in ((), ("--closed",))
    )
    assert opened["$id"].endswith("/1.0/job.failed.json")
    assert "additionalProperties" not in opened
    assert closed["additionalProperties"] is False
    assert "replica.restart_denied" in ask("events", "schema").out


def test_the_asyncapi_document_is_printed_as_yaml_or_json(ask: Ask) -> None:
    assert yaml.safe_load(ask("events", "asyncapi").out) == document()
    assert json.loads(ask("events", "asyncapi", "--json").out) == document()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("tail", "--type", "job.made"), "no type of public event"),
        (("tail", "--after", "end"), "--follow"),
        (("tail", "--after", "soon"), "is no place to begin"),
        (("export", "--to", "/nowhere/a"), "cannot be written"),
        (("export", "--to", "-", "--since", "soon"), "is no time"),
        (("publish", "--to", "archive"), "needs file:DIR"),
        (("publish", "--to", "file:/nowhere/a"), "cannot be written"),
        (("publish", "--to", "https://hooks.example:65536/x"), "ports are numbers from 1 to 65535"),
        (("publish", "--to", "kafka://one:65536/topic"), "ports are numbers from 1 to 65535"),
        (("publish", "--to", "file:/dev/null"), "is a file"),
        (("verify", "--in", "a.jsonl"), "file:PATH"),
        (("verify", "--in", "file:/nowhere"), "cannot be read"),
        (("validate", "/nowhere"), "cannot be read"),
        (("schema", "job.made"), "no type of public event"),
        (("schema", "job.*"), "several types"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(ask: Ask, words: tuple[str, ...], sentence: str) -> None:
    said = ask("events", *words)
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert sentence in said.err


def test_a_setting_that_is_no_list_of_resources_is_named(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBLEDGER_ACCOUNTING__GPU_RESOURCES", "a=b")
    said = ask("events", "export", "--to", "-")
    assert said.code == 2
    assert "accounting.gpu_resources must be" in said.err


def test_without_a_store_nothing_is_published(ask: Ask, tmp_path: Path) -> None:
    assert ask("events", "tail", "--store", tmp_path / "none.db").code == 3
