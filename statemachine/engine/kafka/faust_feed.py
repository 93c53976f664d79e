"""Observations from Kafka to the processors by faust-streaming, which has membership, assignment and monitoring.

An agent without Tables puts what it is given. A message is a whole fetch: what Faust does for one of them costs more
than to decide an observation. Faust keeps no acknowledgements either; what the processors have acknowledged is
committed beside it. What it repeats or leaves out, the processors find. One application lives for one run: a Faust
that has crashed is not started again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import faust
import mode
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError
from faust.types.transports import SchedulingStrategyT

from statemachine.engine.kafka.aiokafka_feed import runs
from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.commits import WITHIN, Commits
from statemachine.engine.kafka.offsets import GROUP, Offsets
from statemachine.errors import JobledgerError, LogError, LogUnavailable, first
from statemachine.ids import Position
from statemachine.log.kafka.address import Address, Security
from statemachine.log.kafka.clients import METADATA_AGE, stopped
from statemachine.log.kafka.layout import OBSERVATIONS
from statemachine.log.kafka.privates import commit_by, seek_by, stop_by, without_folders

log = logging.getLogger(__name__)

_LOOK: Final = 0.2
"""Seconds between two looks whether Faust has given up."""

_START_WITHIN: Final = 30.0
_STOP_WITHIN: Final = 4.0

_FETCH: Final = 500
"""Most observations that are taken from Faust's consumer in one go."""

_BUFFER: Final = 8
"""Fetches that Faust keeps for the agent."""


class WholeFetches(SchedulingStrategyT):
    """Faust's order of what was fetched: by partition, all records of one as the value of a single one."""

    def __init__(self) -> None:
        """Faust makes it."""

    def iterate(
        self, records: Mapping[Any, Sequence[ConsumerRecord[bytes, bytes]]]
    ) -> Iterator[tuple[Any, Any]]:
        """Each stands where the last of its records does."""
        return ((part, replace(fetched[-1], value=fetched)) for part, fetched in records.items() if fetched)


class FaustFeed:
    """A Feed. `instance` and `session` (seconds) are those of AiokafkaFeed."""

    def __init__(
        self, address: Address, assignment: Assignment, *, instance: str = "", session: float = 10.0
    ) -> None:
        self._address, self._assignment = address, assignment
        self._topic = address.topic(OBSERVATIONS.name)
        self._instance, self._session = instance, session
        self._begins: dict[int, Position] = {}

    async def run(self) -> None:
        """See Feed."""
        try:
            async with Offsets(self._address) as offsets:
                await self._run(self._app(), offsets)
        except BaseExceptionGroup as group:
            raise first(group) from None

    async def _run(self, app: Any, offsets: Offsets) -> None:
        commits = Commits(self._assignment, self._topic, partial(commit_by, app, within=WITHIN))

        async def own(*_: object, **__: object) -> None:
            await self._own(app, commits, offsets)

        async def revoked(*_: object, **__: object) -> None:
            self._assignment.unsettled()
            await commits.commit()
            commits.end()

        app.on_rebalance_complete.connect(own)  # Faust waits for it before anything is fetched
        app.on_partitions_revoked.connect(revoked)
        app.finalize()
        seek_by(app, self._seek)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._assignment.failure(), name="failure")
                tasks.create_task(_alive(app), name="faust")
                tasks.create_task(offsets.watch(self._assignment), name="ends")
                tasks.create_task(commits.run(), name="commit")
        finally:
            await self._assignment.close()
            await commits.commit()
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
            consumer_metadata_max_age_ms=METADATA_AGE,
            broker_session_timeout=self._session,
            broker_heartbeat_interval=self._session / 10,
            broker_rebalance_timeout=self._session,
            broker_max_poll_records=_FETCH,
            ConsumerScheduler=WholeFetches,
            stream_buffer_maxsize=_BUFFER,
            stream_publish_on_commit=False,
        )
        without_folders(app)
        topic = app.topic(
            self._topic,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            acks=False,
        )

        async def observe(stream: Any) -> None:
            await self._observe(stream.events())

        app.agent(topic, name="observe")(observe)
        return app

    # ---- what comes in -------------------------------------------------------------------------------------------

    async def _observe(self, fetches: AsyncIterator[Any]) -> None:
        async for fetch in fetches:
            try:
                for place, posts in runs(fetch.value):
                    await self._assignment.put(fetch.message.partition, place, posts)
            except LogError as error:  # Faust would go on behind an agent's error
                self._assignment.fail(error)
                await asyncio.Event().wait()

    async def _own(self, app: Any, commits: Commits, offsets: Offsets) -> None:
        partitions = {part.partition for part in app.consumer.assignment() if part.topic == self._topic}
        try:
            self._begins = await offsets.take_over(self._assignment, partitions)
            commits.begin(partitions)
        except JobledgerError as error:
            self._assignment.fail(error)
            await asyncio.Event().wait()  # nothing is fetched meanwhile

    async def _seek(
        self, consumer: Any, to_committed: Callable[[], Awaitable[Mapping[TopicPartition, Position | None]]]
    ) -> Mapping[TopicPartition, Position | None]:
        """In place of Faust's own: every partition is read from where its processor begins.

        Faust's leaves a partition alone of which nothing is committed yet, and believes what is committed of a topic
        that was made anew. What a fetch under way brings while partitions are dealt out is dropped: it has to be read
        again.
        """
        committed = await to_committed()
        begins = {part: self._begins[part.partition] for part in committed if part.partition in self._begins}
        await consumer.seek_wait(begins)
        return {**committed, **begins}


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
    """The group is left, if that is possible now."""
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
