"""The controller takes back pods that have a job's labels and no controller any more (spec R3).

As controllers of Kubernetes do before they adopt, it reads pod and job from the API server first.
"""

import logging
from collections.abc import Mapping
from typing import Any

from k8s_bridge.observe import is_controlled
from k8s_bridge.port import EVIDENCE, Cluster, Manifest, Ref
from projectors.diff import attempt_of
from statemachine.ids import ATTEMPT
from statemachine.owned import owner_reference
from statemachine.state import JobState

log = logging.getLogger(__name__)


def may_be_taken_back(pod: Manifest, wished: Manifest) -> bool:
    """The pod has no controller, all labels of the desired pod, and is not being deleted.

    One that is may be the last of a job of the same name: taken back, its end would be one of this job's replica. No
    controller of Kubernetes adopts what is being deleted (ControllerRefManager).
    """
    meta, wants = pod["metadata"], wished["metadata"]["labels"]
    has = meta.get("labels") or {}
    is_ours = not is_controlled(pod) and all(has.get(key) == value for key, value in wants.items())
    return is_ours and "deletionTimestamp" not in meta


async def take_back(
    cluster: Cluster,
    state: JobState,
    pod: Manifest,
    attempt: int = 0,
    *,
    labels: Mapping[str, str] | None = None,
    evidence: bool,
) -> bool:
    """Gives the pod, as just read, the job's owner reference and at least the number `attempt`.

    It gets `labels` back, too, without which no watch would show it. Returns False, and changes nothing, if the job
    object is gone or is being deleted: then its pods are being orphaned.
    Raises Missing, Conflict: the pod is gone, or another one by now.
    """
    job = await cluster.get(Ref(state.api_version, state.object_kind, state.namespace, state.name))
    if job["metadata"]["uid"] != state.uid or "deletionTimestamp" in job["metadata"]:
        return False
    ref, meta = Ref.of(pod), pod["metadata"]
    taken: dict[str, Any] = {
        "resourceVersion": meta["resourceVersion"],
        "ownerReferences": [*(meta.get("ownerReferences") or ()), owner_reference(state)],
    }
    finalizers = [name for name in meta.get("finalizers") or () if name != EVIDENCE]
    if evidence and "deletionTimestamp" not in meta:  # a terminating pod takes no more finalizers
        taken["finalizers"] = [*finalizers, EVIDENCE]
    if labels:
        taken["labels"] = dict(labels)
    if attempt > attempt_of(pod):
        taken["annotations"] = {ATTEMPT: str(attempt)}
    await cluster.patch(ref, {"metadata": taken}, uid=meta["uid"])
    log.info("a pod was taken back", extra={"action": "take-back", "pod": str(ref), "job": state.uid})
    return True
