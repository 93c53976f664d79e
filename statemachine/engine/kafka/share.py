"""Which partitions are this process's to project: those that fall to it in the consumer group of all who do.

The group deals out and nothing else: nothing is fetched by its members, and no place is kept there. For a moment two
may hold one partition, or somebody may who sleeps. That costs work twice, as projectors bear company.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

from aiokafka import ConsumerRebalanceListener, TopicPartition

from statemachine.engine.source import Pulse
from statemachine.engine.tasks import attempt
from statemachine.errors import LogUnavailable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import leave, member, started
from statemachine.log.kafka.failures import ours
from statemachine.log.kafka.layout import EVENTS
from statemachine.log.kafka.rights import PROJECTORS

log = logging.getLogger(__name__)

_POLL_MS: Final = 1000
"""How often a member shows that it lives: a group puts out who has not asked for anything for minutes."""

_RETRY: Final = 1.0


class KafkaShare:
    """A Share. A member of the name `instance` that comes back within `session` seconds gets its partitions again."""

    def __init__(self, address: Address, *, instance: str = "", session: float = 10.0) -> None:
        self._address, self._instance, self._session = address, instance, session
        self._topic = address.topic(EVENTS.name)
        self._beats = 0
        self.mine: frozenset[int] = frozenset()
        self.listeners: list[Callable[[], None]] = []
        self.error = ""

    async def run(self) -> None:
        """See Share. Raises StoreUnusable."""
        while True:
            try:
                await attempt(self._belong())
            except LogUnavailable as error:
                if not self.error:
                    fields = {"action": "log-unavailable", "error": str(error)}
                    log.warning("no share of the partitions can be had", extra=fields)
                self.error = str(error)
            finally:
                self.has(())
            self._beats += 1
            await asyncio.sleep(_RETRY)

    def has(self, partitions: Iterable[int]) -> None:
        """Exactly these are ours."""
        before, self.mine = self.mine, frozenset(partitions)
        if self.mine == before:
            return
        log.info(
            "the partitions projected here are others",
            extra={"action": "share", "partitions": sorted(self.mine)},
        )
        for listener in self.listeners:
            listener()

    def pulse(self) -> Pulse:
        """See Share."""
        return Pulse(self._beats, busy=True)

    async def _belong(self) -> None:
        """A member of the group, for ever. Raises LogUnavailable, StoreUnusable."""
        joined = self._member()
        try:
            with ours(self._address, f"join the group {self._address.topic(PROJECTORS)}"):
                joined.subscribe([self._topic], listener=_Dealt(self, joined))
                await started(joined)
                self.error = ""
                while True:
                    await joined.getmany(timeout_ms=_POLL_MS)
                    self._beats += 1
        finally:
            await leave(joined)

    def _member(self) -> Any:
        return member(
            self._address,
            PROJECTORS,
            instance=self._instance,
            session=self._session,
            client_id=self._address.prefix,
            auto_offset_reset="latest",
        )


class _Dealt(ConsumerRebalanceListener):  # type: ignore[misc, unused-ignore]
    """Hears which partitions the member has, and sees to it that nothing of them is fetched."""

    def __init__(self, share: KafkaShare, member: Any) -> None:
        self._share, self._member = share, member

    async def on_partitions_revoked(self, _: Iterable[TopicPartition]) -> None:
        """What was ours stays so until it is dealt out anew: views go on meanwhile."""

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Called when the group has dealt out."""
        parts = list(assigned)
        self._member.pause(*parts)
        self._share.has(part.partition for part in parts)
