"""What an answer about one job costs in a store of many: finding it, and reading its life. Processor time."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from jobledger.lives.history import JobHistory, find
from jobledger.lives.rendering import AnswerForm, history_answer, why_answer
from statemachine.log.sqlite import SqliteLog
from tests.bench.histories import history
from tests.bench.results import Result

_JOBS: Final = 10_000
_AT_ONCE: Final = 200
_RUNS: Final = 9
_GOAL: Final = 100


def lives() -> Iterator[Result]:
    """Milliseconds of processor time from opening the store to the text; everything was imported before."""
    answers: dict[str, Callable[[JobHistory], object]] = {
        "why": lambda life: why_answer(life, AnswerForm()),
        "history": lambda life: history_answer(life, AnswerForm()),
    }
    note = f"of {_JOBS:,} in SQLite"
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        store = Path(folder) / "store.db"
        asyncio.run(_write(store))
        for name, answer in answers.items():
            asyncio.run(_asked(store, answer))
            values = tuple(1000 * asyncio.run(_asked(store, answer)) for _ in range(_RUNS))
            yield Result(f"{name} of one job", "ms CPU", values, _GOAL, "most", note)


async def _write(store: Path) -> None:
    log = await SqliteLog.open(store)
    try:
        for start in range(0, _JOBS, _AT_ONCE):
            jobs = range(start, start + _AT_ONCE)
            await log.append([moment.draft for number in jobs for moment in history(number)])
    finally:
        await log.close()


async def _asked(store: Path, answer: Callable[[JobHistory], object]) -> float:
    begun = time.process_time()
    log = await SqliteLog.open(store, read_only=True)
    try:
        answer(await find(log, f"job-{_JOBS // 2}", namespace="bench", uid=""))
    finally:
        await log.close()
    return time.process_time() - begun
