"""Jobs as Kubernetes shows them, and the verbs that people use on them."""

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Depends, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from jobledger.api import models
from jobledger.api.models import answers
from jobledger.api.requests import JOB, Actor, Asking, Job, body_of
from jobledger.console.frame import Console
from jobledger.jobs.changes import queue_note
from jobledger.jobs.views import phase_meant
from jobledger.manifests import read
from jobledger.service.app import App
from jobledger.web.rights import AccessRight, demand, over, permitted, still_permitted, to_create
from jobledger.web.streams import watch_response
from k8s_bridge.selectors import Selector
from statemachine.redact import redacted


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

_OBJECT: Final = {"application/json": {"schema": {"type": "object"}}}
_MANIFESTS: Final = {"requestBody": {"required": True, "content": {**_OBJECT, "application/yaml": {}}}}
_PATCH: Final = {
    "requestBody": {"required": True, "content": {"application/merge-patch+json": {}, **_OBJECT}}
}


def routes(console: Console) -> APIRouter:
    """`/jobs`, what is done with a job, and `/watch`."""
    router = APIRouter(prefix="/v1")
    _reading(router, console)
    _writing(router, console.app)
    _verbs(router, console.app)
    return router


def _reading(router: APIRouter, console: Console) -> None:
    app = console.app

    @router.get("/jobs", **answers(models.JobsView))
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
        items = await app.jobs(
            namespace=namespace or None, kinds=kinds, phase=phase, selector=selector, gone=gone
        )
        return {"apiVersion": "v1", "kind": "List", "items": items}

    @router.get("/watch", **models.text("application/x-ndjson", "text/event-stream"))
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
        return watch_response(watched, console.closing, request, still)

    @router.get(JOB, **answers(models.JobView))
    async def job(job: Job) -> dict[str, Any]:
        """A job with its status; by uid also one that is gone."""
        return job

    @router.get(JOB + "/history", **answers(models.HistoryView))
    async def history(job: Job) -> dict[str, Any]:
        """The job's entries as they are written in the log, oldest first: cause and events of each."""
        items = await app.history(job["metadata"]["uid"])
        return {"items": redacted(items, job.get("spec"))}  # what one entry shows, another may quote

    @router.get(JOB + "/why", **answers(models.Explanation))
    async def why(job: Job) -> dict[str, Any]:
        """Why the job is as it is."""
        return dict(redacted(await app.why(job["metadata"]["uid"]), job.get("spec")))


def _writing(router: APIRouter, app: App) -> None:
    @router.post("/jobs", **answers(models.JobsView, 201), openapi_extra=_MANIFESTS)
    async def submit(request: Request, caller: Asking, actor: Actor) -> dict[str, Any]:
        """All objects of the body (one manifest, a List, or YAML documents) are created, or none is."""
        manifests = read(await body_of(request), "the request").usable()
        await demand(caller, *to_create(manifest.raw for manifest in manifests))
        created = await app.submit(manifests, actor)
        return {"apiVersion": "v1", "kind": "List", "items": created}

    @router.patch(JOB, **answers(models.JobView), openapi_extra=_PATCH)
    async def patch(request: Request, job: Job, caller: Asking, actor: Actor) -> dict[str, Any]:
        """A merge patch (RFC 7396) of the job."""
        await demand(caller, over(job, "patch"))
        return await app.patch(job, await _merge(request), actor)

    @router.delete(JOB, **answers(models.JobView, 202))
    async def delete(
        job: Job,
        caller: Asking,
        actor: Actor,
        namespace: str,
        grace: Annotated[float | None, Query(ge=0, description="seconds for the pods")] = None,
    ) -> dict[str, Any]:
        """The job's deletion has begun; what has been said of it stays in the log."""
        pods = () if grace is None else (AccessRight("delete", "", "pods", namespace),)
        await demand(caller, over(job, "delete"), *pods)
        await app.delete(job, actor, grace)
        return job


def _verbs(router: APIRouter, app: App) -> None:
    @router.post(JOB + "/pause", **answers(models.JobView))
    async def pause(job: Job, caller: Asking, actor: Actor, response: Response) -> dict[str, Any]:
        """The job is wished to be paused. Of a job in a queue of Kueue's the header Warning says what that means."""
        await demand(caller, over(job, "patch"))
        _warn(response, job, app)
        return await app.pause(job, True, actor)

    @router.post(JOB + "/resume", **answers(models.JobView))
    async def resume(job: Job, caller: Asking, actor: Actor, response: Response) -> dict[str, Any]:
        """The job is wished to go on. Of a job in a queue of Kueue's the header Warning says what that means."""
        await demand(caller, over(job, "patch"))
        _warn(response, job, app)
        return await app.pause(job, False, actor)

    @router.post(JOB + "/scale", **answers(models.JobView))
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
