"""What a form can offer: the volume claims and the queues of the namespace."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter

from jobledger.api import models
from jobledger.api.models import answers
from jobledger.api.requests import Asking, Namespace, place
from jobledger.console.choices import RESOURCES
from jobledger.console.forms.field_labels import CLAIMS, QUEUES
from jobledger.console.frame import Console
from jobledger.web.rights import AccessRight, Caller, demand
from statemachine.schema.lookup import find


def routes(console: Console) -> APIRouter:
    """`/pvcs` and `/queues`."""
    router = APIRouter(prefix="/v1")

    async def listed(name: str, caller: Caller, namespace: str) -> Sequence[dict[str, Any]]:
        resource, meant = RESOURCES[name], place(console, namespace) or console.options.new_jobs
        await demand(caller, AccessRight("list", resource.group, resource.plural, meant))
        return await console.app.cluster.list(resource.api_version, resource.kind, meant)

    @router.get("/pvcs", **answers(models.Claims))
    async def claims(caller: Asking, namespace: Namespace = "") -> dict[str, Any]:
        """The volume claims: name, phase, size, access modes."""
        return {"items": [_claim(claim) for claim in await listed(CLAIMS, caller, namespace)]}

    @router.get("/queues", **answers(models.Queues))
    async def queues(caller: Asking, namespace: Namespace = "") -> dict[str, Any]:
        """The queues of the T9k scheduler; none where it is not installed, or not used."""
        used = console.options.t9k_scheduler
        queues = await listed(QUEUES, caller, namespace) if used else ()
        return {"items": [{"name": queue["metadata"]["name"]} for queue in queues]}

    return router


def _claim(claim: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": claim["metadata"]["name"],
        "phase": find(claim, "status.phase") or "",
        "size": find(claim, "status.capacity.storage")
        or find(claim, "spec.resources.requests.storage")
        or "",
        "accessModes": find(claim, "spec.accessModes") or [],
    }
