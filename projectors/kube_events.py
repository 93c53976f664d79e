"""Announcements → Kubernetes Events on the job (spec R16), each written once.

A stream projector: it reads the log from its checkpoint on. The name of an Event consists of the job's uid and
the place of the announcement, so an Event written again after a crash is the same object.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from k8s_bridge.port import Cluster, JobEvent, Ref
from projectors.base import States
from statemachine.errors import Conflict, EntryUnreadable, Missing, Refused, first
from statemachine.events import Announced, JobAdmitted
from statemachine.ids import JobUid, Position, short_hash
from statemachine.log.codec import decode_brief, decode_events
from statemachine.log.port import EventLog, Record
from statemachine.redact import redacted_text, secrets_of

log = logging.getLogger(__name__)

READER: Final = "kube-events"

_AT_A_TIME: Final = 4
"""Events written at the same time. No job waits for them, and their order is in their times."""


_SAID: Final = b'"Announced"'


def announced(record: Record, about: Ref, spec: Mapping[str, Any] | None = None) -> Sequence[JobEvent]:
    """The Events that a record of the job `about` announces, in order; none if the record is unreadable.

    Secrets of the job's `spec` are taken out of messages: older logs hold messages that quote them.
    """
    if _SAID not in record.body:
        return ()
    try:
        entry = decode_brief(record.body)
    except EntryUnreadable:
        return ()
    announcements = [event for event in entry.events if isinstance(event, Announced)]
    return [
        JobEvent(
            about,
            entry.job,
            f"{about.name}.{short_hash(entry.job)}.{entry.seq}.{number}",
            event.reason,
            redacted_text(event.message, secrets_of(spec)),
            event.level,
            entry.seen_at,
        )
        for number, event in enumerate(announcements)
    ]


class KubeEvents:
    """The stream projector of Kubernetes Events; `part` is added to the name of one of several."""

    def __init__(self, event_log: EventLog, states: States, cluster: Cluster, part: str = "") -> None:
        self.name = READER + part
        self._log, self._states, self._cluster = event_log, states, cluster
        self._position: Position | None = None

    async def advance(self) -> None:
        """Everything announced up to the end of the log has been emitted."""
        if self._position is None:
            self._position = await self._log.checkpoint(READER)
        async for records in self._log.scan(self._position):
            emitted = await self._emit_all(records)
            self._position = records[-1].position
            if emitted:
                await self._log.save_checkpoint(READER, self._position)

    def forget(self) -> None:
        """Another process may emit from now on: the next `advance` continues at the checkpoint that it saved."""
        self._position = None

    async def _emit_all(self, records: Sequence[Record]) -> int:
        """Emits what `records` announce, a few at a time. Returns the number of Events."""
        telling = [record for record in records if _SAID in record.body]
        pending, emitted = iter(telling), 0

        async def some() -> None:
            nonlocal emitted
            for record in pending:
                emitted += await self._emit(record)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in telling[:_AT_A_TIME]:
                    tasks.create_task(some())
        except BaseExceptionGroup as failed:
            raise first(failed) from failed
        return emitted

    async def _emit(self, record: Record) -> int:
        about = await self._about(record.job)
        if about is None:
            return 0
        state = self._states.state(record.job)
        events = announced(record, about, state.spec if state else None)
        for event in events:
            await self._write(event)
        return len(events)

    async def _write(self, event: JobEvent) -> None:
        """Writes the Event, or logs that the cluster will never take it, as in a namespace that terminates."""
        try:
            await self._cluster.emit(event)
        except (Refused, Conflict, Missing) as error:
            fields = {"action": "event-refused", "job": event.uid, "error": str(error)}
            log.warning("the cluster does not take an Event", extra=fields)

    async def _about(self, job: JobUid) -> Ref | None:
        """The job object's reference: from the state, or from the first entry if states lag behind."""
        state = self._states.state(job)
        if state is not None:
            return Ref(state.api_version, state.object_kind, state.namespace, state.name)
        async for records in self._log.scan(job=job):
            try:
                first_events = decode_events(records[0].body).events
            except EntryUnreadable:
                return None  # the reader has put this job in quarantine, alone
            for event in first_events:
                if isinstance(event, JobAdmitted):
                    return Ref(
                        event.api_version, event.object_kind or event.kind, event.namespace, event.name
                    )
            break
        return None
