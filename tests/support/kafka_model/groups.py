"""Coordinators of consumer groups: who is a member, who has which partitions, how far the group is.

A group deals out anew when a member comes, goes, or was silent for its session: members hear of it at their next
heartbeat and have their rebalance time to join again. What an earlier generation says is refused. Dynamic members
only; partitions go round. Source: Kafka, GroupCoordinator; KIP-62.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError

from tests.support.kafka_model.transactions import Later


class Share(NamedTuple):
    """What a member has, and in which generation."""

    member: str
    generation: int
    partitions: frozenset[TopicPartition]


class Manner(NamedTuple):
    """How a member takes part: its topics, and after how many seconds of silence it is none any more."""

    topics: frozenset[str]
    session: float
    rebalance: float


@dataclass
class _Member:
    id: str
    manner: Manner
    heard_at: float
    joining: "asyncio.Future[Share] | None" = None


@dataclass
class _Group:
    generation: int = 0
    members: dict[str, _Member] = field(default_factory=dict)
    is_dealing: bool = False
    round: int = 0
    offsets: dict[TopicPartition, int] = field(default_factory=dict)


class Groups:
    """All groups. `parts`: the partitions of a topic."""

    def __init__(
        self, later: Later, now: Callable[[], float], parts: Callable[[str], Sequence[TopicPartition]]
    ) -> None:
        self._later, self._now, self._parts = later, now, parts
        self._groups: dict[str, _Group] = {}
        self._count = 0

    # ---- members -------------------------------------------------------------------------------------------------

    def join(self, name: str, member: str, manner: Manner) -> "asyncio.Future[Share]":
        """What falls to the member, once all have joined; a new one says "".

        Raises UnknownMemberIdError.
        """
        group = self._group(name)
        joining: asyncio.Future[Share] = asyncio.get_running_loop().create_future()
        known = group.members.get(member)
        if known is None:
            if member:
                raise UnknownMemberIdError
            self._count += 1
            known = group.members[f"member-{self._count}"] = _Member(
                f"member-{self._count}", manner, self._now()
            )
            self._expect(name, group, known)
        known.joining, known.heard_at = joining, self._now()
        self._deal_anew(group)
        self._deal(group)
        return joining

    def beat(self, name: str, member: str, generation: int) -> None:
        """The member lives. Raises UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError."""
        group = self._group(name)
        self._of(group, member, generation).heard_at = self._now()
        if group.is_dealing:
            raise RebalanceInProgressError

    def leave(self, name: str, member: str) -> None:
        """The member is none any more, and what it had is dealt out."""
        group = self._group(name)
        if group.members.pop(member, None) is not None:
            self._deal_anew(group)
            self._deal(group)

    def members(self, name: str) -> Collection[str]:
        """Those of a group."""
        return self._group(name).members

    # ---- offsets -------------------------------------------------------------------------------------------------

    def commit(self, name: str, member: str, generation: int, offsets: Mapping[TopicPartition, int]) -> None:
        """The group is so far. Without `member` only of a group that has none.

        Raises UnknownMemberIdError, IllegalGenerationError.
        """
        group = self._group(name)
        if member or group.members:
            self._of(group, member, generation)
        group.offsets.update(offsets)

    def keep(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """The group is so far by a transaction that was committed."""
        self._group(name).offsets.update(offsets)

    def committed(self, name: str, tp: TopicPartition) -> int | None:
        """How far the group is; None if it never said."""
        return self._group(name).offsets.get(tp)

    # ---- dealing out ---------------------------------------------------------------------------------------------

    def _group(self, name: str) -> _Group:
        return self._groups.setdefault(name, _Group())

    @staticmethod
    def _of(group: _Group, member: str, generation: int) -> _Member:
        known = group.members.get(member)
        if known is None:
            raise UnknownMemberIdError
        if generation != group.generation:
            raise IllegalGenerationError
        return known

    def _expect(self, name: str, group: _Group, member: _Member) -> None:
        """A member that is silent for its session is put out; one that waits for its share is not silent."""

        def look() -> None:
            if group.members.get(member.id) is not member:
                return
            silent = self._now() - member.heard_at
            if member.joining is None and silent >= member.manner.session:
                self.leave(name, member.id)
                return
            rest = member.manner.session - silent if member.joining is None else member.manner.session
            self._later(max(rest, 0.001), look)

        self._later(member.manner.session, look)

    def _deal_anew(self, group: _Group) -> None:
        if group.is_dealing or not group.members:
            return
        group.is_dealing = True
        group.round += 1
        number = group.round

        def late() -> None:
            if group.is_dealing and group.round == number:
                group.members = {id_: member for id_, member in group.members.items() if member.joining}
                self._deal(group)

        self._later(max(member.manner.rebalance for member in group.members.values()), late)

    def _deal(self, group: _Group) -> None:
        """Everybody has joined: partitions go round."""
        if not group.is_dealing or not all(member.joining for member in group.members.values()):
            return
        group.is_dealing = False
        group.generation += 1
        members = [group.members[id_] for id_ in sorted(group.members)]
        topics = sorted({topic for member in members for topic in member.manner.topics})
        shares: dict[str, set[TopicPartition]] = {member.id: set() for member in members}
        for index, tp in enumerate(tp for topic in topics for tp in self._parts(topic)):
            shares[members[index % len(members)].id].add(tp)
        for member in members:
            joining, member.joining, member.heard_at = member.joining, None, self._now()
            if joining is not None and not joining.done():
                joining.set_result(Share(member.id, group.generation, frozenset(shares[member.id])))
