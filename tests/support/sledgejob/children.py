"""The objects of a SledgeJob: a harness, then dogs."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from statemachine.ids import ATTEMPT, ReplicaName, split_replica
from statemachine.owned import Child, Manifest, Owned
from statemachine.schema.lookup import entries, text
from statemachine.schema.manual import Variable
from statemachine.state import JobState
from tests.support.sledgejob.roles import HARNESS, LAYOUT, NAMES, metadata, pod_name, slots
from tests.support.sledgejob.spec import SledgeSpec

ENV: Final = (Variable("PLACE", ("own index",), "where the dog runs"),)


def _facts(raw: Mapping[str, Any]) -> Mapping[str, str]:
    tied = text(raw, "status.tied")
    return {"tied": tied} if tied else {}


OWNS: Final = (
    Owned(
        NAMES.api_version,
        HARNESS,
        "harnesses",
        when=("pace", "trot"),
        facts=_facts,
        needed=False,
        compared="spec",
        locally="has no dogs; pull yourself",
    ),
)


def children(state: JobState, spec: SledgeSpec) -> Iterator[Child]:
    """In the order of creation."""
    if spec.harness is not None:
        build = partial(_harness, state, spec.harness.size)
        yield Child(NAMES.api_version, HARNESS, state.name, build, mutable=True, optional=True)
    for replica in state.running_plan.replicas():
        known = state.replicas.get(replica)
        build = partial(_pod, state, replica, known.attempt if known else 0)
        attempt = known.attempt if known else 0
        yield Child("v1", "Pod", pod_name(state, replica), build, replica=replica, attempt=attempt)


def _harness(state: JobState, size: int) -> Manifest:
    return {
        "apiVersion": NAMES.api_version,
        "kind": HARNESS,
        "metadata": metadata(state, state.name),
        "spec": {"size": size},
    }


def _pod(state: JobState, replica: ReplicaName, attempt: int) -> Manifest:
    type_, index = split_replica(replica)
    slot = next(slot for slot in slots(state.spec) if slot.type == type_)
    at, training = LAYOUT.admitted_training(slot)
    containers = [dict(container) for _, container in slot.containers]
    containers[at]["env"] = [{"name": "PLACE", "value": str(index)}, *(training.get("env") or ())]
    meta = metadata(state, pod_name(state, replica), replica)
    meta["labels"] = {**entries(slot.template, "metadata.labels"), **meta["labels"]}
    meta["annotations"] = {**slot.annotations, ATTEMPT: str(attempt)}
    spec = {**entries(slot.template, "spec"), "containers": containers, "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
