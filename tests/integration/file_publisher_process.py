"""Publishes a store to files in a process of its own, which kills itself in the middle of a write.

`python -m tests.integration.file_publisher_process STORE FOLDER LIMIT BYTES`: a file is full at LIMIT bytes; with the
last of BYTES that it writes the process is gone by SIGKILL.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from projectors.sinks import file
from projectors.sinks.feeding import Feeder
from statemachine.log.sqlite import SqliteLog
from tests.contract.lives import PUBLICATION


def _armed(left: int) -> None:
    write = os.write

    def killed(descriptor: int, data: memoryview) -> int:
        nonlocal left
        written = write(descriptor, data[:left])
        left -= written
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return written

    vars(file)["os"].write = killed


async def _publish(store: Path, folder: Path, limit: int) -> None:
    log = await SqliteLog.open(store, beside=True)
    sink = file.FileSink.open(folder, 1, lambda _: 0, limit)
    try:
        await Feeder(log, 0, sink, PUBLICATION).advance()
    finally:
        await sink.close()
        await log.close()


if __name__ == "__main__":
    _armed(int(sys.argv[4]))
    asyncio.run(_publish(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
