"""The sink that writes public events to standard output, as JSON Lines."""

import asyncio
import sys

from projectors.contract.envelope import structured
from projectors.sinks.port import Batch


class StdoutSink:
    """See Sink. Who reads what is written decides whether it is kept."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def deliver(self, batch: Batch) -> None:
        """See Sink. A reader that does not read makes it wait."""
        text = b"".join(structured(event) + b"\n" for event in batch.events)
        if text:
            await asyncio.to_thread(_write, text)

    async def close(self) -> None:
        """See Sink: every batch was flushed."""


def _write(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
