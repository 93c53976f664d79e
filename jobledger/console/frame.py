"""What every page of the console has: its data, its language, its frame, and the headers it is sent with."""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import version
from typing import Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from jobledger.console import flash, formatting, session
from jobledger.console.hiding import hiding, shown
from jobledger.console.words import language_of, say
from jobledger.service.app import App
from jobledger.settings.model import Settings
from jobledger.web.problems import answer_to, problem_of
from jobledger.web.streams import Closing
from projectors.history import History
from statemachine.errors import JobledgerError, ViewUnavailable
from statemachine.kinds import KINDS

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Nothing of others, and nothing inline: what a job's text smuggles into a page does not run."""

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with "no-referrer" browsers would hide the Origin that we look at
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True)
class ConsoleOptions:
    """How a console is set up: `jobledger.settings.ConsoleSettings` as the pages need it.

    `namespace` is the one that it shows (empty: all that the user may see), `base` the path that a proxy in front
    takes away, `gpus` the extended resources that the form offers, `metrics` the URL of what pods use.
    `listeners` and `listeners_per_user` are how many streams may be open, in all and of one user. `one_machine`: jobs
    run on the server's own, without a cluster.
    """

    namespace: str = ""
    new_jobs: str = "default"
    base: str = ""
    gpus: tuple[str, ...] = ("nvidia.com/gpu.shared", "nvidia.com/gpu")
    t9k_scheduler: bool = True
    metrics: str = ""
    listeners: int = 500
    listeners_per_user: int = 20
    one_machine: bool = False

    @property
    def new_kinds(self) -> Sequence[str]:
        """Those whose jobs can run here, by name."""
        return [kind.names.kind for kind in KINDS if not (self.one_machine and kind.needs_cluster)]

    @classmethod
    def of(cls, settings: Settings, *, one_machine: bool = False) -> "ConsoleOptions":
        """What the settings say."""
        said = settings.console
        gpus = tuple(name.strip() for name in said.gpus.split(",") if name.strip())
        return cls(
            said.namespace,
            said.namespace or settings.namespace,
            said.base_path,
            gpus,
            said.t9k_scheduler,
            said.metrics,
            said.listeners,
            said.listeners_per_user,
            one_machine,
        )


@dataclass(frozen=True)
class Console:
    """What the pages are made from."""

    app: App
    closing: Closing
    options: ConsoleOptions = field(default_factory=ConsoleOptions)
    _ready: set[str] = field(default_factory=set)

    async def ready(self) -> History:
        """The read model, with its tables: nobody may have projected into a new database yet. Raises as `history`."""
        history = self.history
        if not self._ready:
            await history.prepare()
            self._ready.add("tables")
        return history

    @property
    def history(self) -> History:
        """The read model. Raises ViewUnavailable where there is none."""
        if (view := self.app.view) is not None:
            return view
        raise ViewUnavailable("no database for the history is configured; see the setting `history`")


@cache
def templates() -> Environment:
    """The templates, escaped by default; a name that nobody gave is an error. No value shows a secret."""
    environment = Environment(
        loader=PackageLoader("jobledger.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    environment.filters |= formatting.FILTERS
    return environment


def is_fragment(request: Request) -> bool:
    """Htmx asks for a piece of a page, not a browser for a whole one."""
    asked = request.headers
    whole = "true" in (asked.get("hx-boosted"), asked.get("hx-history-restore-request"))
    return asked.get("hx-request") == "true" and not whole


def page(
    request: Request,
    template: str,
    /,
    *,
    status: int = 200,
    about: Sequence[Any] = (),
    verbatim: bool = False,
    **context: Any,
) -> Response:
    """The template as an answer; it may use `t` (words), `url` (paths), `token`, `language` besides `context`.

    `crumbs` is the breadcrumb: pairs of text and path, the last one without a path. Secrets are taken out of all that
    the template shows, those of `about` (manifests, specs) wherever they stand; but not if it shows `verbatim` what
    its user is typing, or what a replica wrote.
    """
    console: Console = request.app.state.console
    language = language_of(request)
    secret, is_new = session.of(request)
    shared = {
        "t": partial(say, language),
        "url": partial(url, console),
        "language": language,
        "token": session.token(secret),
        "user": user(request),
        "here": str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
        "release": version("jobledger"),
        "console": console.options,
        "crumbs": (),
    }
    left = None if is_fragment(request) else flash.left(request)
    with hiding(*about, verbatim=verbatim):
        html = templates().get_template(template).render({"notes": left or flash.Notes()} | shared | context)
    headers = {**HEADERS, "Cache-Control": "no-store", "Vary": "HX-Request"}
    if status == 200 and request.method == "GET" and is_fragment(request):
        # a piece that refreshes itself says which one the page has
        headers["ETag"] = f'"{sha256(html.encode()).hexdigest()[:24]}"'
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
    answer = HTMLResponse(html, status, headers)
    if is_new:
        session.keep(answer, request, secret)
    if left:
        flash.forget(answer)
    return answer


def url(console: Console, path: str) -> str:
    """The path as a browser has to ask for it."""
    return console.options.base + path


def user(request: Request) -> str:
    """The name of who asks; empty on a machine, where everybody is the one who started the server."""
    caller = getattr(request.state, "caller", None)
    return caller.signature("") if caller is not None else ""


def done(
    request: Request,
    path: str,
    key: str,
    *,
    created: str = "",
    notices: Sequence[str] = (),
    **values: str,
) -> Response:
    """What was asked for is done: a page says so with the words of `key`, after a redirect to `path`.

    htmx stays on its page, says it, and refreshes what is live, unless a job of the kind `created` exists now: then
    the form is left. `notices` are remarks for the page that the browser goes to.
    """
    console: Console = request.app.state.console
    sentence = say(language_of(request), f"done.{key}", **values)
    stays = is_fragment(request)
    if stays and not created:
        return Response(
            status_code=204,
            headers={"HX-Trigger": json.dumps({"notice": sentence, "refresh": ""}), **HEADERS},
        )
    way = {"HX-Redirect" if stays else "Location": url(console, path)}
    answer = Response(status_code=204 if stays else 303, headers={**way, **HEADERS})
    flash.leave(answer, flash.Notes(sentence, created, notices))
    return answer


_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Route(APIRoute):
    """A route of the console: its errors are pages, or notices where htmx asks."""

    def get_route_handler(self) -> _Handler:
        """See APIRoute."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except (JobledgerError, HTTPException, RequestValidationError) as error:
                return failed(request, error)

        return handle


def failed(request: Request, error: Exception) -> Response:
    """The answer for an error: one sentence, on a page of its own or as a notice on the one that is open."""
    status, sentence = _said(problem_of(request, error))
    template = "notice.html" if is_fragment(request) else "error.html"
    answer = page(request, template, status=status, sentence=sentence, crumbs=())
    if is_fragment(request):
        answer.headers["HX-Retarget"] = "#notices"
        answer.headers["HX-Reswap"] = "beforeend"
    return answer


_PROGRAMS: Final = ("/v1/", "/api/")


def refused(request: Request, error: Exception) -> Response:
    """The answer for an error outside of the console's routes: a page where one is wanted.

    That is a caller whom nobody knows, an address that nobody knows, or a bug. Else htmx would put the problem, which
    programs get, in the place of what refreshes itself.
    """
    problem = problem_of(request, error)
    is_page = is_fragment(request) or "text/html" in request.headers.get("accept", "")
    if not is_page or request.scope["path"].startswith(_PROGRAMS):
        return problem
    answer = failed(request, error)
    for name in ("WWW-Authenticate", "Retry-After"):
        if name in problem.headers:
            answer.headers[name] = problem.headers[name]
    return answer


def refusal(error: Exception) -> tuple[int, str]:
    """Status and sentence of an error, as the API has them."""
    return _said(answer_to(error))


def _said(problem: Response) -> tuple[int, str]:
    return problem.status_code, str(json.loads(bytes(problem.body))["detail"])
