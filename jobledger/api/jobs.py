"""The routes of /v1: jobs as Kubernetes shows them, and the verbs that people use on them."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from jobledger.api.streams import Closing, log_response, watch_response
from jobledger.app import App
from jobledger.manifests import FILE_LIMIT, read
from jobledger.redact import redacted
from k8s_bridge.port import JobEvent
from statemachine.status import rfc3339

Actor = Annotated[str, Header(alias="x-jobledger-actor", description="who asks, for the history")]

UNKNOWN_ACTOR = "HTTP API"

_JOB = "/jobs/{namespace}/{name}"


async def _named(
    request: Request,
    namespace: str,
    name: str,
    kind: Annotated[str, Query(description="which, where jobs of several kinds share the name")] = "",
    uid: Annotated[str, Query(description="which, of all jobs that ever had the name")] = "",
) -> dict[str, Any]:
    """The job that the path means."""
    app: App = request.app.state.jobledger
    return await app.job(namespace, name, kind=kind, uid=uid)


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
        namespace: str | None = None, kind: str = "", phase: str = "", gone: bool = False
    ) -> dict[str, Any]:
        """Jobs by namespace and name; `gone` adds those that are deleted."""
        found = await app.jobs(namespace=namespace, kind=kind, phase=phase, gone=gone)
        return {"apiVersion": "v1", "kind": "List", "items": redacted(found)}

    @router.get(_JOB)
    async def job(job: Job) -> dict[str, Any]:
        """A job with its status; by uid also one that is gone."""
        return _shown(job)

    @router.get(_JOB + "/events")
    async def events(job: Job) -> dict[str, Any]:
        """The Kubernetes Events of a job, oldest first."""
        return {"items": [_event(each) for each in await app.events(job)]}

    @router.get(_JOB + "/history")
    async def history(job: Job) -> dict[str, Any]:
        """The job's entries in the log, oldest first: cause and events of each."""
        return {"items": redacted(await app.history(job["metadata"]["uid"]))}

    @router.get(_JOB + "/why")
    async def why(job: Job) -> dict[str, Any]:
        """Why the job is as it is."""
        return _shown(await app.why(job["metadata"]["uid"]))


def _streaming(router: APIRouter, app: App, closing: Closing) -> None:
    @router.get(_JOB + "/logs")
    async def logs(
        job: Job, *, replica: str = "", container: str = "", previous: bool = False, follow: bool = False
    ) -> StreamingResponse:
        """What a replica (default: the primary) writes; with `follow` until it ends."""
        pieces = await app.logs(job, replica=replica, container=container, previous=previous, follow=follow)
        return log_response(closing, pieces)

    @router.get("/watch")
    async def watch(request: Request, namespace: str | None = None, name: str = "") -> StreamingResponse:
        """Jobs as they stand, then every change: JSON lines, or server-sent events."""
        return watch_response(app, closing, request, namespace, name)


def _writing(router: APIRouter, app: App) -> None:
    @router.post("/jobs", status_code=201)
    async def submit(request: Request, actor: Actor = UNKNOWN_ACTOR) -> dict[str, Any]:
        """All objects of the body (one manifest, a List, or YAML documents) are created, or none is."""
        manifests = read(await _body(request), "the request").usable()
        created = await app.submit(manifests, actor)
        return {"apiVersion": "v1", "kind": "List", "items": redacted(created)}

    @router.patch(_JOB)
    async def patch(request: Request, job: Job, actor: Actor = UNKNOWN_ACTOR) -> dict[str, Any]:
        """A merge patch (RFC 7396) of the job."""
        return _shown(await app.patch(job, await _merge(request), actor))

    @router.delete(_JOB, status_code=202)
    async def delete(
        job: Job,
        grace: Annotated[float | None, Query(ge=0, description="seconds for the pods")] = None,
        actor: Actor = UNKNOWN_ACTOR,
    ) -> dict[str, Any]:
        """The job's deletion has begun; what has been said of it stays in the log."""
        await app.delete(job, actor, grace)
        return _shown(job)


def _wishing(router: APIRouter, app: App) -> None:
    @router.post(_JOB + "/pause")
    async def pause(job: Job, actor: Actor = UNKNOWN_ACTOR) -> dict[str, Any]:
        """The job is wished to be paused."""
        return _shown(await app.pause(job, True, actor))

    @router.post(_JOB + "/resume")
    async def resume(job: Job, actor: Actor = UNKNOWN_ACTOR) -> dict[str, Any]:
        """The job is wished to go on."""
        return _shown(await app.pause(job, False, actor))

    @router.post(_JOB + "/scale")
    async def scale(
        job: Job, replicas: Annotated[int, Body(embed=True, ge=0, strict=True)], actor: Actor = UNKNOWN_ACTOR
    ) -> dict[str, Any]:
        """So many replicas are wished, of an elastic job."""
        return _shown(await app.scale(job, replicas, actor))


def _shown(job: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = redacted(job)
    return shown


async def _body(request: Request) -> bytes:
    """The body, cut where it is too long anyway."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > FILE_LIMIT:
            break
    return bytes(data[: FILE_LIMIT + 1])


async def _merge(request: Request) -> dict[str, Any]:
    try:
        merge = json.loads(await _body(request))
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


def _event(event: JobEvent) -> dict[str, Any]:
    return {
        "name": event.name,
        "at": rfc3339(event.at),
        "type": event.level,
        "reason": event.reason,
        "message": event.message,
    }
