"""The topics on real brokers: made, checked with one wrong setting after the other, and set right."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from statemachine.errors import ConfigError, LogUnavailable, StoreUnusable
from statemachine.log.kafka import topics
from statemachine.log.kafka.address import Address, Security
from statemachine.log.kafka.layout import EVENTS, OBSERVATIONS, TOPICS
from tests.harness import Kafka
from tests.harness.fixtures import LEDGER_PARTITIONS, fresh_address
from tests.integration.cli_words import Place

pytestmark = pytest.mark.integration


@pytest.fixture
async def admin(kafka: Kafka) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=kafka.servers)
    await client.start()
    yield client
    await client.close()


@pytest.fixture
def no_topics(kafka: Kafka) -> Iterator[Address]:
    """A prefix under which there is nothing yet."""
    with fresh_address(kafka) as address:
        yield address


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def set_to(admin: AIOKafkaAdminClient, name: str, **settings: str) -> None:
    """These are the topic's only own settings; underscores stand for dots."""
    named = {setting.replace("_", "."): value for setting, value in settings.items()}
    resource = ConfigResource(ConfigResourceType.TOPIC, name, named)
    [response] = await admin.alter_configs([resource])
    assert [code for code, *_ in response.resources] == [0]
    await until(lambda: _has(admin, resource))


async def make(admin: AIOKafkaAdminClient, *new: NewTopic) -> None:
    """The topics are there, and brokers know it."""
    await admin.create_topics(list(new))
    names = {topic.name for topic in new}

    async def known() -> bool:
        there = {topic["topic"]: topic["partitions"] for topic in await admin.describe_topics()}
        return all(name in there and all(part["leader"] >= 0 for part in there[name]) for name in names)

    await until(known)


async def grow(admin: AIOKafkaAdminClient, name: str, count: int) -> None:
    await admin.create_partitions({name: NewPartitions(count)})

    async def grown() -> bool:
        return any(
            topic["topic"] == name and len(topic["partitions"]) == count
            for topic in await admin.describe_topics()
        )

    await until(grown)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """What a broker was asked for is done a moment later."""
    async with asyncio.timeout(60):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.05)


async def _has(admin: AIOKafkaAdminClient, wanted: ConfigResource) -> bool:
    asked = ConfigResource(wanted.resource_type, wanted.name)
    [response] = await admin.describe_configs([asked])
    held = {name: value for name, value, *_ in response.resources[0][4]}
    return all(held[name] == value for name, value in wanted.configs.items())


async def own_settings(address: Address, name: str, lineage: Sequence[str] = ()) -> dict[str, str]:
    return dict((await topics.survey(address, lineage)).there[name].own)


async def remove(admin: AIOKafkaAdminClient, address: Address, name: str) -> None:
    whole = address.topic(name)
    await admin.delete_topics([whole])

    async def is_gone() -> bool:
        return whole not in await admin.list_topics()

    await until(is_gone)


# ---- made --------------------------------------------------------------------------------------------------------


async def test_all_topics_are_made_with_settings_that_lose_nothing(no_topics: Address) -> None:
    said = await topics.apply(no_topics, partitions=3, replication=1)
    assert said == [f"made {no_topics.topic(topic.name)}: 3 partitions, 1 copy" for topic in TOPICS]
    assert await topics.check(no_topics) == []
    assert await topics.partitions(no_topics) == 3


async def test_by_itself_a_ledger_gets_twelve_partitions_and_as_many_copies_as_there_are_brokers(
    no_topics: Address,
) -> None:
    await topics.apply(no_topics)
    there = (await topics.survey(no_topics)).there
    assert {(topic_state.partitions, topic_state.copies) for topic_state in there.values()} == {(12, 1)}


async def test_applying_again_does_nothing(ledger_topics: Address) -> None:
    assert await topics.apply(ledger_topics, LEDGER_PARTITIONS) == []
    assert await topics.apply(ledger_topics) == []


async def test_a_missing_topic_gets_as_many_partitions_as_the_others(
    admin: AIOKafkaAdminClient, ledger_topics: Address
) -> None:
    await remove(admin, ledger_topics, "jobs")
    [said] = await topics.check(ledger_topics)
    assert said == f"{ledger_topics.topic('jobs')}: the topic is missing, or we have no right to see it"
    assert await topics.apply(ledger_topics) == [
        f"made {ledger_topics.topic('jobs')}: {LEDGER_PARTITIONS} partitions, 1 copy"
    ]
    assert await topics.check(ledger_topics) == []


async def test_those_who_apply_at_the_same_time_make_the_same_topics(no_topics: Address) -> None:
    said = await asyncio.gather(
        topics.apply(no_topics, 3), topics.apply(no_topics), topics.apply(no_topics), return_exceptions=True
    )
    made = [line for lines in said if isinstance(lines, list) for line in lines]
    assert made
    assert len(made) == len(set(made))
    there = (await topics.survey(no_topics)).there
    assert len(there) == len(TOPICS)
    assert {topic_state.partitions for topic_state in there.values()} in ({3}, {12})
    assert await topics.check(no_topics) == []


async def test_more_copies_than_brokers_are_refused(no_topics: Address) -> None:
    with pytest.raises(ConfigError, match=r"events cannot be kept on 3 brokers"):
        await topics.apply(no_topics, replication=3)


# ---- one wrong setting after the other ---------------------------------------------------------------------------

WRONG = [
    ("events", "retention.ms", "604800000"),
    ("events", "retention.bytes", "1073741824"),
    ("events", "cleanup.policy", "compact"),
    ("events", "cleanup.policy", "compact,delete"),
    ("events", "unclean.leader.election.enable", "true"),
    ("events", "max.message.bytes", "1048588"),
    ("observations", "retention.ms", "60000"),
    ("observations", "retention.bytes", "1048576"),
    ("observations", "cleanup.policy", "compact"),
    ("observations", "unclean.leader.election.enable", "true"),
    ("jobs", "cleanup.policy", "delete"),
    ("jobs", "max.message.bytes", "1048588"),
    ("dead-letters", "cleanup.policy", "compact"),
]


@pytest.mark.parametrize(("topic", "setting", "value"), WRONG, ids=[f"{t}-{s}-{v}" for t, s, v in WRONG])
async def test_a_wrong_setting_is_named_and_set_right(
    admin: AIOKafkaAdminClient, ledger_topics: Address, topic: str, setting: str, value: str
) -> None:
    name = ledger_topics.topic(topic)
    before = await own_settings(ledger_topics, name)
    await set_to(admin, name, **{**before, setting: value})

    [said] = await topics.check(ledger_topics)
    assert said.startswith(f"{name}: {setting} is {value}, but must be ")

    assert await topics.apply(ledger_topics) == [
        f"set {setting} of {name} to {before[setting]}, it was {value}"
    ]
    assert await own_settings(ledger_topics, name) == before
    assert await topics.check(ledger_topics) == []


async def test_a_topic_that_a_broker_made_by_itself_is_refused_and_set_right(
    admin: AIOKafkaAdminClient, no_topics: Address
) -> None:
    """As `auto.create.topics.enable` makes it: one partition, deleted after a week."""
    await make(admin, NewTopic(no_topics.topic("events"), 1, 1))
    said = await topics.check(no_topics)
    name = no_topics.topic("events")
    assert [fault.split(" is ")[0] for fault in said if fault.startswith(name)] == [
        f"{name}: retention.ms",
        f"{name}: max.message.bytes",
    ]
    await topics.apply(no_topics)
    assert await topics.check(no_topics) == []
    assert await topics.partitions(no_topics) == 1


async def test_what_somebody_chose_and_loses_nothing_stays(
    admin: AIOKafkaAdminClient, ledger_topics: Address
) -> None:
    name = ledger_topics.topic("observations")
    before = await own_settings(ledger_topics, name)
    chosen = {**before, "retention.ms": "2592000000", "compression.type": "zstd", "segment.ms": "3600000"}
    await set_to(admin, name, **{**chosen, "retention.bytes": "1"})
    assert await topics.apply(ledger_topics) == [f"set retention.bytes of {name} to -1, it was 1"]
    assert await own_settings(ledger_topics, name) == chosen


# ---- numbers of partitions ---------------------------------------------------------------------------------------


async def test_another_number_of_partitions_is_refused_in_both_directions(ledger_topics: Address) -> None:
    for number in (LEDGER_PARTITIONS - 1, LEDGER_PARTITIONS + 1):
        with pytest.raises(ConfigError, match=f"has {LEDGER_PARTITIONS} partitions, not {number}"):
            await topics.apply(ledger_topics, number)
    assert await topics.partitions(ledger_topics) == LEDGER_PARTITIONS


async def test_an_empty_topic_with_too_few_partitions_gets_more(
    admin: AIOKafkaAdminClient, no_topics: Address
) -> None:
    name = no_topics.topic("jobs")
    await make(
        admin,
        NewTopic(no_topics.topic("events"), 4, 1),
        NewTopic(name, 1, 1, topic_configs={"cleanup.policy": "compact"}),
    )
    said = await topics.apply(no_topics)
    assert f"gave {name} 4 partitions, of which it had 1" in said
    assert await topics.check(no_topics) == []


async def test_a_topic_with_records_and_too_few_partitions_is_left_alone_and_said(
    admin: AIOKafkaAdminClient, kafka: Kafka, no_topics: Address
) -> None:
    name = no_topics.topic("observations")
    await make(admin, NewTopic(no_topics.topic("events"), 4, 1), NewTopic(name, 2, 1))
    async with AIOKafkaProducer(bootstrap_servers=kafka.servers) as producer:
        await producer.send_and_wait(name, b"something", partition=1)
    await topics.apply(no_topics)
    assert await topics.check(no_topics) == [
        f"{name}: it has 2 partitions, but must have 4, as {no_topics.topic('events')} has. "
        "A job is in the partition of the same number in all of them."
    ]
    with pytest.raises(StoreUnusable, match="it has 2 partitions, but must have 4"):
        await topics.partitions(no_topics)


async def test_a_topic_with_too_many_partitions_is_left_alone_and_said(
    admin: AIOKafkaAdminClient, ledger_topics: Address
) -> None:
    name = ledger_topics.topic("dead-letters")
    await grow(admin, name, LEDGER_PARTITIONS + 1)
    assert await topics.apply(ledger_topics) == []
    [said] = await topics.check(ledger_topics)
    assert said.startswith(
        f"{name}: it has {LEDGER_PARTITIONS + 1} partitions, but must have {LEDGER_PARTITIONS}"
    )


@pytest.mark.parametrize("topic", ["cloudevents", "positions"])
async def test_a_job_is_in_the_same_partition_of_what_is_published(
    admin: AIOKafkaAdminClient, ledger_topics: Address, topic: str
) -> None:
    name = ledger_topics.topic(topic)
    await grow(admin, name, 7)
    [said] = await topics.check(ledger_topics)
    assert said.startswith(f"{name}: it has 7 partitions, but must have {LEDGER_PARTITIONS}")


# ---- what is not there -------------------------------------------------------------------------------------------


async def test_without_topics_each_is_said_to_be_missing(no_topics: Address) -> None:
    said = await topics.check(no_topics)
    assert [fault.split(":")[0] for fault in said] == [no_topics.topic(topic.name) for topic in TOPICS]
    with pytest.raises(
        StoreUnusable, match=r"there is no topic .*events.*`jobledger topics apply --log kafka"
    ):
        await topics.partitions(no_topics)


async def test_looking_makes_no_topic(admin: AIOKafkaAdminClient, no_topics: Address) -> None:
    await topics.check(no_topics)
    assert not [topic for topic in await admin.list_topics() if topic.startswith(no_topics.prefix)]


async def test_topics_of_another_ledger_are_not_ours(ledger_topics: Address) -> None:
    longer = replace(ledger_topics, prefix=f"{ledger_topics.prefix}.events")
    assert len(await topics.check(longer)) == len(TOPICS)


async def test_without_a_broker_it_says_so() -> None:
    with pytest.raises(LogUnavailable, match=r"Kafka at kafka://127\.0\.0\.1:1 cannot be reached"):
        await topics.check(Address.of("kafka://127.0.0.1:1"))


async def test_a_broker_that_speaks_plainly_is_not_reached_over_tls(kafka: Kafka) -> None:
    with pytest.raises(LogUnavailable, match="cannot be reached"):
        await topics.check(Address(tuple(kafka.servers.split(",")), security=Security("SSL")))


# ---- three brokers -----------------------------------------------------------------------------------------------


async def test_on_three_brokers_two_must_have_a_record(killable_kafkas: Kafka) -> None:
    three = killable_kafkas
    with fresh_address(three) as address:
        await topics.apply(address, partitions=2)
        there = (await topics.survey(address)).there
        assert {topic_state.copies for topic_state in there.values()} == {3}
        assert await topics.check(address) == []

        admin = AIOKafkaAdminClient(bootstrap_servers=three.servers)
        await admin.start()
        name = address.topic(EVENTS.name)
        await set_to(admin, name, **{**there[name].own, "min.insync.replicas": "1"})
        [said] = await topics.check(address)
        assert said.startswith(f"{name}: min.insync.replicas is 1, but must be from 2 to 3. ")
        assert await topics.apply(address) == [f"set min.insync.replicas of {name} to 2, it was 1"]

        three.kill(2)
        assert await topics.check(address) == []  # one may be away
        await admin.close()
        await asyncio.to_thread(three.start)


# ---- the command -------------------------------------------------------------------------------------------------


def test_the_command_makes_topics_and_finds_nothing_wrong(no_topics: Address, place: Place) -> None:
    done = place.run("topics", "apply", "--log", str(no_topics), "--partitions", "3", store=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"made {no_topics.topic('events')}: 3 partitions, 1 copy" in done.stdout
    assert f"{no_topics.topic('jobs')}           3            1        compact    for ever   1" in done.stdout
    again = place.run("topics", "check", "--log", str(no_topics), store=False)
    assert (again.returncode, again.stderr) == (0, "")


async def test_the_command_ends_with_1_where_data_would_be_lost(
    admin: AIOKafkaAdminClient, ledger_topics: Address, place: Place
) -> None:
    name = ledger_topics.topic(OBSERVATIONS.name)
    await set_to(admin, name, retention_ms="1000")
    done = place.run("topics", "check", "--log", str(ledger_topics), store=False)
    assert done.returncode == 1
    assert f"jobledger: {name}: retention.ms is 1000, but must be at least 86400000. " in done.stderr


def test_the_command_takes_the_address_from_the_environment(ledger_topics: Address, place: Place) -> None:
    place.env["JOBLEDGER_CONTROLLER__LOG"] = str(ledger_topics)
    assert place.run("topics", "check", store=False).returncode == 0


def test_the_command_without_a_broker_ends_with_3_and_a_sentence(place: Place) -> None:
    done = place.run("topics", "check", "--log", "kafka://127.0.0.1:1", store=False)
    assert done.returncode == 3
    assert "jobledger: Kafka at kafka://127.0.0.1:1 cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--log", "sqlite:x.db"), "needs a URL such as kafka://"),
        ((), "needs a URL such as kafka://"),
        (("--log", "kafka://127.0.0.1:1", "--partitions", "0"), "--partitions"),
        (("--log", "kafka://127.0.0.1:1", "--replication", "0"), "--replication"),
    ],
    ids=["sqlite", "nothing", "partitions", "replication"],
)
def test_a_wrong_command_line_ends_with_2(place: Place, words: tuple[str, ...], says: str) -> None:
    done = place.run("topics", "apply", *words, store=False)
    assert done.returncode == 2
    assert says in done.stderr
