"""The entry: what one decision appends to the log, in one record."""

from datetime import datetime
from typing import Final, Literal

from statemachine.events import Event
from statemachine.ids import JobUid, Position, Seq
from statemachine.observations import ActorSource, Observation
from statemachine.wire import Wire, always_written

GENESIS = ""
"""`prev` of a job's first entry."""

WHOLE: Final = 1
"""The version of an entry that is written as it is."""

REFERRING: Final = 2
"""The version of an entry whose cause refers to an event for its spec (`statemachine.log.sharing`)."""


class Entry(Wire):
    """One decision: the observation that caused it, whole, and the events that it decided, in order.

    `prev` is the SHA-256 (hex) of the bytes of the job's entry before this one, so that a history cannot be
    changed unseen. `seen_at` is when the controller observed it, `happened_at` when the change itself
    happened, if known. `actor` is the author of the change, if known, `actor_source` how that is known.
    `policy` is the version of the deciding code (`statemachine.decide.POLICY`). `source` is the place of the
    observation among those of its partition, where it has one; 0 elsewhere. `v` is how it is written, `WHOLE` or
    `REFERRING`; what it holds is the same.
    """

    v: Literal[1, 2] = always_written(default=1)
    job: JobUid
    seq: Seq
    prev: str
    policy: int
    seen_at: datetime
    happened_at: datetime | None = None
    actor: str = ""
    actor_source: ActorSource = ActorSource.RECORDED
    source: Position = 0
    cause: Observation
    events: tuple[Event, ...]


class EntryEvents(Wire, forbid_unknown_fields=False):
    """The part of an entry that folding needs; decoding it skips over the cause."""

    v: Literal[1, 2] = always_written(default=1)
    job: JobUid
    seq: Seq
    prev: str
    source: Position = 0
    events: tuple[Event, ...]


class CauseType(Wire, forbid_unknown_fields=False):
    """The type of an observation alone; newer releases may have types that this one does not know."""

    type: str


class EntryBrief(EntryEvents, forbid_unknown_fields=False):
    """The part of an entry that views show; of its cause they need only the type."""

    seen_at: datetime
    happened_at: datetime | None = None
    actor: str = ""
    actor_source: ActorSource = ActorSource.RECORDED
    cause: CauseType
