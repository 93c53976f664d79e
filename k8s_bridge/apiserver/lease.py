"""Whose turn it is: leader election over a Lease object (`coordination.k8s.io/v1`), as client-go does it.

Whoever has written its name into the Lease has the turn, as long as it goes on writing. Others judge by when they
themselves saw the object change, never by the times in it: clocks of machines differ. The times between writes are
client-go's defaults, so that the duration in the object means to everybody what it means to us.
"""

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from k8s_bridge.apiserver.api import Api
from k8s_bridge.port import Manifest
from statemachine.errors import ClusterError, Conflict, LeaseLost, Missing, first

log = logging.getLogger(__name__)

NAME: Final = "jobledger-bridge"

_RELEASE: Final = 2.0
"""Seconds that giving the Lease back may take: without an answer it runs out by itself."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. Source: client-go, `leaderelection` defaults (15, 10, 2)."""

    duration: float = 15.0
    """After which a Lease that does not change is anybody's."""
    deadline: float = 10.0
    """After which a holder that could not renew stops. Shorter than `duration`, so that two never overlap."""
    retry: float = 2.0
    """Between tries, to get it and to renew it."""


class Lease:
    """The Lease `name` in `namespace`, which we hold as `identity`, if at all."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        name: str = NAME,
        *,
        identity: str = "",
        timing: Timing = Timing(),
    ) -> None:
        self.identity = identity or f"{socket.gethostname()}_{secrets.token_hex(4)}"
        self.is_held = False
        self.error = ""
        """Why the last try failed, unless somebody else holds it."""
        self.tries = 0
        self._api, self._timing = api, timing
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path, self._name = f"{self._collection}/{name}", name
        self._seen: Manifest | None = None
        self._seen_at = 0.0
        self._is_stale = True
        """It may have changed since it was seen: no write before a look."""

    @property
    def holder(self) -> str:
        """Who has the Lease, as far as we know; empty if nobody has."""
        spec = (self._seen or {}).get("spec") or {}
        return str(spec.get("holderIdentity") or "")

    @property
    def _is_ours(self) -> bool:
        return self.holder == self.identity

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Waits until the Lease is ours, and renews it until the block is left; then it is given back.

        Raises:
            LeaseLost: it was taken, or could not be renewed in time; the block was cancelled.
        """
        try:
            await self._acquire()
            async with asyncio.TaskGroup() as tasks:
                renewing = tasks.create_task(self._renew(), name="lease")
                yield
                renewing.cancel()
        except BaseExceptionGroup as group:
            raise first(group) from None
        finally:
            self.is_held = False
            await self._release()

    async def _acquire(self) -> None:
        """The Lease is ours."""
        while not await self._try(self._timing.deadline):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(self._timing.retry)
        self.is_held = True
        log.info("the lease is ours", extra={"action": "lease-acquired", "identity": self.identity})

    async def _renew(self) -> None:
        """Ends with LeaseLost."""
        now = asyncio.get_running_loop().time
        renewed = now()
        while True:
            await asyncio.sleep(self._timing.retry)
            if await self._try(renewed + self._timing.deadline - now()):
                renewed = now()
            elif self.holder not in ("", self.identity):
                raise LeaseLost(f"the lease {self._name} was taken by {self.holder}")
            elif now() >= renewed + self._timing.deadline:
                seconds = f"{self._timing.deadline:g} s"
                raise LeaseLost(f"the lease {self._name} could not be renewed for {seconds}: {self.error}")

    async def _release(self) -> None:
        """Whoever waits may have it at once. If that cannot be said, it runs out."""
        try:
            async with asyncio.timeout(_RELEASE):
                while not await self._cleared():
                    pass
        except (ClusterError, TimeoutError) as error:
            fields = {"action": "lease-kept", "error": str(error)}
            log.warning("the lease could not be given back, it will run out", extra=fields)

    async def _cleared(self) -> bool:
        """We are not its holder any more; False if somebody changed it meanwhile."""
        seen = await self._look() if self._is_stale else self._seen
        if seen is None or not self._is_ours:
            return True
        spec = {**seen["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()}
        self._is_stale = True
        try:
            self._note(await self._api.call("PUT", self._path, body={**seen, "spec": spec}))
        except Conflict:  # with a renewal that was on its way when it was cancelled, or with somebody's label
            return False
        return True

    # ---- one try -------------------------------------------------------------------------------------------

    async def _try(self, most: float) -> bool:
        """The Lease was just written by us. Otherwise `holder` or `error` says why not, after `most` seconds."""
        self.tries += 1
        before = self.holder, self.error
        try:
            async with asyncio.timeout(max(0.1, most)):
                written, error = await self._write(), ""
        except (Conflict, Missing):
            written, error = False, ""  # somebody was quicker: the next try looks first
        except TimeoutError:
            written, error = False, "the API server does not answer"
        except ClusterError as refused:
            written, error = False, str(refused)
        self.error = error
        if not written and before != (self.holder, error):
            fields = {"action": "lease-wait", "holder": self.holder, "error": error}
            log.info("the lease is not ours", extra=fields)
        return written

    async def _write(self) -> bool:
        """Raises Conflict, Missing: it is not as it was read any more."""
        seen = self._seen if self._is_ours and not self._is_stale else await self._look()
        if seen is not None and self.holder not in ("", self.identity) and not self._has_run_out(seen):
            return False
        self._is_stale = True  # until the answer is here
        if seen is None:
            self._note(await self._api.call("POST", self._collection, body=self._ours(None)))
        else:
            self._note(await self._api.call("PUT", self._path, body=self._ours(seen)))
        return True

    async def _look(self) -> Manifest | None:
        """The Lease as it is now; None if there is none."""
        try:
            self._note(await self._api.call("GET", self._path))
        except Missing:
            self._seen = None
        self._is_stale = False
        return self._seen

    def _note(self, found: Manifest) -> None:
        """The Lease is this. Only a change says that its holder lives."""
        if self._seen is None or _version(found) != _version(self._seen):
            self._seen_at = asyncio.get_running_loop().time()
        self._seen, self._is_stale = found, False

    def _has_run_out(self, seen: Manifest) -> bool:
        seconds = (seen.get("spec") or {}).get("leaseDurationSeconds") or self._timing.duration
        return asyncio.get_running_loop().time() >= self._seen_at + float(seconds)

    def _ours(self, seen: Manifest | None) -> Manifest:
        """The Lease as we write it over `seen`, whose version is a precondition."""
        now = _now()
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self._timing.duration)),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        if seen is None:
            meta = {"name": self._name}
            return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
        before = seen.get("spec") or {}
        transitions = int(before.get("leaseTransitions") or 0)
        if before.get("holderIdentity") == self.identity:
            spec |= {"acquireTime": before.get("acquireTime") or now, "leaseTransitions": transitions}
        else:
            spec |= {"leaseTransitions": transitions + 1}
        return {**seen, "spec": {**before, **spec}}


def _version(lease: Manifest) -> str:
    return str(lease["metadata"]["resourceVersion"])


def _now() -> str:
    """A MicroTime. Source: Kubernetes, meta/v1: RFC 3339 with six digits."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
