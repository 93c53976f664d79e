"""Observations from Kafka to the processors: a consumer in the engines' group, and nothing in between."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import IllegalStateError

from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.commits import Commits
from statemachine.engine.kafka.offsets import GROUP, Offsets
from statemachine.errors import first
from statemachine.ids import JobUid, Position
from statemachine.log.inbox import Post
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import leave, member, started
from statemachine.log.kafka.failures import ours
from statemachine.log.kafka.layout import OBSERVATIONS
from statemachine.log.kafka.records import trace_of

_FETCH: Final = 500
"""Most observations that are taken from the consumer in one go; a processor with less room is passed over."""

_POLL_MS: Final = 100
"""How long to wait for news at most, before looking which processors have room again."""

_NAP: Final = 0.005
"""Seconds to wait while no processor has room."""


class AiokafkaFeed:
    """A Feed: one consumer, from which each processor is filled as far as it has room.

    `instance`: a member of that name that comes back within `session` seconds gets its partitions again, and
    nobody else's decisions pause; empty: there is none.
    """

    def __init__(
        self, address: Address, assignment: Assignment, *, instance: str = "", session: float = 10.0
    ) -> None:
        self._address, self._assignment = address, assignment
        self._topic = address.topic(OBSERVATIONS.name)
        self._instance, self._session = instance, session
        self._fed: frozenset[int] = frozenset()
        self._is_fed = asyncio.Event()
        """It has partitions."""

    async def run(self) -> None:
        """See Feed."""
        consumer = self._consumer()
        commits = Commits(self._assignment, self._topic, consumer.commit)
        try:
            async with Offsets(self._address) as offsets:
                with ours(self._address, f"join the group {self._address.topic(GROUP)}"):
                    await started(consumer)
                try:
                    async with asyncio.TaskGroup() as tasks:
                        dealt = _Dealt(self, commits, offsets, tasks)
                        consumer.subscribe([self._topic], listener=dealt)
                        tasks.create_task(self._assignment.failure(), name="failure")
                        tasks.create_task(offsets.watch(self._assignment), name="ends")
                        tasks.create_task(self._fetch(consumer), name="fetch")
                        tasks.create_task(commits.run(), name="commit")
                finally:
                    await self._assignment.close()
                    await commits.commit()
        except BaseExceptionGroup as group:
            raise first(group) from None
        finally:
            await leave(consumer)

    def _consumer(self) -> Any:
        return member(
            self._address,
            GROUP,
            instance=self._instance,
            session=self._session,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=_POLL_MS,
        )

    # ---- membership ----------------------------------------------------------------------------------------------

    async def revoked(self, commits: Commits) -> None:
        """Nothing is fed until partitions have been dealt out; who gets ours knows how far they are decided."""
        self._assignment.unsettled()
        await commits.commit()
        commits.end()
        self._feed(frozenset())

    async def assigned(self, commits: Commits, offsets: Offsets, partitions: frozenset[int]) -> None:
        """`partitions` are owned here, and fed."""
        await offsets.take_over(self._assignment, partitions)
        commits.begin(partitions)
        self._feed(partitions)

    def _feed(self, partitions: frozenset[int]) -> None:
        self._fed = partitions
        (self._is_fed.set if partitions else self._is_fed.clear)()

    # ---- loops ---------------------------------------------------------------------------------------------------

    async def _fetch(self, consumer: Any) -> None:
        while True:
            await self._is_fed.wait()
            ready = [
                TopicPartition(self._topic, number)
                for number in self._fed
                if self._assignment.room(number) >= _FETCH
            ]
            if not ready:
                await asyncio.sleep(_NAP)
                continue
            with ours(self._address, f"read {self._topic}"):
                try:
                    fetched = await consumer.getmany(*ready, timeout_ms=_POLL_MS, max_records=_FETCH)
                except IllegalStateError:  # dealt out anew at this moment
                    await asyncio.sleep(_NAP)
                    continue
            for part, messages in fetched.items():
                for place, posts in runs(messages):
                    await self._assignment.put(part.partition, place, posts)


class _Dealt(ConsumerRebalanceListener):  # type: ignore[misc, unused-ignore]
    """Hears which partitions this member has. Long work is left to tasks: no heartbeat is sent in between."""

    def __init__(
        self, feed: AiokafkaFeed, commits: Commits, offsets: Offsets, tasks: asyncio.TaskGroup
    ) -> None:
        self._feed, self._commits, self._offsets, self._tasks = feed, commits, offsets, tasks
        self._taking_over: asyncio.Task[None] | None = None

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Called before the group deals out anew."""
        await self._feed.revoked(self._commits)
        if self._taking_over is not None:
            self._taking_over.cancel()
            await asyncio.wait([self._taking_over])

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Called when the group has dealt out."""
        partitions = frozenset(part.partition for part in assigned)
        taking_over = self._feed.assigned(self._commits, self._offsets, partitions)
        try:
            self._taking_over = self._tasks.create_task(taking_over, name="take over")
        except RuntimeError:  # the feed ends, and has not left the group yet: others will have them
            taking_over.close()


def posted(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] | None = None
) -> Post:
    """A record of the observations as an inbox would have it."""
    return Post(JobUid((key or b"").decode(errors="replace")), value or b"", trace_of(headers or ()))


def runs(messages: Iterable[Any]) -> Iterator[tuple[Position, Sequence[Post]]]:
    """Records of a partition as an inbox would have them, and the place of the first; anew where one is left out."""
    first, posts = 0, list[Post]()
    for message in messages:
        if message.offset + 1 != first + len(posts):
            if posts:
                yield first, posts
            first, posts = message.offset + 1, []
        posts.append(posted(message.key, message.value, message.headers))
    if posts:
        yield first, posts
