"""What is done to insides of aiokafka and Faust, each on objects of the installed versions; no broker is needed."""

import ast
import asyncio
import gc
import gzip
import re
import threading
import tomllib
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faust
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator, NoGroupCoordinator
from aiokafka.errors import ConcurrentTransactions, KafkaError
from aiokafka.producer.sender import AddPartitionsToTxnHandler, EndTxnHandler
from aiokafka.producer.transaction_manager import TransactionResult
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from jobledger.settings.sections import KafkaSettings
from jobledger.wiring.ledger import Kafka
from statemachine.errors import ConfigError
from statemachine.log.kafka import clients, privates

BROKER = "nowhere.invalid:9092"
ROOT = Path(__file__).parents[3]
IN_KAFKA = {
    module
    for part in ("engine", "log")
    for module in (ROOT / "statemachine" / part / "kafka").glob("*.py")
    if module.name != "privates.py"
}
PART = TopicPartition("events", 3)
_HEAD = 61
"""Bytes of a batch before its records. Source: Kafka, record batch."""


def installed_but(package: str, release: str) -> Any:
    """The versions that were tried, and another one of `package`."""
    return lambda name: release if name == package else privates.TRIED[name][-1]


async def end(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


# ---- versions ----------------------------------------------------------------------------------------------------


def test_the_installed_versions_were_tried() -> None:
    privates.check(faust=True)


@pytest.mark.parametrize("package", privates.TRIED)
def test_another_version_is_refused_with_package_version_and_what_to_do(package: str) -> None:
    with pytest.raises(ConfigError) as refused:
        privates.check(faust=True, there=installed_but(package, "99.1"))
    tried = privates.TRIED[package][-1]
    assert str(refused.value) == (
        f"{package} 99.1 is installed, and this jobledger works with {tried} only; "
        f"`pip install {package}=={tried}` installs that"
    )


def test_a_client_that_is_not_there_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=re.escape("install `jobledger[kafka]`")):
        privates.check(faust=False, there=lambda _: "")


def test_faust_may_be_missing_or_another_where_it_is_not_the_feed() -> None:
    privates.check(faust=False, there=installed_but("faust-streaming", ""))


def test_a_log_in_kafka_is_refused_before_a_client_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(privates.TRIED, "aiokafka", ("0.0.1",))
    with pytest.raises(ConfigError, match=r"works with 0\.0\.1 only"):
        Kafka.of("kafka://nowhere.invalid:9092", KafkaSettings())


@pytest.mark.parametrize("module", sorted(IN_KAFKA), ids=lambda module: module.name)
def test_insides_are_touched_in_one_module_only(module: Path) -> None:
    """No attribute is named that begins with one underscore, and that the module does not define itself."""
    tree = list(ast.walk(ast.parse(module.read_text())))
    named = {
        attribute.attr: attribute
        for attribute in tree
        if isinstance(attribute, ast.Attribute) and not _is_own(attribute)
    }
    defined = {
        function.name for function in tree if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    defined |= {
        attribute.attr for attribute in tree if isinstance(attribute, ast.Attribute) and _is_own(attribute)
    }
    assert [
        f"{function.lineno}: {ast.unparse(function)}"
        for name, function in named.items()
        if name not in defined
    ] == []


def _is_own(attribute: ast.Attribute) -> bool:
    """It is of `self` or `cls`, or is not private: a named tuple has a public `_replace`."""
    is_own = isinstance(attribute.value, ast.Name) and attribute.value.id in ("self", "cls")
    return is_own or not re.match(r"_[a-z]", attribute.attr) or attribute.attr == "_replace"


def test_the_extra_asks_for_the_versions_that_were_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = dict(re.split(r"(?:\[\w+\])?==", item) for item in project["optional-dependencies"]["kafka"])
    assert wanted == {package: tried[-1] for package, tried in privates.TRIED.items()}


# ---- aiokafka ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", [AIOKafkaConsumer, AIOKafkaProducer, AIOKafkaAdminClient])
async def test_a_client_tells_how_it_would_say_who_it_is(client: type[Any]) -> None:
    made = client(
        bootstrap_servers=BROKER,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username="team",
        sasl_plain_password="secret",
    )
    connected = privates.connections(made)
    assert connected.hosts[0][:2] == ("nowhere.invalid", 9092)
    assert privates.protocol(connected) == "SASL_PLAINTEXT"
    assert privates.security(connected) == {
        "ssl_context": None,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "team",
        "sasl_plain_password": "secret",
        "sasl_oauth_token_provider": None,
    }
    privates.mark_stopped(made)


async def test_a_transaction_covers_a_partition_without_a_record() -> None:
    producer = AIOKafkaProducer(bootstrap_servers=BROKER, transactional_id="ledger-3")
    manager = producer._txn_manager
    manager.set_pid_and_epoch(1, 0)
    manager.begin_transaction()
    privates.add_partition(producer, PART)
    assert manager.partitions_to_add() == {PART}
    privates.mark_stopped(producer)


async def test_a_transaction_is_asked_for_again_as_soon_as_the_one_before_may_have_ended() -> None:
    """By itself aiokafka waits 20 ms whenever two of them follow one another at once."""
    producer = AIOKafkaProducer(bootstrap_servers=BROKER, transactional_id="ledger-3")
    refused = SimpleNamespace(errors=[(PART.topic, [(PART.partition, ConcurrentTransactions.errno)])])
    handler = AddPartitionsToTxnHandler(producer._sender, {PART})
    assert handler.handle_response(refused) == clients._MARKERS < 0.02
    privates.mark_stopped(producer)


async def test_requests_to_end_a_transaction_are_counted_until_they_are_answered() -> None:
    producer = AIOKafkaProducer(bootstrap_servers=BROKER, transactional_id="ledger-3")
    producer._txn_manager.set_pid_and_epoch(1, 0)
    assert privates.unanswered_ends(producer) == 0
    EndTxnHandler(producer._sender, TransactionResult.COMMIT).create_request()
    again = EndTxnHandler(producer._sender, TransactionResult.COMMIT)
    again.create_request()
    assert privates.unanswered_ends(producer) == 2
    again.handle_response(SimpleNamespace(error_code=ConcurrentTransactions.errno))
    assert privates.unanswered_ends(producer) == 1, "what brokers have refused does nothing later"
    privates.mark_stopped(producer)


async def test_a_client_that_is_marked_stopped_does_nothing_in_its_stop() -> None:
    """It would wait for a task that it has not started."""
    producer = AIOKafkaProducer(bootstrap_servers=BROKER)
    privates.mark_stopped(producer)
    await producer.stop()


async def test_the_tasks_of_a_producer_are_its_sender_and_what_that_waits_for() -> None:
    producer = AIOKafkaProducer(bootstrap_servers=BROKER)
    assert privates.tasks_of_producer(producer) == []
    await producer._sender.start()
    (sender,) = privates.tasks_of_producer(producer)
    await asyncio.sleep(0)
    routine: Any = sender.get_coro()
    waited_for = routine.cr_frame.f_locals["tasks"]
    assert waited_for == set()
    pending = asyncio.create_task(asyncio.Event().wait())
    waited_for.add(pending)
    assert privates.tasks_of_producer(producer) == [sender, pending]
    await end([sender, pending])
    privates.mark_stopped(producer)


async def test_batches_that_failed_before_they_were_sent_are_reported_to_nobody() -> None:
    """A batch has two futures: what became of it, and that it was taken, which nobody waits for."""
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    producer = AIOKafkaProducer(bootstrap_servers=BROKER)
    accumulator = producer._message_accumulator
    batch = producer.create_batch()
    batch.append(timestamp=None, key=None, value=b"")
    accepted = await accumulator.add_batch(batch, PART, 1)
    accumulator.fail_all(KafkaError("fenced"))
    with pytest.raises(KafkaError, match="fenced"):
        await accepted
    privates.forget_unsent(producer)
    await asyncio.sleep(0)
    accumulator._batches.clear()
    del accepted, batch
    gc.collect()
    assert said == []
    privates.mark_stopped(producer)


async def test_the_tasks_of_a_consumer_are_those_of_its_fetcher_and_its_coordinator() -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=BROKER, group_id=None)
    assert privates.tasks_of_consumer(consumer) == []
    consumer._coordinator = NoGroupCoordinator(consumer._client, consumer._subscription)
    consumer._fetcher = Fetcher(consumer._client, consumer._subscription)
    pending = asyncio.create_task(asyncio.Event().wait())
    consumer._fetcher._pending_tasks.add(pending)
    tasks = privates.tasks_of_consumer(consumer)
    assert set(tasks) == {consumer._coordinator._reset_committed_task, consumer._fetcher._fetch_task, pending}
    await end(tasks)
    assert privates.tasks_of_consumer(consumer) == []
    privates.mark_stopped(consumer)


@asynccontextmanager
async def coordinating(consumer: AIOKafkaConsumer) -> AsyncIterator[Any]:
    """The coordinator of a member that has joined, and the requests that it has sent, as `sent`."""
    consumer._coordinator = made = GroupCoordinator(
        consumer._client, consumer._subscription, group_id="engine", group_instance_id="engine-0"
    )
    made.generation, made.sent = 1, []

    async def send(request: Any) -> None:
        made.sent.append(type(request).__name__)

    made._send_req = send
    yield made
    tasks = privates.tasks_of_consumer(consumer)
    assert made._coordination_task in tasks
    await end(tasks)
    privates.mark_stopped(consumer)


@pytest.mark.parametrize("leaves", [False, True])
async def test_a_static_member_that_has_become_dynamic_leaves_its_group(leaves: bool) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=BROKER, group_id="engine")
    async with coordinating(consumer) as coordinator:
        if leaves:
            privates.become_dynamic(consumer)
        await coordinator._maybe_leave_group()
        assert [item.startswith("LeaveGroup") for item in coordinator.sent] == [True] * leaves


async def test_a_consumer_that_has_not_started_has_nothing_to_leave() -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=BROKER, group_id="engine", group_instance_id="engine-0")
    privates.become_dynamic(consumer)
    privates.mark_stopped(consumer)


# ---- Faust -------------------------------------------------------------------------------------------------------


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Any]:
    made = faust.App("engine", broker=f"kafka://{BROKER}", autodiscover=False, datadir=tmp_path / "data")
    made.finalize()
    yield made
    consumer: Any = made.consumer
    consumer._thread.thread_loop.close()


async def test_an_app_without_folders_makes_none(app: Any, tmp_path: Path) -> None:
    privates.without_folders(app)
    app._create_directories()
    assert list(tmp_path.iterdir()) == []
    type(app)._create_directories(app)  # what it would do
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


async def test_an_app_seeks_by_what_it_is_given(app: Any) -> None:
    asked = []

    async def seek(consumer: Any, own: Any) -> dict[Any, int]:
        asked.append((consumer, own))
        return {PART: 7}

    own = app.consumer.seek_to_committed
    privates.seek_by(app, seek)
    assert await app.consumer.seek_to_committed() == {PART: 7}
    assert asked == [(app.consumer, own)]


async def test_the_consumer_of_an_app_leaves_its_group_and_stops_by_what_it_is_given(app: Any) -> None:
    stopped = []

    async def stop(consumer: Any, own: Any) -> None:
        stopped.append((consumer, own))

    assert app.consumer._thread._consumer is None
    privates.stop_by(app, stop)  # it has not started yet
    consumer = app.consumer._thread._consumer = AIOKafkaConsumer(bootstrap_servers=BROKER, group_id="engine")
    own = consumer.stop
    async with coordinating(consumer) as coordinator:
        privates.stop_by(app, stop)
        await coordinator._maybe_leave_group()
        assert len(coordinator.sent) == 1
        await consumer.stop()
    assert stopped == [(consumer, own)]


@asynccontextmanager
async def threaded(app: Any, committed: list[Any], error: Exception | None = None) -> AsyncIterator[Any]:
    """The thread of the app's consumer runs; the consumer puts into `committed` what it is to commit, and where."""

    async def commit(offsets: Any) -> None:
        if error:
            raise error
        committed.append((offsets, threading.current_thread()))

    thread = app.consumer._thread
    stop = asyncio.Event()

    async def serve() -> None:
        await thread.method_queue.start()
        await stop.wait()
        await thread.method_queue.stop()

    running = threading.Thread(target=lambda: thread.thread_loop.run_until_complete(serve()))
    running.start()
    thread._consumer = SimpleNamespace(commit=commit)
    try:
        yield running
    finally:
        thread.thread_loop.call_soon_threadsafe(stop.set)
        await asyncio.to_thread(running.join)


async def test_the_consumer_of_an_app_commits_in_its_thread(app: Any) -> None:
    committed: list[Any] = []
    await privates.commit_by(app, {PART: 7}, within=60)  # it has not started yet
    async with threaded(app, committed) as thread:
        await privates.commit_by(app, {PART: 8}, within=60)
    assert committed == [({PART: 8}, thread)]


async def test_what_keeps_the_consumer_of_an_app_from_committing_is_raised(app: Any) -> None:
    async with threaded(app, [], KafkaError("no broker")):
        with pytest.raises(KafkaError, match="no broker"):
            await privates.commit_by(app, {PART: 8}, within=60)
    app.consumer._thread.thread_loop.close()
    with pytest.raises(ConnectionError, match="has ended"):
        await privates.commit_by(app, {PART: 8}, within=60)
    app.consumer._thread._stopped.set()
    with pytest.raises(ConnectionError, match="has ended"):
        await privates.commit_by(app, {PART: 8}, within=60)


# ---- batches -----------------------------------------------------------------------------------------------------


def test_batches_of_gzip_are_compressed_by_our_level_and_can_be_read_by_any_client() -> None:
    value = b"".join(b'{"seq":%d,"text":"%x"}' % (number, number * 7919) for number in range(2000))
    builder = DefaultRecordBatchBuilder(2, 1, True, 7, 0, 0, 1 << 20)
    builder.append(0, 0, b"u-1", value, [("ce_id", b"u-1/1/0")])
    written = bytes(builder.build())
    (record,) = MemoryRecords(written).next_batch()
    assert (record.key, record.value, list(record.headers)) == (b"u-1", value, [("ce_id", b"u-1/1/0")])
    compressed = written[_HEAD:]
    assert zlib.compress(gzip.decompress(compressed), clients._LEVEL, 31) == compressed
    assert zlib.compress(gzip.decompress(compressed), 9, 31) != compressed
