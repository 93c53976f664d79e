"""What each role of a controller asks of brokers that have ACLs, as data.

`docs/kafka.md` is generated from here, and a test gives these rights to users of a real broker.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from statemachine.log.kafka.address import DEFAULT_PREFIX
from statemachine.log.kafka.layout import CLOUDEVENTS, DEAD_LETTERS, EVENTS, JOBS, OBSERVATIONS, POSITIONS


class Resource(IntEnum):
    """What a right is on. Source: Kafka, ResourceType."""

    TOPIC = 2
    GROUP = 3
    TRANSACTIONAL_ID = 5


class Operation(IntEnum):
    """What may be done with it. Source: Kafka, AclOperation."""

    READ = 3
    WRITE = 4
    CREATE = 5
    ALTER = 7
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11


@dataclass(frozen=True, slots=True)
class Right:
    """Operations on the resource of this name, or on all whose names begin so."""

    resource: Resource
    name: str
    operations: tuple[Operation, ...]
    is_beginning: bool = False


PROJECTORS: Final = "projectors"
"""The consumer group of all who project."""

APPLY: Final = "jobledger topics apply"
CHECK: Final = "jobledger topics check"
RETRY: Final = "jobledger dead-letters retry"
PUBLISH: Final = "jobledger events"
"""All of its verbs; those that only read need no right to write, once the ledger has its name."""

CONSUMER: Final = "consumer"
"""Readers of public events, and nothing else."""

LINEAGE_CONSUMER: Final = "consumer of lineage"
"""Readers of RunEvents, and nothing else."""


def rights(prefix: str = DEFAULT_PREFIX, lineage: str = "") -> Mapping[str, tuple[Right, ...]]:
    """Role of a controller, or command → all that it needs, in a ledger whose topics have this prefix.

    `lineage`: whole name of the topic that a sink of lineage writes to; empty without one.
    """
    op = Operation

    def of_lineage(*operations: Operation) -> tuple[Right, ...]:
        return (Right(Resource.TOPIC, lineage, operations),) if lineage else ()

    def topic(name: str, *operations: Operation) -> Right:
        return Right(Resource.TOPIC, f"{prefix}.{name}", operations)

    look = Right(Resource.TOPIC, f"{prefix}.", (op.DESCRIBE, op.DESCRIBE_CONFIGS), is_beginning=True)
    make = Right(
        Resource.TOPIC,
        f"{prefix}.",
        (op.CREATE, op.DESCRIBE, op.DESCRIBE_CONFIGS, op.ALTER, op.ALTER_CONFIGS),
        is_beginning=True,
    )
    writers_of_lineage = Right(
        Resource.TRANSACTIONAL_ID, f"{lineage}-", (op.DESCRIBE, op.WRITE), is_beginning=True
    )
    naming = Right(Resource.TRANSACTIONAL_ID, f"{prefix}.ledger", (op.DESCRIBE, op.WRITE))
    publishers = Right(
        Resource.TRANSACTIONAL_ID, f"{prefix}.cloudevents-", (op.DESCRIBE, op.WRITE), is_beginning=True
    )
    publishing = (
        topic(CLOUDEVENTS.name, op.READ, op.WRITE),
        topic(POSITIONS.name, op.READ, op.WRITE),
        naming,
        publishers,
    )
    readers = Right(Resource.GROUP, f"{prefix}.reader.", (op.READ,), is_beginning=True)
    writers = Right(Resource.TRANSACTIONAL_ID, f"{prefix}-", (op.DESCRIBE, op.WRITE), is_beginning=True)
    reading = (look, topic(EVENTS.name, op.READ), topic(JOBS.name, op.READ), readers)
    # what is too large to be sent is kept as a dead letter by its sender
    sending = (topic(DEAD_LETTERS.name, op.READ, op.WRITE), topic(OBSERVATIONS.name, op.WRITE))
    return {
        "bridge": (*reading, *sending),
        "engine": (
            look,
            topic(EVENTS.name, op.READ, op.WRITE),
            topic(JOBS.name, op.READ, op.WRITE),
            topic(DEAD_LETTERS.name, op.READ, op.WRITE),
            topic(OBSERVATIONS.name, op.READ, op.WRITE),
            writers,
            Right(Resource.GROUP, f"{prefix}.engine", (op.READ,)),
            readers,
        ),
        "projectors": (
            *reading,
            *sending,
            *publishing,
            Right(Resource.GROUP, f"{prefix}.{PROJECTORS}", (op.READ,)),
            *of_lineage(op.DESCRIBE, op.WRITE),
            *((writers_of_lineage,) if lineage else ()),
        ),
        "front": (
            *reading,
            topic(DEAD_LETTERS.name, op.READ),
            topic(CLOUDEVENTS.name, op.READ),
            topic(POSITIONS.name, op.READ),
        ),
        APPLY: (make, *of_lineage(*make.operations)),
        CHECK: (look, *of_lineage(*look.operations)),
        RETRY: (look, *sending),
        PUBLISH: (look, topic(EVENTS.name, op.READ), topic(JOBS.name, op.READ), *publishing),
        CONSUMER: (topic(CLOUDEVENTS.name, op.READ, op.DESCRIBE),),
        LINEAGE_CONSUMER: of_lineage(op.READ, op.DESCRIBE),
    }
