"""Creating a job: from a form, from a text, or from a job that exists."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from jobledger.api.rights import Caller, caller_of, demand, to_create
from jobledger.console import drafts
from jobledger.console.actions import ACTOR, JOB, Job
from jobledger.console.choices import Choices, Offering
from jobledger.console.forms.build import Builder
from jobledger.console.forms.posted import Posted as Fields
from jobledger.console.forms.read import Reader, starter
from jobledger.console.forms.tree import Field, Group, Many, nodes, place
from jobledger.console.frame import Console, Route, done, page, told
from jobledger.console.session import Form, Posted
from jobledger.console.words import language_of, say
from jobledger.errors import JobExists
from jobledger.manifests import Manifest as Written
from jobledger.redact import redacted
from statemachine.errors import JobledgerError, Problem, SpecInvalid
from statemachine.kind import Kind
from statemachine.kinds import kind_of
from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.common.look import is_object
from statemachine.kinds.common.tree import unreadable
from statemachine.rulebook import Notice

Asking = Annotated[Caller, Depends(caller_of)]

_SUFFIX: Final = "-copy"
"""What the name of a copy ends in. Source: spec console.md, section 5."""

_SAYS_PATH: Final = re.compile(r"(metadata|spec)(\.[A-Za-z0-9]+|\[[0-9]+\])+(?=[ :])")

_RENAMED: Final = re.compile(r"spec\.(\S+) is deprecated, use spec\.(\S+)")

Problems = Sequence[tuple[str, str]]


class Creating:
    """The pages on which a job comes to be."""

    def __init__(self, console: Console) -> None:
        self._console, self._offering = console, Offering(console)

    # ---- showing -----------------------------------------------------------------------------------------------

    def form(
        self,
        request: Request,
        kind: ModelKind[Any],
        manifest: Mapping[str, Any],
        *,
        problems: Problems = (),
        notices: Sequence[str] = (),
        status: int = 200,
        template: str = "jobs/form.html",
        touched: Sequence[str] | None = None,
        offers: Choices | None = None,
    ) -> Response:
        """The form for the manifest, each problem at its field."""
        options, language = self._console.options, language_of(request)
        builder = Builder(language, kind, options.gpus, queues=options.t9k_scheduler)
        tree = builder.form(manifest, namespace=not options.namespace)
        shown = [each for each in problems if touched is None or each[0] in touched]
        return page(
            request,
            template,
            status=status,
            kind=kind.names.kind,
            tree=tree,
            nodes=list(nodes(tree)),
            left=place(tree, shown),
            wrong=len(shown),
            notices=notices,
            offers=offers or {},
            base=json.dumps(manifest, ensure_ascii=False),
            is_field=lambda each: isinstance(each, Field),
            is_many=lambda each: isinstance(each, Many),
            is_group=lambda each: isinstance(each, Group),
            crumbs=self._crumbs(request),
        )

    def text(
        self,
        request: Request,
        kind: Kind,
        text: str,
        *,
        problems: Problems = (),
        notices: Sequence[str] = (),
        status: int = 200,
    ) -> Response:
        """The manifest as a text that can be edited."""
        return page(
            request,
            "jobs/editor.html",
            status=status,
            kind=kind.names.kind,
            with_form=drafts.has_form(kind),
            text=text,
            sentences=[said if said.startswith(path) else f"{path}: {said}" for path, said in problems],
            notices=notices,
            crumbs=self._crumbs(request),
        )

    async def offers(self, caller: Caller, manifest: Mapping[str, Any]) -> Choices:
        """What the form for the manifest can offer to the caller."""
        meta = manifest.get("metadata")
        named = meta.get("namespace") if is_object(meta) else ""
        options = self._console.options
        return await self._offering.to(
            caller, options.namespace or (named if isinstance(named, str) else "") or options.new_jobs
        )

    async def fresh(self, request: Request, kind: Kind, caller: Caller) -> Response:
        """What a new job of the kind begins with."""
        if drafts.has_form(kind):
            manifest = starter(kind)
            if not self._console.options.namespace:
                manifest["metadata"] = {"namespace": self._console.options.new_jobs}
            return self.form(request, kind, manifest, offers=await self.offers(caller, manifest))
        return self.text(request, kind, f"apiVersion: {kind.names.api_version}\nkind: {kind.names.kind}\n")

    def _crumbs(self, request: Request) -> list[tuple[str, str]]:
        return [(say(language_of(request), "list.create"), "")]

    # ---- reading -----------------------------------------------------------------------------------------------

    def read(self, kind: ModelKind[Any], posted: Posted, do: str) -> tuple[dict[str, Any], Sequence[Problem]]:
        """The manifest that a form means, and what could not be read of it."""
        verb, _, path = do.partition(":")
        fields = Fields(
            posted,
            grow=path if verb == "grow" else "",
            drop=path if verb == "drop" else "",
            strict=verb in ("create", "preview"),
        )
        options = self._console.options
        reader = Reader(fields, kind, options.gpus, queues=options.t9k_scheduler)
        manifest = drafts.completed(reader.manifest(_base(posted)), kind) if fields.strict else None
        return manifest or reader.manifest(_base(posted)), fields.problems

    # ---- creating ----------------------------------------------------------------------------------------------

    def draft(self, text: str) -> tuple[Written, Kind, drafts.Examined]:
        """The job that the text describes, in the namespace that it is for, its kind, and all that is to say of it.

        Raises:
            SpecInvalid: it describes none, or one for a namespace that this console does not serve.
        """
        written = drafts.parsed(text)
        only = self._console.options.namespace
        meta = written.raw["metadata"]
        if only and meta.setdefault("namespace", only) != only:
            raise SpecInvalid([Problem("", "metadata.namespace", f'Invalid value: must be "{only}"')])
        meta.setdefault("namespace", self._console.options.new_jobs)
        kind = kind_of(written.raw["apiVersion"], written.kind)
        return written, kind, drafts.examined(kind, written.raw)

    async def create(self, caller: Caller, text: str, actor: str = "") -> Mapping[str, Any]:
        """The job that the text describes exists.

        Raises:
            SpecInvalid: it is none, or breaks a rule of any layer.
            JobExists, NoRight: the name is taken; the user may not.
        """
        written, kind, found = self.draft(text)
        if found.problems:
            raise SpecInvalid(found.problems)
        written.raw.update(
            apiVersion=kind.names.api_version, kind=kind.names.kind, spec=found.manifest["spec"]
        )
        await demand(caller, *to_create([written.raw]))
        return (await self._console.app.submit([written], actor or caller.signature(ACTOR)))[0]


def routes(console: Console) -> APIRouter:
    """`/jobs/new/<kind>`, and copies of jobs."""
    router = APIRouter(route_class=Route)
    pages = Creating(console)

    @router.get("/jobs/new/{kind}")
    async def new(request: Request, kind: str, caller: Asking) -> Response:
        """An empty form; a text to edit for kinds without one, and where a manifest is to be brought."""
        known = _known(kind)
        if "text" in request.query_params:
            return pages.text(request, known, "")
        return await pages.fresh(request, known, caller)

    @router.get(JOB + "/clone")
    async def clone(request: Request, job: Job, caller: Asking) -> Response:
        """The form, filled from a job."""
        kind = kind_of(job["apiVersion"], job["kind"])
        name = f"{job['metadata']['name']}{_SUFFIX}"
        manifest = redacted(drafts.copied({**job, "kind": kind.names.kind}, name))
        if drafts.has_form(kind):
            found = drafts.examined(kind, manifest)
            offers = await pages.offers(caller, manifest)
            return pages.form(request, kind, found.manifest, problems=pairs(found.problems), offers=offers)
        return pages.text(request, kind, drafts.text_of(manifest))

    @router.post("/jobs/new/{kind}")
    async def posted(request: Request, kind: str, caller: Asking, form: Form) -> Response:
        """Whatever a button of the form, or of the text, is for."""
        known, do = _known(kind), form.get("do", ["create"])[-1]
        if "yaml" in form:
            text = form["yaml"][0]
            try:
                if do == "apply":
                    return await _applied(request, pages, caller, text)
                return _created(request, await pages.create(caller, text))
            except (JobledgerError, HTTPException) as error:
                status, problems = _wrong(error)
                return pages.text(request, known, text, problems=problems, status=status)
        if not drafts.has_form(known):
            raise HTTPException(400, f"there is no form for {kind}")
        manifest, unread = pages.read(known, form, do)
        found = drafts.examined(known, manifest)
        problems = [*pairs(unread), *pairs(found.problems)]
        match do.partition(":")[0]:
            case "grow" | "drop":
                return pages.form(request, known, manifest, offers=await pages.offers(caller, manifest))
            case "check":
                touched = form.get("touched", [""])[0].split("\n")
                return pages.form(
                    request, known, manifest, problems=problems, template="jobs/checked.html", touched=touched
                )
            case "preview":
                notices = [noticed(each) for each in found.notices]
                return pages.text(
                    request, known, drafts.text_of(manifest), problems=problems, notices=notices
                )
            case "create":
                try:
                    if problems:  # also what cannot be read, and so cannot stand in a text
                        raise SpecInvalid([*unread, *found.problems])
                    return _created(request, await pages.create(caller, drafts.text_of(manifest)))
                except (JobledgerError, HTTPException) as error:
                    status, problems = _wrong(error)
                    offers = await pages.offers(caller, manifest)
                    return pages.form(
                        request, known, manifest, problems=problems, status=status, offers=offers
                    )
            case _:
                raise HTTPException(400, f'"{do}" is nothing that this form does')

    return router


async def _applied(request: Request, pages: Creating, caller: Caller, text: str) -> Response:
    """The form for what the text describes, or the text in its canonical form. Raises SpecInvalid."""
    written = drafts.parsed(text)
    kind = kind_of(written.raw["apiVersion"], written.kind)
    found = drafts.examined(kind, written.raw)
    manifest = {**found.manifest, "apiVersion": kind.names.api_version, "kind": kind.names.kind}
    notices = [*renamed(written.kind, kind), *map(noticed, found.notices)]
    problems = pairs(found.problems)
    if drafts.has_form(kind):
        offers = await pages.offers(caller, manifest)
        copy = drafts.copied(manifest)
        return pages.form(request, kind, copy, problems=problems, notices=notices, offers=offers)
    return pages.text(request, kind, drafts.text_of(manifest), problems=problems, notices=notices)


def _created(request: Request, job: Mapping[str, Any]) -> Response:
    return done(request, "/jobs", "created", leave=True, kind=job["kind"], name=job["metadata"]["name"])


def _wrong(error: Exception) -> tuple[int, Problems]:
    """The status of an error, and its sentences by path."""
    status, sentence = told(error)
    if isinstance(error, SpecInvalid):
        return status, pairs(error.problems)
    return status, [("metadata.name" if isinstance(error, JobExists) else "", sentence)]


def pairs(problems: Sequence[Problem]) -> Problems:
    """Each sentence with the path of its field, also where only the sentence names it."""
    return [(each.path or path_in(each.text), each.text) for each in problems]


def path_in(sentence: str) -> str:
    """The path of the field that a sentence without one begins with."""
    found = _SAYS_PATH.match(sentence)
    return found[0] if found else ""


def renamed(written: str, kind: Kind) -> list[str]:
    """A notice for a kind under an older name. Source: spec console.md, section 7, B."""
    return [] if written == kind.names.kind else [f"kind {written} → {kind.names.kind}"]


def noticed(notice: Notice) -> str:
    """The notice's sentence; of an older name of a field what became of it, as `old → new`."""
    found = _RENAMED.fullmatch(notice.message) if notice.reason == "DeprecatedField" else None
    return f"{found[1]} → {found[2]}" if found else notice.message


def _known(kind: str) -> Kind:
    found = drafts.kind_named(kind)
    if found is None:
        raise HTTPException(404, f'there is no kind of job called "{kind}"')
    return found


def _base(posted: Posted) -> Mapping[str, Any]:
    """The manifest that the form was made from."""
    try:
        found = json.loads(posted.get("base", ["{}"])[0])
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or unreadable(found):
        raise HTTPException(400, "the form cannot be read")
    return found
