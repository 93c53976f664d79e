"""The log of a controller, read beside it: histories, folded states, and whether they keep the promises."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from jobledger.wiring.ledger import Kafka, reading_kafka
from projectors.verify import Verification
from statemachine.ids import JobUid
from statemachine.log.port import DeadLetter, ReadableLog, Record
from statemachine.log.sqlite import SqliteLog
from statemachine.status import status
from tests.harness import wait_for
from tests.harness.program import run
from tests.simulation.histories import Story
from tests.simulation.invariants import check_log
from tests.simulation.world import World
from tests.support.cluster_jobs import Jobs


def back_up(log: str, file: Path) -> None:
    """A ledger in Kafka, verified, in a file that outlives its brokers, for `python -m tests.histories.export`."""
    copied = run("log", "backup", log, f"sqlite://{file}")
    assert copied.returncode == 0, copied.stderr
    verified = run("replay", "--verify", "--store", str(file))
    assert verified.returncode == 0, verified.stdout + verified.stderr


class Ledger:
    """What the log, in a SQLite file or in Kafka, holds at the moment of each call; others may write it."""

    def __init__(self, where: Path | Kafka) -> None:
        self._where = where

    def stories(self) -> dict[JobUid, Story]:
        """The histories of all jobs."""
        entries: dict[JobUid, list[Record]] = {}
        for record in asyncio.run(self._records()):
            entries.setdefault(record.job, []).append(record)
        return {job: Story.of(records) for job, records in entries.items()}

    def story(self, uid: str) -> Story:
        """The history of one job."""
        return self.stories()[JobUid(uid)]

    def status(self, uid: str) -> dict[str, Any]:
        """The status that the log tells; empty for a job that it does not know."""
        story = self.stories().get(JobUid(uid))
        return status(story.state) if story else {}

    def findings(self) -> list[str]:
        """Whatever is wrong with the histories themselves, and what could not be decided."""
        letters = [f"dead letter: {letter.error}" for letter in asyncio.run(self._letters())]
        nowhere = cast("World", None)  # rules of histories do not look around
        return letters + check_log(nowhere, self.stories())

    def differences(self) -> list[str]:
        """Entries that do not follow or would be decided otherwise now, and snapshots unlike what entries fold to."""
        verdicts = asyncio.run(self._verified()).verdicts()
        return [f"job {verdict.job}: {verdict.difference}" for verdict in verdicts if verdict.difference]

    async def _verified(self) -> Verification:
        async with self._opened() as log:
            verification = Verification((await log.snapshots())[1])
            async for batch in log.scan():
                for record in batch:
                    verification.take(record)
            return verification

    async def _records(self) -> list[Record]:
        async with self._opened() as log:
            return [record async for batch in log.scan() for record in batch]

    async def _letters(self) -> list[DeadLetter]:
        async with self._opened() as log:
            return list(await log.dead_letters())

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[ReadableLog]:
        if isinstance(self._where, Kafka):
            async with reading_kafka(self._where) as merged:
                yield merged
            return
        log = await SqliteLog.open(self._where, read_only=True)
        try:
            yield log
        finally:
            await log.close()


def comes_to_rest(jobs: Jobs, ledger: Ledger, name: str, within: float = 60) -> dict[str, Any]:
    """The job's status once it is the one that the log tells; nothing is wrong with the log."""

    def look() -> dict[str, Any] | None:
        job = jobs.get(name)
        status = ledger.status(job["metadata"]["uid"])
        return status if status and job.get("status") == status else None

    status = wait_for(f"the status of {name} is the state in the log", look, within)
    assert ledger.findings() == [], ledger.findings()
    return status
