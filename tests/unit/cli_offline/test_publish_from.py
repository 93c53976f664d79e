"""`--from` of `jobledger events publish` and `verify`, and `tail --after`, with times and cursors of the log."""

import asyncio
import json
from pathlib import Path

import pytest

from jobledger.publishing.cursors import Cursor, LogPlace, short_id
from statemachine.ids import JobUid, Position
from statemachine.log.identity import known_identity
from statemachine.log.sqlite import SqliteLog
from tests.support.receivers import Hook
from tests.unit.cli_offline.conftest import Ask


@pytest.fixture
def lines(ask: Ask) -> list[bytes]:
    """All events of the log, in its order."""
    return ask("events", "tail", "-o", "jsonl").out.encode().splitlines()


@pytest.fixture
def admitted(store: Path, lines: list[bytes]) -> LogPlace:
    """Behind the entry that admits the third job; some events have been made of the log, so the ledger has a name."""

    async def position() -> Position:
        log = await SqliteLog.open(store, read_only=True)
        try:
            batches = [batch async for batch in log.scan(job=JobUid("cccc-3333"))]
            return batches[0][0].position
        finally:
            await log.close()

    assert lines
    return LogPlace(asyncio.run(position()))


def cursor_at(store: Path, place: LogPlace) -> str:
    identity = known_identity(store)
    assert identity is not None
    return str(Cursor(short_id(identity.id), (place,)))


@pytest.fixture
def cursor(store: Path, admitted: LogPlace) -> str:
    """Behind the second event of that entry."""
    return cursor_at(store, admitted._replace(event=1))


@pytest.fixture
def whole(store: Path, admitted: LogPlace) -> str:
    """Behind all of that entry."""
    return cursor_at(store, admitted)


def rest(lines: list[bytes]) -> list[bytes]:
    """What stands behind the cursor."""
    of_job = [line for line in lines if json.loads(line)["correlationid"] == "cccc-3333"]
    left = [line for line in of_job if not json.loads(line)["id"].endswith(("/1/0", "/1/1"))]
    assert 0 < len(left) < len(of_job)
    return left


def written(folder: Path) -> list[bytes]:
    return (folder / "events-1.jsonl").read_bytes().splitlines()


def test_files_hold_what_is_behind_a_cursor_and_go_on_without_it(
    ask: Ask, tmp_path: Path, lines: list[bytes], cursor: str
) -> None:
    folder = tmp_path / "archive"
    words = ("events", "publish", "--to", f"file:{folder}", "--once")
    said = ask(*words, "--from", cursor)
    left = rest(lines)
    assert said == (0, f"{len(left)} events more in {folder}\n", "")
    assert written(folder) == left
    for more in (("--from", cursor), ()):
        assert ask(*words, *more) == (0, f"0 events more in {folder}\n", "")
    assert ask("events", "verify", "--in", f"file:{folder}", "--from", cursor).code == 0
    whole = ask("events", "verify", "--in", f"file:{folder}")
    assert whole.code == 1
    assert whole.err.count("missing: ") > 5


def test_files_begin_with_the_first_entry_recorded_at_a_time(
    ask: Ask, tmp_path: Path, lines: list[bytes]
) -> None:
    at = json.loads(rest(lines)[-1])["recordedtime"]
    first = next(place for place, line in enumerate(lines) if json.loads(line)["recordedtime"] >= at)
    folder = tmp_path / "archive"
    assert ask("events", "publish", "--to", f"file:{folder}", "--once", "--from", at).code == 0
    assert written(folder) == lines[first:]
    assert 0 < first < len(lines)
    assert ask("events", "verify", "--in", f"file:{folder}", "--from", at).code == 0


@pytest.mark.parametrize("begin", ["end", "-5m"])
def test_files_do_not_begin_where_a_second_start_would_begin_elsewhere(
    ask: Ask, tmp_path: Path, begin: str
) -> None:
    said = ask("events", "publish", "--to", f"file:{tmp_path / 'archive'}", "--once", "--from", begin)
    assert (said.code, said.out) == (2, "")
    assert f'--from "{begin}" is another place whenever the command starts' in said.err
    assert not (tmp_path / "archive").exists()


def test_a_web_hook_gets_what_is_behind_a_cursor_once_by_a_name(
    ask: Ask, hook: Hook, key: Path, lines: list[bytes], cursor: str
) -> None:
    words = (
        "events",
        "publish",
        "--to",
        hook.url,
        "--key",
        key,
        "--once",
        "--name",
        "pager",
        "--from",
        cursor,
    )
    left = rest(lines)
    assert ask(*words) == (0, f"{len(left)} events sent\n", "")
    assert sorted(hook.bodies) == sorted(left)
    assert ask(*words) == (0, "0 events sent\n", "")


def test_a_name_that_is_known_goes_on_whatever_is_said_of_its_beginning(
    ask: Ask, hook: Hook, key: Path, whole: str, lines: list[bytes]
) -> None:
    words = ("events", "publish", "--to", hook.url, "--key", key, "--once", "--name", "pager")
    hook.status = lambda _: 410
    assert ask(*words, "--from", whole).code == 2
    assert ask("events", "sinks", "enable", "pager").code == 0
    hook.status = lambda _: 204
    assert ask(*words, "--from", "2999-01-01T00:00:00Z").code == 0
    left = [line for line in rest(lines) if json.loads(line)["data"]["entry"]["seq"] > 1]
    assert sorted(hook.bodies) == sorted(left) != []


def test_the_log_is_followed_from_a_cursor_on(ask: Ask, lines: list[bytes], cursor: str) -> None:
    said = ask("events", "tail", "-o", "jsonl", "--after", cursor)
    assert said == (0, b"\n".join([*rest(lines), b""]).decode(), "")


@pytest.mark.parametrize(
    "words",
    [
        ("publish", "--once", "--to", "file:{}", "--from"),
        ("verify", "--in", "file:{}", "--from"),
        ("tail", "--after"),
    ],
)
def test_a_cursor_of_another_ledger_is_one_sentence(ask: Ask, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "events-1.jsonl").touch()
    said = ask("events", *(word.format(tmp_path) for word in words), "1-ffffffff-3")
    assert (said.code, said.out) == (2, "")
    assert "nobody can begin at 1-ffffffff-3: the cursor is of another ledger than this one" in said.err
    assert said.err.count("\n") == 1
