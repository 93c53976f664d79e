"""The consumer of the model, with what the product calls of AIOKafkaConsumer; `membership` is its part in a group."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import OffsetAndMetadata, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    ConsumerStoppedError,
    IllegalGenerationError,
    IllegalOperation,
    IllegalStateError,
    KafkaConnectionError,
    KafkaTimeoutError,
    OffsetOutOfRangeError,
    RequestTimedOutError,
    UnknownMemberIdError,
)

from tests.support.kafka_model.groups import Manner
from tests.support.kafka_model.membership import Membership
from tests.support.kafka_model.partitions import Message, ModelPartition
from tests.support.kafka_model.producer import offsets_of
from tests.support.kafka_model.wire import BACKOFF, REQUEST, Wire

_AWAY: Final = (KafkaConnectionError, RequestTimedOutError)


@dataclass
class _Place:
    """Where a consumer stands in a partition, and what the last answer said."""

    position: int | None = None
    is_paused: bool = False
    stable: int | None = None
    answered: int | None = None
    serial: int = 0
    """Counts seeks: what was asked for before one is dropped."""


class _Fetcher:
    """What the product looks for when it cuts a consumer off: this one fetches in the caller's task."""

    _fetch_task: "asyncio.Task[None] | None" = None
    _pending_tasks: Sequence["asyncio.Task[None]"] = ()


class ModelConsumer:
    """See AIOKafkaConsumer."""

    def __init__(
        self,
        *,
        bootstrap_servers: Sequence[str] | str,
        group_id: str | None = None,
        group_instance_id: str | None = None,
        isolation_level: str = "read_uncommitted",
        auto_offset_reset: str = "latest",
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int | None = None,
        heartbeat_interval_ms: int = 3_000,
        fetch_max_wait_ms: int = 500,
        **_: Any,
    ) -> None:
        assert group_instance_id is None, "the model knows no static members"
        self._client = Wire(bootstrap_servers)
        self._fetcher = _Fetcher()
        self._coordinator = Membership(self, self._client, group_id or "", heartbeat_interval_ms / 1000)
        self._closed = False
        self._group = group_id
        self._committed_only = isolation_level == "read_committed"
        self._reset = auto_offset_reset
        self._session = session_timeout_ms / 1000
        self._rebalance = (rebalance_timeout_ms or session_timeout_ms) / 1000
        self._places: dict[TopicPartition, _Place] | None = None
        self._dealt = asyncio.Event()
        """Not set while the group deals out anew: nothing is given meanwhile."""

    # ---- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Brokers are there. Raises KafkaConnectionError."""
        try:
            await self._client.request(lambda: None)
        except RequestTimedOutError as error:
            raise KafkaConnectionError(str(error)) from error
        self._coordinator.start()

    async def stop(self) -> None:
        """It is no member any more, and reads nothing."""
        if not self._closed:
            self._closed = True
            await self._coordinator.close()

    def subscribe(self, topics: Iterable[str], *, listener: Any = None) -> None:
        """It takes part in its group."""
        manner = Manner(frozenset(topics), self._session, self._rebalance)
        self._coordinator.subscribe(manner, listener)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """It has exactly these, whatever a group says."""
        self._places = {tp: _Place() for tp in partitions}
        self._dealt.set()

    def assignment(self) -> frozenset[TopicPartition]:
        """What it has."""
        return frozenset(self._places or ())

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Those that there are; None of a topic that is not known."""
        count = self._client.brokers.topics().get(topic, 0)
        return set(range(count)) or None

    # ---- places --------------------------------------------------------------------------------------------------

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """It goes on there."""
        place = self._place(partition)
        place.position, place.serial = offset, place.serial + 1

    def pause(self, *partitions: TopicPartition) -> None:
        """Nothing of them is given."""
        for tp in partitions:
            self._place(tp).is_paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """They are given again."""
        for tp in partitions:
            self._place(tp).is_paused = False

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that it gives."""
        return self._place(partition).position or 0

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """How far a reader may read, as the last answer said."""
        return self._place(partition).stable

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        """When that was, in milliseconds."""
        return self._place(partition).answered

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Behind all that it may read. Raises KafkaTimeoutError."""
        brokers, only = self._client.brokers, self._committed_only
        return await self._bounds(
            lambda: {tp: brokers.partition(tp).bound(committed=only) for tp in partitions}
        )

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Of the first that are left. Raises KafkaTimeoutError."""
        brokers = self._client.brokers
        return await self._bounds(lambda: {tp: brokers.partition(tp).begin for tp in partitions})

    async def _bounds(self, ask: Any) -> dict[TopicPartition, int]:
        try:
            async with asyncio.timeout(REQUEST):
                answer: dict[TopicPartition, int] = await self._client.answered(ask)
                return answer
        except TimeoutError:
            raise KafkaTimeoutError("no answer in time") from None

    # ---- the group's places --------------------------------------------------------------------------------------

    async def committed(self, partition: TopicPartition) -> int | None:
        """How far the group is; None if it never said."""
        if self._group is None:
            raise IllegalOperation("it is in no group")
        groups, name = self._client.brokers.groups, self._group
        return await self._client.answered(lambda: groups.committed(name, partition))

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int]) -> None:
        """The group is so far. Raises CommitFailedError, IllegalStateError."""
        if self._places is None:
            raise IllegalStateError("no partitions are assigned")
        for tp in offsets:
            self._place(tp)
        groups, name, plain = self._client.brokers.groups, self._group, offsets_of(offsets)
        if name is None:
            raise IllegalOperation("it is in no group")
        member, generation = self._coordinator.member, self._coordinator.generation
        try:
            await self._client.answered(lambda: groups.commit(name, member, generation, plain))
        except (UnknownMemberIdError, IllegalGenerationError) as error:
            raise CommitFailedError(str(error)) from error

    def dealing(self) -> None:
        """The group deals out anew; it holds what it has until then."""
        self._dealt.clear()

    async def dealt(self, partitions: Iterable[TopicPartition]) -> None:
        """The group has dealt it these; it goes on where the group is, or as its setting says."""
        places = {}
        for tp in sorted(partitions):
            places[tp] = _Place(await self._begin(tp))
        self._places = places
        self._dealt.set()

    async def _begin(self, tp: TopicPartition) -> int:
        committed = await self.committed(tp)
        if committed is not None:
            return committed
        if self._reset == "latest":
            partition = self._client.brokers.partition(tp)
            return await self._client.answered(lambda: partition.bound(committed=self._committed_only))
        return 0

    # ---- records -------------------------------------------------------------------------------------------------

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[Message]]:
        """What comes within the time, of these partitions or of all; nothing of one that it has not.

        While its group deals out anew it waits for that, however long. Raises ConsumerStoppedError,
        OffsetOutOfRangeError.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_ms / 1000
        while True:
            if self._closed:
                raise ConsumerStoppedError
            await self._dealt.wait()
            wanted = frozenset(partitions) or self.assignment()
            ready = {tp: self._place(tp) for tp in sorted(wanted & self.assignment())}
            ready = {tp: place for tp, place in ready.items() if not place.is_paused}
            messages = await self._fetch(ready, max_records or 500) if ready else {}
            left = until - loop.time()
            if messages or left <= 0:
                return messages
            await self._news(ready, left)

    async def _fetch(
        self, ready: Mapping[TopicPartition, _Place], most: int
    ) -> dict[TopicPartition, list[Message]]:
        serials = {tp: place.serial for tp, place in ready.items()}
        starts = {tp: place.position for tp, place in ready.items()}
        brokers = self._client.brokers

        def read() -> dict[TopicPartition, tuple[list[Message], int, int]]:
            answer, left = {}, most
            for tp, start in starts.items():
                partition: ModelPartition = brokers.partition(tp)
                messages, position = partition.read(start or 0, left, committed=self._committed_only)
                answer[tp] = messages, position, partition.last_stable
                left -= len(messages)
                if left <= 0:
                    break
            return answer

        try:
            answer = await self._client.request(read)
        except _AWAY:
            await asyncio.sleep(BACKOFF)
            return {}
        except OffsetOutOfRangeError:
            if self._reset == "none":
                raise
            for tp, place in ready.items():
                place.position = brokers.partition(tp).begin
            return {}
        return dict(self._taken(ready, serials, answer))

    def _taken(
        self,
        ready: Mapping[TopicPartition, _Place],
        serials: Mapping[TopicPartition, int],
        answer: Mapping[TopicPartition, tuple[list[Message], int, int]],
    ) -> Iterable[tuple[TopicPartition, list[Message]]]:
        """What an answer brings of a place that is still the same."""
        for tp, (messages, position, stable) in answer.items():
            place = ready[tp]
            if self._places is None or self._places.get(tp) is not place or place.serial != serials[tp]:
                continue
            place.position, place.stable = position, stable
            place.answered = self._client.brokers.now
            if messages:
                yield tp, messages

    async def _news(self, ready: Iterable[TopicPartition], within: float) -> None:
        """Something has changed in one of these partitions, or the time is over."""
        changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def tell() -> None:
            if not changed.done():
                changed.set_result(None)

        for tp in ready:
            self._client.brokers.partition(tp).when_changed(tell)
        await asyncio.wait({changed}, timeout=within)
        changed.cancel()

    def _place(self, tp: TopicPartition) -> _Place:
        if self._places is None or tp not in self._places:
            raise IllegalStateError(f"partition {tp} is not assigned")
        return self._places[tp]
