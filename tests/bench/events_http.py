"""Public events over HTTP: a page near the end of a long log, and how soon a stream has what is durable."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

import httpx

from jobledger.publishing.browsing import Browser, start
from jobledger.publishing.projected import Naming, ProjectedStream
from jobledger.publishing.selection import Criteria, Envelope, Selection
from projectors.contract.publication import Publication
from statemachine.ids import JobUid
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from tests.bench.histories import history
from tests.bench.results import Result
from tests.integration.events_process import USERS

_JOBS: Final = 2_000
_RUNS: Final = 7
_PER_SECOND: Final = 200
_SECONDS: Final = 20


def events_over_http() -> Iterator[Result]:
    """Milliseconds of a page for a reader whom no server has seen before; milliseconds from durable to read."""
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        count, early, late = asyncio.run(_pages(Path(folder) / "pages.db"))
        note = f"500 events of a log of {count:,} entries"
        yield Result("first page of public events", "ms", early, note=note)
        yield Result("page of public events near the end", "ms", late, note=note)
        waits = asyncio.run(_streamed(Path(folder) / "stream.db"))
        p99 = sorted(waits)[int(len(waits) * 0.99)]
        note = f"{len(waits):,} events at {_PER_SECOND} entries/s; the log is another process's"
        yield Result("durable entry to server-sent event, p99", "ms", (p99,), 700, "most", note)


async def _pages(path: Path) -> tuple[int, tuple[float, ...], tuple[float, ...]]:
    log = await SqliteLog.open(path)
    jobs = [[moment.draft for moment in history(number)] for number in range(_JOBS)]
    for job in jobs:
        await log.append(job)
    count = sum(map(len, jobs))
    early = [await _page(log, "beginning") for _ in range(_RUNS)]
    late = [await _page(log, f"1-00000000-{count - 300}") for _ in range(_RUNS)]
    await log.close()
    return count, tuple(early), tuple(late)


async def _page(log: SqliteLog, after: str) -> float:
    begun = time.perf_counter()
    stream = ProjectedStream(Partitions([log]), _named, lambda _: nullcontext())
    browser = Browser(
        stream, await stream.ledger(), await start(stream, after), Selection(Criteria(), _all, _none)
    )
    page = await browser.page(500)
    assert len(page.events) == 500
    return (time.perf_counter() - begun) * 1000


async def _named() -> Naming:
    return Naming("00000000", Publication("bench"))


async def _all(_: Envelope) -> bool:
    return True


async def _none(_: JobUid) -> None:
    return None


async def _streamed(path: Path) -> list[float]:
    log = await SqliteLog.open(path)
    drafts = [moment.draft for number in range(_JOBS) for moment in history(number)][: _PER_SECOND * _SECONDS]
    durable: dict[tuple[str, int], float] = {}
    with _server(path) as port:
        async with _stream(port) as lines, asyncio.timeout(60 + _SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(_write(log, drafts, durable))
            waits = await _read(lines, durable, len(drafts))
    await log.close()
    return waits


async def _write(log: SqliteLog, drafts: list[EntryDraft], durable: dict[tuple[str, int], float]) -> None:
    begun = time.perf_counter()
    for number, draft in enumerate(drafts):
        await asyncio.sleep(max(0.0, begun + number / _PER_SECOND - time.perf_counter()))
        await log.append([draft])
        durable[draft.job, draft.seq] = time.perf_counter()


async def _read(
    lines: AsyncIterator[str], durable: dict[tuple[str, int], float], entries: int
) -> list[float]:
    """Milliseconds of each event, up to the end: a cursor that has all entries."""
    waits = []
    async for line in lines:
        name, _, value = line.partition(": ")
        if name == "data":
            job, seq, _ = json.loads(value)["id"].split("/")
            if (at := durable.get((job, int(seq)))) is not None:
                waits.append((time.perf_counter() - at) * 1000)
        elif name == "id" and value.rpartition("-")[2] == str(entries):
            return waits
    raise AssertionError("the stream ended")


@contextmanager
def _server(path: Path) -> Iterator[int]:
    command = [sys.executable, "-m", "tests.integration.events_process", str(path), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@asynccontextmanager
async def _stream(port: int) -> AsyncIterator[AsyncIterator[str]]:
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {USERS[0]}"}
    address = f"http://127.0.0.1:{port}/v1/events"
    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("GET", address, headers=headers) as answer,
    ):
        yield answer.aiter_lines()
