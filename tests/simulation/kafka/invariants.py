"""What must hold of the partitioned log. Each function yields a sentence for each thing that does not."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Final, cast

from jobledger.wiring.configured_sinks import chosen_by
from projectors.contract.binding import line_of
from projectors.contract.envelope import structured
from projectors.contract.page import PublicEvent
from projectors.contract.stream import Publisher
from projectors.sinks.feeding import Chosen, all_of
from statemachine.decide import decide
from statemachine.engine.step import Delivery, Owner
from statemachine.errors import StoreUnusable
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode_observation, encode_state
from statemachine.log.kafka.layout import CLOUDEVENTS, DEAD_LETTERS, EVENTS, JOBS, OBSERVATIONS
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.records import Message, record_of
from statemachine.log.port import Record
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from statemachine.state import JobState
from tests.simulation.histories import Story
from tests.simulation.invariants import check_log
from tests.simulation.kafka.publishers import LINEAGE, LINEAGE_TOPIC, PUBLICATION
from tests.simulation.kafka.topics import Topics
from tests.simulation.kafka.world import Still, World
from tests.simulation.world import World as Whole
from tests.support.kafka_model.partitions import ModelPartition
from tests.support.memory_log import MemoryLog

Findings = Iterator[str]

Places = dict[Position, Observation]


def records(partition: ModelPartition) -> list[Record]:
    """What a read_committed consumer reads of the events."""
    return [record_of(cast(Message, stored.message)) for stored in partition.visible()]


def observations(partition: ModelPartition) -> Places:
    """What was put, by place."""
    messages = [stored.message for stored in partition.visible() if stored.message is not None]
    return {stored.offset + 1: decode_observation(stored.value or b"") for stored in messages}


def stories(entries: Sequence[Record]) -> dict[JobUid, Story]:
    """The histories of the jobs of one partition."""
    jobs: dict[JobUid, list[Record]] = {}
    for record in entries:
        jobs.setdefault(record.job, []).append(record)
    return {job: Story.of(entries_of_job) for job, entries_of_job in jobs.items()}


# ---- at any time -------------------------------------------------------------------------------------------------


def numbers_go_on(world: World) -> Findings:
    """Of every job the entries are 1, 2, 3 … in the order in which they stand, as far as there are any."""
    for partition in world.parts(EVENTS.name):
        last: dict[JobUid, int] = {}
        for record in records(partition):
            if record.seq != last.get(record.job, 0) + 1:
                yield f"{partition.tp}: entry {record.seq} of {record.job} stands behind {last.get(record.job)}"
            last[record.job] = record.seq


def an_epoch_has_one_writer(world: World) -> Findings:
    """An epoch was given to one client, and what stands in a partition under it is that client's."""
    given: dict[tuple[int, int], str] = {}
    for deed in world.brokers.transactions.deeds:
        if deed.what == "init":
            before = given.setdefault(deed.writer[:2], deed.writer.client)
            if before != deed.writer.client:
                yield f"epoch {deed.writer.epoch} of {deed.transactional_id} has {before} and {deed.writer.client}"
    for topic in (EVENTS.name, JOBS.name):
        for partition in world.parts(topic):
            for stored in partition.visible():
                if stored.writer is not None and given[stored.writer[:2]] != stored.writer.client:
                    yield f"{partition.tp}: {stored.writer} wrote {stored.message}"


def epochs_go_up(world: World) -> Findings:
    """Behind an entry of one writer stands none of a writer before it."""
    for partition in world.parts(EVENTS.name):
        epochs = [stored.writer.epoch for stored in partition.visible() if stored.writer is not None]
        if epochs != sorted(epochs):
            yield f"{partition.tp}: the epochs of its entries are {epochs}"


def no_fenced_writer_commits(world: World) -> Findings:
    """A commit was granted to the last client that had become the writer."""
    owners: dict[str, str] = {}
    for what, name, writer in world.brokers.transactions.deeds:
        if what == "init":
            owners[name] = writer.client
        elif owners.get(name) != writer.client:
            yield f"{writer} committed in {name}, which {owners.get(name)} writes"


def nothing_broke(world: World) -> Findings:
    """No error was logged, no engine died."""
    yield from world.broken


def messages(partition: ModelPartition) -> list[Message]:
    """What a read_committed consumer reads."""
    return [cast(Message, stored.message) for stored in partition.visible() if stored.message is not None]


def published(partition: ModelPartition) -> list[bytes]:
    """What a read_committed consumer reads of the public events, as structured events."""
    return [line_of(message.key, message.value, message.headers) for message in messages(partition)]


def no_event_is_published_twice(world: Topics) -> Findings:
    """In the topic of public events every event stands once."""
    for partition in world.parts(CLOUDEVENTS.name):
        there = Counter((m.key, m.value, *m.headers) for m in messages(partition))
        if twice := [event for event, count in there.items() if count > 1]:
            yield f"{partition.tp}: {twice} stand there more than once"


AT_ANY_TIME: Final = (
    numbers_go_on,
    no_event_is_published_twice,
    an_epoch_has_one_writer,
    epochs_go_up,
    no_fenced_writer_commits,
    nothing_broke,
)


# ---- at rest -----------------------------------------------------------------------------------------------------


def histories_hold(world: World) -> Findings:
    """All that must hold of a history holds of each."""
    for partition in world.parts(EVENTS.name):
        wrong = check_log(cast(Whole, None), stories(records(partition)))  # these rules look at no world
        yield from (f"{partition.tp}: {finding}" for finding in wrong)


def jobs_stay_in_their_partition(world: World) -> Findings:
    """No job has entries in two partitions."""
    homes: dict[JobUid, int] = {}
    for partition in world.parts(EVENTS.name):
        for record in records(partition):
            number = partition.tp.partition
            if homes.setdefault(record.job, number) != number:
                yield f"{record.job} has entries in partitions {homes[record.job]} and {number}"


def every_observation_is_decided_once(world: World) -> Findings:
    """Each caused one entry, or changes nothing in a state that the job was in when its turn had come."""
    for posted, decided in zip(world.parts(OBSERVATIONS.name), world.parts(EVENTS.name), strict=True):
        places, histories = observations(posted), stories(records(decided))
        for story in histories.values():
            for entry in (step.entry for step in story.steps):
                if entry.source and places.get(entry.source) != entry.cause:
                    yield f"{decided.tp}: entry {entry.seq} of {entry.job} says that it is of place {entry.source}"
        for job in {observation.job for observation in places.values()}:
            yield from _decided_once(job, places, histories.get(job))


def _decided_once(job: JobUid, places: Places, story: Story | None) -> Findings:
    steps = story.steps if story else []
    sources = [step.entry.source for step in steps if step.entry.source]
    if sources != sorted(set(sources)):
        yield f"{job}: observations were decided in the order {sources}"
    for place, observation in places.items():
        if observation.job == job and place not in sources and not _is_silent(observation, place, job, story):
            yield f"{job}: what stands at place {place} was not decided: {observation}"


def _is_silent(observation: Observation, place: Position, job: JobUid, story: Story | None) -> bool:
    """It changes nothing in one of the states between the entries of the observations before and behind it."""
    states = [JobState(job)]
    for step in story.steps if story else ():
        if step.entry.source > place:
            break
        states = [step.after] if step.entry.source else [*states, step.after]
    return any(not decide(state, observation) for state in states)


def letters_are_empty(world: World) -> Findings:
    """Nothing lies among the dead letters: all that was put can be decided."""
    for partition in world.parts(DEAD_LETTERS.name):
        yield from (f"{partition.tp}: {stored.message}" for stored in partition.visible())


def what_was_announced_is_there(world: World) -> Findings:
    """What an engine has announced to its listeners is in the log, as it was announced."""
    there = {
        (record.job, record.seq): record for part in world.parts(EVENTS.name) for record in records(part)
    }
    for record in world.announced:
        if (kept := there.get((record.job, record.seq))) != record:
            yield f"entry {record.seq} of {record.job} was announced, and the log has {kept}"


def public_events(decided: ModelPartition, chosen: Chosen = all_of) -> list[PublicEvent]:
    """What the log gives of a partition."""
    publisher = Publisher(PUBLICATION)
    entries = [entry for record in records(decided) if (entry := publisher.take(record)) is not None]
    return [event for entry in entries for event in chosen(entry)]


def every_event_is_published_once(world: Topics) -> Findings:
    """The topic of public events has what the log gives, in its order."""
    for decided, topic in zip(world.parts(EVENTS.name), world.parts(CLOUDEVENTS.name), strict=True):
        wanted = [structured(event) for event in public_events(decided)]
        if (there := published(topic)) != wanted:
            yield f"{topic.tp} has {len(there)} events, the log gives {len(wanted)}: {_first(there, wanted)}"


def every_run_event_is_published_once(world: Topics) -> Findings:
    """The topic of lineage has what the log gives, in whichever of its partitions."""
    chosen = chosen_by(LINEAGE)
    wanted = Counter(
        event.data for decided in world.parts(EVENTS.name) for event in public_events(decided, chosen)
    )
    there = Counter(
        message.value or b"" for part in world.parts_of(LINEAGE_TOPIC) for message in messages(part)
    )
    if there != wanted:
        yield f"not in the topic of lineage: {wanted - there}; too often there: {there - wanted}"


def every_event_is_received(world: Topics) -> Findings:
    """A receiver whose position the ledger keeps gets every event, for the first time in the order of the log."""
    for decided in world.parts(EVENTS.name):
        wanted = [str(event.attributes["id"]) for event in public_events(decided)]
        if (got := list(dict.fromkeys(world.received[decided.tp.partition]))) != wanted:
            yield f"the receiver got {got} of {decided.tp}, the log gives {wanted}"


def _first(there: Sequence[bytes], wanted: Sequence[bytes]) -> str:
    pairs = enumerate(zip_longest(there, wanted))
    return next(f"event {place} is {has!r}, not {gives!r}" for place, (has, gives) in pairs if has != gives)


OF_SINKS: Final[tuple[Callable[[Topics], Findings], ...]] = (
    every_event_is_published_once,
    every_run_event_is_published_once,
    every_event_is_received,
)

AT_REST: Final[tuple[Callable[[World], Findings], ...]] = (
    histories_hold,
    jobs_stay_in_their_partition,
    every_observation_is_decided_once,
    letters_are_empty,
    what_was_announced_is_there,
    *OF_SINKS,
)


# ---- at rest, by asking the product ------------------------------------------------------------------------------


async def one_engine_would_have_written_the_same(world: World) -> list[str]:
    """With a clock that stands: byte for byte what one engine writes that nothing ever happens to."""
    if world.is_timed:
        return []
    wrong = []
    for posted, decided in zip(world.parts(OBSERVATIONS.name), world.parts(EVENTS.name), strict=True):
        log = MemoryLog()
        batch = [Delivery(observation, place) for place, observation in observations(posted).items()]
        await Owner(log, Reader(), Still()).take(batch)
        wanted = [(record.job, record.seq, record.body) for record in log._records]
        there = [(record.job, record.seq, record.body) for record in records(decided)]
        if there != wanted:
            wrong.append(f"{decided.tp}: there is {there}, one engine writes {wanted}")
    return wrong


async def snapshots_say_what_the_log_says(world: World) -> list[str]:
    """Who begins with the snapshots, and who folds all entries, believe the same."""
    wrong = []
    for partition in world.parts(EVENTS.name):
        whole = Reader()
        for record in records(partition):
            whole.accept(record)
        log = await KafkaLog.open(world.address, partition.tp.partition, read_only=True)
        recovered = Reader()
        try:
            await recovered.recover(log)
        except StoreUnusable as error:
            wrong.append(f"{partition.tp}: nobody can begin with the snapshots: {error}")
            continue
        finally:
            await log.close()
        for job in whole.jobs:
            one, other = whole.tracked(job), recovered.tracked(job)
            same = (one.seq, one.head, one.source) == (other.seq, other.head, other.source)
            closed = one.state.closed and other.state.closed
            if not closed and not (same and encode_state(one.state) == encode_state(other.state)):
                wrong.append(f"{partition.tp}: {job}: folded {one}, by the snapshots {other}")
    return wrong
