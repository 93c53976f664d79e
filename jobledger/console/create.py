"""Creating a job: from a form, from a text, or from a job that exists."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from jobledger.console import drafts, existing
from jobledger.console.actions import JOB, Job
from jobledger.console.creating import Creating, Problems, Said, pairs, refused, renamed, said_of
from jobledger.console.frame import HEADERS, Console, Route, done, refusal, url
from jobledger.console.session import Form, Posted
from jobledger.program.errors import JobExists
from jobledger.web.rights import Caller, caller_of
from statemachine.errors import JobledgerError, Refused, SpecInvalid
from statemachine.kind import Kind
from statemachine.kinds import kind_of
from statemachine.redact import redacted

Asking = Annotated[Caller, Depends(caller_of)]

_SUFFIX: Final = "-copy"
"""What the name of a copy ends in. Source: spec console.md, section 5."""


def routes(console: Console) -> APIRouter:
    """`/jobs/new/<kind>`, and copies of jobs."""
    router = APIRouter(route_class=Route)
    pages = Creating(console)

    @router.get("/jobs/new/{kind}")
    async def new(request: Request, kind: str, caller: Asking) -> Response:
        """An empty form; a text to edit where a manifest or a job is to be brought."""
        known, asked = _known(kind), request.query_params
        if asked.get("from"):
            try:
                path = await existing.path_of(console, caller, asked["from"])
            except (JobledgerError, HTTPException) as error:
                status, problems = _wrong(error)
                names = await existing.names(console, caller)
                return pages.text(request, known, "", said=Said(problems), status=status, known=names)
            return RedirectResponse(url(console, f"{path}/clone"), 303, HEADERS)
        if "text" in asked:
            return pages.text(request, known, "", known=await existing.names(console, caller))
        return await pages.fresh(request, known, caller)

    @router.get(JOB + "/clone")
    async def clone(request: Request, job: Job, caller: Asking) -> Response:
        """The form, filled from a job."""
        kind = kind_of(job["apiVersion"], job["kind"])
        name = f"{job['metadata']['name']}{_SUFFIX}"
        manifest = redacted(drafts.copied({**job, "kind": kind.names.kind}, name))
        draft = drafts.examined(kind, manifest)
        said, offers = said_of(draft.problems, draft.notices), await pages.offers(caller, manifest)
        return pages.form(request, kind, draft.manifest, said=said, offers=offers)

    @router.post("/jobs/new/{kind}")
    async def posted(request: Request, kind: str, caller: Asking, form: Form) -> Response:
        """Whatever a button of the form, or of the text, is for."""
        known, do = _known(kind), form.get("do", ["create"])[-1]
        if "yaml" in form:
            return await _text_posted(request, pages, caller, known=known, text=form["yaml"][0], do=do)
        return await _form_posted(request, pages, caller, known=known, form=form, do=do)

    return router


async def _text_posted(
    request: Request, pages: Creating, caller: Caller, *, known: Kind, text: str, do: str
) -> Response:
    """The answer to a button of the text, or to typing in it."""
    try:
        if do == "check":
            said = _said_of_text(pages, text)
            return pages.text(request, known, "", said=said, template="jobs/said-of.html")
        if do == "apply":
            return await _applied(request, pages, caller, text)
        return await _created(request, pages, caller, text)
    except (JobledgerError, HTTPException) as error:
        status, problems = _wrong(error)
        said = Said(problems, _said_of_text(pages, text).notices)
        return pages.text(request, known, text, said=said, status=status)


async def _form_posted(
    request: Request, pages: Creating, caller: Caller, *, known: Kind, form: Posted, do: str
) -> Response:
    """The answer to a button of the form, or to typing in it."""
    manifest, unread = pages.read(known, form, do)
    draft = drafts.examined(known, manifest)
    said = said_of([*unread, *draft.problems], draft.notices)
    match do.partition(":")[0]:
        case "grow" | "drop" | "restore":
            return pages.form(request, known, manifest, offers=await pages.offers(caller, manifest))
        case "check":
            touched = form.get("touched", [""])[0].split("\n")
            yaml = drafts.text_of(pages.read(known, form, "preview")[0]) if "preview" in form else None
            said = said._replace(notices=None) if "unchanged" in form else said
            return pages.form(
                request, known, manifest, said=said, template="jobs/checked.html", touched=touched, yaml=yaml
            )
        case "preview":
            return pages.text(request, known, drafts.text_of(manifest), said=said)
        case "create":
            try:
                if said.problems:  # also what cannot be read, and so cannot stand in a text
                    raise SpecInvalid([*unread, *draft.problems])
                return await _created(request, pages, caller, drafts.text_of(manifest))
            except (JobledgerError, HTTPException) as error:
                status, problems = _wrong(error)
                offers = await pages.offers(caller, manifest)
                wrong = Said(problems, said.notices)
                return pages.form(request, known, manifest, said=wrong, status=status, offers=offers)
        case _:
            raise HTTPException(400, f'"{do}" is nothing that this form does')


async def _applied(request: Request, pages: Creating, caller: Caller, text: str) -> Response:
    """The form for what the text describes, or the text in its canonical form. Raises SpecInvalid."""
    written = drafts.parsed(text)
    kind = kind_of(written.raw["apiVersion"], written.kind)
    draft = drafts.examined(kind, written.raw)
    manifest = {**draft.manifest, "apiVersion": kind.names.api_version, "kind": kind.names.kind}
    said = said_of(draft.problems, draft.notices, *renamed(written.kind, kind))
    offers = await pages.offers(caller, manifest)
    return pages.form(request, kind, drafts.taken(manifest), said=said, offers=offers)


async def _created(request: Request, pages: Creating, caller: Caller, text: str) -> Response:
    """The job exists, and the list says so: also under which names parts of it are known now."""
    job, notices = await pages.create_and_say(caller, text)
    name = job["metadata"]["name"]
    kind = kind_of(job["apiVersion"], job["kind"]).names.kind
    return done(request, "/jobs", "created", created=kind, notices=notices, kind=job["kind"], name=name)


def _said_of_text(pages: Creating, text: str) -> Said:
    """What there is to say of a text that somebody is still typing; of none, nothing."""
    if not text.strip():
        return Said()
    try:
        written, kind, draft = pages.draft(text)
    except SpecInvalid as error:
        return said_of(error.problems)
    return said_of(draft.problems, draft.notices, *renamed(written.kind, kind))


def _wrong(error: Exception) -> tuple[int, Problems]:
    """The status of an error, and its sentences by path."""
    status, sentence = refusal(error)
    if isinstance(error, SpecInvalid):
        return status, pairs(error.problems)
    if isinstance(error, Refused):
        return status, refused(sentence)
    return status, [("metadata.name" if isinstance(error, JobExists) else "", sentence)]


def _known(kind: str) -> Kind:
    known = drafts.kind_named(kind)
    if known is None:
        raise HTTPException(404, f'there is no kind of job called "{kind}"')
    return known
