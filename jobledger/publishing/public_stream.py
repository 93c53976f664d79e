"""The port PublicStream: the public events of a ledger, from any place on. What HTTP serves comes out of it.

Adapters: `projected`, from the entries of the log; `topical`, from the topic that they are published to. One test
suite runs on all of them (`tests/ports/test_public_stream.py`).
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Generic, NamedTuple, Protocol

from jobledger.publishing.cursors import Cursor, P
from projectors.contract.page import PublicEvent


class PlacedEvent(NamedTuple, Generic[P]):
    """An event, the same as a line of JSON (structured mode, without its end), and the place behind it."""

    event: PublicEvent
    line: bytes
    place: P


class Portion(NamedTuple, Generic[P]):
    """Some events of a partition in their order, and the place behind all that has been read for them.

    `at_end`: nothing followed there, at that moment. A portion without events need not be at the end.
    """

    events: Sequence[PlacedEvent[P]]
    place: P
    at_end: bool


class PublicStream(Protocol[P]):
    """The public events of a ledger. Any number of readers may share it."""

    async def ledger(self) -> str:
        """The beginning of the ledger's id, as cursors have it. Raises LogUnavailable, StoreUnusable, ConfigError."""

    async def read(self, partition: int, after: P) -> Portion[P]:
        """What follows a place. Raises LogUnavailable, StoreUnusable; CursorRefused: it is not kept any more."""

    async def resumed(self, cursor: Cursor) -> Sequence[P]:
        """The places with which a reader who has the cursor goes on, without a gap.

        Raises:
            CursorRefused: it is of another ledger, or what follows it is not kept any more.
        """

    async def earliest(self) -> Sequence[P]:
        """The place in every partition before the first event that is kept."""

    async def ends(self) -> Sequence[P]:
        """The place in every partition behind its last event, as it is now."""

    async def since(self, at: datetime) -> Sequence[P]:
        """The place in every partition before the first event that was recorded at `at` or later.

        It is looked for by halving: where clocks were set back, the place is one of those that fit.
        """

    def growing(self) -> AbstractContextManager[asyncio.Event]:
        """An event that is set when there is more to read; the caller clears it before it reads.

        A stream that another process writes sets it late or never: look again after a second all the same.
        """
