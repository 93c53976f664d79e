"""An engine on Kafka in a process of its own, for tests that kill or stop it.

`python -m tests.integration.kafka.engine_process URL FEED SESSION [INSTANCE]`: decides until SIGTERM. Its clock
stands still at the beginning of all stories, so that only what was put is decided.
"""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Self, cast

from statemachine.engine.kafka.worker import FeedName, Worker
from statemachine.log.kafka.address import Address
from tests.harness import program
from tests.support.scenario import START

ROOT = Path(__file__).parents[3]


class Still:
    """A clock that stands."""

    def now(self) -> datetime:
        """The beginning of all stories."""
        return START


class EngineProcess:
    """One engine for as long as a block lasts; then it is gone, however."""

    def __init__(
        self, address: Address, feed: str, home: Path, *, session: float = 3.0, instance: str = ""
    ) -> None:
        self._words = [str(address), feed, str(session), instance]
        self._log = home / f"engine-{time.monotonic_ns()}.log"
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        """It runs, as another process than before."""
        module = "tests.integration.kafka.engine_process"
        with self._log.open("ab") as log:
            self.process = program.start(*self._words, module=module, stdout=log, stderr=log, cwd=ROOT)

    def send(self, number: signal.Signals) -> None:
        """It gets a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """It is gone at once."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> float:
        """It has ended in order; the seconds that took."""
        begun = time.monotonic()
        self.process.terminate()
        assert self.process.wait(90) == 0, self.said
        return time.monotonic() - begun

    @property
    def said(self) -> str:
        """What it has logged."""
        return self._log.read_text(encoding="utf-8")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            logging.getLogger(__name__).warning("the engine said last: %s", self.said[-4000:])
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.kill()


async def _decide(url: str, feed: str, session: str, instance: str = "") -> None:
    worker = Worker(Address.of(url), cast(FeedName, feed), Still(), instance=instance, session=float(session))
    working = asyncio.create_task(worker.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    await asyncio.wait([working])
    if not working.cancelled():
        working.result()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    shape = "%(asctime)s %(levelname)s %(name)s %(message)s %(error)s"
    logging.root.handlers[0].setFormatter(logging.Formatter(shape, defaults={"error": ""}))
    asyncio.run(_decide(*sys.argv[1:]))
