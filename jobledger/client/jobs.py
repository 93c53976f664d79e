"""What verbs ask about jobs, of a server or of the cluster."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

Manifest = dict[str, Any]


class Listing(Protocol):
    """Jobs by name: of a server, a cluster's API server, or a log alone (`jobledger.lives.offline`)."""

    def jobs(
        self, *, namespace: str | None = None, phase: str = "", selector: str = "", gone: bool = False
    ) -> list[Manifest]:
        """Jobs by namespace and name; `selector` is one of labels, as Kubernetes has it."""

    def job(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> Manifest:
        """A job."""


class Jobs(Listing, Protocol):
    """What the verbs ask about jobs: of a server here, or of a cluster's API server (`jobledger.plugin.cluster`)."""

    def events(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> list[dict[str, Any]]:
        """The Kubernetes Events of a job, oldest first."""

    def logs(self, namespace: str, name: str, **which: str | bool) -> AbstractContextManager[Iterator[bytes]]:
        """What a replica writes. `which`: kind, replica, container, previous, follow."""

    def watch(
        self, *, namespace: str | None = None, name: str | None = None, selector: str = ""
    ) -> Iterator[tuple[str, Manifest]]:
        """Jobs as they stand (ADDED), ("SYNCED", {}), then every change, for ever."""

    def wish(
        self,
        wish: str,
        namespace: str,
        name: str,
        body: Mapping[str, Any] | None = None,
        *,
        kind: str = "",
        uid: str = "",
    ) -> Manifest:
        """`pause`, `resume`, or `scale` with a body; the job as stored."""
