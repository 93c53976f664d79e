"""What of a job leaves the product, and under which name of the ledger."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class LedgerSettings(BaseModel):
    """What the ledger is called."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: Annotated[str, Field(pattern=r"^([a-z0-9.-]+(/[a-z0-9.-]+)*)?$")] = ""
    """Name of the ledger in the `source` of its public events: `prod-1`. A ledger keeps the first one, and copies of
    it have it, too. Default: twelve digits that are made up once."""


class EventsKafkaSettings(BaseModel):
    """The topic of public events that sinks of type `kafka` without a `url` write to, and `--to kafka:`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    address: Annotated[str, Field(pattern=r"^([^\s,/:]+:[0-9]+(,[^\s,/:]+:[0-9]+)*)?$")] = ""
    """Brokers that hold the topic: `broker-1:9092,broker-2:9092`. Default: those of the log. With it a log in a store
    is published, too. Who connects to them is said by the settings `kafka`."""

    topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,249}$")] = ""
    """Name of the topic. Default: `cloudevents` behind the prefix of the log's topics, `jobledger.cloudevents`. Any
    other topic, or one at other brokers, has to exist, with as many partitions as the log, and to keep records."""

    mode: Literal["binary", "structured"] = "binary"
    """`binary`: data as value, attributes as headers; `structured`: whole CloudEvents as values. A sink may have its
    own `mode`. Default: `binary`."""


class EventsSettings(BaseModel):
    """What of a job leaves in public events."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    sinks: Path | None = None
    """Path of a YAML file with the receivers of public events that the projectors feed (docs/events.md, "Sinks").
    Default: none; with a log in Kafka, or with `events.kafka.address`, the topic of `events.kafka`. A file that is
    wrong ends the program at its start."""

    kafka: EventsKafkaSettings = EventsKafkaSettings()
    """The topic of public events in Kafka."""

    labels: str = "*"
    """Patterns of the keys of labels that are published, with commas between them: `team,app.kubernetes.io/*`.
    Default `*`, which is all."""

    actors: Literal["plain", "hash", "none"] = "plain"
    """How those are named who changed a job: `plain`, `hash` (SHA-256 of the name), `none`. Default plain; names
    may be personal data."""

    classification: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,62})?$")] = ""
    """How confidential public events are, such as `internal`: their attribute `dataclassification`, from then on.
    Default: none, and no such attribute."""


class AccountingSettings(BaseModel):
    """What is counted of a job."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    gpu_resources: str = ""
    """Extended resources that count as GPUs, with commas between them; `*` stands for any text, `name=0.5` says how
    much of a GPU one is. Default `nvidia.com/gpu,amd.com/gpu,gpu.intel.com/*,habana.ai/gaudi,huawei.com/Ascend*`."""
