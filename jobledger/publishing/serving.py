"""Where a server reads public events: in the topic that has all of them, or else in the log, entry by entry."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from jobledger.settings.model import Settings
from jobledger.wiring.configured_sinks import target_of
from jobledger.wiring.identity import identity_of
from jobledger.wiring.ledger import Kafka
from jobledger.wiring.sinks import full_topic

if TYPE_CHECKING:
    from jobledger.publishing.topical import TopicStream


@asynccontextmanager
async def topic_of_events(settings: Settings, log: Path | Kafka) -> "AsyncIterator[TopicStream | None]":
    """The topic that the projectors of the ledger fill with all events; None where the settings have none.

    Nothing is asked of brokers before somebody reads. Raises ConfigError.
    """
    sink = full_topic(settings, log)
    if sink is None:
        yield None
        return
    from jobledger.publishing.topical import TopicStream

    async def identified() -> str:
        return (await identity_of(log, settings.ledger.name)).id

    stream = TopicStream(target_of(settings, log, sink), identified)
    try:
        yield stream
    finally:
        await stream.close()
