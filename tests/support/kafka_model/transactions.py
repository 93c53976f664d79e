"""The coordinator of transactions: who may write under a transactional id, and what becomes of what was begun.

It says yes to a commit before the markers are in the partitions, and a client that asks for the id meanwhile waits.
Source: Kafka, KIP-98; TransactionCoordinator (states and their answers).
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import ConcurrentTransactions, InvalidProducerEpoch, InvalidTxnState

from tests.support.kafka_model.partitions import ModelPartition, Writing

Offsets = Mapping[TopicPartition, int]
Later = Callable[[float, Callable[[], None]], None]
"""Calls after so many seconds, or as soon as brokers are there again."""


class State(Enum):
    """Of the transaction of an id."""

    EMPTY = auto()
    ONGOING = auto()
    COMMITTING = auto()
    ABORTING = auto()
    COMMITTED = auto()
    ABORTED = auto()


class Deed(NamedTuple):
    """What the coordinator has granted: an epoch to a client, or the commit of one."""

    what: str
    transactional_id: str
    writer: Writing


@dataclass
class _Transactional:
    pid: int
    epoch: int = -1
    state: State = State.EMPTY
    client: str = ""
    timeout: float = 0.0
    serial: int = 0
    """Counts transactions, so that a time-out ends its own only."""
    partitions: dict[TopicPartition, ModelPartition] = field(default_factory=dict)
    offsets: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)


class Transactions:
    """All transactional ids. With `fences` off an id has no epochs: what the model is without fencing."""

    def __init__(self, later: Later, lag: Callable[[], float], keep: Callable[[str, Offsets], None]) -> None:
        self._later, self._lag, self._keep = later, lag, keep
        self._ids: dict[str, _Transactional] = {}
        self._pids = itertools.count(1)
        self.fences = True
        self.deeds: list[Deed] = []

    def init(self, transactional_id: str, timeout: float, client: str) -> Writing:
        """The id is the client's alone. Raises ConcurrentTransactions: what was begun before has not ended yet."""
        known = self._ids.get(transactional_id)
        if known is None:
            known = self._ids[transactional_id] = _Transactional(next(self._pids))
        if self.fences:
            if known.state is State.ONGOING:
                self._fence(known)
            if known.state in (State.COMMITTING, State.ABORTING):
                raise ConcurrentTransactions
            known.epoch += 1
            known.state = State.EMPTY
        known.client, known.timeout = client, timeout
        writer = Writing(known.pid, max(known.epoch, 0), client)
        self.deeds.append(Deed("init", transactional_id, writer))
        return writer

    def idempotent(self, client: str) -> Writing:
        """A producer without transactions."""
        return Writing(next(self._pids), 0, client)

    def add(self, transactional_id: str, writer: Writing, partition: ModelPartition) -> None:
        """The partition is part of the writer's transaction, which has begun if it had not.

        Raises InvalidProducerEpoch, ConcurrentTransactions.
        """
        known = self._own(transactional_id, writer)
        self._begin(known)
        known.partitions[partition.tp] = partition

    def add_offsets(self, transactional_id: str, writer: Writing, group: str, offsets: Offsets) -> None:
        """The group's offsets are part of the transaction. Raises as `add`."""
        known = self._own(transactional_id, writer)
        self._begin(known)
        known.offsets.setdefault(group, {}).update(offsets)

    def verify(self, transactional_id: str, writer: Writing, tp: TopicPartition) -> None:
        """The partition is part of the writer's transaction. Raises InvalidProducerEpoch, InvalidTxnState."""
        known = self._own(transactional_id, writer)
        if self.fences and (known.state is not State.ONGOING or tp not in known.partitions):
            raise InvalidTxnState

    def end(self, transactional_id: str, writer: Writing, *, commit: bool) -> None:
        """The transaction is as good as committed, or aborted: partitions hear of it a little later.

        Raises InvalidProducerEpoch, InvalidTxnState; ConcurrentTransactions: it is being ended.
        """
        known = self._own(transactional_id, writer)
        if known.state is (State.COMMITTED if commit else State.ABORTED):
            return  # its answer was lost, it is asked for once more
        if known.state in (State.COMMITTING, State.ABORTING):
            raise ConcurrentTransactions
        if known.state is not State.ONGOING:
            raise InvalidTxnState
        if commit:
            self.deeds.append(Deed("commit", transactional_id, writer))
        self._prepare(known, commit=commit)

    def _own(self, transactional_id: str, writer: Writing) -> _Transactional:
        known = self._ids[transactional_id]
        if self.fences and (writer.pid, writer.epoch) != (known.pid, known.epoch):
            raise InvalidProducerEpoch
        return known

    def _begin(self, known: _Transactional) -> None:
        if known.state in (State.COMMITTING, State.ABORTING):
            raise ConcurrentTransactions
        if known.state is State.ONGOING:
            return
        known.state = State.ONGOING
        known.serial += 1
        serial = known.serial

        def over() -> None:
            if known.state is State.ONGOING and known.serial == serial:
                self._fence(known)

        self._later(known.timeout, over)

    def _fence(self, known: _Transactional) -> None:
        """What was begun is aborted under the next epoch: who began it is refused everywhere from now on."""
        known.epoch += 1
        self._prepare(known, commit=False)

    def _prepare(self, known: _Transactional, *, commit: bool) -> None:
        known.state = State.COMMITTING if commit else State.ABORTING
        writer = Writing(known.pid, known.epoch, known.client)
        waiting = list(known.partitions.values())

        def mark() -> None:
            if waiting:
                waiting.pop(0).mark(writer, committed=commit)
            if waiting:
                self._later(self._lag(), mark)
                return
            if commit:
                for group, offsets in known.offsets.items():
                    self._keep(group, offsets)
            known.partitions, known.offsets = {}, {}
            known.state = State.COMMITTED if commit else State.ABORTED

        self._later(self._lag(), mark)

    def open_ids(self) -> Iterable[str]:
        """Those whose transaction has not ended."""
        busy = (State.ONGOING, State.COMMITTING, State.ABORTING)
        return [name for name, known in self._ids.items() if known.state in busy]
