"""`jobledger events publish --to openlineage+http://…` tells a real server of every job as one run."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lineage_systems import Marquez, lineage_system
from tests.support.openlineage import differences
from tests.support.planted import MARK
from tests.support.scenario import Story, workers
from tests.unit.cli_offline.conftest import SECRET, Ask, write


@pytest.fixture
def marquez() -> Iterator[Marquez]:
    with lineage_system() as server:
        yield server


def test_every_job_of_a_log_is_a_run(ask: Ask, marquez: Marquez, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a-key-1")
    said = ask("events", "publish", "--to", f"openlineage+{marquez.url}", "--key", tmp_path / "key", "--once")
    assert said == (0, f"{len(marquez.events)} events sent\n", "")
    assert marquez.keys == {"Bearer a-key-1"}
    runs: dict[str, list[str]] = {}
    for event in marquez.events:
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert runs
    assert any("FAIL" in states for states in runs.values())
    for states in runs.values():
        assert states.count("START") <= 1
    text = json.dumps(marquez.events)
    assert SECRET not in text
    assert MARK not in text
    uuids = {uid: f"00000000-0000-0000-0000-{number:012}" for number, uid in enumerate(runs)}
    for event in marquez.events:
        event["run"]["runId"] = uuids[event["run"]["runId"]]
        assert differences(event) == []


def test_a_named_sink_goes_on_where_it_ended(ask: Ask, marquez: Marquez) -> None:
    ask("events", "publish", "--to", f"openlineage+{marquez.url}", "--name", "lineage", "--once")
    count = len(marquez.events)
    assert count
    said = ask("events", "publish", "--to", f"openlineage+{marquez.url}", "--name", "lineage", "--once")
    assert (said.code, said.out) == (0, "0 events sent\n")
    assert len(marquez.events) == count


def test_an_end_that_was_given_up_is_sent_again_behind_the_start_of_its_run(
    ask: Ask, store: Path, marquez: Marquez, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, Story(workers(-1), name="refused", uid="dddd-4444").submit(), snapshots=False)
    (tmp_path / "sinks.yaml").write_text(
        f"sinks: [{{name: lineage, type: openlineage, transport: {{type: http, url: '{marquez.url}'}}}}]"
    )
    monkeypatch.setenv("JOBLEDGER_EVENTS__SINKS", str(tmp_path / "sinks.yaml"))
    marquez.status = lambda event: 500 if event["eventType"] == "FAIL" else 201
    words = ("--to", f"openlineage+{marquez.url}", "--name", "lineage", "--once", "--give-up-after", "0")
    assert ask("events", "publish", *words).code == 1
    marquez.status = lambda _: 201
    marquez.events.clear()
    assert ask("events", "failed", "retry", "--all", "--sink", "lineage").code == 0
    sent = [(event["run"]["runId"], event["eventType"]) for event in marquez.events]
    assert ("dddd-4444", "FAIL") in sent
    assert sent.index(("dddd-4444", "START")) < sent.index(("dddd-4444", "FAIL"))


@pytest.mark.parametrize(
    ("to", "more", "words"),
    [
        ("openlineage+https://marquez.example", ("--type", "job.failed"), "takes no --type"),
        ("openlineage+https://marquez.example", ("--handshake",), "takes no --handshake"),
        (
            "openlineage+ftp://marquez.example",
            (),
            "--to needs file:DIR, kafka:, https://… or openlineage+https://…",
        ),
        ("openlineage+http://marquez.example", (), "without TLS"),
        ("openlineage+https://marquez.example:65536", (), "ports are numbers from 1 to 65535"),
        ("openlineage+https://marquez.example:0", (), "ports are numbers from 1 to 65535"),
        ("openlineage+https://marquez.example", ("--key", "no-such-file"), "cannot be read"),
    ],
)
def test_a_wrong_option_is_one_sentence(ask: Ask, to: str, more: tuple[str, ...], words: str) -> None:
    said = ask("events", "publish", "--to", to, "--once", *more)
    assert said.code == 2
    assert words in said.err
    assert said.err.count("\n") == 1
