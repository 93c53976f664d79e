"""Leader election over a Lease object (`coordination.k8s.io/v1`), as in client-go.

The process whose name is in the Lease leads as long as it renews it. The others judge by when they themselves observe
a change of the object, never by the times in it: clocks of machines differ. The times between writes are client-go's
defaults, so that every client reads the duration in the object alike.
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
"""Seconds that giving the Lease back may take: without a response it runs out by itself."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. Source: client-go, `leaderelection` defaults (15, 10, 2)."""

    duration: float = 15.0
    """After so long any process may take a Lease that does not change."""
    deadline: float = 10.0
    """After so long a holder that could not renew stops. Shorter than `duration`, so that two never overlap."""
    retry: float = 2.0
    """Between tries to get the Lease, and to renew it."""


class Lease:
    """The Lease `name` in `namespace`, which this process holds as `identity`, if at all."""

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
        """Why the last try failed, unless another process holds the Lease."""
        self.tries = 0
        self._api, self._timing = api, timing
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path, self._name = f"{self._collection}/{name}", name
        self._seen: Manifest | None = None
        self._seen_at = 0.0
        self._is_stale = True
        """The Lease may have changed since it was read: it has to be read before a write."""

    @property
    def holder(self) -> str:
        """The holder of the Lease, as far as known; empty without one."""
        spec = (self._seen or {}).get("spec") or {}
        return str(spec.get("holderIdentity") or "")

    @property
    def _is_ours(self) -> bool:
        return self.holder == self.identity

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Waits until the Lease is ours, and renews it until the block is left; then gives it back.

        Raises:
            LeaseLost: the Lease was taken, or could not be renewed in time; the block was cancelled.
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
        """Tries until the Lease is ours."""
        while not await self._try(self._timing.deadline):  # noqa: ASYNC110 - the Lease is not watched
            await asyncio.sleep(self._timing.retry)
        self.is_held = True
        log.info("the lease is ours", extra={"action": "lease-acquired", "identity": self.identity})

    async def _renew(self) -> None:
        """Renews the Lease until it is lost, and raises LeaseLost."""
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
        """Gives the Lease back, so that another process may have it at once. If that fails, it runs out."""
        try:
            async with asyncio.timeout(_RELEASE):
                while not await self._cleared():
                    pass
        except (ClusterError, TimeoutError) as error:
            fields = {"action": "lease-kept", "error": str(error)}
            log.warning("the lease could not be given back, it will run out", extra=fields)

    async def _cleared(self) -> bool:
        """Takes our name off the Lease; False if another client changed it meanwhile."""
        lease = await self._look() if self._is_stale else self._seen
        if lease is None or not self._is_ours:
            return True
        spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()}
        self._is_stale = True
        try:
            self._note(await self._api.call("PUT", self._path, body={**lease, "spec": spec}))
        except Conflict:  # with a renewal that was under way when it was cancelled, or with a user's label
            return False
        return True

    # ---- one try -------------------------------------------------------------------------------------------

    async def _try(self, most: float) -> bool:
        """Writes the Lease. If not, `holder` or `error` says why, after at most `most` seconds."""
        self.tries += 1
        before = self.holder, self.error
        try:
            async with asyncio.timeout(max(0.1, most)):
                written, error = await self._write(), ""
        except (Conflict, Missing):
            written, error = False, ""  # another process was quicker: the next try reads first
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
        """Writes the Lease, unless another holds it. Raises Conflict, Missing: it has changed since it was read."""
        lease = self._seen if self._is_ours and not self._is_stale else await self._look()
        if lease is not None and self.holder not in ("", self.identity) and not self._has_run_out(lease):
            return False
        self._is_stale = True  # until the response is here
        if lease is None:
            self._note(await self._api.call("POST", self._collection, body=self._ours(None)))
        else:
            self._note(await self._api.call("PUT", self._path, body=self._ours(lease)))
        return True

    async def _look(self) -> Manifest | None:
        """The Lease as it is now; None if there is none."""
        try:
            self._note(await self._api.call("GET", self._path))
        except Missing:
            self._seen = None
        self._is_stale = False
        return self._seen

    def _note(self, lease: Manifest) -> None:
        """Takes the Lease as read. Only a change shows that its holder lives."""
        if self._seen is None or _version(lease) != _version(self._seen):
            self._seen_at = asyncio.get_running_loop().time()
        self._seen, self._is_stale = lease, False

    def _has_run_out(self, lease: Manifest) -> bool:
        seconds = (lease.get("spec") or {}).get("leaseDurationSeconds") or self._timing.duration
        return asyncio.get_running_loop().time() >= self._seen_at + float(seconds)

    def _ours(self, lease: Manifest | None) -> Manifest:
        """The Lease as we write it over `lease`, whose version is a precondition."""
        now = _now()
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self._timing.duration)),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        if lease is None:
            meta = {"name": self._name}
            return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
        before = lease.get("spec") or {}
        transitions = int(before.get("leaseTransitions") or 0)
        if before.get("holderIdentity") == self.identity:
            spec |= {"acquireTime": before.get("acquireTime") or now, "leaseTransitions": transitions}
        else:
            spec |= {"leaseTransitions": transitions + 1}
        return {**lease, "spec": {**before, **spec}}


def _version(lease: Manifest) -> str:
    return str(lease["metadata"]["resourceVersion"])


def _now() -> str:
    """A MicroTime. Source: Kubernetes, meta/v1: RFC 3339 with six digits."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
