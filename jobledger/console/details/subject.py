"""Which job a page is about: one that exists, one that is gone, or one of several that had the name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from jobledger.jobs.views import manifest_of
from jobledger.lives.lookup import Known
from jobledger.program.errors import UnknownJob
from jobledger.service.app import App
from jobledger.web.rights import Caller, caller_of, may_list, permitted
from projectors.history import EntryRow, JobRow
from statemachine.errors import JobledgerError
from statemachine.kinds import KNOWN, kind_of
from statemachine.state import JobState

JOB = "/jobs/{namespace}/{kind}/{name}"


@dataclass(frozen=True)
class Subject:
    """A job: its object as it is, or as it was last. `asked` is the uid that the address names, if it does.

    `state` is None for a job that the log does not know (yet, or any more); `remembered` is then what the history
    view knows of it, if it does. `others` had the same name.
    """

    namespace: str
    kind: str
    name: str
    job: dict[str, Any] | None
    uid: str
    state: JobState | None
    gone: bool
    asked: str = ""
    others: Sequence[Known] = ()
    remembered: JobRow | None = None

    @property
    def path(self) -> str:
        """The address of its page, without the base."""
        return JOB.format(namespace=self.namespace, kind=self.kind, name=self.name)

    def link(self, below: str = "", /, **query: object) -> str:
        """An address below its page; it names the uid where the name alone would mean another."""
        from urllib.parse import urlencode

        pairs = {key: value for key, value in query.items() if value not in ("", None, False)}
        if self.asked or self.gone:
            pairs["uid"] = self.uid
        return self.path + below + (f"?{urlencode(pairs)}" if pairs else "")


async def subject_of(
    request: Request,
    caller: Annotated[Caller, Depends(caller_of)],
    namespace: str,
    kind: str,
    name: str,
    *,
    uid: Annotated[str, Query(max_length=100)] = "",
) -> Subject:
    """The job of a page, if the caller may see it and the console its namespace. Raises UnknownJob, NoRight."""
    only = request.app.state.console.options.namespace
    if only and namespace != only:
        raise UnknownJob(namespace, name)
    return await meant(request, caller, namespace, kind, name, uid=uid)


async def meant(
    request: Request, caller: Caller, namespace: str, kind: str, name: str, *, uid: str = ""
) -> Subject:
    """The job of the name, if the caller may see it; of any kind if `kind` is empty.

    Raises:
        UnknownJob: there is none, and never was.
        NoRight: the caller may not see it.
        NotPossible: jobs of several kinds have this name.
    """
    app: App = request.app.state.jobledger
    if kind and kind not in KNOWN:
        raise UnknownJob(namespace, name)
    kinds = await permitted(caller, "get", namespace, name=name, kind=kind)  # under an older name, too
    wanted = Subject(namespace, kind, name, None, uid, None, gone=False, asked=uid)
    try:
        return await _living(app, wanted, kinds)
    except UnknownJob:
        past = await _gone(app, wanted, kinds) or await _remembered(request, wanted)
        if past is not None:
            return past
        if await may_list(caller, namespace):
            raise
        raise UnknownJob(namespace, name) from None  # no names are to be learnt by trying


async def _living(app: App, wanted: Subject, kinds: Sequence[str]) -> Subject:
    """The job that exists. Raises UnknownJob, NotPossible."""
    job = await app.job(wanted.namespace, wanted.name, kinds=kinds, uid=wanted.uid)
    uid, kind = job["metadata"]["uid"], kind_of(job["apiVersion"], job["kind"]).names.kind
    state = app.state(uid)
    gone = state is not None and state.deleted
    return replace(wanted, kind=kind, job=job, uid=uid, state=state, gone=gone)


async def _gone(app: App, wanted: Subject, kinds: Sequence[str]) -> Subject | None:
    """The newest job of the name that the log knows, or the one with the uid."""
    named = [
        job
        for job in await app.known(wanted.namespace, wanted.name, wanted.uid)
        if job.state.object_kind in kinds and job.name == wanted.name and wanted.uid in ("", job.uid)
    ]
    if not named:
        return None
    last, state = named[-1], named[-1].state
    job = manifest_of(state)
    return replace(wanted, kind=state.kind, job=job, uid=last.uid, state=state, gone=True, others=named[:-1])


async def _remembered(request: Request, wanted: Subject) -> Subject | None:
    """A job that only the history view knows."""
    console = request.app.state.console
    try:
        row: JobRow | None = await console.history.find_job(wanted.uid or wanted.name, wanted.namespace)
    except JobledgerError:  # there is none, or it is out of reach: then nobody knows the job
        return None
    if row is None or (row.namespace, row.name) != (wanted.namespace, wanted.name):
        return None
    if wanted.kind not in ("", row.kind):
        return None
    return replace(wanted, kind=row.kind, uid=row.uid, gone=True, remembered=row)


Job = Annotated[Subject, Depends(subject_of)]

__all__ = ["JOB", "EntryRow", "Job", "Subject"]
