"""A ledger is copied as a whole or not at all: nothing may be on its way in it, and nobody may write it."""

import asyncio
from pathlib import Path

import pytest

from jobledger.wiring.copying import copied
from statemachine.errors import StoreUnusable
from statemachine.log.copying import NotTheSame
from statemachine.log.sqlite import SqliteLog
from statemachine.log.sqlite_inbox import SqliteInbox
from tests.support.logs import OTHER, history, records
from tests.support.scenario import Story, workers


async def test_what_waits_to_be_decided_keeps_a_file_from_being_copied(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    log = await SqliteLog.open(first)
    await log.append(history(3))
    inbox = await SqliteInbox.open(log.store)
    await inbox.put([Story(workers(1)).submit().entries[0].cause])
    with pytest.raises(StoreUnusable, match=r"not decided yet .*observations: 1\).*--store"):
        await copied(first, second)
    assert not second.exists()
    await inbox.ack((await inbox.take(1)).token)
    assert (await copied(first, second)).entries == 3
    await log.close()


async def test_a_log_that_somebody_writes_is_not_said_to_be_copied(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    log = await SqliteLog.open(first)
    await log.append(history(3))

    enough = asyncio.Event()

    async def write() -> None:
        for draft in history(3_000, OTHER):
            if enough.is_set():
                return
            await log.append([draft])

    writing = asyncio.create_task(write())
    with pytest.raises(NotTheSame, match="somebody writes the log that is copied"):
        await copied(first, second)
    enough.set()
    await writing  # to the end of an append: one that is broken off may take effect all the same
    assert (await copied(first, second)).entries == len(await records(log))
    await log.close()
