"""What can be done with a job: a question in a dialog (or on a page of its own), then the change, then a notice.

Writes go to the job object through the `App`, as those of the API do. A question remembers the version of the object
that it was asked about; where that was changed meanwhile the answer is refused: nobody overwrites unseen changes.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from jobledger.console import policies
from jobledger.console.allowed_actions import actions
from jobledger.console.frame import HEADERS, Console, Route, done, is_fragment, page, refusal
from jobledger.console.session import Form, Posted
from jobledger.console.words import language_of, say
from jobledger.jobs.changes import kueue_queue, paused, scale_path, scaled
from jobledger.jobs.views import is_gone, phase_of
from jobledger.program.errors import NotPossible, UnknownJob
from jobledger.service.app import App
from jobledger.web.responses import yaml_answer, yaml_of
from jobledger.web.rights import Caller, caller_of, demand, may_list, over, permitted
from statemachine.errors import Conflict, InvariantBroken, JobledgerError, Problem, Refused, SpecInvalid
from statemachine.kind import Scaling
from statemachine.kinds import KNOWN, kind_of
from statemachine.phases import Phase
from statemachine.state import JobState, ReplicaPhase

JOB: Final = "/jobs/{namespace}/{kind}/{name}"
ACTOR: Final = "web console"

_TRIES: Final = 5

Manifest = dict[str, Any]
Asking = Annotated[Caller, Depends(caller_of)]


async def job_of(request: Request, caller: Asking, namespace: str, kind: str, name: str) -> Manifest:
    """The job that the path means, as it stands, if the caller may see it. Raises UnknownJob, NoRight."""
    app: App = request.app.state.jobledger
    only = request.app.state.console.options.namespace
    if kind not in KNOWN or (only and namespace != only):
        raise UnknownJob(namespace, name)
    kinds = await permitted(caller, "get", namespace, name=name, kind=kind)  # under an older name, too
    try:
        return await app.job(namespace, name, kinds=kinds)
    except UnknownJob:
        if await may_list(caller, namespace):
            raise
        raise UnknownJob(namespace, name) from None  # no names are to be learnt by trying


Job = Annotated[Manifest, Depends(job_of)]


def routes(console: Console) -> APIRouter:
    """The questions and the changes."""
    router = APIRouter(route_class=Route)
    _reading(router)
    _asking(router)
    _changing(router, console.app)
    return router


def _reading(router: APIRouter) -> None:
    @router.get(JOB + "/yaml")
    async def shown(request: Request, job: Job) -> Response:
        """The job object as YAML, secrets taken out."""
        if "download" in request.query_params:
            return yaml_answer(job, HEADERS, download=job["metadata"]["name"])
        return _page(request, "jobs/yaml.html", job, text=yaml_of(job))


def _asking(router: APIRouter) -> None:
    @router.get(JOB + "/{action}")
    async def ask(request: Request, job: Job, action: str) -> Response:
        """The question before a change."""
        if action not in _QUESTIONS:
            raise UnknownJob(job["metadata"]["namespace"], f"{job['metadata']['name']}/{action}")
        if action not in offers(job, _state(request, job)):
            raise NotPossible(_not_now(job, action))
        return await _question(request, job, action)


def _changing(router: APIRouter, app: App) -> None:
    @router.post(JOB + "/{action}")
    async def change(request: Request, job: Job, caller: Asking, action: str, form: Form) -> Response:
        """The change, unless the job is another by now."""
        if action not in _QUESTIONS:
            raise UnknownJob(job["metadata"]["namespace"], f"{job['metadata']['name']}/{action}")
        await demand(caller, over(job, "delete" if action == "delete" else "patch"))
        try:
            if action == "delete":
                _same(job, form, generation=False)
                await app.delete(job, caller.signature(ACTOR))
            else:
                await patched(
                    app,
                    job,
                    lambda now: _wish(action, now, form),
                    lambda now: _same(now, form),
                    caller.signature(ACTOR),
                )
        except (Conflict, NotPossible, Refused, SpecInvalid) as error:
            return await _question(request, job, action, form, error)
        meta = job["metadata"]
        return done(request, "/jobs", action, kind=job["kind"], name=meta["name"])


_QUESTIONS: Final = frozenset({"pause", "resume", "scale", "policy", "delete"})


def _state(request: Request, job: Manifest) -> JobState | None:
    """What the log says of the job; None before it says anything."""
    app: App = request.app.state.jobledger
    return app.state(job["metadata"]["uid"])


def offers(job: Manifest, state: JobState | None) -> frozenset[str]:
    """The actions that the job has now."""
    return frozenset(
        actions(
            kind_of(job["apiVersion"], job["kind"]).names.kind,  # it may be an older name that the job has
            state.phase if state is not None else Phase.NEW,
            paused=is_paused(job, state),
            elastic=scaling_of(job) is not None,
            deleting=is_gone(job),
        )
    )


def is_paused(job: Manifest, state: JobState | None) -> bool:
    """The spec wishes the job to be paused; where it cannot be read, the one that is followed does."""
    kind = kind_of(job["apiVersion"], job["kind"])
    plan = kind.admit(job["metadata"]["name"], job.get("spec") or {}).plan or (state.plan if state else None)
    return plan is not None and plan.paused


def scaling_of(job: Manifest) -> Scaling | None:
    """Between how many replicas the job may be scaled; None if it may not."""
    return kind_of(job["apiVersion"], job["kind"]).scaling(job.get("spec") or {})


def within(job: Manifest, replicas: int) -> int:
    """The number, which a user may scale the job to: not every kind's rules say so. Raises SpecInvalid."""
    scaling = scaling_of(job)
    if scaling is not None and not scaling.low <= replicas <= scaling.most:
        text = f"must be between minReplicas ({scaling.low}) and maxReplicas ({scaling.most})"
        raise SpecInvalid([Problem("", scale_path(job), text)])
    return replicas


def _not_now(job: Manifest, action: str) -> str:
    return f'job "{job["metadata"]["name"]}" ({phase_of(job)}) does not offer "{action}" now'


async def patched(
    app: App,
    job: Manifest,
    wish: Callable[[Manifest], Mapping[str, Any]],
    same: Callable[[Manifest], None],
    actor: str,
) -> Manifest:
    """The merge patch `wish` is in the job, which is returned. Raises Conflict, or what `same` raises of another job.

    The object's version grows with every status, too, which is no reason to refuse: then it is looked at again.
    """
    for left in reversed(range(_TRIES)):
        same(job)
        version = {"metadata": {"resourceVersion": job["metadata"]["resourceVersion"]}}
        try:
            return await app.patch(job, {**version, **wish(job)}, actor)
        except Conflict:
            if not left:
                raise
            meta = job["metadata"]
            job = await app.job(meta["namespace"], meta["name"], kinds=[job["kind"]])
    raise InvariantBroken("no try was made")


def _same(job: Manifest, form: Posted, *, generation: bool = True) -> None:
    """The job is the one that was asked about, and its spec, too. Raises Conflict."""
    meta = job["metadata"]
    if form.get("uid") != [meta["uid"]]:
        raise Conflict("another job has this name by now")
    if generation and form.get("generation") != [str(meta.get("generation", ""))]:
        raise Conflict("the job was changed meanwhile")


def _wish(action: str, job: Manifest, form: Posted) -> dict[str, Any]:
    """The merge patch. Raises NotPossible, SpecInvalid."""
    match action:
        case "pause" | "resume":
            return paused(job, action == "pause")
        case "scale":
            said = form.get("replicas", [""])[0].strip()
            if not (said.isascii() and said.isdigit() and len(said) < 10):
                text = f'Invalid value: "{said:.40}": must be a whole number'
                raise SpecInvalid([Problem("", "replicas", text)])
            return scaled(job, within(job, int(said)))
        case _:
            return policies.patch(job, form)


async def _question(
    request: Request,
    job: Manifest,
    action: str,
    form: Posted | None = None,
    error: JobledgerError | None = None,
) -> Response:
    """The dialog; again with what was typed and what is wrong with it."""
    state = _state(request, job)
    context: dict[str, Any] = {
        "action": action,
        "conflict": isinstance(error, Conflict),
        "sentences": _sentences(error),
        "finished": state is not None and state.is_final,
        "left": _running(state),
        "queue": kueue_queue(job, state),
        "bounds": scaling_of(job),
        "typed": (form or {}).get("replicas", [""])[0],
        "fields": policies.fields(job, language_of(request), form, error) if action == "policy" else [],
    }
    code = 200 if error is None else refusal(error)[0]
    return _page(request, "jobs/ask.html", job, status=code, **context)


def _sentences(error: JobledgerError | None) -> list[str]:
    if error is None or isinstance(error, Conflict):
        return []
    return (
        [str(problem) for problem in error.problems]
        if isinstance(error, SpecInvalid)
        else [refusal(error)[1]]
    )


def _running(state: JobState | None) -> list[str]:
    """The pods of a job that are not at their end."""
    if state is None:
        return []
    kind = kind_of(state.api_version, state.kind)
    return [kind.pod_name(state, replica.name) for replica in state.members if replica.phase not in _ENDED]


_ENDED: Final = frozenset({ReplicaPhase.SUCCEEDED, ReplicaPhase.FAILED, ReplicaPhase.DELETED})


def _page(request: Request, template: str, job: Manifest, /, **context: Any) -> Response:
    """A dialog where htmx asks, a page otherwise."""
    meta = job["metadata"]
    kind = kind_of(job["apiVersion"], job["kind"]).names.kind
    path = JOB.format(namespace=meta["namespace"], kind=kind, name=meta["name"])
    said, key = language_of(request), f"action.{context.get('action', 'yaml')}"
    frame = "bare.html" if is_fragment(request) else "layout.html"
    return page(
        request,
        template,
        about=(job,),
        frame=frame,
        job=job,
        meta=meta,
        path=path,
        crumbs=[(meta["name"], path), (say(said, key), "")],
        **context,
    )
