"""An API server that has one Lease and nothing else, for leader election on simulated time."""

import asyncio
from typing import Any

from k8s_bridge.port import Manifest
from statemachine.errors import Conflict, Missing


class Server:
    """One Lease of an API server; versions are preconditions, an answer takes a hundredth of a second."""

    def __init__(self) -> None:
        self.lease: Manifest | None = None
        self._version = 0

    async def call(self, method: str, path: str, *, body: Any = None) -> Manifest:
        """What `Api.call` gives."""
        await asyncio.sleep(0.005)
        answer = self._served(method, body)
        await asyncio.sleep(0.005)
        return answer

    def put(self, **spec: Any) -> Manifest:
        """Somebody writes the Lease, whatever it was."""
        self._version += 1
        before = (self.lease or {}).get("spec", {})
        self.lease = {"metadata": {"resourceVersion": str(self._version)}, "spec": {**before, **spec}}
        return self.lease

    @property
    def holder(self) -> str:
        """As the Lease has it."""
        return str((self.lease or {}).get("spec", {}).get("holderIdentity", ""))

    def _served(self, method: str, body: Any) -> Manifest:
        if method == "POST":
            if self.lease is not None:
                raise Conflict("it is there", exists=True)
            return self.put(**body["spec"])
        if self.lease is None:
            raise Missing("there is none")
        if method == "GET":
            return self.lease
        assert method == "PUT"
        if body["metadata"] != self.lease["metadata"]:
            raise Conflict("it has changed")
        return self.put(**body["spec"])


class Line:
    """The way of one process to the server, which may be cut."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.open = asyncio.Event()
        self.open.set()

    async def call(self, *arguments: Any, **more: Any) -> Manifest:
        """Nothing comes through while it is cut."""
        await self.open.wait()
        answer = await self._server.call(*arguments, **more)
        await self.open.wait()
        return answer
