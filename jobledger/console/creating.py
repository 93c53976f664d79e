"""What the pages on which a job comes to be have in common: the form, the text, what is said of a draft."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from jobledger.console import drafts
from jobledger.console.actions import ACTOR
from jobledger.console.choices import Choices, Offering
from jobledger.console.forms.build import FormBuilder
from jobledger.console.forms.posted import Posted as Fields
from jobledger.console.forms.read import FormReader, starter
from jobledger.console.forms.tree import Field, Group, Many, nodes, place
from jobledger.console.frame import Console, page, url
from jobledger.console.session import Posted
from jobledger.console.words import language_of, say
from jobledger.manifests import Manifest as Written
from jobledger.web.rights import Caller, demand, to_create
from statemachine.errors import Problem, SpecInvalid
from statemachine.kind import Kind
from statemachine.kinds import kind_of
from statemachine.rulebook import Notice
from statemachine.schema.json_values import unreadable
from statemachine.schema.lookup import is_object

_SAYS_PATH: Final = re.compile(r"(metadata|spec)(\.[A-Za-z0-9]+|\[[0-9]+\])+(?=[ :])")

_FAULT: Final = re.compile(r"(?:(?<=^)|(?<=^\[)|(?<=[;,] ))(?:metadata|spec)(?:\.[A-Za-z0-9]+|\[[0-9]+\])+: ")

_RENAMED: Final = re.compile(r"spec\.(\S+) is deprecated, use spec\.(\S+)")

Problems = Sequence[tuple[str, str]]


class Said(NamedTuple):
    """What is wrong with a draft, as path and sentence, and what else there is to say of it.

    Without `notices` (None) those that the page shows stand: what was renamed on the way to the form, for example.
    """

    problems: Problems = ()
    notices: Sequence[str] | None = ()

    @property
    def sentences(self) -> list[str]:
        """The problems, each with its path."""
        return [said if said.startswith(path) else f"{path}: {said}" for path, said in self.problems]


_NOTHING: Final = Said()


class Creating:
    """The pages on which a job comes to be."""

    def __init__(self, console: Console) -> None:
        self._console, self._offering = console, Offering(console)

    # ---- showing -----------------------------------------------------------------------------------------------

    def form(
        self,
        request: Request,
        kind: Kind,
        manifest: Mapping[str, Any],
        *,
        said: Said = _NOTHING,
        status: int = 200,
        template: str = "jobs/form.html",
        touched: Sequence[str] | None = None,
        offers: Choices | None = None,
        yaml: str | None = None,
    ) -> Response:
        """The form for the manifest, each problem at its field; of those only at fields that were `touched`.

        `yaml` is a preview of the manifest, for the page that shows one beside the form.
        """
        options, language = self._console.options, language_of(request)
        builder = FormBuilder(language, kind, options.gpus, queues=options.t9k_scheduler)
        tree = builder.form(manifest, namespace=not options.namespace)
        wrong, left = place(tree, said.problems, touched)
        return page(
            request,
            template,
            status=status,
            verbatim=True,
            kind=kind.names.kind,
            tree=tree,
            nodes=list(nodes(tree)),
            left=left,
            wrong=wrong,
            notices=said.notices,
            offers=offers or {},
            yaml=yaml,
            **self._draft(request, f"/jobs/new/{kind.names.kind}"),
            base=json.dumps(manifest, ensure_ascii=False),
            is_field=lambda node: isinstance(node, Field),
            is_many=lambda node: isinstance(node, Many),
            is_group=lambda node: isinstance(node, Group),
            crumbs=self._crumbs(request),
        )

    def text(
        self,
        request: Request,
        kind: Kind,
        text: str,
        *,
        said: Said = _NOTHING,
        status: int = 200,
        template: str = "jobs/editor.html",
        known: Sequence[str] | None = None,
    ) -> Response:
        """The manifest as a text that can be edited; with the names of `known` jobs, one of them can be loaded."""
        address = f"/jobs/new/{kind.names.kind}?text"
        return page(
            request,
            template,
            status=status,
            verbatim=True,
            kind=kind.names.kind,
            text=text,
            said_of=said,
            known=known,
            **self._draft(request, address),
            here=address,  # another language asks for the page anew, which then shows the draft
            crumbs=self._crumbs(request),
        )

    async def offers(self, caller: Caller, manifest: Mapping[str, Any]) -> Choices:
        """What the form for the manifest can offer to the caller."""
        meta = manifest.get("metadata")
        named = meta.get("namespace") if is_object(meta) else ""
        options = self._console.options
        return await self._offering.to(
            caller,
            options.namespace or (named if isinstance(named, str) else "") or options.new_jobs,
            variables='"env": [{' in json.dumps(manifest, default=str),
        )

    async def fresh(self, request: Request, kind: Kind, caller: Caller) -> Response:
        """What a new job of the kind begins with."""
        manifest = starter(kind)
        if not self._console.options.namespace:
            manifest["metadata"] = {"namespace": self._console.options.new_jobs}
        return self.form(request, kind, manifest, offers=await self.offers(caller, manifest))

    def _draft(self, request: Request, address: str) -> Mapping[str, Any]:
        """Under which address the browser keeps the draft, and whether the page is the answer to a button of it.

        The draft of a copy has the address of the copy: it is another one than that of a new job.
        """
        path, answer = request.url.path, request.method == "POST"
        is_copy = not answer and path.endswith("/clone")
        return {"draft": url(self._console, path if is_copy else address), "answer": answer}

    def _crumbs(self, request: Request) -> list[tuple[str, str]]:
        return [(say(language_of(request), "list.create"), "")]

    # ---- reading -----------------------------------------------------------------------------------------------

    def read(self, kind: Kind, posted: Posted, do: str) -> tuple[dict[str, Any], Sequence[Problem]]:
        """The manifest that a form means, and what could not be read of it."""
        verb, _, path = do.partition(":")
        fields = Fields(
            posted,
            grow=path if verb == "grow" else "",
            drop=path if verb == "drop" else "",
            strict=verb in ("create", "preview"),
        )
        options = self._console.options
        reader = FormReader(fields, kind, options.gpus, queues=options.t9k_scheduler)
        manifest = drafts.completed(reader.manifest(base_of(posted)), kind) if fields.strict else None
        return manifest or reader.manifest(base_of(posted)), fields.problems

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
        """See `create_and_say`; only the job."""
        return (await self.create_and_say(caller, text, actor))[0]

    async def create_and_say(
        self, caller: Caller, text: str, actor: str = ""
    ) -> tuple[Mapping[str, Any], Sequence[str]]:
        """The job that the text describes exists, in its canonical form; and what is worth knowing about it.

        Raises:
            SpecInvalid: it is none, or breaks a rule of any layer.
            JobExists, NoRight: the name is taken; the user may not.
        """
        written, kind, draft = self.draft(text)
        if draft.problems:
            raise SpecInvalid(draft.problems)
        said = said_of((), draft.notices, *renamed(written.kind, kind))
        written.raw.update(
            apiVersion=kind.names.api_version, kind=kind.names.kind, spec=draft.manifest["spec"]
        )
        await demand(caller, *to_create([written.raw]))
        job = (await self._console.app.submit([written], actor or caller.signature(ACTOR)))[0]
        return job, said.notices or ()


def said_of(problems: Sequence[Problem], notices: Sequence[Notice] = (), *first: str) -> Said:
    """What the rules say, after what there is to say `first`."""
    return Said(pairs(problems), [*first, *map(notice_text, notices)])


def pairs(problems: Sequence[Problem]) -> Problems:
    """Each sentence with the path of its field, also where only the sentence names it."""
    return [(problem.path or path_in(problem.text), problem.text) for problem in problems]


def path_in(sentence: str) -> str:
    """The path of the field that a sentence without one begins with."""
    match = _SAYS_PATH.match(sentence)
    return match[0] if match else ""


def refused(sentence: str) -> Problems:
    """What an API server says that refuses an object, as path and sentence of each field that it names."""
    _, _, faults = sentence.partition(" is invalid: ")
    starts = [match.start() for match in _FAULT.finditer(faults)]
    if not starts or starts[0] > 1:  # it does not begin with a field: one sentence, for the top of the form
        return [("", sentence)]
    ends = [*starts[1:], len(faults)]
    said = [faults[start:end].strip(" ,;[]") for start, end in zip(starts, ends, strict=True)]
    return [(path_in(text), text) for text in said]


def renamed(written: str, kind: Kind) -> list[str]:
    """A notice for a kind under an older name. Source: spec console.md, section 7, B."""
    return [] if written == kind.names.kind else [f"kind {written} → {kind.names.kind}"]


def notice_text(notice: Notice) -> str:
    """The notice's sentence; of an older name of a field what became of it, as `old → new`."""
    match = _RENAMED.fullmatch(notice.message) if notice.reason == "DeprecatedField" else None
    return f"{match[1]} → {match[2]}" if match else notice.message


def base_of(posted: Posted) -> Mapping[str, Any]:
    """The manifest that the form was made from."""
    try:
        base = json.loads(posted.get("base", ["{}"])[0])
    except (ValueError, RecursionError):
        base = None
    if not isinstance(base, dict) or unreadable(base):
        raise HTTPException(400, "the form cannot be read")
    return base
