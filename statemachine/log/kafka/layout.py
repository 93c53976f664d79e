"""The topics of a ledger as data: what each holds, the settings it has to have, and why.

`topics` makes and checks them on brokers; `docs/kafka.md` is generated from here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

DEFAULT_PARTITIONS: Final = 12
DEFAULT_COPIES: Final = 3

RECORD_LIMIT: Final = 8 * 2**20
"""Bytes of the largest record that any topic has to take.

An observation holds a manifest (1.5 MiB at most, as in a cluster), an entry holds the observation and what followed.
"""

Codec = Literal["zstd", "gzip"]
"""How records are compressed. zstd where only we read: measured on batches of 100 entries, an eighth of the size for
2 µs of CPU each, 0.6 µs to read (lz4: a fifth, 9 µs; gzip: an eighth, 21 µs; snappy: a quarter, 1 µs). Where its
library is missing nothing is compressed. gzip where others read, too: every client can, without another library."""

_DAY: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a topic as it is made; `reason` says in a sentence or two why.

    With `must`, no other value is as safe. With `least`, only larger numbers are (-1: without end), up to `most` if
    there is one. With neither, it is somebody's choice: it is set when the topic is made, and never again.
    """

    name: str
    value: str
    reason: str
    must: bool = False
    least: int | None = None
    most: int | None = None

    def allows(self, value: str) -> bool:
        """A topic with this value loses nothing."""
        if self.must:
            return value == self.value
        if self.least is None:
            return True
        number = math.inf if value == "-1" else int(value)
        return self.least <= number <= (math.inf if self.most is None else self.most)

    @property
    def demand(self) -> str:
        """What the value must be, as the end of a sentence; empty if it may be anything."""
        if self.must or (self.least is not None and self.least == self.most):
            return self.value
        if self.least is None:
            return ""
        return f"at least {self.least}" if self.most is None else f"from {self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Topic:
    """`name` stands behind the ledger's prefix. `own`: what is not the same for all topics.

    A job is in the partition of the same number in all of them. `codec`: how we compress what we write there.
    """

    name: str
    holds: str
    own: tuple[Setting, ...]
    codec: Codec = "zstd"

    def settings(self, copies: int) -> tuple[Setting, ...]:
        """All settings of the topic, if every record of it is on so many brokers."""
        return (*self.own, _in_sync(copies), *_COMMON)


def _in_sync(copies: int) -> Setting:
    """With fewer than three copies, two brokers in sync would mean that nothing works while one is away."""
    least = 2 if copies >= 3 else 1
    return Setting(
        "min.insync.replicas",
        str(least),
        "With copies on three brokers, two have what is acknowledged: the loss of one loses nothing.",
        least=least,
        most=copies,
    )


_COMMON: Final = (
    Setting(
        "unclean.leader.election.enable",
        "false",
        "A broker that lacks records must not lead: what the others have would be cut off.",
        must=True,
    ),
    Setting(
        "max.message.bytes",
        str(RECORD_LIMIT),
        "The largest manifest has to fit in, with all that is said about it. What does not fit could not be decided.",
        least=RECORD_LIMIT,
    ),
    Setting(
        "compression.type",
        "producer",
        "Brokers keep what they are sent, compressed by the sender, and need not compress again.",
    ),
    Setting(
        "message.timestamp.type",
        "LogAppendTime",
        "Records age by the brokers' clock: a sender's wrong one cannot make them vanish, nor be refused.",
    ),
)

_DELETED: Final = Setting(
    "cleanup.policy",
    "delete",
    "Compaction would keep a job's last record only.",
    must=True,
)
_NO_LIMIT: Final = Setting(
    "retention.bytes",
    "-1",
    "A limit in bytes would delete records of the jobs that write most, at a time that nobody can predict.",
    must=True,
)

EVENTS: Final = Topic(
    "events",
    "entries: what was decided, for ever. The truth; all else can be made from it",
    (
        _DELETED,
        Setting(
            "retention.ms",
            "-1",
            "Entries are kept for ever: a job whose first entries are gone cannot be folded.",
            must=True,
        ),
        _NO_LIMIT,
    ),
)

OBSERVATIONS: Final = Topic(
    "observations",
    "observations, until they are decided",
    (
        _DELETED,
        Setting(
            "retention.ms",
            str(7 * _DAY),
            "An observation must be there until it is decided, also when no engine runs over a weekend.",
            least=_DAY,
        ),
        _NO_LIMIT,
    ),
)

JOBS: Final = Topic(
    "jobs",
    "snapshots of the states of open jobs, and pages of closed ones. Only a cache: it may be deleted, and made again",
    (
        Setting(
            "cleanup.policy",
            "compact",
            "The newest snapshot of every job stays, however old: together they stand for all entries before.",
            must=True,
        ),
        Setting(
            "segment.bytes",
            str(64 * 2**20),
            "The newest segment is never compacted and is read whole at every start.",
        ),
        Setting(
            "min.cleanable.dirty.ratio",
            "0.2",
            "Compacted early, because what is superseded is read at every start.",
        ),
    ),
)

DEAD_LETTERS: Final = Topic(
    "dead-letters",
    "observations that could not be read or decided, whole, with the error",
    (
        _DELETED,
        Setting(
            "retention.ms",
            "-1",
            "They are few, and somebody has to look at them, whenever that is.",
            least=_DAY,
        ),
        _NO_LIMIT,
    ),
)

CLOUDEVENTS: Final = Topic(
    "cloudevents",
    "public events, for others to read: see docs/events.md",
    (
        _DELETED,
        Setting(
            "retention.ms",
            "-1",
            "Consumers rebuild everything by reading from the first offset, and it is a fraction of what `events` "
            "takes. With a shorter time, `jobledger events publish` writes all of it to a topic of theirs.",
        ),
        _NO_LIMIT,
    ),
    codec="gzip",
)

POSITIONS: Final = Topic(
    "positions",
    "how far each sink of public events has come, and what the ledger is called",
    (
        Setting(
            "cleanup.policy",
            "compact",
            "The newest record of every sink stays, however old: a sink that begins anew sends everything again.",
            must=True,
        ),
        Setting(
            "segment.bytes",
            str(16 * 2**20),
            "The newest segment is never compacted and is read whole at every start.",
        ),
        Setting(
            "min.cleanable.dirty.ratio",
            "0.2",
            "Compacted early, because what is superseded is read at every start.",
        ),
    ),
    codec="gzip",
)

LINEAGE: Final = Topic(
    "lineage",
    "RunEvents of OpenLineage; its name is what a sink of type `openlineage` says: see docs/lineage.md",
    (
        Setting(
            "cleanup.policy",
            "delete",
            "Compaction would keep the last RunEvent of a family of runs only.",
            must=True,
        ),
        Setting(
            "retention.ms",
            "-1",
            "A lineage system that begins anew reads all runs. With a shorter time it lacks older ones, and "
            "`jobledger events sinks reset` sends everything again.",
        ),
        _NO_LIMIT,
    ),
    codec=CLOUDEVENTS.codec,
)
"""The topic of a sink of lineage. It has as many partitions as one of TOPICS, or more; keys are no uids of jobs."""

TOPICS: Final = (EVENTS, OBSERVATIONS, JOBS, DEAD_LETTERS, CLOUDEVENTS, POSITIONS)
"""The ledger's own. The first that exists says how many partitions there are."""


def wrong_settings(topic: Topic, copies: int, settings: Mapping[str, str]) -> list[Setting]:
    """Those of the topic's settings whose values would lose something, as far as brokers know them."""
    return [
        setting
        for setting in topic.settings(copies)
        if setting.name in settings and not setting.allows(settings[setting.name])
    ]


def faults(topic: Topic, name: str, copies: int, settings: Mapping[str, str]) -> list[str]:
    """What is wrong with the topic's settings, a sentence each; `name` is its whole name."""
    return [
        f"{name}: {setting.name} is {settings[setting.name]}, but must be {setting.demand}. {setting.reason}"
        for setting in wrong_settings(topic, copies, settings)
    ]
