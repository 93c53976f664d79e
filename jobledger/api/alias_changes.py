"""What `/api` does in a form of its own as long as it lasts: a job is created, changed in one go, deleted."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from jobledger.api.requests import Actor, Asking, Body, Namespace, OwnPages, place
from jobledger.console.actions import job_of, patched, within
from jobledger.console.creating import Creating
from jobledger.console.frame import Console
from jobledger.console.words import say
from jobledger.jobs.changes import paused, scaled
from jobledger.web.rights import demand, over
from k8s_bridge.json_data import merged
from statemachine.errors import Conflict, Problem, SpecInvalid
from statemachine.kinds import kind_of

JOB = "/api/jobs/{kind}/{name}"

Manifest = dict[str, Any]


async def _living(
    request: Request, caller: Asking, kind: str, name: str, namespace: Namespace = ""
) -> Manifest:
    """The job that the path means, which exists. Raises UnknownJob, NoRight, ConfigError."""
    served: Console = request.app.state.console
    return await job_of(request, caller, place(served, namespace) or served.options.new_jobs, kind, name)


Living = Annotated[Manifest, Depends(_living)]


def routes(console: Console) -> APIRouter:
    """`POST /api/jobs`, and `PATCH` and `DELETE` of a job."""
    router, app, creating = APIRouter(), console.app, Creating(console)

    @router.post("/api/jobs", status_code=201)
    async def create(body: Body, caller: Asking, actor: Actor) -> Manifest:
        """The job exists, in its canonical form."""
        return dict(await creating.create(caller, json.dumps(body), actor))

    @router.patch(JOB)
    async def patch(job: Living, body: Body, caller: Asking, actor: Actor) -> Manifest:
        """What the body says of `pause`, `expectedReplicas` and `runPolicy` (a merge patch) is wished."""
        await demand(caller, over(job, "patch"))

        def same(now: Manifest) -> None:
            held, known = now["metadata"], job["metadata"]
            if (held["uid"], held.get("generation")) != (known["uid"], known.get("generation")):
                raise Conflict(say("en", "conflict"))

        try:
            return await patched(app, job, lambda now: wish(now, body), same, actor)
        except Conflict as error:
            raise Conflict(say("en", "conflict")) from error

    @router.delete(JOB, status_code=202, dependencies=[OwnPages])
    async def delete(
        job: Living,
        caller: Asking,
        actor: Actor,
        *,
        uid: Annotated[str, Query(max_length=100, description="refuse, if the job is another")] = "",
    ) -> Manifest:
        """The job's deletion has begun; what has been said of it stays in the log."""
        await demand(caller, over(job, "delete"))
        if uid and uid != job["metadata"]["uid"]:
            raise Conflict("another job has this name by now")
        await app.delete(job, actor)
        return job

    return router


def wish(job: Manifest, body: Mapping[str, Any]) -> Manifest:
    """The merge patch that the body means, if the rules allow it.

    Raises:
        SpecInvalid: every problem.
        NotPossible: the job cannot be changed so.
    """
    _understood(body)
    spec = job.get("spec") or {}
    change: Manifest = {}
    if "runPolicy" in body:
        change = {"spec": {"runPolicy": body["runPolicy"]}}
    if "pause" in body:
        change = _united(change, paused(job, body["pause"]))
    if "expectedReplicas" in body:
        change = _united(change, scaled(job, within(job, body["expectedReplicas"])))
    kind = kind_of(job["apiVersion"], job["kind"])
    admission = kind.admit(job["metadata"]["name"], merged(spec, change["spec"]), spec)
    if admission.problems:
        raise SpecInvalid(admission.problems)
    return change


def _understood(body: Mapping[str, Any]) -> None:
    """The body has fields that can be changed, each of its type. Raises SpecInvalid."""
    problems = []
    if not body:
        problems.append(Problem("", "", "nothing is to be changed: say pause, expectedReplicas or runPolicy"))
    for name, value in body.items():
        match name:
            case "pause" if not isinstance(value, bool):
                problems.append(Problem("", name, "must be true or false"))
            case "expectedReplicas" if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                problems.append(Problem("", name, "must be a whole number, and not negative"))
            case "runPolicy" if not isinstance(value, dict):
                problems.append(Problem("", name, "must be an object"))
            case "pause" | "expectedReplicas" | "runPolicy":
                pass
            case _:
                text = "cannot be changed here: only pause, expectedReplicas and runPolicy can"
                problems.append(Problem("", name, text))
    if problems:
        raise SpecInvalid(problems)


def _united(one: Any, other: Any) -> Any:
    """Both merge patches as one; where they meet, `other` counts."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    both = {key: _united(one[key], other[key]) for key in one.keys() & other.keys()}
    return {**one, **other, **both}
