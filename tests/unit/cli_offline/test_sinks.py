"""`jobledger events sinks` and `events failed`: what operators are shown, and what they may ask for."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.receivers import Hook
from tests.unit.cli_offline.conftest import SECRET, Ask


@pytest.fixture
def publish(
    ask: Ask, hook: Hook, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], int]:
    """Feeds the sink `pager`, which is in the file of sinks, once."""
    sinks = tmp_path / "sinks.yaml"
    sinks.write_text(f"""sinks:
- {{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: {key}}}]}}
- {{name: archive, type: file, path: {tmp_path / "archive"}}}
""")
    monkeypatch.setenv("JOBLEDGER_EVENTS__SINKS", str(sinks))
    words = ("events", "publish", "--to", hook.url, "--key", key, "--once", "--name", "pager")
    return lambda: ask(*words, "--give-up-after", "0").code


def rows(ask: Ask) -> dict[str, list[str]]:
    said = ask("events", "sinks", "list")
    assert said.code == 0
    return {line.split()[0]: line.split() for line in said.out.splitlines()[1:]}


def test_sinks_are_listed_with_how_far_behind_they_are(ask: Ask, publish: Callable[[], int]) -> None:
    before = rows(ask)
    assert before["pager"][1] == "webhook"
    assert int(before["pager"][2]) > 5
    assert before["archive"] == ["archive", "file", "-", "0", "on"]
    publish()
    assert rows(ask)["pager"] == ["pager", "webhook", "0", "0", "on"]


def test_a_ledger_without_sinks_says_so(ask: Ask) -> None:
    assert ask("events", "sinks", "list").out == "no sinks: the setting events.sinks names a file of them\n"
    assert (
        ask("events", "failed", "list").out
        == "no failures: every event was delivered, or waits for its turn\n"
    )


def test_a_list_leaves_the_store_as_it_is(ask: Ask, tmp_path: Path) -> None:
    store = next(tmp_path.rglob("*.db"))
    before = _tables(store)
    assert ask("events", "sinks", "list").code == 0
    assert ask("events", "failed", "list").code == 0
    assert _tables(store) == before
    assert "positions" not in before


def _tables(store: Path) -> dict[str, int]:
    """Rows of each table."""
    with closing(sqlite3.connect(store)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}  # noqa: S608


def test_a_sink_that_is_off_gets_nothing_until_it_is_on(
    ask: Ask, hook: Hook, publish: Callable[[], int]
) -> None:
    assert ask("events", "sinks", "disable", "pager").code == 0
    assert rows(ask)["pager"][4] == "off:"
    assert publish() == 2
    assert hook.bodies == []
    assert ask("events", "sinks", "enable", "pager").code == 0
    assert publish() == 0
    assert hook.bodies


def test_410_switches_a_sink_off(ask: Ask, hook: Hook, publish: Callable[[], int]) -> None:
    hook.status = lambda _: 410
    assert publish() == 2
    assert "410" in ask("events", "sinks", "list").out
    hook.status = lambda _: 204
    assert publish() == 2
    ask("events", "sinks", "enable", "pager")
    assert publish() == 0


def test_a_sink_goes_on_at_the_place_that_it_is_given(
    ask: Ask, hook: Hook, publish: Callable[[], int]
) -> None:
    assert ask("events", "sinks", "reset", "pager", "--to", "end").code == 0
    publish()
    assert hook.bodies == []
    ask("events", "sinks", "reset", "pager", "--to", "beginning")
    publish()
    count = len(hook.bodies)
    assert count > 10
    publish()
    assert len(hook.bodies) == count


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("sinks", "enable", "pagr"), 'there is no sink "pagr"; did you mean "pager"?'),
        (("sinks", "reset", "pager", "--to", "noon"), '"noon" is no place to begin'),
        (("sinks", "reset", "archive", "--to", "end"), "goes on behind the last line of its files"),
        (("sinks", "test", "archive"), "is no web hook and no lineage system"),
        (("failed", "drop", "u/1/0", "--sink", "pager"), "the sink pager has no failure u/1/0"),
        (("failed", "retry", "--sink", "pager"), "give IDs, or --all"),
        (("failed", "show", "u/1/0"), "the log gives no event u/1/0"),
    ],
)
@pytest.mark.usefixtures("publish")
def test_what_is_wrong_is_one_sentence(ask: Ask, words: tuple[str, ...], sentence: str) -> None:
    said = ask("events", *words)
    assert said.code == 2
    assert sentence in " ".join(said.err.split())
    assert "Traceback" not in said.err


def test_a_cursor_of_another_ledger_is_refused(ask: Ask, publish: Callable[[], int]) -> None:
    publish()
    said = ask("events", "sinks", "reset", "pager", "--to", "1-00000000-1")
    assert said.code == 2
    assert "the cursor is of another ledger" in said.err


def test_a_sink_is_tried_with_the_newest_event(ask: Ask, hook: Hook, publish: Callable[[], int]) -> None:
    publish()
    sent = list(hook.bodies)
    assert ask("events", "sinks", "test", "pager").out == "the sink pager took the newest event\n"
    assert hook.bodies[:-1] == sent
    assert hook.bodies[-1] in sent
    hook.status = lambda _: 418
    said = ask("events", "sinks", "test", "pager")
    assert said == (1, "", "jobledger: the sink pager did not take the event: the receiver answered 418\n")


def test_what_was_refused_is_sent_again_or_forgotten(
    ask: Ask, hook: Hook, publish: Callable[[], int]
) -> None:
    hook.status = lambda event: 500 if event["type"].startswith("dev.jobledger.job.") else 204
    assert publish() == 1
    failures = json.loads(ask("events", "failed", "list", "--sink", "pager", "-o", "json").out)
    assert len(failures) > 2
    assert {failure["error"] for failure in failures} == {"the receiver answered 500"}
    first, second, *_ = (failure["event"] for failure in failures)
    shown = json.loads(ask("events", "failed", "show", first).out)
    assert shown["id"] == first
    assert SECRET not in str(shown)

    said = ask("events", "failed", "retry", first, "--sink", "pager")
    assert (said.code, said.out) == (1, "")
    hook.status = lambda _: 204
    assert ask("events", "failed", "retry", first, "--sink", "pager") == (0, f"delivered {first}\n", "")
    assert json.loads(hook.bodies[-1]) == shown
    assert ask("events", "failed", "drop", second, "--sink", "pager").out == f"dropped {second}\n"
    assert int(rows(ask)["pager"][3]) == len(failures) - 2
    assert ask("events", "failed", "retry", "--all", "--sink", "pager").code == 0
    assert rows(ask)["pager"][3] == "0"
