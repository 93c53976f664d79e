"""Jobs of batch/v1 in a simulated cluster: what Kubernetes' Job controller and its garbage collector do with them.

A Job has one pod at a time; the next is made when one has failed or is gone, until `backoffLimit` is passed. What
becomes of a pod is the script's of the cluster to say.
"""

import asyncio
import copy
from typing import Any, Final

from k8s_bridge.port import Change, Manifest, Ref, Verb
from k8s_bridge.stored import controller
from tests.support.memory_cluster import MemoryCluster

_USUAL_LIMIT: Final = 6
"""Source: Kubernetes, batch/v1 JobSpec.backoffLimit."""

_SOON: Final = 0.2
"""Seconds between a change and what the controller does about it."""


class JobController:
    """Acts on the Jobs of a cluster, a moment after each change of one, or of a pod of one."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._lost: dict[str, set[str]] = {}
        """uid of a Job → the uids of its pods that failed, or were deleted before they had succeeded."""
        self._made: dict[str, int] = {}
        self._jobs: dict[str, Ref] = {}
        cluster.objects.subscribe(self._changed)

    def _changed(self, change: Change) -> None:
        raw = change.object
        if raw["kind"] == "Job":
            self._jobs[raw["metadata"]["uid"]] = Ref.of(raw)
            self._later(raw["metadata"]["uid"])
        elif raw["kind"] == "Pod" and (owner := controller(raw)) in self._jobs:
            phase = raw["status"]["phase"]
            if phase == "Failed" or (change.verb is Verb.DELETED and phase != "Succeeded"):
                self._lost.setdefault(owner, set()).add(raw["metadata"]["uid"])
            self._later(owner)

    def _later(self, uid: str) -> None:
        asyncio.get_running_loop().call_later(_SOON, self._look, uid)

    def _look(self, uid: str) -> None:
        objects, ref = self._cluster.objects, self._jobs[uid]
        job = objects.peek(ref)
        pods = [pod for pod in objects.peek_children("", uid) if pod["kind"] == "Pod"]
        if job is None or job["metadata"]["uid"] != uid:
            for pod in pods:
                if "deletionTimestamp" not in pod["metadata"]:
                    objects.delete(Ref.of(pod))
            return
        phases = [pod["status"]["phase"] for pod in pods]
        living = [phase for phase in phases if phase not in ("Succeeded", "Failed")]
        lost, limit = len(self._lost.get(uid, ())), job["spec"].get("backoffLimit", _USUAL_LIMIT)
        status: dict[str, Any] = {"active": len(living), "failed": lost}
        if (job.get("status") or {}).get("conditions"):
            return  # it has ended
        if "Succeeded" in phases:
            status |= {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
        elif lost > limit:
            over = {
                "type": "Failed",
                "status": "True",
                "reason": "BackoffLimitExceeded",
                "message": "too often",
            }
            status["conditions"] = [over]
        elif not living:
            self._make(uid, job)
            status["active"] = 1
        objects.set_status(ref, uid, status)

    def _make(self, uid: str, job: Manifest) -> None:
        number = self._made[uid] = self._made.get(uid, 0) + 1
        meta, template = job["metadata"], copy.deepcopy(job["spec"]["template"])
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": meta["name"],
            "uid": uid,
            "controller": True,
        }
        template["metadata"] |= {
            "name": f"{meta['name']}-n{number}",
            "namespace": meta["namespace"],
            "ownerReferences": [owner],
        }
        self._cluster.objects.create({"apiVersion": "v1", "kind": "Pod", **template})
