"""A consumer's part in its group: it joins, lives, hears what is dealt out, and leaves."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from aiokafka import TopicPartition
from aiokafka.errors import (
    IllegalGenerationError,
    KafkaConnectionError,
    RebalanceInProgressError,
    RequestTimedOutError,
    UnknownMemberIdError,
)

from tests.support.kafka_model.groups import Manner, Share
from tests.support.kafka_model.wire import BACKOFF, Wire

log = logging.getLogger(__name__)

_FORGOTTEN = (UnknownMemberIdError, IllegalGenerationError)


class Holder(Protocol):
    """The consumer whose part it is."""

    def assignment(self) -> Iterable[TopicPartition]:
        """What it has."""

    def dealing(self) -> None:
        """It gives nothing until it has its next share."""

    async def dealt(self, partitions: Iterable[TopicPartition]) -> None:
        """It has these from now on."""


class Membership:
    """To begin with it takes part in nothing. No member and generation -1: it is none now."""

    def __init__(self, holder: Holder, wire: Wire, group: str, beat_every: float) -> None:
        self._holder, self._wire, self._group, self._every = holder, wire, group, beat_every
        self._group_instance_id: str | None = None
        self.member, self.generation = "", -1
        self._manner: Manner | None = None
        self._listener: Any = None
        self._coordination_task: asyncio.Task[None] | None = None
        self._is_started = False
        self._is_ending = asyncio.Event()

    def start(self) -> None:
        """Brokers can be asked."""
        self._is_started = True
        self._begin()

    def subscribe(self, manner: Manner, listener: Any) -> None:
        """It takes part in this manner; the listener hears what is taken and dealt."""
        self._manner, self._listener = manner, listener
        self._begin()

    async def close(self) -> None:
        """It has left."""
        self._is_ending.set()
        if self._coordination_task is not None:
            await asyncio.wait([self._coordination_task])
        if self.member:
            groups, name, member = self._wire.brokers.groups, self._group, self.member
            try:
                await self._wire.request(lambda: groups.leave(name, member))
            except (KafkaConnectionError, RequestTimedOutError) as error:
                log.debug("a member left without a word", extra={"error": repr(error)})
        self.member, self.generation = "", -1

    def _begin(self) -> None:
        if self._is_started and self._manner is not None and self._coordination_task is None:
            self._coordination_task = asyncio.create_task(self._take_part(self._manner), name="coordination")

    async def _take_part(self, manner: Manner) -> None:
        while not self._is_ending.is_set():
            self._holder.dealing()
            await self._notify("revoked", self._listener and self._listener.on_partitions_revoked)
            share = await self._joined(manner)
            if share is None:
                return
            self.member, self.generation = share.member, share.generation
            await self._holder.dealt(share.partitions)
            await self._notify(
                "assigned", self._listener and self._listener.on_partitions_assigned, share.partitions
            )
            await self._live()

    async def _joined(self, manner: Manner) -> Share | None:
        """What falls to it; None: it is to end before that."""
        groups, name = self._wire.brokers.groups, self._group
        while not self._is_ending.is_set():
            member = self.member
            joining = asyncio.ensure_future(self._wire.long(lambda m=member: groups.join(name, m, manner)))  # type: ignore[misc]
            ending = asyncio.ensure_future(self._is_ending.wait())
            try:
                await asyncio.wait({joining, ending}, return_when=asyncio.FIRST_COMPLETED)
                if joining.done():
                    return joining.result()
            except UnknownMemberIdError:
                self.member, self.generation = "", -1
            except (KafkaConnectionError, RequestTimedOutError):
                await asyncio.sleep(BACKOFF)
            finally:
                joining.cancel()
                ending.cancel()
        return None

    async def _live(self) -> None:
        """Returns when it has to join anew, or is to end."""
        brokers, name = self._wire.brokers, self._group
        groups, pause = brokers.groups, self._every
        while not self._is_ending.is_set():
            try:
                async with asyncio.timeout(max(pause, brokers.beats_apart)):
                    await self._is_ending.wait()
                return
            except TimeoutError:
                pass
            member, generation = self.member, self.generation
            try:
                await self._wire.request(lambda m=member, g=generation: groups.beat(name, m, g))  # type: ignore[misc]
                pause = self._every
            except RebalanceInProgressError:
                return
            except _FORGOTTEN:
                self.member, self.generation = "", -1
                return
            except (KafkaConnectionError, RequestTimedOutError):
                pause = BACKOFF

    async def _notify(
        self, what: str, tell: Callable[[Iterable[TopicPartition]], Any] | None, partitions: Any = None
    ) -> None:
        """The listener has heard; what it raises is logged, as aiokafka does."""
        if tell is None:
            return
        try:
            await tell(self._holder.assignment() if partitions is None else partitions)
        except Exception:
            log.exception("a listener failed", extra={"action": what})
