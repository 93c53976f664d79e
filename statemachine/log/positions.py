"""How far sinks of public events have a ledger, which events they did not get, and which of them are switched off.

`Positions` is what a runner of sinks asks. It keeps everything as small named records, one set a partition, in the
ledger itself: a table of the store (`sqlite_positions`), or a compacted topic. One test suite runs on all adapters of
PositionRecords (`tests/ports/test_positions.py`).

Names of records: `<sink>` is the sink's position, `<sink>/failed/<event id>` a failure, `<sink>/off` the reason why
the sink is switched off, `<sink>/reset` where it is to go on. Positions and resets are in the partition that they are
of, the rest is in partition 0.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from statemachine.errors import StoreUnusable
from statemachine.ids import JobUid, Position, Seq

NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
"""What a sink may be called."""

LEDGER: Final = "ledger"
"""The record beside those of sinks, in a topic, that says what the ledger is called; no sink has the name."""

PUBLISHER: Final = "/publisher"
"""End of the record's name, in a topic, that says who publishes for a sink; only sinks that write there have one."""

_FAILED: Final = "/failed/"
_OFF: Final = "/off"
_RESET: Final = "/reset"


class SinkPosition(NamedTuple):
    """How far a sink has a partition: everything up to `position` of the log is settled.

    `held`: jobs that could not be read when they were passed, with the first entry of each that is not published.
    `contract` and `settings`: version and fingerprint of what was published.
    """

    position: Position
    held: Mapping[JobUid, Seq]
    contract: str
    settings: str


class SinkFailure(NamedTuple):
    """An event that its receiver does not have, and is not sent again. The log gives it again, by its id.

    `error`: in words without the address; `first`, `last`: when the first and the last attempt were (RFC 3339, UTC).
    """

    event: str
    error: str
    attempts: int
    first: str
    last: str


class SinkOrders(NamedTuple):
    """What users ask of a sink: why it is off, empty if it is on, and in which partitions it is to go on elsewhere.

    `failed`: how many failures of it are kept.
    """

    disabled: str = ""
    resets: frozenset[int] = frozenset()
    failed: int = 0


class PositionRecords(Protocol):
    """Small records of a ledger, by partition and name."""

    async def get(self, partition: int, name: str) -> bytes | None:
        """The record as it is now, whichever process wrote it; None without one. Raises LogUnavailable."""

    async def put(self, partition: int, name: str, value: bytes | None) -> None:
        """The record is durable; None deletes it. Raises LogUnavailable, StoreUnusable."""

    async def named(self, prefix: str) -> Mapping[tuple[int, str], bytes]:
        """All records whose names begin so, by partition and name, in that order. Raises LogUnavailable."""


class Positions:
    """See the module."""

    def __init__(self, records: PositionRecords) -> None:
        self._records = records

    async def load(self, sink: str, partition: int) -> SinkPosition | None:
        """How far the sink has the partition; None if it never had any. Raises LogUnavailable, StoreUnusable."""
        value = await self._records.get(partition, sink)
        return decoded(sink, value) if value is not None else None

    async def save(self, sink: str, partition: int, position: SinkPosition) -> None:
        """The sink has the partition so far."""
        await self._records.put(partition, sink, encoded(position))

    async def all(self, sink: str) -> Mapping[int, SinkPosition]:
        """How far the sink has each partition of which it has anything."""
        records = await self._records.named(sink)
        return {number: decoded(sink, value) for (number, name), value in records.items() if name == sink}

    async def is_in_topic(self, sink: str) -> bool:
        """The sink writes its position itself, in one transaction with events in a topic."""
        records = await self._records.named(sink)
        return any(name == sink + PUBLISHER for _, name in records)

    async def sinks(self) -> Sequence[str]:
        """The names of all sinks of which anything is known, in order."""
        names = {name.partition("/")[0] for _, name in await self._records.named("")}
        return sorted(names - {LEDGER})

    async def orders(self) -> Mapping[str, SinkOrders]:
        """Of every sink of which anything is known. However many they are, the records are read once."""
        orders: defaultdict[str, SinkOrders] = defaultdict(SinkOrders)
        for (number, name), value in (await self._records.named("")).items():
            sink = name.partition("/")[0]
            before, what = orders[sink], name.removeprefix(sink)
            if what == _OFF:
                orders[sink] = before._replace(disabled=_text(value))
            elif what == _RESET:
                orders[sink] = before._replace(resets=before.resets | {number})
            elif what.startswith(_FAILED):
                orders[sink] = before._replace(failed=before.failed + 1)
        orders.pop(LEDGER, None)
        return orders

    # ---- events that were not delivered --------------------------------------------------------------------

    async def fail(self, sink: str, failure: SinkFailure) -> None:
        """The failure is kept until it is settled; one of the same event is replaced."""
        value = json.dumps(failure[1:], ensure_ascii=False).encode(errors="backslashreplace")
        await self._records.put(0, f"{sink}{_FAILED}{failure.event}", value)

    async def failures(self, sink: str) -> Mapping[str, SinkFailure]:
        """Those that are not settled, by the ids of their events."""
        prefix = sink + _FAILED
        records = await self._records.named(prefix)
        failures = (_failure(name.removeprefix(prefix), value) for (_, name), value in records.items())
        return {failure.event: failure for failure in failures}

    async def settle_failure(self, sink: str, event: str) -> None:
        """Nothing is known of such a failure any more."""
        await self._records.put(0, f"{sink}{_FAILED}{event}", None)

    # ---- what users ask for --------------------------------------------------------------------------------

    async def switch(self, sink: str, *, disabled: str) -> None:
        """The sink is switched off for this reason, across restarts; with an empty one it is on."""
        await self._records.put(0, sink + _OFF, disabled.encode() or None)

    async def disabled(self, sink: str) -> str:
        """Why the sink is switched off; empty if it is on."""
        return _text(await self._records.get(0, sink + _OFF) or b"")

    async def ask_reset(self, sink: str, partition: int, position: SinkPosition) -> None:
        """The sink is to go on from there: who runs it does so soon, or at its next start."""
        await self._records.put(partition, sink + _RESET, encoded(position))

    async def reset_asked(self, sink: str, partition: int) -> SinkPosition | None:
        """Where the sink is asked to go on; None if it is not."""
        value = await self._records.get(partition, sink + _RESET)
        return decoded(sink, value) if value is not None else None

    async def reset_done(self, sink: str, partition: int) -> None:
        """The sink went on from where it was asked to."""
        await self._records.put(partition, sink + _RESET, None)


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def encoded(position: SinkPosition) -> bytes:
    """The record of a position."""
    return json.dumps(position._asdict()).encode()


def decoded(sink: str, value: bytes) -> SinkPosition:
    """The position in a record. Raises StoreUnusable."""
    try:
        fields: dict[str, Any] = json.loads(value)
        held = {JobUid(str(job)): int(seq) for job, seq in fields["held"].items()}
        return SinkPosition(int(fields["position"]), held, str(fields["contract"]), str(fields["settings"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreUnusable(
            f"the position of the sink {sink} cannot be read ({error!r}): say where it is to go on with "
            f"`jobledger events sinks reset {sink} --to beginning`, or `--to end`"
        ) from error


def _failure(event: str, value: bytes) -> SinkFailure:
    """The failure in a record; one that cannot be read still names its event."""
    try:
        error, attempts, first, last = json.loads(value)
        return SinkFailure(event, str(error), int(attempts), str(first), str(last))
    except (ValueError, TypeError):
        return SinkFailure(event, "its record cannot be read", 0, "", "")
