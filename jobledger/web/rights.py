"""Who asks, and what they may do, in the words of Kubernetes' role based access control.

A server of this machine serves `Anyone` who can reach it. On a cluster `jobledger.web.reviews` asks the API server
about each caller. Routes state the rights that they need; they do not know who decides.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from fastapi import Request

from jobledger.program.errors import NoRight, lacking
from statemachine.errors import InvariantBroken
from statemachine.kind import Names
from statemachine.kinds import SERVED, meant_by, names_of
from statemachine.owned import Manifest


class AccessRight(NamedTuple):
    """To do `verb` with a resource: in every namespace if `namespace` is empty, to any if `name` is."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @classmethod
    def over(cls, names: Names, verb: str, namespace: str, name: str = "") -> "AccessRight":
        """The right over jobs of a kind."""
        return cls(verb, names.group, names.plural, namespace, name)

    @property
    def what(self) -> str:
        """The resource as roles and `kubectl` call it."""
        path = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{path}.{self.group}" if self.group else path


class Caller(Protocol):
    """The sender of a request."""

    def signature(self, said: str) -> str:
        """How the history names them; `said` is what the request says of itself."""

    async def may(self, right: AccessRight) -> bool:
        """They have the right. Raises ClusterUnavailable when nobody can say."""

    async def still(self) -> None:
        """They may come in still. Raises Unauthenticated, or ClusterUnavailable when nobody can say."""

    def __str__(self) -> str:
        """How a refusal names them."""


class Anyone:
    """The user of a server of this machine: its socket, or its loopback address, is the right."""

    def signature(self, said: str) -> str:
        """See Caller: nobody lies to themselves."""
        return said

    async def may(self, right: AccessRight) -> bool:
        """See Caller."""
        return True

    async def still(self) -> None:
        """See Caller: a machine does not change its mind."""

    def __str__(self) -> str:
        return "anyone"


def caller_of(request: Request) -> Caller:
    """Who asks, as the guard in front of the routes found out."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        raise InvariantBroken(f"{request.url.path} was served without a guard")
    return caller


async def demand(caller: Caller, *rights: AccessRight) -> None:
    """The caller has all of the rights. Raises NoRight, naming those that are missing."""
    allowed = await asyncio.gather(*map(caller.may, rights))
    missing = [right for right, has in zip(rights, allowed, strict=True) if not has]
    if missing:
        raise lacking(str(caller), missing[0].verb, [right.what for right in missing], missing[0].namespace)


Still = Callable[[], Awaitable[None]]
"""Nothing, while a stream that is open may go on; raises what would refuse it now."""


def still_may(caller: Caller, *rights: AccessRight) -> Still:
    """The caller is known, and has all of the rights."""

    async def check() -> None:
        await caller.still()
        await demand(caller, *rights)

    return check


def still_permitted(caller: Caller, verb: str, namespace: str, *, name: str, kinds: Sequence[str]) -> Still:
    """The caller is known, and may do `verb` with all of `kinds`, as `permitted` has said."""
    asked = [names for names in SERVED if names.kind in kinds]
    return still_may(caller, *(AccessRight.over(names, verb, namespace, name) for names in asked))


async def permitted(
    caller: Caller, verb: str, namespace: str, *, name: str = "", kind: str = ""
) -> Sequence[str]:
    """The kinds of job objects with which the caller may do `verb`, of all or of the kind that is called `kind`.

    Raises:
        NoRight: with none of them.
    """
    asked = meant_by(kind) if kind else SERVED
    rights = [AccessRight.over(names, verb, namespace, name) for names in asked]
    allowed = await asyncio.gather(*map(caller.may, rights))
    allowed_kinds = [names.kind for names, has in zip(asked, allowed, strict=True) if has]
    if asked and not allowed_kinds:
        raise lacking(str(caller), verb, [right.what for right in rights], namespace)
    return allowed_kinds


async def may_list(caller: Caller, namespace: str) -> bool:
    """The caller may learn the names of jobs there: of the kinds with which they may do anything at all."""
    try:
        return bool(await permitted(caller, "list", namespace))
    except NoRight:
        return False


def over(job: Manifest, verb: str) -> AccessRight:
    """The right to do `verb` with this very job."""
    meta = job["metadata"]
    return AccessRight.over(names_of(job["apiVersion"], job["kind"]), verb, meta["namespace"], meta["name"])


def to_create(manifests: Iterable[Manifest]) -> list[AccessRight]:
    """The rights to hand in these objects. What jobs refer to replaces its namesake, so it may have to be patched."""
    rights: dict[AccessRight, None] = {}
    for manifest in manifests:
        namespace = manifest["metadata"].get("namespace") or "default"
        if manifest["apiVersion"] == "v1":
            plural = f"{manifest['kind'].lower()}s"
            rights |= dict.fromkeys(
                [AccessRight("create", "", plural, namespace), AccessRight("patch", "", plural, namespace)]
            )
        else:
            names = names_of(manifest["apiVersion"], manifest["kind"])
            rights[AccessRight.over(names, "create", namespace)] = None
    return list(rights)
