"""The jobs of a running controller, as callers read them: what stands in the cluster, and what the log says of each.

The status is folded from the log, which is never behind.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from jobledger.jobs.attempts import Attempt, attempts
from jobledger.jobs.views import in_quarantine, is_in, manifest_of, undecided, with_status
from jobledger.lives.history import JobHistory
from jobledger.lives.history import history as life_of
from jobledger.lives.lookup import SHORTEST_UID, Known, known_to
from jobledger.program.errors import NotPossible, UnknownJob, several
from jobledger.wiring import Controller
from k8s_bridge.port import JobEvent, Manifest, Ref
from k8s_bridge.selectors import EVERYTHING, Selector
from statemachine.errors import JobledgerError, Missing, Refused
from statemachine.ids import JobUid
from statemachine.kind import Names
from statemachine.kinds import SERVED, kind_of
from statemachine.log.life import LifeStep, records_of, steps_of
from statemachine.log.port import Record
from statemachine.log.sharing import spelled_out
from statemachine.state import JobState

if TYPE_CHECKING:
    from projectors.history import History as HistoryView

OBJECT_KINDS: Final = tuple(names.kind for names in SERVED)
"""The kinds of job objects, aliases too."""

_OLDER: Final = 5
"""Forgotten jobs of a name that are looked up in the log: more than are named."""


class JobReader:
    """Reads jobs. They are named by namespace and name; `uid` also finds one that is gone."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.cluster, self.log_of = controller.cluster, controller.ledger.partitions.log_of

    def state(self, uid: str) -> JobState | None:
        """The job's state; None before its first entry, and in quarantine."""
        return self.controller.states.state(JobUid(uid))

    @property
    def view(self) -> "HistoryView | None":
        """The history view that this controller projects; None where it does not."""
        from projectors.history import HistoryProjector

        streams = (stream for streams in self.controller.ledger.streams for stream in streams)
        return next((stream.history for stream in streams if isinstance(stream, HistoryProjector)), None)

    def states(self) -> list[JobState]:
        """The states of all jobs that the log knows; of closed ones those that are kept."""
        states = map(self.controller.states.state, self.controller.reader.jobs)
        return [state for state in states if state is not None]

    async def jobs(
        self,
        *,
        namespace: str | None = None,
        kinds: Collection[str] = OBJECT_KINDS,
        phase: str = "",
        selector: Selector = EVERYTHING,
        gone: bool = False,
    ) -> list[Manifest]:
        """Jobs by namespace and name; with `gone` also those deleted, oldest first, behind the others."""
        jobs = [
            self.shown(job)
            for names in SERVED
            if names.kind in kinds
            for place in self._places(names, namespace)
            for job in await self.cluster.list(names.api_version, names.kind, place)
        ]
        jobs.sort(key=lambda job: (job["metadata"]["namespace"], job["metadata"]["name"], job["kind"]))
        here = {job["metadata"]["uid"] for job in jobs}
        past = [state async for state in self.controller.states.all_past()] if gone else []
        for state in (*past, *self.states()):
            if state.uid in here or not state.deleted or (state.closed and not gone):
                continue
            if namespace in (None, state.namespace) and state.object_kind in kinds:
                jobs.append(manifest_of(state))
        jobs = [job for job in jobs if selector.selects(job["metadata"])]
        return [job for job in jobs if is_in(job, phase)]

    def _places(self, names: Names, namespace: str | None) -> Iterator[str | None]:
        """Where to ask for jobs of a kind: of one that has to be switched on, only where it is."""
        kind, attended = kind_of(names.api_version, names.kind), self.controller.options.attended
        if not kind.opt_in:
            yield namespace
        elif namespace is None:
            yield from attended.places(kind)
        elif attended.covers(names.api_version, names.kind, namespace):
            yield namespace

    async def job(
        self, namespace: str, name: str, *, kinds: Collection[str] = OBJECT_KINDS, uid: str = ""
    ) -> Manifest:
        """The job as it stands, of one of `kinds`.

        Raises:
            UnknownJob: there is none.
            NotPossible: jobs of several kinds have this name.
        """
        if uid:
            return await self.by_uid(namespace, name, uid, kinds)
        jobs = await self._named(namespace, name, kinds)
        if len(jobs) > 1:
            raise several(name, [job["kind"] for job in jobs])
        if jobs:
            return self.shown(jobs[0])
        return self._leaving(namespace, name, kinds)

    def shown(self, job: Manifest) -> Manifest:
        """The job object, with what is known of the job now."""
        uid = JobUid(job["metadata"]["uid"])
        quarantine = self.controller.states.quarantined(uid)
        return with_status(job, self.state(uid)) if quarantine is None else in_quarantine(job, quarantine.why)

    def demand_readable(self, job: Manifest) -> None:
        """Raises NotPossible for a job in quarantine."""
        if quarantine := self.controller.states.quarantined(JobUid(job["metadata"]["uid"])):
            raise NotPossible(undecided(job["metadata"]["name"], quarantine.why))

    async def _named(self, namespace: str, name: str, kinds: Collection[str]) -> list[Manifest]:
        """The job objects of the name, of each kind at most one."""
        jobs = [await self._of_kind(names, namespace, name) for names in SERVED if names.kind in kinds]
        return [job for job in jobs if job is not None]

    async def _of_kind(self, names: Names, namespace: str, name: str) -> Manifest | None:
        if not any(self._places(names, namespace)):
            return None
        try:
            return await self.cluster.get(Ref(names.api_version, names.kind, namespace, name))
        except Missing:
            return None
        except Refused as error:
            if error.status == 404:  # a kind that this cluster does not have
                return None
            raise

    async def by_uid(
        self, namespace: str, name: str, uid: str, kinds: Collection[str] = OBJECT_KINDS
    ) -> Manifest:
        """The job of this uid as it stands, or as the log has it once it is gone. Raises UnknownJob."""
        state = await self.controller.states.past(JobUid(uid))
        if state is None:
            for job in await self._named(namespace, name, kinds):
                if job["metadata"]["uid"] == uid:
                    return self.shown(job)
        if (
            state is None
            or (state.namespace, state.name) != (namespace, name)
            or state.object_kind not in kinds
        ):
            raise UnknownJob(namespace, name, more=f" with uid {uid}; `jobledger get --all` lists all jobs")
        try:
            job = await self.cluster.get(ref_of(state))
        except Missing:
            return manifest_of(state)
        return with_status(job, state) if job["metadata"]["uid"] == uid else manifest_of(state)

    def _leaving(self, namespace: str, name: str, kinds: Collection[str]) -> Manifest:
        """The job of this name whose pods are still ending, the newest."""
        here = [
            state for state in self.states() if state.namespace == namespace and state.object_kind in kinds
        ]
        of_name = [state for state in here if state.name == name]
        leaving = [state for state in of_name if state.deleted and not state.closed]
        if leaving:
            return manifest_of(leaving[-1])
        if of_name:
            more = f" any more: it was deleted; `jobledger history {name}` still tells its life"
            raise UnknownJob(namespace, name, more=more)
        raise UnknownJob(namespace, name, sorted({state.name for state in here if not state.closed}))

    async def events(self, job: Manifest) -> Sequence[JobEvent]:
        """The Kubernetes Events of a job, oldest first."""
        meta = job["metadata"]
        return await self.cluster.events(meta["namespace"], meta["uid"])

    async def records(self, uid: str) -> Sequence[Record]:
        """The job's records in the log, oldest first."""
        job = JobUid(uid)
        return await records_of(self.log_of(job), job)

    async def _steps(self, uid: str) -> Iterator[LifeStep]:
        """What they say, each read when it is asked for."""
        records = await self.records(uid)
        return (step for _, step in steps_of(JobUid(uid), records))

    async def history(self, uid: str) -> list[dict[str, Any]]:
        """The job's entries, oldest first, as they are written in the log.

        A spec that cause and event share is in both.
        """
        return [
            {"position": record.position, **spelled_out(json.loads(record.body))}
            for record in await self.records(uid)
        ]

    async def why(self, uid: str) -> dict[str, Any]:
        """Why the job is as it is, from its accepted entries. Raises NotPossible for a job without any."""
        from projectors.explain import Chronicle, explanation

        chronicle = Chronicle(await self._steps(uid))
        if chronicle.diagnosis is None:
            raise NotPossible("nothing has been decided about this job yet; try again")
        return explanation(chronicle).model_dump(mode="json")

    async def known(self, namespace: str, job: str, uid: str = "") -> list[Known]:
        """Jobs of a namespace that the log knows, the oldest first: all whose states are kept.

        And of the forgotten ones those that may be meant: the last that had the name `job`, if there is a history
        view that knows names, and those whose uid begins with `uid`, or so.
        """
        there = [known for known in known_to(self.controller.reader) if known.namespace == namespace]
        states = self.controller.states
        past = [await states.past(past_uid) for past_uid in await self._forgotten(namespace, job, uid)]
        mine = [state for state in past if state is not None and state.namespace == namespace]
        return [
            Known(state.uid, namespace, state.name, state.kind, state, states.seq(state.uid), "")
            for state in mine
        ] + there

    async def _forgotten(self, namespace: str, job: str, uid: str) -> list[JobUid]:
        forgotten = self.controller.reader.forgotten
        begin, uids = uid or job, list[JobUid]()
        if forgotten and (view := self.view) is not None:
            with suppress(JobledgerError):  # it is a view: what it cannot tell is not known here
                rows = await view.named(namespace, job, limit=_OLDER)
                uids += [row.uid for row in reversed(rows) if row.uid in forgotten]
        if JobUid(begin) in forgotten:
            uids.append(JobUid(begin))
        elif len(begin) >= SHORTEST_UID:
            uids += islice(forgotten.starting_with(begin), _OLDER)
        return list(dict.fromkeys(uids))

    async def life(self, job: Known, note: str = "") -> JobHistory:
        """Everything that the log holds of the job."""
        return await life_of(self.log_of(job.uid), job, note)

    async def attempts(self, uid: str) -> list[Attempt]:
        """Every pod that the job has had, oldest first."""
        return attempts(step.events for step in await self._steps(uid))


def ref_of(state: JobState) -> Ref:
    """The reference to the job object of a state."""
    return Ref(state.api_version, state.object_kind, state.namespace, state.name)
