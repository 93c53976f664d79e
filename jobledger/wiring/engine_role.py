"""The engine of a process: what decides in it, or follows what decides elsewhere."""

from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, Final, Protocol

from jobledger.telemetry.instruments import Instruments
from jobledger.wiring.ledger import Ledger
from jobledger.wiring.roles import Role, Roles
from statemachine.engine.clock import Clock
from statemachine.engine.drain import Drain
from statemachine.engine.embedded import Engine
from statemachine.engine.follower import Follower
from statemachine.engine.source import Pulse, Source
from statemachine.engine.step import Owner
from statemachine.log.polling import Polling
from statemachine.log.reader import Folded, Reader
from statemachine.observations import Observation

_NO_BRIDGE: Final = 1.0
"""Seconds between two looks into the inbox, where only `jobledger dead-letters retry` puts something there."""


class LogListener(Protocol):
    """What follows the log of a process."""

    def entry(self, folded: Folded) -> None:
        """An entry was appended."""

    def silent(self, observation: Observation) -> None:
        """An observation changed nothing; known only where it is decided."""

    def grown(self) -> None:
        """The log has grown by a record that is no entry."""


class EngineRole:
    """The `source` of states, with whatever takes observations to it.

    Without an outbox the role of an engine is an Engine here, which empties the ledger's inbox. With one it is the
    ledger's worker. A process that does not decide its log follows it.
    """

    def __init__(
        self, ledger: Ledger, readers: Sequence[Reader], clock: Clock, roles: Roles, instruments: Instruments
    ) -> None:
        self._instruments = instruments
        self.worker = ledger.worker
        self.decides = Role.ENGINE in roles and ledger.outbox is None
        """This process is the writer of its log."""
        self._drain: Drain | None = None
        self.source: Source
        if self.decides:
            self.source = self._engine(ledger, readers, clock, roles)
        else:
            followed = list(zip(ledger.partitions.logs, readers, strict=True))
            self.source = Follower(followed, ledger.way, ledger.partitions.number_of)

    def _engine(self, ledger: Ledger, readers: Sequence[Reader], clock: Clock, roles: Roles) -> Engine:
        (event_log,), (reader,) = ledger.partitions.logs, readers
        engine = Engine(event_log, Owner(event_log, reader, clock), clock, ledger.check)
        if ledger.inbox is not None:
            is_alone = roles >= {Role.BRIDGE, Role.PROJECTORS}
            polling = Polling(longest=_NO_BRIDGE) if is_alone else Polling()
            self._drain = Drain(ledger.inbox, engine, event_log, clock, polling)
        return engine

    async def start(self, listener: LogListener | None) -> None:
        """The states are those at the end of the log, and what was in the inbox is decided; then `listener` hears."""
        await self.source.start()
        if self._drain is not None:
            await self._drain.empty()
        for decider in (self.source, self.worker):
            if decider is not None:
                decider.listeners.append(self._instruments.entry)
                decider.silent_listeners.append(self._instruments.silent)
        if listener is not None:
            self.source.listeners.append(listener.entry)
            self.source.silent_listeners.append(listener.silent)
            if isinstance(self.source, Follower):
                self.source.refused_listeners.append(listener.grown)

    def loops(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What is to run, by name."""
        yield "engine" if self.decides else "follower", self.source.run()
        if self.worker is not None:
            yield "worker", self.worker.run()
        if self._drain is not None:
            yield "inbox", self._drain.run()

    def pulses(self) -> dict[str, Pulse]:
        """How the loops are doing."""
        pulses = self.source.pulses()
        if self.worker is not None:
            pulses |= self.worker.pulses()
        if self._drain is not None:
            pulses["inbox"] = self._drain.pulse()
        return pulses

    @property
    def log_error(self) -> str:
        """Why the log cannot be read or written at the moment; empty while it can."""
        worker = self.worker.log_error if self.worker is not None else ""
        return worker or self.source.log_error
