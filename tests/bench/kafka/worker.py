"""Who decides, in a process of its own that says ten times a second how far it is.

`python -m tests.bench.kafka.worker WHO URL SESSION [INSTANCE]`: WHO is a feed, or `bare`. Its clock stands still, so
that no timer fires, and garbage is collected as rarely as in a controller. Each line on standard output is a Line as
JSON.
"""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, cast

from jobledger.program.garbage import collect_rarely
from statemachine.engine.kafka.worker import FeedName, Worker
from statemachine.log.entry import Entry
from statemachine.log.kafka.address import Address
from statemachine.log.reader import Folded
from tests.bench.cluster.machine import cpu
from tests.bench.kafka.bare import BARE, Bare
from tests.integration.kafka.engine_process import Still

ROOT: Final = Path(__file__).parents[3]
_TICK: Final = 0.1


class Line(NamedTuple):
    """How far a worker was at a moment (time.time())."""

    at: float
    decided: int
    owned: int
    cpu: float
    """Seconds of the processor so far."""
    late: list[float]
    """Seconds from noticing to durable entry, of the entries since the last line."""


class Deciding:
    """A worker's process as its parent sees it; gone at the end of the block."""

    def __init__(self, who: str, address: Address, *, session: float = 10.0, instance: str = "") -> None:
        self._words = [who, str(address), str(session), instance]
        self._folder = tempfile.TemporaryDirectory(prefix="jobledger-bench-")
        self._out = Path(self._folder.name) / "out"
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        """It runs, as another process than before."""
        said = Path(self._folder.name) / "said"
        with self._out.open("ab") as out, said.open("ab") as err:
            command = [sys.executable, "-m", "tests.bench.kafka.worker", *self._words]
            self.process = subprocess.Popen(command, stdout=out, stderr=err, cwd=ROOT)

    def lines(self) -> list[Line]:
        """All that it has said so far."""
        whole = self._out.read_text().rpartition("\n")[0]
        return [Line(*json.loads(line)) for line in whole.splitlines()]

    @property
    def latest(self) -> Line:
        """What it said last."""
        lines = self.lines()
        if self.process.poll() not in (None, 0, -signal.SIGKILL):
            raise RuntimeError((Path(self._folder.name) / "said").read_text()[-2000:])
        return lines[-1] if lines else Line(0.0, 0, 0, 0.0, [])

    def kill(self) -> None:
        """It is gone at once."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> float:
        """It has ended in order; the seconds that took."""
        begun = time.perf_counter()
        self.process.terminate()
        self.process.wait(60)
        return time.perf_counter() - begun

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._folder.cleanup()


async def _run(who: str, url: str, session: str, instance: str = "") -> None:
    address = Address.of(url)
    collect_rarely()
    late: list[float] = []
    made: Any
    if who == BARE:
        made = Bare(address, late)
    else:
        made = Worker(address, cast(FeedName, who), Still(), instance=instance, session=float(session))
        made.listeners.append(lambda folded: late.append(_lateness(folded)))
    working = asyncio.create_task(made.run())
    telling = asyncio.create_task(_tell(made, late))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    await asyncio.wait([working])
    telling.cancel()
    if not working.cancelled():
        working.result()


def _lateness(folded: Folded) -> float:
    return time.time() - folded.entry.seen_at.timestamp() if isinstance(folded.entry, Entry) else 0.0


async def _tell(made: Worker | Bare, late: list[float]) -> None:
    while True:
        report = made.report()
        recent, late[:] = (
            [delay for delay in late if delay < 3600],
            [],
        )  # those of model observations are no news
        line = Line(
            time.time(), report.counts.get("decided", 0), len(report.waiting), cpu([os.getpid()]), recent
        )
        print(json.dumps(line), flush=True)  # noqa: T201 - the parent reads it
        await asyncio.sleep(_TICK)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(_run(*sys.argv[1:]))
