"""Brokers with TLS, passwords and ACLs: who gets through, and that each role's rights are enough and no more."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import TopicAuthorizationFailedError
from aiokafka.protocol.admin import CreateAclsRequest

from jobledger.wiring.ledger import Kafka as WiredKafka
from jobledger.wiring.ledger import ledger_of
from jobledger.wiring.roles import Role
from statemachine.engine.clock import WallClock
from statemachine.engine.kafka.worker import FeedName, Worker
from statemachine.errors import LogUnavailable, StoreUnusable
from statemachine.log.codec import decode, encode_observation
from statemachine.log.kafka import topics
from statemachine.log.kafka.address import Address, Security
from statemachine.log.kafka.clients import parts
from statemachine.log.kafka.layout import TOPICS
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.rights import APPLY, CHECK, RETRY, rights
from statemachine.log.kafka.writing import Writer
from statemachine.log.port import DeadLetter
from tests.harness import Kafka
from tests.harness.programs import output
from tests.integration.cli_words import Place, says_once
from tests.support.logs import JOB, START, records
from tests.support.scenario import Story, workers

pytestmark = pytest.mark.integration

ALLOW, LITERAL, PREFIXED = 3, 3, 4
"""Source: Kafka, AclPermissionType and PatternType."""


@pytest.fixture
async def secure(secure_kafka: Kafka) -> AsyncIterator[Kafka]:
    """Its brokers, and afterwards time for the connections they refused: aiokafka closes those without waiting.

    Over TLS a broker has to say goodbye, too. Until then the event loop watches the socket, and a loop that ends
    before leaves it open.
    """
    yield secure_kafka
    watched = asyncio.get_running_loop()._selector.get_map()  # type: ignore[attr-defined]
    with suppress(TimeoutError):
        async with asyncio.timeout(10):
            while len(watched) > 1:  # noqa: ASYNC110 - one is the loop's own; it has no event for this
                await asyncio.sleep(0.02)


def address_of(user: str, kafka: Kafka, prefix: str = "jobledger") -> Address:
    return Address(tuple(kafka.servers.split(",")), prefix, kafka.security(user))


@pytest.fixture
async def admin(secure: Kafka) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(**address_of("admin", secure).options())
    await client.start()
    yield client
    await client.close()


async def grant(
    admin: AIOKafkaAdminClient, user: str, role: str, prefix: str = "jobledger", lineage: str = ""
) -> None:
    """The user has the role's rights."""
    for right in rights(prefix, lineage)[role]:
        pattern = PREFIXED if right.is_beginning else LITERAL
        for operation in right.operations:
            wanted = (right.resource, right.name, pattern, f"User:{user}", "*", operation, ALLOW)
            response = await admin._send_to_controller(CreateAclsRequest(*wanted))
            assert [code for code, _ in response.creation_responses] == [0]


# ---- who gets through --------------------------------------------------------------------------------------------


async def test_a_user_with_a_password_gets_through_tls(secure: Kafka) -> None:
    address = address_of("admin", secure, "mine")
    assert len(await topics.apply(address, partitions=1)) == len(TOPICS)
    assert await topics.check(address) == []


async def test_a_wrong_password_does_not_and_what_meets_it_first_says_so(secure: Kafka) -> None:
    address = replace(address_of("admin", secure), security=secure.security("admin", "secret-of-somebody"))
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: topics.check(address),
        lambda: KafkaLog.open(address, 0, read_only=True),
        lambda: Writer.open(address, 0),
        lambda: Partition(address, "jobledger.events", 0).end(),
        lambda: Worker(address, "faust", WallClock()).run(),
    ]
    for attempt in attempts:
        with pytest.raises(StoreUnusable, match="does not take the user name and password"):
            await attempt()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_a_password_may_be_proved_without_being_sent(secure: Kafka, mechanism: str) -> None:
    address = address_of("admin", secure, mechanism.lower())
    known = replace(address, security=secure.security("admin", mechanism=mechanism))
    assert await topics.apply(known, partitions=1)
    wrong = replace(address, security=secure.security("admin", "secret-of-somebody", mechanism))
    with pytest.raises(StoreUnusable, match="does not take the user name and password"):
        await topics.check(wrong)


def token(user: str, *, for_seconds: float) -> str:
    """An unsigned JWT, which the broker of the tests believes. Source: RFC 7519, section 6."""
    now = time.time()
    parts_ = ({"alg": "none"}, {"sub": user, "iat": now - 5, "exp": now + for_seconds})
    coded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts_)
    return ".".join((*coded, ""))


async def test_a_token_in_a_file_is_taken_and_read_again_at_every_connection(
    secure: Kafka, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(token("admin", for_seconds=3600), encoding="utf-8")
    bearer = Security("SASL_SSL", "OAUTHBEARER", token_file=file, ca_file=secure.home / "ca.crt")
    address = replace(address_of("admin", secure, "bearer"), security=bearer)
    assert await topics.apply(address, partitions=1)
    log = await KafkaLog.open(address, 0, read_only=True)
    assert await records(log) == []
    await log.close()
    file.write_text(token("admin", for_seconds=-1), encoding="utf-8")
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: topics.check(address),
        lambda: Writer.open(address, 0),
        lambda: Worker(address, "faust", WallClock()).run(),
    ]
    for attempt in attempts:
        with pytest.raises(StoreUnusable, match=r"does not take the token: .*kafka\.token_file"):
            await attempt()
    file.write_text("of-somebody-else", encoding="utf-8")
    with pytest.raises(LogUnavailable, match=r"if brokers do not take the token in kafka\.token_file"):
        await topics.check(address)
    file.write_text(token("admin", for_seconds=3600), encoding="utf-8")
    assert await topics.check(address) == []


@pytest.mark.parametrize("feed", ["faust", "aiokafka"])
async def test_an_engine_decides_as_the_user_of_its_token(
    secure: Kafka, tmp_path: Path, feed: FeedName
) -> None:
    file = tmp_path / "token"
    file.write_text(token("admin", for_seconds=3600), encoding="utf-8")
    bearer = Security("SASL_SSL", "OAUTHBEARER", token_file=file, ca_file=secure.home / "ca.crt")
    address = replace(address_of("admin", secure, f"bearer-{feed}"), security=bearer)
    await topics.apply(address, partitions=1)
    observations = [entry.cause for entry in Story(workers(1)).submit().entries]
    async with closing(await KafkaOutbox.open(address)) as outbox:
        await outbox.put(observations)
    deciding = asyncio.create_task(Worker(address, feed, WallClock()).run())
    async with closing(await KafkaLog.open(address, 0, read_only=True)) as log:
        await until(log.end, deciding)
        deciding.cancel()
        await asyncio.wait([deciding])
        assert [decode(record.body).cause for record in await records(log)] == observations


def certificate(folder: Path, *signed: str | Path) -> tuple[Path, Path]:
    """A certificate and its key; by itself, if nobody has signed it."""
    made, key, request = folder / "client.crt", folder / "client.key", folder / "client.csr"
    asked = ("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=client", "-keyout", str(key))
    if not signed:
        output([*asked, "-x509", "-out", str(made)])
    else:
        output([*asked, "-out", str(request)])
        output(["openssl", "x509", "-req", "-in", str(request), *map(str, signed), "-out", str(made)])
    return made, key


async def test_a_certificate_of_ours_is_shown_to_brokers_that_ask(secure: Kafka, tmp_path: Path) -> None:
    authority = ("-CA", secure.home / "ca.crt", "-CAkey", secure.home / "broker.key", "-set_serial", "7")
    made, key = certificate(tmp_path, *authority)
    shown = replace(secure.security("admin"), certificate_file=made, key_file=key)
    address = replace(address_of("admin", secure, "certified"), security=shown)
    assert await topics.apply(address, partitions=1)


async def test_a_certificate_that_brokers_do_not_know_is_refused(secure: Kafka, tmp_path: Path) -> None:
    made, key = certificate(tmp_path)
    shown = replace(secure.security("admin"), certificate_file=made, key_file=key)
    with pytest.raises(LogUnavailable, match="cannot be reached"):
        await topics.check(replace(address_of("admin", secure), security=shown))


async def test_a_broker_that_does_not_answer_is_not_said_to_refuse_a_password(secure: Kafka) -> None:
    away = replace(address_of("admin", secure), servers=("127.0.0.1:9",))
    with pytest.raises(LogUnavailable, match="cannot be reached"):
        await topics.check(away)


async def test_nobody_gets_through_without_saying_who_they_are(secure: Kafka) -> None:
    for security in (Security(), Security("SSL", ca_file=secure.home / "ca.crt")):
        with pytest.raises(LogUnavailable, match="cannot be reached"):
            await topics.check(replace(address_of("admin", secure), security=security))


async def test_a_client_without_tls_learns_that_the_broker_expects_it(secure: Kafka) -> None:
    address = replace(address_of("admin", secure), security=Security())
    sentence = (
        rf"{secure.servers} expects TLS, and kafka\.protocol is PLAINTEXT: it should be SSL, or SASL_SSL"
    )
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: topics.check(address),
        lambda: KafkaLog.open(address, 0, read_only=True),
        lambda: Writer.open(address, 0),
        lambda: parts(address),
    ]
    for attempt in attempts:
        with pytest.raises(LogUnavailable, match=sentence):
            await attempt()


@pytest.mark.parametrize(("protocol", "better"), [("SSL", "PLAINTEXT"), ("SASL_SSL", "SASL_PLAINTEXT")])
async def test_a_client_with_tls_learns_that_the_broker_does_not_speak_it(
    kafka: Kafka, tmp_path: Path, protocol: str, better: str
) -> None:
    password = tmp_path / "password"
    password.write_text("secret", encoding="utf-8")
    security = Security(protocol, "PLAIN", "admin", password)
    sentence = (
        rf"{kafka.servers} does not speak TLS, and kafka\.protocol is {protocol}: {better} would reach it"
    )
    with pytest.raises(LogUnavailable, match=sentence):
        await topics.check(Address(tuple(kafka.servers.split(",")), "jobledger", security))


async def test_a_broker_whose_certificate_nobody_knows_is_not_spoken_to(secure: Kafka) -> None:
    unknown = replace(secure.security("admin"), ca_file=None)
    with pytest.raises(
        StoreUnusable, match=r"do not agree on TLS: .*certificate verify failed.*kafka\.ca_file"
    ):
        await topics.check(replace(address_of("admin", secure), security=unknown))


def test_the_command_takes_user_and_password_from_settings(
    secure: Kafka, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = Place(tmp_path_factory.mktemp("place"))
    security = secure.security("admin")
    place.env |= {
        "JOBLEDGER_KAFKA__PROTOCOL": "SASL_SSL",
        "JOBLEDGER_KAFKA__MECHANISM": "PLAIN",
        "JOBLEDGER_KAFKA__USERNAME": "admin",
        "JOBLEDGER_KAFKA__PASSWORD_FILE": str(security.password_file),
        "JOBLEDGER_KAFKA__CA_FILE": str(security.ca_file),
    }
    log = ("--log", f"kafka://{secure.servers}/command")
    assert place.run("topics", "apply", *log, "--partitions", "1", store=False).returncode == 0
    assert place.run("topics", "check", *log, store=False).returncode == 0
    (place.folder / "wrong").write_text("secret-of-somebody")
    place.env["JOBLEDGER_KAFKA__PASSWORD_FILE"] = str(place.folder / "wrong")
    for verb in (("topics", "check"), ("dead-letters", "list")):
        says_once(place.run(*verb, *log, store=False), 3, "does not take the user name and password")


# ---- what they may do --------------------------------------------------------------------------------------------


async def test_whom_nothing_is_granted_sees_no_topic_and_makes_none(
    secure: Kafka, admin: AIOKafkaAdminClient
) -> None:
    await topics.apply(address_of("admin", secure, "hidden"), partitions=1)
    visitor = address_of("visitor", secure, "hidden")
    assert all("or we have no right to see it" in fault for fault in await topics.check(visitor))
    with pytest.raises(StoreUnusable, match="does not let us"):
        await topics.apply(visitor)


async def test_the_rights_to_apply_are_enough(secure: Kafka, admin: AIOKafkaAdminClient) -> None:
    await grant(admin, "front", APPLY, "applied")
    address = address_of("front", secure, "applied")
    assert len(await topics.apply(address, partitions=1)) == len(TOPICS)
    name = address.topic("jobs")
    await admin.delete_topics([name])
    assert await topics.apply(address) == [f"made {name}: 1 partition, 1 copy"]
    assert await topics.check(address) == []


async def test_the_rights_to_check_are_enough_and_no_more(secure: Kafka, admin: AIOKafkaAdminClient) -> None:
    await topics.apply(address_of("admin", secure, "checked"), partitions=1)
    await grant(admin, "front", CHECK, "checked")
    address = address_of("front", secure, "checked")
    assert await topics.check(address) == []
    await admin.delete_topics([address.topic("jobs")])
    with pytest.raises(StoreUnusable, match=r"checked\.jobs"):
        await topics.apply(address)


@pytest.mark.parametrize("feed", ["aiokafka", "faust"])
async def test_the_rights_of_an_engine_are_enough_to_decide(
    secure: Kafka, admin: AIOKafkaAdminClient, feed: FeedName
) -> None:
    prefix = f"decided-by-{feed}"
    everything = address_of("admin", secure, prefix)
    await topics.apply(everything, partitions=1)
    await grant(admin, "engine", "engine", prefix)
    observations = [entry.cause for entry in Story(workers(1)).submit().entries]
    async with closing(await KafkaOutbox.open(everything)) as outbox:
        await outbox.put(observations)

    deciding = asyncio.create_task(Worker(address_of("engine", secure, prefix), feed, WallClock()).run())
    async with closing(await KafkaLog.open(everything, 0, read_only=True)) as log:
        await until(log.end, deciding)
        deciding.cancel()
        await asyncio.wait([deciding])
        assert deciding.cancelled()
        assert [decode(record.body).cause for record in await records(log)] == observations
        covered, snapshots = await log.snapshots()
        assert (covered, len(snapshots)) == (1, 1)


@pytest.mark.parametrize("role", ["bridge", "projectors"])
async def test_a_user_that_does_not_decide_may_read_and_observe_and_no_more(
    secure: Kafka, admin: AIOKafkaAdminClient, role: str
) -> None:
    prefix = f"read-by-{role}"
    await topics.apply(address_of("admin", secure, prefix), partitions=1)
    await grant(admin, role, role, prefix)
    address = address_of(role, secure, prefix)
    assert await topics.partitions(address) == 1
    async with closing(await KafkaOutbox.open(address)) as outbox:
        await outbox.put([entry.cause for entry in Story(workers(1)).submit().entries])
    async with closing(await KafkaLog.open(address, 0, read_only=True)) as log:
        assert await records(log) == []
        assert await log.snapshots() == (0, [])
        await log.save_checkpoint("any", 7)
        assert await log.checkpoint("any") == 7
        await log.add_dead_letter(DeadLetter(START, JOB, b"{", "unreadable"))
        assert await log.dead_letter_count() == 1
    with pytest.raises(StoreUnusable, match="does not let us"):
        await KafkaLog.open(address, 0)
    async with AIOKafkaProducer(**address.options(), enable_idempotence=True) as producer:
        for name in ("events", "jobs"):
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send_and_wait(address.topic(name), b"x", key=b"x", partition=0)


async def test_the_front_may_read_and_write_nothing(secure: Kafka, admin: AIOKafkaAdminClient) -> None:
    prefix = "shown-by-front"
    await topics.apply(address_of("admin", secure, prefix), partitions=1)
    await grant(admin, "front", "front", prefix)
    address = address_of("front", secure, prefix)
    ledger = WiredKafka(address, "aiokafka", "", 10.0)
    async with ledger_of(ledger, frozenset({Role.FRONT})) as front_ledger:
        (log,) = front_ledger.partitions.logs
        assert await records(log) == []
        assert await log.snapshots() == (0, [])
        assert await log.dead_letter_count() == 0
        with pytest.raises(StoreUnusable, match="does not let us"):
            await log.add_dead_letter(DeadLetter(START, JOB, b"{", "unreadable"))
        assert front_ledger.outbox is not None
        with pytest.raises(StoreUnusable, match="does not let us"):
            await front_ledger.outbox.put([entry.cause for entry in Story(workers(1)).submit().entries])
    async with AIOKafkaProducer(**address.options()) as producer:
        for name in ("events", "jobs", "observations", "dead-letters"):
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send_and_wait(address.topic(name), b"x", key=b"x", partition=0)


@pytest.mark.parametrize("role", [RETRY, "engine"])
async def test_the_rights_to_retry_are_enough(
    secure: Kafka, admin: AIOKafkaAdminClient, tmp_path_factory: pytest.TempPathFactory, role: str
) -> None:
    place, prefix = Place(tmp_path_factory.mktemp("place")), f"retried-by-{role.rpartition(' ')[2]}"
    everything = address_of("admin", secure, prefix)
    await topics.apply(everything, partitions=1)
    await grant(admin, "front", role, prefix)
    observation = Story(workers(1)).submit().entries[0].cause
    async with closing(await KafkaLog.open(everything, 0, read_only=True)) as log:
        await log.add_dead_letter(
            DeadLetter(START, observation.job, encode_observation(observation), "repaired")
        )
        security = secure.security("front")
        place.env |= {
            "JOBLEDGER_KAFKA__PROTOCOL": security.protocol,
            "JOBLEDGER_KAFKA__MECHANISM": security.mechanism,
            "JOBLEDGER_KAFKA__USERNAME": security.username,
            "JOBLEDGER_KAFKA__PASSWORD_FILE": str(security.password_file),
            "JOBLEDGER_KAFKA__CA_FILE": str(security.ca_file),
        }
        url = f"kafka://{secure.servers}/{prefix}"
        retried = await asyncio.to_thread(
            place.run, "dead-letters", "retry", "--all", "--log", url, store=False
        )
        assert (retried.returncode, retried.stderr) == (0, "")
        assert (await log.dead_letters())[0].retried_at is not None


class Closable(Protocol):
    async def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


@asynccontextmanager
async def closing(opened: C) -> AsyncIterator[C]:
    try:
        yield opened
    finally:
        await opened.close()


async def until(holds: Callable[[], Awaitable[object]], running: asyncio.Task[None]) -> None:
    """`holds` gives something that is true, while `running` goes on."""
    async with asyncio.timeout(150):
        while True:
            if await holds():
                return
            assert not running.done(), running.exception()
            await asyncio.sleep(0.1)
