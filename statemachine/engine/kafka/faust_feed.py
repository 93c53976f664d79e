"""Observations from Kafka to the processors by faust-streaming, which has membership, assignment and monitoring.

An agent without Tables puts what it is given and acknowledges it when its processor has. What Faust repeats or
leaves out, the processors find. One application lives for one run: a Faust that has crashed is not started again.
"""

import asyncio
import logging
import warnings
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import faust
import mode
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from statemachine.engine.kafka.aiokafka_feed import posted
from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.offsets import GROUP, Offsets
from statemachine.errors import JobledgerError, LogError, LogUnavailable, first
from statemachine.ids import Position
from statemachine.log.kafka.address import Address, Security
from statemachine.log.kafka.clients import stopped
from statemachine.log.kafka.layout import OBSERVATIONS
from statemachine.log.kafka.privates import seek_by, stop_by, without_folders

log = logging.getLogger(__name__)

_LOOK: Final = 0.2
"""Seconds between two looks whether Faust has given up."""

_START_WITHIN: Final = 30.0
_STOP_WITHIN: Final = 4.0
_BUFFER: Final = 1000
"""Messages that Faust keeps for the agent."""


class FaustFeed:
    """A Feed. `instance` and `session` (seconds) are those of AiokafkaFeed."""

    def __init__(
        self, address: Address, assignment: Assignment, *, instance: str = "", session: float = 10.0
    ) -> None:
        self._address, self._assignment = address, assignment
        self._topic = address.topic(OBSERVATIONS.name)
        self._instance, self._session = instance, session
        self._unacked: defaultdict[int, deque[Any]] = defaultdict(deque)
        self._begins: dict[int, Position] = {}
        assignment.ack_listeners.append(self._ack)

    async def run(self) -> None:
        """See Feed."""
        try:
            async with Offsets(self._address) as offsets:
                await self._run(self._app(), offsets)
        except BaseExceptionGroup as group:
            raise first(group) from None

    async def _run(self, app: Any, offsets: Offsets) -> None:
        async def own(*_: object, **__: object) -> None:
            await self._own(app, offsets)

        async def revoked(*_: object, **__: object) -> None:
            self._assignment.unsettled()

        app.on_rebalance_complete.connect(own)  # Faust waits for it before anything is fetched
        app.on_partitions_revoked.connect(revoked)
        app.finalize()
        seek_by(app, self._seek)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._assignment.failure(), name="failure")
                tasks.create_task(_alive(app), name="faust")
                tasks.create_task(offsets.watch(self._assignment), name="ends")
        finally:
            await self._assignment.close()
            await _stop(app)
            # signals belong to the class: what stays connected would stay for ever
            app.on_rebalance_complete.disconnect(own, sender=app)
            app.on_partitions_revoked.disconnect(revoked, sender=app)

    def _app(self) -> Any:
        app: Any = faust.App(
            self._address.topic(GROUP),
            broker=[f"kafka://{server}" for server in self._address.servers],
            **_credentials(self._address.security),
            autodiscover=False,
            store="memory://",
            web_enabled=False,
            worker_redirect_stdouts=False,
            topic_allow_declare=False,
            topic_disable_leader=True,
            table_standby_replicas=0,
            key_serializer="raw",
            value_serializer="raw",
            agent_supervisor=mode.CrashingSupervisor,
            consumer_auto_offset_reset="earliest",
            consumer_group_instance_id=self._instance or None,
            broker_session_timeout=self._session,
            broker_heartbeat_interval=self._session / 10,
            broker_rebalance_timeout=self._session,
            broker_commit_interval=1.0,
            stream_buffer_maxsize=_BUFFER,
            stream_wait_empty=True,
            stream_publish_on_commit=False,
        )
        without_folders(app)
        topic = app.topic(
            self._topic, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"
        )

        async def observe(stream: Any) -> None:
            await self._observe(stream.noack().events())

        app.agent(topic, name="observe")(observe)
        return app

    # ---- what comes in, and its acknowledgement ------------------------------------------------------------------

    async def _observe(self, events: AsyncIterator[Any]) -> None:
        async for event in events:
            message = event.message
            partition, place = message.partition, message.offset + 1
            self._unacked[partition].append(event)
            try:
                await self._assignment.put(
                    partition, place, posted(message.key, message.value, message.headers)
                )
            except LogError as error:  # an agent's error acknowledges the message
                self._assignment.fail(error)
                await asyncio.Event().wait()
            self._ack(partition, self._assignment.acked(partition) or 0)

    def _ack(self, partition: int, upto: Position) -> None:
        waiting = self._unacked[partition]
        while waiting and waiting[0].message.offset < upto:
            waiting.popleft().ack()

    async def _own(self, app: Any, offsets: Offsets) -> None:
        self._unacked.clear()  # they are given again
        partitions = {part.partition for part in app.consumer.assignment() if part.topic == self._topic}
        try:
            self._begins = await offsets.take_over(self._assignment, partitions)
        except JobledgerError as error:
            self._assignment.fail(error)
            await asyncio.Event().wait()  # nothing is fetched meanwhile

    async def _seek(
        self, consumer: Any, to_committed: Callable[[], Awaitable[Mapping[TopicPartition, Position | None]]]
    ) -> Mapping[TopicPartition, Position | None]:
        """In place of Faust's own, which leaves a partition alone of which nothing is committed yet.

        What a fetch under way brings while partitions are dealt out is dropped: it has to be read again.
        """
        committed = await to_committed()
        never = (part for part, place in committed.items() if not place and part.partition in self._begins)
        await consumer.seek_wait({part: self._begins[part.partition] for part in never})
        return committed


def _credentials(security: Security) -> dict[str, Any]:
    options = security.options()
    context = options.get("ssl_context")
    if "sasl_oauth_token_provider" in options:
        tokens = options["sasl_oauth_token_provider"]
        return {"broker_credentials": faust.OAuthCredentials(oauth_cb=tokens, ssl_context=context)}
    if "sasl_mechanism" in options:
        return {
            "broker_credentials": faust.SASLCredentials(
                username=options["sasl_plain_username"],
                password=options["sasl_plain_password"],
                mechanism=options["sasl_mechanism"],
                ssl_context=context,
            )
        }
    return {"broker_credentials": faust.SSLCredentials(context)} if context else {}


async def _alive(app: Any) -> None:
    """Faust runs, for ever. Raises LogUnavailable when it does not any more."""
    starting = asyncio.create_task(app.start(), name="start of Faust")
    try:
        if not await _ended(starting, _START_WITHIN):
            raise LogUnavailable(f"Faust did not start within {_START_WITHIN:.0f} s")
        if (
            starting.cancelled()
        ):  # its result would count as a cancellation of ours, and nobody would begin anew
            raise LogUnavailable("Faust broke off its start")
        starting.result()
    except (KafkaError, OSError) as error:
        raise LogUnavailable(f"Faust did not start: {error!r}") from error
    finally:
        starting.cancel()
    while not app.should_stop:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(_LOOK)
    raise LogUnavailable(f"Faust gave up: {app.crash_reason!r}")


async def _stop(app: Any) -> None:
    """What is acknowledged is committed, and the group left, if both is possible now."""
    with warnings.catch_warnings():  # Faust calls it late, and looks at it now
        warnings.simplefilter("ignore", faust.exceptions.AlreadyConfiguredWarning)
        app.conf.stream_wait_empty = False  # what no processor has taken is given to another member
    stop_by(app, stopped)
    stopping = asyncio.create_task(app.stop(), name="stop of Faust")
    if not await _ended(stopping, _STOP_WITHIN):
        log.warning("Faust did not stop in time", extra={"action": "leave", "error": "timeout"})
        stopping.cancel()
    elif not stopping.cancelled() and (error := stopping.exception()) is not None:
        log.warning("Faust did not stop in order", extra={"action": "leave", "error": repr(error)})


async def _ended(task: "asyncio.Task[None]", within: float) -> bool:
    """It ended within so many seconds. Not by `asyncio.timeout`: Faust may take no notice of a cancellation."""
    return bool((await asyncio.wait([task], timeout=within))[0])
