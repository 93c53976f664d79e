"""The routes of /v1: jobs as Kubernetes shows them, and the verbs that people use on them."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from jobledger.api.rights import (
    Caller,
    Right,
    caller_of,
    demand,
    may_list,
    over,
    permitted,
    still_may,
    still_permitted,
    to_create,
)
from jobledger.api.streams import Closing, log_response, watch_response
from jobledger.app import App
from jobledger.errors import UnknownJob
from jobledger.manifests import FILE_LIMIT, read
from jobledger.views import event_of, phase_meant
from jobledger.wishes import queue_note
from k8s_bridge.selectors import Selector
from statemachine.redact import redacted

UNKNOWN_ACTOR = "HTTP API"

JOB = "/jobs/{namespace}/{name}"

Asking = Annotated[Caller, Depends(caller_of)]


def _actor(
    caller: Asking,
    said: Annotated[str, Header(alias="x-jobledger-actor", description="who asks, for the history")] = "",
) -> str:
    return caller.signature(said or UNKNOWN_ACTOR)


Actor = Annotated[str, Depends(_actor)]


def _selector(
    said: Annotated[
        str,
        Query(alias="labelSelector", description="as Kubernetes has it: team=a,tier in (gold,silver),!old"),
    ] = "",
) -> Selector:
    return Selector.of(said)


Selected = Annotated[Selector, Depends(_selector)]


def _phase(
    said: Annotated[str, Query(alias="phase", description="as the list shows it, in whatever case")] = "",
) -> str:
    return phase_meant(said)


InPhase = Annotated[str, Depends(_phase)]


async def _named(
    request: Request,
    caller: Asking,
    namespace: str,
    name: str,
    *,
    kind: Annotated[str, Query(description="which, where jobs of several kinds share the name")] = "",
    uid: Annotated[str, Query(description="which, of all jobs that ever had the name")] = "",
) -> dict[str, Any]:
    """The job that the path means, if the caller may see it."""
    app: App = request.app.state.jobledger
    kinds = await permitted(caller, "get", namespace, name=name, kind=kind)
    try:
        return await app.job(namespace, name, kinds=kinds, uid=uid)
    except UnknownJob:
        if await may_list(caller, namespace):
            raise
        raise UnknownJob(namespace, name) from None  # no names are to be learnt by trying


Job = Annotated[dict[str, Any], Depends(_named)]


def routes(app: App, closing: Closing) -> APIRouter:
    """The router over `app`."""
    router = APIRouter(prefix="/v1")
    _reading(router, app)
    _streaming(router, app, closing)
    _writing(router, app)
    _wishing(router, app)
    return router


def _reading(router: APIRouter, app: App) -> None:
    @router.get("/jobs")
    async def jobs(
        caller: Asking,
        selector: Selected,
        phase: InPhase,
        namespace: str | None = None,
        kind: str = "",
        *,
        gone: bool = False,
    ) -> dict[str, Any]:
        """Jobs by namespace and name; `gone` adds those that are deleted."""
        kinds = await permitted(caller, "list", namespace or "", kind=kind)
        found = await app.jobs(
            namespace=namespace or None, kinds=kinds, phase=phase, selector=selector, gone=gone
        )
        return {"apiVersion": "v1", "kind": "List", "items": found}

    @router.get(JOB)
    async def job(job: Job) -> dict[str, Any]:
        """A job with its status; by uid also one that is gone."""
        return job

    @router.get(JOB + "/events")
    async def events(job: Job, caller: Asking, namespace: str) -> dict[str, Any]:
        """The Kubernetes Events of a job, oldest first."""
        await demand(caller, Right("list", "", "events", namespace))
        found = [event_of(each) for each in await app.events(job)]
        return {"items": redacted(found, job.get("spec"))}

    @router.get(JOB + "/history")
    async def history(job: Job) -> dict[str, Any]:
        """The job's entries in the log, oldest first: cause and events of each."""
        found = await app.history(job["metadata"]["uid"])
        return {"items": redacted(found, job.get("spec"))}  # what one entry shows, another may quote

    @router.get(JOB + "/why")
    async def why(job: Job) -> dict[str, Any]:
        """Why the job is as it is."""
        return dict(redacted(await app.why(job["metadata"]["uid"]), job.get("spec")))


def _streaming(router: APIRouter, app: App, closing: Closing) -> None:
    @router.get(JOB + "/logs")
    async def logs(
        job: Job,
        caller: Asking,
        namespace: str,
        *,
        replica: str = "",
        container: str = "",
        previous: bool = False,
        follow: bool = False,
    ) -> StreamingResponse:
        """What a replica (default: the primary) writes; with `follow` until it ends."""
        right = Right("get", "", "pods", namespace, subresource="log")
        await demand(caller, right)
        pieces = await app.logs(job, replica=replica, container=container, previous=previous, follow=follow)
        return log_response(closing, pieces, still_may(caller, over(job, "get"), right))

    @router.get("/watch")
    async def watch(
        request: Request,
        caller: Asking,
        selector: Selected,
        namespace: str | None = None,
        name: str = "",
    ) -> StreamingResponse:
        """Jobs as they stand, then every change: JSON lines, or server-sent events."""
        kinds = await permitted(caller, "watch", namespace or "", name=name)
        watched = app.watch(namespace=namespace or None, name=name, kinds=kinds, selector=selector)
        still = still_permitted(caller, "watch", namespace or "", name=name, kinds=kinds)
        return watch_response(watched, closing, request, still)


def _writing(router: APIRouter, app: App) -> None:
    @router.post("/jobs", status_code=201)
    async def submit(request: Request, caller: Asking, actor: Actor) -> dict[str, Any]:
        """All objects of the body (one manifest, a List, or YAML documents) are created, or none is."""
        manifests = read(await body_of(request), "the request").usable()
        await demand(caller, *to_create(each.raw for each in manifests))
        created = await app.submit(manifests, actor)
        return {"apiVersion": "v1", "kind": "List", "items": created}

    @router.patch(JOB)
    async def patch(request: Request, job: Job, caller: Asking, actor: Actor) -> dict[str, Any]:
        """A merge patch (RFC 7396) of the job."""
        await demand(caller, over(job, "patch"))
        return await app.patch(job, await _merge(request), actor)

    @router.delete(JOB, status_code=202)
    async def delete(
        job: Job,
        caller: Asking,
        actor: Actor,
        namespace: str,
        grace: Annotated[float | None, Query(ge=0, description="seconds for the pods")] = None,
    ) -> dict[str, Any]:
        """The job's deletion has begun; what has been said of it stays in the log."""
        pods = () if grace is None else (Right("delete", "", "pods", namespace),)
        await demand(caller, over(job, "delete"), *pods)
        await app.delete(job, actor, grace)
        return job


def _wishing(router: APIRouter, app: App) -> None:
    @router.post(JOB + "/pause")
    async def pause(job: Job, caller: Asking, actor: Actor, response: Response) -> dict[str, Any]:
        """The job is wished to be paused. Of a job in a queue of Kueue's the header Warning says what that means."""
        await demand(caller, over(job, "patch"))
        _warn(response, job, app)
        return await app.pause(job, True, actor)

    @router.post(JOB + "/resume")
    async def resume(job: Job, caller: Asking, actor: Actor, response: Response) -> dict[str, Any]:
        """The job is wished to go on. Of a job in a queue of Kueue's the header Warning says what that means."""
        await demand(caller, over(job, "patch"))
        _warn(response, job, app)
        return await app.pause(job, False, actor)

    @router.post(JOB + "/scale")
    async def scale(
        job: Job, caller: Asking, actor: Actor, replicas: Annotated[int, Body(embed=True, ge=0, strict=True)]
    ) -> dict[str, Any]:
        """So many replicas are wished, of an elastic job."""
        await demand(caller, over(job, "patch"))
        return await app.scale(job, replicas, actor)


def _warn(response: Response, job: dict[str, Any], app: App) -> None:
    """As API servers warn: RFC 7234, section 5.5, code 299."""
    if note := queue_note(job, app.state(job["metadata"]["uid"])):
        quoted = note.replace("\\", "\\\\").replace('"', '\\"')
        response.headers["Warning"] = f'299 jobledger "{quoted}"'


async def body_of(request: Request) -> bytes:
    """The body, cut where it is too long anyway."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > FILE_LIMIT:
            break
    return bytes(data[: FILE_LIMIT + 1])


async def _merge(request: Request) -> dict[str, Any]:
    try:
        merge = json.loads(await body_of(request))
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error
    if not isinstance(merge, dict):
        raise HTTPException(400, "the body must be an object: a merge patch as in RFC 7396")
    for part in ("metadata", "spec"):
        if not isinstance(merge.get(part, {}), dict):
            raise HTTPException(400, f"{part} must be an object")
    if not isinstance((merge.get("metadata") or {}).get("annotations") or {}, dict):
        raise HTTPException(400, "metadata.annotations must be an object")
    return dict(merge)
