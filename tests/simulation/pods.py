"""What really happened to the pods, whatever the controllers believe: the cluster's own record."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from k8s_bridge.observe import owner_of
from k8s_bridge.port import EVIDENCE, Change, Manifest, Verb
from statemachine.ids import ATTEMPT, JobUid, PodUid, ReplicaName
from statemachine.kinds import replica_of
from tests.support.faults import Weather
from tests.support.memory_log import MemoryLog

Key = tuple[JobUid, ReplicaName, int]
"""Job, replica, attempt."""


@dataclass
class PodLife:
    """One pod. `held` for its evidence; `unexpected`: made by a create that was given up, see `Weather`."""

    uid: PodUid
    key: Key
    held: bool
    unexpected: bool
    ended: str = ""
    ended_before_deletion: bool = False
    deleted: bool = False
    gone: bool = False


class PodRegister:
    """Listens to the cluster, and remembers every pod that ever was. `forced` are those removed by force."""

    def __init__(self, log: MemoryLog, weather: Weather) -> None:
        self._log, self._weather = log, weather
        self.pods: dict[PodUid, PodLife] = {}
        self.forced: set[PodUid] = set()
        self.deleted_by_others: set[PodUid] = set()
        self.stripped: set[PodUid] = set()
        """Those whose owner references somebody took away: nobody deletes them with their jobs."""
        self.relabelled: set[PodUid] = set()
        """Those of which somebody changed a label of ours."""
        self.twins: list[str] = []
        """Pods made although one of their attempt had been made, and could be known."""
        self._of_attempt: dict[Key, list[PodLife]] = {}

    def changed(self, change: Change) -> None:
        """The cluster says that an object changed."""
        pod = change.object
        if pod["kind"] != "Pod":
            return
        if change.verb is Verb.ADDED and owner_of(pod):
            self._added(pod)
        life = self.pods.get(pod["metadata"]["uid"])
        if life is None:
            return  # somebody else's
        phase, deleted = pod["status"]["phase"], "deletionTimestamp" in pod["metadata"]
        if phase in ("Succeeded", "Failed") and not life.ended:
            life.ended, life.ended_before_deletion = phase, not life.deleted
        life.deleted |= deleted
        life.gone |= change.verb is Verb.DELETED

    def _added(self, pod: Manifest) -> None:
        meta = pod["metadata"]
        held, unexpected = EVIDENCE in meta.get("finalizers", ()), self._weather.unexpected
        life = PodLife(meta["uid"], key_of(pod), held, unexpected)
        earlier = self._of_attempt.setdefault(life.key, [])
        twins = [other for other in earlier if self._knowable(other) and not other.unexpected]
        if not unexpected:  # such a create nobody can take back, only what it made
            self.twins += [f"{life.uid} follows {twin.uid} as {life.key}" for twin in twins]
        earlier.append(life)
        self.pods[life.uid] = life

    def of_attempt(self, key: Key) -> Sequence[PodLife]:
        """All pods that were made for the attempt."""
        return self._of_attempt.get(key, ())

    def is_missed_in_log(self, key: Key) -> bool:
        """Some entry says that no pod of the attempt exists."""
        job, replica, attempt = key
        end = f'"replica":"{replica}","attempt":{attempt}}}'  # and no uid
        said = re.compile(rf'"type":"PodGone",[^{{}}]*{re.escape(end)}'.encode())
        return any(record.job == job and said.search(record.body) for record in self._log._records)

    def _knowable(self, pod: PodLife) -> bool:
        """Its existence could not be missed: something held it until it was seen, or it was seen.

        Nobody holds a pod without an owner that is being deleted, which the log does not have (ADR 0009).
        """
        if self.is_in_log(pod.uid):
            return True
        is_left_to_go = pod.deleted and pod.uid in self.stripped
        return pod.held and pod.uid not in self.forced and not self.is_nobody_s(pod.uid) and not is_left_to_go

    def is_nobody_s(self, uid: PodUid) -> bool:
        """Somebody changed its labels and took its owner away: only the log could tell whose it is (spec R3)."""
        return uid in self.relabelled and uid in self.stripped and not self.is_in_log(uid)

    def is_in_log(self, uid: PodUid) -> bool:
        """Some entry of its job names the pod: a history of another release may use the same uid."""
        life, quoted = self.pods.get(uid), f'"uid":"{uid}"'.encode()
        ours = (record for record in self._log._records if life is None or record.job == life.key[0])
        return any(quoted in record.body for record in ours)


def key_of(pod: Manifest) -> Key:
    """Whose pod it is, and which attempt."""
    meta = pod["metadata"]
    owner = next(reference["uid"] for reference in meta["ownerReferences"] if reference["controller"])
    replica = replica_of(meta["labels"])
    assert replica is not None, meta["labels"]
    return JobUid(owner), replica, int(meta["annotations"][ATTEMPT])
