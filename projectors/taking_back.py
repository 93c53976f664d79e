"""Pods that carry a job's labels and that nothing controls any more: they are taken back (spec R3).

As controllers of Kubernetes do before they adopt, the API server is asked first what there is.
"""

import logging
from collections.abc import Mapping
from typing import Any

from k8s_bridge.observe import is_controlled
from k8s_bridge.port import EVIDENCE, Cluster, Manifest, Ref
from projectors.diff import attempt_of
from statemachine.ids import ATTEMPT
from statemachine.kind import owner_reference
from statemachine.state import JobState

log = logging.getLogger(__name__)


def may_be_taken_back(found: Manifest, wished: Manifest) -> bool:
    """Nothing controls the pod, and it carries all labels of the one that is wished for."""
    has, wants = found["metadata"].get("labels") or {}, wished["metadata"]["labels"]
    return not is_controlled(found) and all(has.get(key) == value for key, value in wants.items())


async def take_back(
    cluster: Cluster,
    state: JobState,
    found: Manifest,
    attempt: int = 0,
    *,
    labels: Mapping[str, str] | None = None,
    evidence: bool,
) -> bool:
    """The pod, as it was just read, has the job's owner reference, and says that it is at least this `attempt`.

    It has these `labels` again, without which no watch would show it. False, and nothing happens, if the job object
    is gone or is being deleted: it leaves its pods as orphans just now.
    Raises Missing, Conflict: the pod is another by now.
    """
    job = await cluster.get(Ref(state.api_version, state.object_kind, state.namespace, state.name))
    if job["metadata"]["uid"] != state.uid or "deletionTimestamp" in job["metadata"]:
        return False
    ref, meta = Ref.of(found), found["metadata"]
    taken: dict[str, Any] = {
        "resourceVersion": meta["resourceVersion"],
        "ownerReferences": [*(meta.get("ownerReferences") or ()), owner_reference(state)],
    }
    others = [each for each in meta.get("finalizers") or () if each != EVIDENCE]
    if evidence and "deletionTimestamp" not in meta:  # then none can be added any more
        taken["finalizers"] = [*others, EVIDENCE]
    if labels:
        taken["labels"] = dict(labels)
    if attempt > attempt_of(found):
        taken["annotations"] = {ATTEMPT: str(attempt)}
    await cluster.patch(ref, {"metadata": taken}, uid=meta["uid"])
    log.info("a pod was taken back", extra={"action": "take-back", "pod": str(ref), "job": state.uid})
    return True
