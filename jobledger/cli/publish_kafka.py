"""`jobledger events publish --to kafka:…`: the ledger's own topic of public events, or a whole log to another one."""

from typing import TYPE_CHECKING

from jobledger.cli import common

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from jobledger.publishing.beginnings import Begin
    from jobledger.settings.model import Settings
    from jobledger.wiring.ledger import Kafka
    from projectors.sinks.feeding import Feeder
    from statemachine.ids import Position
    from statemachine.log.kafka.publishing import Target


async def to_kafka(
    settings: "Settings",
    url: str | None,
    place: str,
    begin: "Begin",
    feed: "Callable[[Sequence[Feeder]], Awaitable[int]]",
) -> int:
    """The topic has the events of the log from `begin` on once `feed` says so; gives the exit code."""
    from jobledger.publishing.beginnings import BEGINNING
    from jobledger.publishing.source import source_of
    from jobledger.settings.sinks import OWN_TOPIC
    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.ledger import Kafka
    from jobledger.wiring.topics import topic_of
    from projectors.sinks.kafka import KafkaSink
    from projectors.sinks.topic import TopicSink
    from statemachine.errors import ConfigError
    from statemachine.log.kafka.publishing import Target

    where = log_of(url, settings) if url else settings.store
    target = topic_of("--to", place, where, settings)
    live = Target.of(where.address) if isinstance(where, Kafka) else None
    is_own, mode = target == live, settings.events.kafka.mode
    if not is_own and live is not None and target.topic in {live.topic, live.positions}:
        raise ConfigError(f"{target} belongs to a ledger; the topic of the log that is read is --to kafka:")
    if is_own and begin != BEGINNING:
        raise ConfigError(
            f"{target} is the ledger's own, which keeps how far it is: --from would repeat events in it, or omit "
            f"some; `jobledger events sinks reset {OWN_TOPIC} --to beginning|end|CURSOR` says where it goes on"
        )
    if is_own:
        await _reset(where)
    async with source_of(settings, url) as source:
        sink: KafkaSink | TopicSink = (
            await KafkaSink.open(OWN_TOPIC, target, source.partitions, mode)
            if is_own
            else await TopicSink.open(target, source.partitions, mode)
        )
        try:
            feeders = await source.feeders(sink, begin=begin)
            code = await feed(feeders)
        finally:
            await sink.close()
    delivered = sum(feeder.settled.total() for feeder in feeders)
    common.say(f"{common.plural(delivered, 'event')} more in {target}")
    if live is not None and place != "kafka:":
        await _say_where_to_go_on(live, feeders)
    return code


async def _reset(where: "Path | Kafka") -> None:
    """The sink goes on where users have asked that it does."""
    from jobledger.settings.sinks import OWN_TOPIC
    from jobledger.wiring.positions import positions_of

    async with positions_of(where) as positions:
        for number in await positions.all(OWN_TOPIC):
            if (asked := await positions.reset_asked(OWN_TOPIC, number)) is not None:
                await positions.save(OWN_TOPIC, number, asked)
                await positions.reset_done(OWN_TOPIC, number)


async def _say_where_to_go_on(live: "Target", feeders: "Sequence[Feeder]") -> None:
    rows = [
        (str(number), str(await _offset_behind(live, number, feeder.reached)))
        for number, feeder in enumerate(feeders)
    ]
    common.say(f"the next events are in {live.topic}:")
    common.say(common.columns(("PARTITION", "OFFSET"), rows))


async def _offset_behind(live: "Target", number: int, position: "Position") -> int:
    """The offset of the first event in the partition whose entry is behind `position`, or of the next to come."""
    from jobledger.publishing.topics import first_late
    from projectors.contract.binding import position_of
    from statemachine.log.kafka.reading import Partition

    partition = Partition(live.address, live.topic, number)
    try:
        return await first_late(partition, lambda record: position_of(record.headers) > position)
    finally:
        await partition.close()
