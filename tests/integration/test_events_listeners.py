"""Listeners to a stream of public events that are cut off, of a server that is killed, lose nothing.

Source: spec events.md, section 19, E10. At full size: 20 cuts, 5 kills, one event of 1,500 entries.
"""

import asyncio
import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import httpx
import pytest

from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from tests.harness import program
from tests.integration.events_process import USERS
from tests.support.repetition import sized
from tests.support.scenario import Story, workers
from tests.support.seeds import chance

pytestmark = pytest.mark.integration

LISTENERS = 50
CUTS, KILLS = sized(3, 20), sized(2, 5)
FAILING = sized(8, 40)
"""Jobs that fail: each gives one event that is listened for."""
OTHERS = sized(40, 500)
"""Jobs beside each of them that give none."""
ROOT = Path(__file__).resolve().parents[2]


def other(number: int) -> Story:
    return Story(workers(1), name=f"other-{number}", uid=f"bbbb-{number:06}").submit()


def failing(number: int) -> Story:
    running = Story(
        workers(1, runPolicy={"backoffLimit": 0}), name=f"failing-{number}", uid=f"aaaa-{number:06}"
    ).submit()
    return running.all_pods("Running").pod("worker-0", "Failed", exit_code=3)


def drafts(story: Story) -> list[EntryDraft]:
    return [EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]


class Server:
    """The process that serves the store, on one port for all its lives."""

    def __init__(self, store: Path) -> None:
        self._store, self.port, self.kills = store, 0, 0
        self._process: subprocess.Popen[str] | None = None

    async def start(self) -> None:
        self._process = await asyncio.to_thread(self._started)
        assert self._process.stdout is not None
        self.port = int(await asyncio.to_thread(self._process.stdout.readline))

    def _started(self) -> "subprocess.Popen[str]":
        return program.start(
            str(self._store),
            str(self.port),
            module="tests.integration.events_process",
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    async def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        await asyncio.to_thread(self._process.wait, 60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self.kills += 1


class Full(Exception):
    """The caller has as many streams as one may have: the server does not know yet that some were cut."""


@dataclass
class Listener:
    """Listens for failed jobs. `cut`: how often the connection ended."""

    server: Server
    user: str
    random: Random
    cut: int = 0
    cursor: str = ""
    names: Counter[str] = field(default_factory=Counter)

    async def listen(self, expected: set[str], cuts: int) -> None:
        """Until all of `expected` have come, and the connection was cut so often."""
        while self.cut < cuts or set(self.names) < expected:
            patience = self.random.uniform(0.02, 0.4) if self.cut < cuts else 30.0
            try:
                async with asyncio.timeout(patience):
                    await self._connected(expected, stays=self.cut < cuts)
            except Full:
                await asyncio.sleep(0.1)
                continue
            except (TimeoutError, httpx.HTTPError):
                await asyncio.sleep(0.02)
            self.cut += 1

    async def _connected(self, expected: set[str], *, stays: bool) -> None:
        headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {self.user}"}
        if self.cursor:
            headers["Last-Event-ID"] = self.cursor
        address = f"http://127.0.0.1:{self.server.port}/v1/events?type=job.failed"
        cursor, data = "", ""
        async with (
            httpx.AsyncClient(timeout=60, verify=False) as client,  # noqa: S501 - to read no certificates
            client.stream("GET", address, headers=headers) as answer,
        ):
            if answer.status_code == 429:
                raise Full
            assert answer.status_code == 200, await answer.aread()
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    cursor = value
                elif name == "data":
                    data = value
                elif not line:
                    if data:
                        self.names[json.loads(data)["name"]] += 1
                    self.cursor, data = cursor, ""
                    if not stays and set(self.names) >= expected:
                        return


async def written(log: SqliteLog, stories: list[list[Story]], server: Server, random: Random) -> None:
    """All jobs are in the log; on the way the server was killed, and came back."""
    deaths = set(random.sample(range(1, len(stories)), KILLS))
    for number, group in enumerate(stories):
        for story in group:
            await log.append(drafts(story))
        if number in deaths:
            await server.kill()
            await server.start()
        await asyncio.sleep(0.05)  # so that something goes on while listeners come and go


async def test_fifty_listeners_that_are_cut_off_get_every_event_of_a_server_that_is_killed(
    tmp_path: Path,
) -> None:
    random = chance(1)
    store = tmp_path / "ledger.db"
    log = await SqliteLog.open(store)
    stories = [
        [failing(number), *(other(number * OTHERS + listener) for listener in range(OTHERS))]
        for number in range(FAILING)
    ]
    expected = {f"failing-{number}" for number in range(FAILING)}
    await log.append(drafts(stories[0][0]))
    stories[0].pop(0)
    server = Server(store)
    await server.start()
    listeners = [
        Listener(server, USERS[number % len(USERS)], Random(random.random())) for number in range(LISTENERS)
    ]
    try:
        async with asyncio.timeout(sized(120, 1200)), asyncio.TaskGroup() as tasks:
            tasks.create_task(written(log, stories, server, random))
            for listener in listeners:
                tasks.create_task(listener.listen(expected, CUTS))
    finally:
        await server.kill()
        await log.close()
    for listener in listeners:
        assert set(listener.names) == expected
        repeats = sum(listener.names.values()) - len(expected)
        assert repeats <= listener.cut
