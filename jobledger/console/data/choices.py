"""What a form can offer: the volume claims and the queues of the namespace."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter

from jobledger.api.rights import Caller, Right, demand
from jobledger.console.choices import RESOURCES
from jobledger.console.data.asking import Asking, Namespace, place
from jobledger.console.forms.look import CLAIMS, QUEUES
from jobledger.console.frame import Console
from statemachine.schema.lookup import find


def add(router: APIRouter, console: Console) -> None:
    """The routes."""

    async def listed(name: str, caller: Caller, namespace: str) -> Sequence[dict[str, Any]]:
        resource, meant = RESOURCES[name], place(console, namespace) or console.options.new_jobs
        await demand(caller, Right("list", resource.group, resource.plural, meant))
        return await console.app.cluster.list(resource.api_version, resource.kind, meant)

    @router.get("/pvcs")
    async def claims(caller: Asking, namespace: Namespace = "") -> dict[str, Any]:
        """The volume claims: name, phase, size, access modes."""
        return {"items": [_claim(each) for each in await listed(CLAIMS, caller, namespace)]}

    @router.get("/queues")
    async def queues(caller: Asking, namespace: Namespace = "") -> dict[str, Any]:
        """The queues of the T9k scheduler; none where it is not installed, or not used."""
        used = console.options.t9k_scheduler
        found = await listed(QUEUES, caller, namespace) if used else ()
        return {"items": [{"name": each["metadata"]["name"]} for each in found]}


def _claim(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": found["metadata"]["name"],
        "phase": find(found, "status.phase") or "",
        "size": find(found, "status.capacity.storage")
        or find(found, "spec.resources.requests.storage")
        or "",
        "accessModes": find(found, "spec.accessModes") or [],
    }
