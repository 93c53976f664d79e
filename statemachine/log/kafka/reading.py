"""One partition of one topic as readers see it: what was committed, up to where nothing is open any more."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError, OffsetOutOfRangeError

from statemachine.errors import LogUnavailable, StoreUnusable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import PATIENCE, consumer, parts, started, stopped
from statemachine.log.kafka.failures import FAILURES, missing, ours
from statemachine.log.kafka.records import Message

log = logging.getLogger(__name__)

BATCH: Final = 1000
"""Records that are handed out at once: decoding them holds up the loop for some milliseconds."""

_SHORT: Final = 0.02
"""Seconds that a broker holds an answer back while a reader only wants what is there."""

_LONG: Final = 0.5
"""The same for a reader that waits for more."""

_SILENCE: Final = 1.0
"""Seconds after which a reader that waits for more learns that there is none."""

_STUCK: Final = 5.0
"""Seconds without an answer, or without the records that are there, after which a consumer is thrown away."""

_MARKERS: Final = 5.0
"""Seconds that what was committed may take to be seen: brokers write the markers after they have said yes."""

_SOON: Final = 0.005
_KEPT: Final = 1
"""Consumers kept for the next who reads: a new one costs several round trips."""


class Partition:
    """Reads partition `number` of a topic. Offsets, not positions. Every method raises as `ours` does."""

    def __init__(self, address: Address, topic: str, number: int) -> None:
        self.topic = topic
        self._address, self._number = address, number
        self._tp = TopicPartition(topic, number)
        self._idle: list[Any] = []
        self._closed = False

    def __str__(self) -> str:
        return f"partition {self._number} of topic {self.topic}"

    async def end(self, written: int = 0, after: int = 0) -> int:
        """The offset behind all records that can be read.

        What brokers have confirmed can be read a little later: waits for all that was `written` up to this offset
        by who asks, and for what others have seen up to `after`.

        Raises:
            LogUnavailable: no broker answers, or what was written cannot be read yet.
            StoreUnusable: the partition ends before `after`.
        """
        async with self._borrowed() as reader, asyncio.timeout(PATIENCE):
            until = _now() + _MARKERS
            end = await self._bound(reader.end_offsets)
            while end < max(written, after) and _now() < until:
                await asyncio.sleep(_SOON)
                end = await self._bound(reader.end_offsets)
        if end < after:
            raise self._cut_off(after, end)
        if end < written:
            raise LogUnavailable(f"{self}: what was written up to {written} can be read only up to {end} yet")
        return end

    async def begin(self) -> int:
        """The offset of the first record that is kept, or of the next to come."""
        async with self._borrowed() as reader, asyncio.timeout(PATIENCE):
            return await self._bound(reader.beginning_offsets)

    async def tail(self) -> int:
        """The offset behind all records, also those that cannot be read yet, or never."""
        with ours(self._address, f"read {self}"):
            reader = await started(consumer(self._address, wait=_SHORT, isolation="read_uncommitted"))
            try:
                async with asyncio.timeout(PATIENCE):
                    return int((await reader.end_offsets([self._tp]))[self._tp])
            finally:
                await stopped(reader)

    async def settled_end(self) -> int:
        """As `end`, once what was committed before can be read: brokers confirm a commit a little earlier.

        Of what a writer has open, or has left open, it waits five seconds for the end.
        """
        tail = await self.tail()
        with suppress(LogUnavailable):
            return await self.end(tail)
        return await self.end()

    async def read(self, start: int, end: int) -> AsyncGenerator[Sequence[Message], None]:
        """The records from offset `start` up to, and without, `end`, in batches that are not empty."""
        async with self._borrowed() as reader:
            reader.seek(self._tp, start)
            reader.resume(self._tp)
            waited, position = 0.0, start
            while position < end:
                messages = await self._get(reader, _SHORT)
                before, position = position, await reader.position(self._tp)
                waited = waited + _SHORT if position == before else 0.0
                if waited > PATIENCE:
                    raise KafkaTimeoutError(f"nothing came from offset {position} on, the end is {end}")
                if wanted := [message for message in messages if message.offset < end]:
                    yield wanted

    async def follow(self, start: int) -> AsyncGenerator[tuple[Sequence[Message], int, int], None]:
        """The records from offset `start` on as they come, for ever, and the offset behind them.

        Then that behind all that can be read, as the brokers said with their last answer. Without any records a
        second later if none comes.

        Raises:
            LogUnavailable: no broker answers, or the consumer gets nothing although there is something.
            StoreUnusable: the partition ends before `start`.
        """
        await self.end(after=start)
        with ours(self._address, f"read {self}"):
            reader = await started(consumer(self._address, wait=_LONG))
            try:
                reader.assign([self._tp])
                reader.seek(self._tp, start)
                progress = _Progress(reader, self._tp)
                while True:
                    before = _now()
                    messages = await self._get(reader, _SILENCE)
                    await progress.note(messages, _now() - before)
                    yield messages, await reader.position(self._tp), reader.last_stable_offset(self._tp) or 0
            except FAILURES as error:
                await self._refuse_missing(reader, error)
                raise
            finally:
                await stopped(reader)

    async def close(self) -> None:
        """Nothing is open any more."""
        self._closed = True
        while self._idle:
            await stopped(self._idle.pop())

    def _cut_off(self, position: int, end: int) -> StoreUnusable:
        """Why somebody who has read up to `position` cannot go on."""
        return StoreUnusable(
            f"{self} ends at {end}, and {position} had been read: it was emptied, or deleted and made again. "
            "Bring it back; or delete the topics of snapshots and observations, too, and begin anew"
        )

    # ---- consumers -----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Any]:
        """A consumer that has the partition and does not fetch yet; one that failed is not used again."""
        if self._closed:
            raise StoreUnusable(f"{self} is closed")
        with ours(self._address, f"read {self}"):
            reader = self._idle.pop() if self._idle else await self._new()
            try:
                yield reader
            except FAILURES as error:
                await stopped(reader)
                await self._refuse_missing(reader, error)
                raise
            except BaseException:
                await stopped(reader)
                raise
            if self._closed or len(self._idle) >= _KEPT:
                await stopped(reader)
            else:
                reader.pause(self._tp)
                self._idle.append(reader)

    async def _new(self) -> Any:
        reader = await started(consumer(self._address, wait=_SHORT))
        reader.assign([self._tp])
        reader.seek(self._tp, 0)  # without a place it would look for one, and find an error
        reader.pause(self._tp)
        return reader

    async def _get(self, reader: Any, within: float) -> Sequence[Message]:
        try:
            batches = await reader.getmany(self._tp, timeout_ms=int(within * 1000), max_records=BATCH)
        except OffsetOutOfRangeError:
            await self._skip_what_is_gone(reader)
            return ()
        batch: Sequence[Message] = batches.get(self._tp, ())
        return batch

    async def _skip_what_is_gone(self, reader: Any) -> None:
        position = await reader.position(self._tp)
        begin = await self._bound(reader.beginning_offsets)
        if position >= begin:
            raise self._cut_off(position, await self._bound(reader.end_offsets))
        fields = {"action": "records-gone", "topic": self.topic, "partition": self._number}
        log.warning(
            "the beginning of a topic is gone, what is left is read", extra={**fields, "offset": begin}
        )
        reader.seek(self._tp, begin)

    async def _bound(self, ask: Any) -> int:
        return int((await ask([self._tp]))[self._tp])

    async def _refuse_missing(self, reader: Any, error: BaseException) -> None:
        """What nobody answers may not be there: a consumer that does not know of it has reason to ask."""
        if self._number in (reader.partitions_for_topic(self.topic) or ()):
            return
        if (await parts(self._address)).get(self.topic, 0) <= self._number:
            raise missing(self._address, self.topic, self._number) from error


class _Progress:
    """How long a consumer that waits for more has had no answer, or not got what the answers say is there."""

    def __init__(self, reader: Any, tp: TopicPartition) -> None:
        self._reader, self._tp = reader, tp
        self._answered: int | None = None
        self._stuck = 0.0

    async def note(self, messages: Sequence[Message], waited: float) -> None:
        """So much came in so many seconds. Raises KafkaError: nothing has come for too long."""
        answered = self._reader.last_poll_timestamp(self._tp)
        readable = self._reader.last_stable_offset(self._tp) or 0
        place = await self._reader.position(self._tp)
        if messages or (answered != self._answered and readable <= place):
            self._stuck = 0.0
        else:
            self._stuck += waited
        self._answered = answered
        if self._stuck > _STUCK:
            why = (
                f"it stands at {place} and could read up to {readable}"
                if readable > place
                else "no answer comes"
            )
            raise KafkaError(f"a consumer got nothing for {self._stuck:.0f} s: {why}")


def _now() -> float:
    return asyncio.get_running_loop().time()
