"""The routes of /v1/lives: what the log tells of jobs that are, and of jobs that were.

They answer as `jobledger history` and `jobledger why` do, text included, so that a client needs to know
nothing of entries: `kubectl jobledger` of another release shows what this one has to say.
"""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from jobledger.api.models import LifeAnswer, answers
from jobledger.lives.history import JobHistory
from jobledger.lives.lookup import chosen, others
from jobledger.lives.rendering import AnswerForm, history_answer, why_answer
from jobledger.service.app import App
from jobledger.web.rights import AccessRight, Caller, caller_of, demand, may_list, permitted
from statemachine.kinds import names_of


def _form(
    data: Annotated[bool, Query(description="as data, not as text")] = False,
    width: Annotated[int | None, Query(ge=20, le=1000, description="columns of the text")] = None,
) -> AnswerForm:
    return AnswerForm(text=not data, width=width)


async def _life(
    request: Request,
    caller: Annotated[Caller, Depends(caller_of)],
    namespace: str,
    job: str,
    *,
    uid: Annotated[str, Query(description="which of several jobs that had the name")] = "",
    kind: Annotated[str, Query(description="which, where jobs of several kinds share the name")] = "",
) -> JobHistory:
    """Everything that the log holds of the job that is meant, if the caller may see it."""
    app: App = request.app.state.jobledger
    kinds = await permitted(caller, "get", namespace, name=job, kind=kind)
    known = [life for life in await app.known(namespace, job, uid) if life.state.object_kind in kinds]
    if not await may_list(caller, namespace):  # no names are to be learnt by trying
        known = [life for life in known if life.name == job]
    life = chosen(known, job, namespace=namespace, uid=uid, kind=kind)
    await demand(
        caller,
        AccessRight.over(
            names_of(life.state.api_version, life.state.object_kind), "get", namespace, life.name
        ),
    )
    note = "" if uid else others(known, job, namespace=namespace, kind=kind)
    return await app.life(life, note)


Life = Annotated[JobHistory, Depends(_life)]
Wanted = Annotated[AnswerForm, Depends(_form)]


def routes() -> APIRouter:
    """The router; the application is the request's."""
    router = APIRouter(prefix="/v1/lives/{namespace}/{job}")

    @router.get("/history", **answers(LifeAnswer))
    async def history(life: Life, form: Wanted, seq: str = "", *, full: bool = False) -> dict[str, Any]:
        """The job's entries, as text or as data; `seq` picks some, `full` shows all of their fields."""
        return asdict(await asyncio.to_thread(history_answer, life, form, seq=seq, full=full))

    @router.get("/why", **answers(LifeAnswer))
    async def why(life: Life, form: Wanted, at: str = "") -> dict[str, Any]:
        """Why the job is as it is, or was at the moment `at`."""
        return asdict(await asyncio.to_thread(why_answer, life, form, at=at))

    return router
