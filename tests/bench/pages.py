"""The console's list with 50,000 jobs: how long the server takes for a page, measured through the application."""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx

from jobledger.api import create
from jobledger.service.app import App
from projectors.history import HistoryProjector, SqliteDatabase
from projectors.history.database import LABEL, LIST, Statement
from projectors.history.labels import marks
from statemachine.engine.clock import WallClock
from statemachine.log.sqlite import SqliteLog
from tests.bench.results import Result
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster

JOBS: Final = 50_000
_GOAL: Final = 100.0
"""Milliseconds."""

_PAGES: Final = {
    "newest": "",
    "last page": "page=2500",
    "by name": "sort=name&way=asc",
    "by phase, largest pages": "sort=phase&way=asc&size=50",
    "found by a part of the name": "q=job-499",
    "nothing found": "q=there-is-no-such-job",
    "with errors, of a queue": "phase=Error&queue=queue-3",
    "with a label that all have": "label=team",
    "the last page of these, by phase": "label=team&sort=phase&way=asc&page=2500",
    "with a label that many have": "label=team=team-7",
    "of these by name": "label=team=team-7&sort=name&way=asc",
    "of these running, found by name": "label=team=team-7&phase=Running&q=job-4&sort=name&way=asc",
    "with one of several values": "label=team=team-7&label=team=team-8&label=team=team-9",
    "with labels that few have": "label=team=team-7&label=experiment=17",
    "with a label that nobody has": "label=team=nobody",
    "with GPUs, paused or pending": "resource=nvidia.com/gpu&phase=Paused&phase=Pending",
}


def list_pages() -> Iterator[Result]:
    """Every way to ask for a page of the list: whole as a browser asks first, and as it is refreshed."""
    yield from asyncio.run(_measured())


async def _measured() -> Sequence[Result]:
    with tempfile.TemporaryDirectory() as folder:
        log = await SqliteLog.open(Path(folder) / "bench.db")
        database = SqliteDatabase(log.store)
        await database.prepare()
        labels = [row for number in range(JOBS) for row in _label_rows(number)]
        rows = [_row(number) for number in range(JOBS)]
        await database.change(0, lambda _: [Statement(LIST, rows), Statement(LABEL, labels)])
        controller = controller_of(
            log, MemoryCluster(), WallClock(), streams=[[HistoryProjector(log, database)]]
        )
        transport = httpx.ASGITransport(create(App(controller)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            results = []
            for name, query in _PAGES.items():
                for part, headers in (("page", {}), ("refresh", {"HX-Request": "true"})):
                    took = [await _asked(client, f"/jobs?{query}", headers) for _ in range(9)]
                    results.append(Result(f"{part}: {name}", "ms", tuple(took), _GOAL, "most"))
        await log.close()
    return results


async def _asked(client: httpx.AsyncClient, path: str, headers: dict[str, str]) -> float:
    began = time.perf_counter()
    answer = await client.get(path, headers=headers)
    spent = (time.perf_counter() - began) * 1000
    assert answer.status_code == 200
    return spent


def _labels(number: int) -> dict[str, str]:
    """Every job has a team, and is one of a few of its experiment."""
    return {"team": f"team-{number % 20}", "experiment": str(number // 20), "app.kubernetes.io/name": "train"}


def _label_rows(number: int) -> Iterator[Sequence[Any]]:
    return ((f"uid-{number}", key, value) for key, value in _labels(number).items())


def _row(number: int) -> Sequence[Any]:
    phase = ("Succeeded", "Failed", "Running", "Paused", "Pending")[number * 7 % 5]
    conditions = [
        [
            "Initialized",
            "True",
            "-",
            "The job has been initialized successfully.",
            "2026-01-01T00:00:00+00:00",
        ]
    ]
    shown = {
        "started_at": "2026-01-01T00:00:00+00:00",
        "completed_at": None,
        "deleting": False,
        "restarts": number % 4,
        "backoff_limit": 3,
        "cpu": [4.0, 8.0],
        "memory": [2.0**33, 2.0**34],
        "priority": 0,
        "paused": False,
        "extended": {"nvidia.com/gpu": 4.0},
        "elastic": None,
        "error": "",
        "labels": _labels(number),
        "counts": {"worker": {"Running": 4}},
        "conditions": conditions * 5,
    }
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number * 37 % JOBS)
    return (
        *(f"uid-{number}", f"team-{number % 20}", "batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob"),
        *(f"job-{number}", phase, phase == "Failed", at, "t9k-scheduler", f"queue-{number % 8}"),
        *(" nvidia.com/gpu " if number % 3 else "", json.dumps(shown), marks(_labels(number))),
    )
