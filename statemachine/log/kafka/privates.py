"""What is done to insides of aiokafka and Faust that they have no call for, and the versions it was tried with.

Nothing else here touches a name of theirs that begins with an underscore, or replaces a method of theirs. Objects of
both libraries come in; neither is imported here. Each function says which want it fills; `check` refuses any other
version before the first client is made, since a private name may mean something else there, or nothing.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import chain
from typing import Any, Final

from statemachine.errors import ConfigError

TRIED: Final[dict[str, Sequence[str]]] = {
    "aiokafka": ("0.14.0",),
    "faust-streaming": ("0.15.3",),
    "mode-streaming": ("0.7.1",),
}
"""By name of a package, the versions that the functions below have their tests with."""

_OF_FAUST: Final = {"faust-streaming": "faust", "mode-streaming": "mode"}
"""The packages without which the other feed works, and the modules that they bring."""

_COORDINATING: Final = ("_coordination_task", "_commit_refresh_task", "_reset_committed_task")
"""Tasks of a consumer besides those that fetch; only one in a group has the first two."""


def installed(package: str) -> str:
    """The version of a package that can be imported; empty if there is none."""
    module = _OF_FAUST.get(package, package)
    try:
        return version(package) if module in sys.modules or find_spec(module) else ""
    except PackageNotFoundError:
        return ""


def check(*, faust: bool, there: Callable[[str], str] = installed) -> None:
    """The packages that Kafka is spoken to with, Faust's if it is the feed, are `there` in versions that were tried.

    Raises:
        ConfigError: one is missing, or of another version.
    """
    for package, tried in TRIED.items():
        if package in _OF_FAUST and not faust:
            continue
        if not (release := there(package)):
            raise ConfigError(
                "the Kafka client is not installed; install `jobledger[kafka]` for a log in Kafka"
            )
        if release not in tried:
            raise ConfigError(
                f"{package} {release} is installed, and this jobledger works with {' or '.join(tried)} only; "
                f"`pip install {package}=={tried[-1]}` installs that"
            )


# ---- aiokafka ----------------------------------------------------------------------------------------------------


def connections(client: Any) -> Any:
    """The connections of a producer, consumer or admin client, by which brokers are reached.

    A producer has a public name for them.
    """
    return client.client if hasattr(client, "client") else client._client


def protocol(connected: Any) -> str:
    """What `connections` speak to brokers: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    spoken: str = connected._security_protocol
    return spoken


def security(connected: Any) -> dict[str, Any]:
    """The options of `connections` that say who we are and whether TLS is spoken: those of `create_conn`."""
    names = (
        "ssl_context",
        "security_protocol",
        "sasl_mechanism",
        "sasl_plain_username",
        "sasl_plain_password",
        "sasl_oauth_token_provider",
    )
    return {name: getattr(connected, f"_{name}") for name in names}


def add_partition(producer: Any, partition: Any) -> None:
    """The transaction that has begun covers `partition`, without a record: aiokafka adds one with a record only."""
    producer._txn_manager.maybe_add_partition_to_txn(partition)


def compress_by(batches: type, compress: Callable[[bytes], bytes]) -> None:
    """Records of codec gzip in these batches are compressed by `compress`: aiokafka knows only the slowest level."""
    sys.modules[batches.__module__].__dict__["gzip_encode"] = compress


def begin_again_after(producers: type, seconds: float) -> None:
    """These producers ask after `seconds` again where brokers still write the markers of the transaction before.

    aiokafka asks after 20 ms, as Kafka's own client does; markers are there after one or two.
    """
    sender = sys.modules[producers.__module__].__dict__["Sender"]
    sys.modules[sender.__module__].__dict__["BACKOFF_OVERRIDE"] = seconds


def count_unanswered_ends(producers: type) -> None:
    """These producers count the requests to end a transaction that no answer came to; see `unanswered_ends`."""
    sender = sys.modules[producers.__module__].__dict__["Sender"]
    handler = sys.modules[sender.__module__].__dict__["EndTxnHandler"]
    ask, hear = handler.create_request, handler.handle_response

    def asking(self: Any) -> Any:
        manager = self._sender._txn_manager
        manager.unanswered_ends = getattr(manager, "unanswered_ends", 0) + 1
        return ask(self)

    def hearing(self: Any, answer: Any) -> Any:
        self._sender._txn_manager.unanswered_ends -= 1
        return hear(self, answer)

    handler.create_request, handler.handle_response = asking, hearing


def unanswered_ends(producer: Any) -> int:
    """How many requests to end a transaction of the producer may still be on their way: no answer came to them."""
    count: int = getattr(producer._txn_manager, "unanswered_ends", 0)
    return count


def mark_stopped(client: Any) -> None:
    """The client does nothing in its `stop` any more, and says nothing when it is collected."""
    client._closed = True


def tasks_of_producer(producer: Any) -> list[asyncio.Task[Any]]:
    """The task of its sender, and those that it waits for, which are in a variable of it."""
    sender = producer._sender.sender_task
    if sender is None or sender.done():
        return []
    frame = sender.get_coro().cr_frame
    return [sender, *(frame.f_locals.get("tasks", ()) if frame else ())]


def forget_transaction(producer: Any) -> None:
    """Nobody asks for the end of the producer's present transaction, and asyncio need not say that it failed.

    A producer that fails twice has another future for the second failure.
    """
    waiter = getattr(producer._txn_manager, "_transaction_waiter", None)
    if waiter is not None:
        waiter.add_done_callback(_retrieved)


def forget_unsent(producer: Any) -> None:
    """Nobody waits until the producer's sender takes what has failed before, and asyncio need not say that it failed.

    Batches have a future for that beside the one that says what became of them.
    """
    accumulator = producer._message_accumulator
    for batch in (*chain.from_iterable(accumulator._batches.values()), *accumulator._pending_batches):
        batch._drain_waiter.add_done_callback(_retrieved)


def _retrieved(waiter: "asyncio.Future[Any]") -> None:
    if not waiter.cancelled():
        waiter.exception()


def tasks_of_consumer(consumer: Any) -> list[asyncio.Task[Any]]:
    """The tasks of its coordinator and its fetcher that are not done."""
    running = [getattr(consumer._coordinator, name, None) for name in _COORDINATING]
    if consumer._fetcher is not None:
        running += [consumer._fetcher._fetch_task, *consumer._fetcher._pending_tasks]
    return [task for task in running if task is not None and not task.done()]


def become_dynamic(consumer: Any) -> None:
    """The member says goodbye when it stops, and its partitions can be dealt out at once.

    A static member would not: that is for one that was killed and comes back.
    """
    if (coordinator := getattr(consumer, "_coordinator", None)) is not None:
        coordinator._group_instance_id = None


# ---- Faust -------------------------------------------------------------------------------------------------------

Committed = Mapping[Any, int | None]
"""Places by partition."""


def without_folders(app: Any) -> None:
    """The app makes no folders when it starts: they are for Tables."""
    app._create_directories = lambda: None


def seek_by(
    app: Any, seek: Callable[[Any, Callable[[], Awaitable[Committed]]], Awaitable[Committed]]
) -> None:
    """`seek` is called with the app's consumer and its own method, whenever that would go to what is committed."""
    app.consumer.seek_to_committed = partial(seek, app.consumer, app.consumer.seek_to_committed)


def stop_by(app: Any, stop: Callable[[Any, Callable[[], Awaitable[None]]], Awaitable[None]]) -> None:
    """The app's aiokafka consumer leaves its group when it stops, and stops by `stop`, given it and its own method.

    Without a broker its own lets a cancellation out. Of that Faust's thread dies without telling anybody, and tasks
    wait for it that cannot be cancelled. An app that has not started has no consumer yet.
    """
    consumer = getattr(getattr(getattr(app, "_consumer", None), "_thread", None), "_consumer", None)
    if consumer is not None:
        become_dynamic(consumer)
        consumer.stop = partial(stop, consumer, consumer.stop)


async def commit_by(app: Any, offsets: Mapping[Any, Any], *, within: float) -> None:
    """The app's aiokafka consumer commits `offsets`, by partition, in the thread that it lives in.

    Faust's own commits what it has tracked message by message, and nothing else. An app that has not started has no
    consumer yet. Raises what the consumer raises, TimeoutError after `within` seconds, and ConnectionError if it has
    ended.
    """
    thread: Any = getattr(getattr(app, "_consumer", None), "_thread", None)
    consumer = getattr(thread, "_consumer", None)
    if consumer is None:
        return

    async def commit() -> None:
        async with asyncio.timeout(within):
            await consumer.commit(offsets)

    ended = ConnectionError("Faust has ended its consumer")
    if thread.should_stop:
        raise ended
    try:
        await thread.call_thread(commit)
    except RuntimeError as error:
        if thread.thread_loop.is_closed():
            raise ended from error
        raise
