"""`jobledger dead-letters` on a store: what it lists and shows, and what becomes of a letter that is retried."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from statemachine.ids import JobUid
from statemachine.log.codec import encode_observation
from statemachine.log.inbox import Post
from statemachine.log.port import DeadLetter
from statemachine.log.sqlite import SqliteLog
from statemachine.log.sqlite_inbox import SqliteInbox
from tests.support.scenario import START
from tests.unit.cli_offline.conftest import SECRET, Ask, job


@pytest.fixture
def letters(store: Path) -> list[bytes]:
    """Two letters behind the one of `store`, by their bytes: an observation, and bytes that are none."""
    observation = job("late", "dddd-4444").submit().entries[0].cause
    bodies = [encode_observation(observation), b"\xff\x00 no\n"]

    async def work() -> None:
        log = await SqliteLog.open(store)
        for body in bodies:
            await log.add_dead_letter(DeadLetter(START, JobUid("dddd-4444"), body, "ValueError: bad\nday"))
        await log.close()

    asyncio.run(work())
    return bodies


def waiting(store: Path) -> list[Post]:
    """What is in the inbox."""

    async def work() -> list[Post]:
        log = await SqliteLog.open(store, beside=True)
        deliveries = await (await SqliteInbox.open(log.store)).take(10)
        await log.close()
        return list(deliveries.posts)

    return asyncio.run(work())


def test_dead_letters_are_listed(ask: Ask) -> None:
    heads, line = ask("dead-letters", "list").out.splitlines()
    assert heads.split() == ["ID", "TIME", "JOB", "OBSERVATION", "RETRIED", "ERROR"]
    assert line.split(maxsplit=5) == [
        "1",
        "2024-01-09T15:00:00Z",
        "bbbb-2222",
        "JobObserved",
        "-",
        "ValueError: odd and more",
    ]
    (letter,) = json.loads(ask("dead-letters", "list", "-o", "json").out)
    assert letter["observation"]["spec"]["env"] == [{"name": "A_TOKEN", "value": "<redacted>"}]


def test_a_letter_is_shown_whole(ask: Ask) -> None:
    head, body = ask("dead-letters", "show", "1").out.split("\n\n")
    assert [line.split(maxsplit=1) for line in head.splitlines()] == [
        ["id", "1"],
        ["at", "2024-01-09T15:00:00Z"],
        ["job", "bbbb-2222"],
        ["error", "ValueError: odd and more"],
        ["retried", "-"],
    ]
    assert json.loads(body)["type"] == "JobObserved"
    assert json.loads(ask("dead-letters", "show", "1", "-o", "json").out)["observation"] == json.loads(body)


def test_bytes_that_are_no_json_are_shown_escaped_to_who_wants_them_with_all_that_is_in_them(
    ask: Ask, letters: list[bytes]
) -> None:
    assert "6 bytes that are no JSON" in ask("dead-letters", "show", "3").out
    assert ask("dead-letters", "show", "3", "--raw").out.endswith("\n\\xff\\x00 no\\n\n")
    assert SECRET in ask("dead-letters", "show", "1", "--raw").out


def test_a_letter_that_is_retried_is_on_its_way_and_stays_in_the_list(
    ask: Ask, store: Path, letters: list[bytes]
) -> None:
    said = ask("dead-letters", "retry", "2")
    assert (said.code, said.out, said.err) == (0, "retried 2: JobObserved of job dddd-4444\n", "")
    assert waiting(store) == [Post(JobUid("dddd-4444"), letters[0])]
    retried = [load["retried"] for load in json.loads(ask("dead-letters", "list", "-o", "json").out)]
    assert [item is not None for item in retried] == [False, True, False]
    assert ask("dead-letters", "list").out.splitlines()[2].split()[4] == retried[1]


def test_all_means_those_that_were_not_retried_and_what_is_no_observation_is_named(
    ask: Ask, store: Path, letters: list[bytes]
) -> None:
    assert ask("dead-letters", "retry", "2").code == 0
    said = ask("dead-letters", "retry", "--all")
    assert (said.code, said.out) == (1, "")
    assert [line.split(":")[1] for line in said.err.splitlines()] == [
        " dead letter 1 is not sent, it would only come back",
        " dead letter 3 is not sent, it would only come back",
    ]
    assert len(waiting(store)) == 1
    assert ask("dead-letters", "retry", "2").code == 0
    assert len(waiting(store)) == 2


@pytest.mark.parametrize("words", [["show", "9"], ["retry", "9"], ["retry", "1", "9"], ["retry"]])
def test_a_letter_that_is_not_there_is_refused(ask: Ask, store: Path, words: list[str]) -> None:
    said = ask("dead-letters", *words)
    assert (said.code, said.out, waiting(store)) == (2, "", [])
    if words != ["retry"]:
        assert said.err == "jobledger: there is no dead letter 9; `jobledger dead-letters list` shows them\n"


def test_all_and_ids_do_not_go_together(ask: Ask) -> None:
    assert ask("dead-letters", "retry", "1", "--all").code == 2


def test_a_store_that_an_older_release_wrote_is_read_and_then_amended(
    ask: Ask, store: Path, letters: list[bytes]
) -> None:
    with sqlite3.connect(store) as db:
        db.execute("DROP TABLE retries")
    db.close()
    assert len(ask("dead-letters", "list").out.splitlines()) == 4
    assert ask("dead-letters", "retry", "2").code == 0
    assert len(waiting(store)) == 1


def test_without_a_store_none_is_made(ask: Ask, tmp_path: Path) -> None:
    said = ask("dead-letters", "retry", "--all", "--store", tmp_path / "none.db")
    assert said.code == 3
    assert not (tmp_path / "none.db").exists()
