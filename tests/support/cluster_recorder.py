"""What etcd tells of objects: every version that was ever stored, also while no API server lives."""

import base64
import json
import socket
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Thread
from typing import Any, Final, Generic, Self, TypeVar

from k8s_bridge.observe import owner_of
from statemachine.ids import ATTEMPT, JobUid
from tests.harness import ControlPlane
from tests.support.cluster_jobs import SIMULATED

Manifest = dict[str, Any]

_BEGIN: Final = 10.0
"""Seconds that etcd may take until it watches."""

_ENDED: Final = ("Succeeded", "Failed")


@dataclass
class PodRecord:
    """One pod, by its uid: who it is, how it stands, and how it ended."""

    uid: str
    name: str
    job: JobUid
    replica: str
    attempt: int
    is_doomed: bool = False
    """Its simulated node ends it by itself."""
    is_running: bool = False
    is_deleting: bool = False
    is_to_end: bool = False
    """Its simulated node was asked to end it, from the beginning or since."""
    changed: float = 0.0
    """When it was stored last, on the monotonic clock."""
    ended: str = ""
    """`Succeeded` or `Failed`."""
    codes: dict[str, int] = field(default_factory=dict)
    """Exit codes by container, once it ended."""
    is_gone: bool = False

    @classmethod
    def of(cls, pod: Manifest) -> Self:
        """A pod that is seen for the first time."""
        meta = pod["metadata"]
        labels = meta.get("labels", {})
        replica = f"{labels.get('replica-type')}-{labels.get('replica-index')}"
        attempt = int(meta.get("annotations", {}).get(ATTEMPT, 0))
        doomed = f"{SIMULATED}run-seconds" in meta.get("annotations", {})
        return cls(meta["uid"], meta["name"], owner_of(pod), replica, attempt, doomed)

    def take(self, pod: Manifest) -> None:
        """The pod's next version."""
        status = pod.get("status", {})
        self.changed = time.monotonic()
        self.is_to_end = f"{SIMULATED}run-seconds" in pod["metadata"].get("annotations", {})
        self.is_deleting = "deletionTimestamp" in pod["metadata"]
        self.is_running = status.get("phase") == "Running" and not self.is_deleting
        if status.get("phase") in _ENDED and not self.ended:
            self.ended = status["phase"]
            # Pod garbage collection calls one Failed that is deleted and was never scheduled: it has no containers.
            self.codes = {
                container["name"]: container["state"]["terminated"]["exitCode"]
                for container in status.get("containerStatuses", ())
            }

    def __str__(self) -> str:
        """Which replica it is, and how it stands."""
        stands = self.ended or ("runs" if self.is_running else "goes" if self.is_deleting else "waits")
        return f"{self.replica} {stands}{' and is to end' * self.is_to_end}"

    def is_overlooked(self, within: float) -> bool:
        """Its simulated node has let so many seconds pass without ending it, as it should have."""
        return self.is_running and self.is_to_end and time.monotonic() - self.changed > within


@dataclass
class JobRecord:
    """One job, by its uid: how it stands, and every phase that its object ever showed."""

    uid: JobUid
    name: str
    status: dict[str, Any] = field(default_factory=dict)
    phases: list[str] = field(default_factory=list)
    is_paused: bool = False
    is_gone: bool = False

    @classmethod
    def of(cls, job: Manifest) -> Self:
        """A job that is seen for the first time."""
        return cls(JobUid(job["metadata"]["uid"]), job["metadata"]["name"])

    def take(self, job: Manifest) -> None:
        """The job's next version."""
        self.status = job.get("status", {})
        self.is_paused = job["spec"].get("runMode", {}).get("pause", {}).get("enabled", False)
        phase = self.status.get("phase", "")
        if phase and (not self.phases or self.phases[-1] != phase):
            self.phases.append(phase)

    @property
    def is_final(self) -> bool:
        """The object says that the job has ended."""
        return self.status.get("phase") in _ENDED


Record = TypeVar("Record", PodRecord, JobRecord)


class Recorder(Generic[Record]):
    """Records every object under a prefix of etcd's keys from now on, in a thread of its own. Needs `readable`."""

    def __init__(self, plane: ControlPlane, prefix: str, kind: type[Record]) -> None:
        self.trouble = ""
        self._kind: type[Record] = kind
        self._by_uid: dict[str, Record] = {}
        self._by_key: dict[str, Record] = {}
        self._connection = HTTPConnection(*plane.etcd, timeout=_BEGIN)
        self._changes = self._watch(prefix)
        next(self._changes)
        self._socket = self._connection.sock
        self._socket.settimeout(None)
        self._thread = Thread(target=self._record, daemon=True)

    def recorded(self) -> list[Record]:
        """All that there were, in the order in which they were created."""
        return list(self._by_uid.values())

    def living(self) -> list[Record]:
        """Those that there are."""
        return [record for record in self.recorded() if not record.is_gone]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(_BEGIN)
        self._connection.close()

    def _watch(self, prefix: str) -> Iterator[list[Any]]:
        """What etcd reports, the first time that nothing has happened yet."""
        wish = {"key": _coded(prefix), "range_end": _coded(prefix[:-1] + chr(ord(prefix[-1]) + 1))}
        self._connection.request("POST", "/v3/watch", body=json.dumps({"create_request": wish}))
        answer = self._connection.getresponse()
        while line := answer.readline():
            yield json.loads(line)["result"].get("events", [])

    def _record(self) -> None:
        try:
            for changes in self._changes:
                for change in changes:
                    self._take(change)
            self.trouble = "etcd has ended the watch"
        except (OSError, HTTPException, KeyError, ValueError):
            self.trouble = traceback.format_exc()

    def _take(self, change: Manifest) -> None:
        key = change["kv"]["key"]
        if change.get("type") == "DELETE":
            self._by_key.pop(key).is_gone = True
            return
        manifest = json.loads(base64.b64decode(change["kv"]["value"]))
        uid = manifest["metadata"]["uid"]
        if uid not in self._by_uid:
            self._by_uid[uid] = self._kind.of(manifest)
        self._by_key[key] = self._by_uid[uid]
        self._by_uid[uid].take(manifest)


def _coded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()
