"""Logs of simulated pods, kept after the pods are gone (the newest of them)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from k8s_bridge.port import Ref
from statemachine.errors import Missing

_KEPT = 10_000
"""The number of pods whose logs are kept."""


@dataclass(slots=True)
class _PodLog:
    ref: Ref
    containers: dict[str, bytes]
    ended: bool = False
    more: list[asyncio.Event] = field(default_factory=list)

    def wake(self) -> None:
        for event in self.more:
            event.set()


class SimLogs:
    """Logs by pod uid; a name means the newest pod that had it."""

    def __init__(self) -> None:
        self._by_uid: dict[str, _PodLog] = {}
        self._newest: dict[Ref, str] = {}

    def open(self, ref: Ref, uid: str, containers: Sequence[str]) -> None:
        """Opens the logs of a new pod with these containers."""
        self._by_uid[uid] = _PodLog(ref, dict.fromkeys(containers, b""))
        self._newest[ref] = uid
        if len(self._by_uid) > _KEPT:
            oldest = next(iter(self._by_uid))
            log = self._by_uid.pop(oldest)
            if self._newest.get(log.ref) == oldest:
                del self._newest[log.ref]

    def write(self, namespace: str, name: str, data: bytes, container: str = "") -> None:
        """Appends `data` to the log of the newest pod of that name. Raises Missing."""
        log, container = self._find(namespace, name, "", container)
        log.containers[container] += data
        log.wake()

    def end(self, uid: str) -> None:
        """Ends the logs of the pod."""
        log = self._by_uid.get(uid)
        if log is not None and not log.ended:
            log.ended = True
            log.wake()

    async def read(
        self, namespace: str, name: str, *, uid: str, container: str, follow: bool
    ) -> AsyncIterator[bytes]:
        """The log so far, then (with `follow`) what is added until the pod ends. Raises Missing."""
        log, container = self._find(namespace, name, uid, container)
        at, changed = 0, asyncio.Event()
        log.more.append(changed)
        try:
            while True:
                changed.clear()
                piece, ended = log.containers[container][at:], log.ended
                at += len(piece)
                if piece:
                    yield piece
                elif ended or not follow:
                    return
                else:
                    await changed.wait()
        finally:
            log.more.remove(changed)

    def _find(self, namespace: str, name: str, uid: str, container: str) -> tuple[_PodLog, str]:
        ref = Ref("v1", "Pod", namespace, name)
        log = self._by_uid.get(uid or self._newest.get(ref, ""))
        if log is None or log.ref != ref:
            raise Missing(f'pod "{name}" not found')
        container = container or next(iter(log.containers), "")
        if container not in log.containers:
            raise Missing(f'container "{container}" is not one of pod "{name}"')
        return log, container
