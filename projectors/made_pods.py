"""The pods that this process created, as long as the log has no report of them: a second one would be a duplicate."""

from dataclasses import dataclass
from datetime import datetime

from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.owned import Child
from statemachine.state import JobState


@dataclass(slots=True)
class MadePod:
    """A pod of ours that the log does not have yet; `missing_since` it does not exist any more."""

    attempt: int
    uid: PodUid
    missing_since: datetime | None = None


class MadePods:
    """Pods of ours by job and replica."""

    def __init__(self) -> None:
        self._pods: dict[JobUid, dict[ReplicaName, MadePod]] = {}

    def add(self, job: JobUid, child: Child, uid: PodUid) -> None:
        """The pod `child` was created."""
        self._pods.setdefault(job, {})[child.replica] = MadePod(child.attempt, uid)

    def before(self, job: JobUid, child: Child) -> MadePod | None:
        """The pod of this attempt that was created before, if `child` is a pod and there was one."""
        pod = self._pods.get(job, {}).get(child.replica) if child.replica else None
        return pod if pod is not None and pod.attempt == child.attempt else None

    def drop_reported(self, state: JobState) -> None:
        """Drops pods that the log has, or does not wait for any more."""
        pods = self._pods.get(state.uid, {})
        for name, pod in list(pods.items()):
            replica = state.replicas.get(name)
            if replica is None or replica.uid or replica.attempt != pod.attempt:
                del pods[name]
        if not pods:
            self._pods.pop(state.uid, None)
