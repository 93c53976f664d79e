"""How many replicas of each type are active, have succeeded, have failed: `status.replicaStatuses`, and what follows.

A pod that runs while somebody deletes it counts as failed, as it may never get to be in that phase; one that is
deleted by us does not. Source: kubeflow-pytorchjob.md, sections 4 and 5.
"""

from collections.abc import Mapping
from typing import Final

from statemachine.ids import ReplicaName, split_replica
from statemachine.kind import Budget
from statemachine.kinds.pytorchjob.replica_types import MASTER
from statemachine.spec import RestartPolicy
from statemachine.state import JobState, ReplicaPhase, ReplicaState

ACTIVE: Final = "active"
SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"

HOW: Final = (ACTIVE, SUCCEEDED, FAILED)
"""How replicas are counted. Source: section 4."""

Tally = Mapping[str, Mapping[str, int]]
"""Replica type → how → number of replicas; zeros are left out."""


def has_master(state: JobState) -> bool:
    """The job has a Master, which decides its result."""
    return any(type_.type == MASTER for type_ in state.running_plan.types)


def is_elastic(state: JobState) -> bool:
    """The number of Workers may change while they train."""
    return state.spec.get("elasticPolicy") is not None


def is_disappearing(replica: ReplicaState) -> bool:
    """It runs, and somebody else is deleting its pod."""
    return replica.phase is ReplicaPhase.RUNNING and replica.deleting and not replica.leaving


def is_active(replica: ReplicaState) -> bool:
    """It runs, and its pod stays."""
    return replica.phase is ReplicaPhase.RUNNING and not replica.deleting and not replica.leaving


def has_failed(replica: ReplicaState) -> bool:
    """It failed, and its pod is still there; or it is about to vanish."""
    return replica.phase is ReplicaPhase.FAILED or is_disappearing(replica)


def count(state: JobState) -> dict[str, dict[str, int]]:
    """The replicas of the current scale as they stand, and those that leave it as long as they are active."""
    tally: dict[str, dict[str, int]] = {type_.type: {} for type_ in state.running_plan.types}
    plan = state.running_plan
    for replica in state.replicas.values():
        how = _how(replica)
        if how and (plan.holds(replica.name) or occupies(replica)):
            counts = tally[split_replica(replica.name)[0]]
            counts[how] = counts.get(how, 0) + 1
    return tally


def occupies(replica: ReplicaState) -> bool:
    """It is active, or to be deleted, which no API server has accepted yet: its place is not free."""
    waits = replica.counted and replica.phase is ReplicaPhase.RUNNING and not replica.deleting
    return waits or is_active(replica)


def _how(replica: ReplicaState) -> str:
    if occupies(replica):
        return ACTIVE
    if replica.has_succeeded:
        return SUCCEEDED
    return FAILED if has_failed(replica) else ""


def final_count(state: JobState, *, succeeded: bool) -> dict[str, dict[str, int]]:
    """The count that a job ends with: after its success, who still runs has done enough."""
    tally = count(state)
    for counts in tally.values() if succeeded else ():
        active = counts.pop(ACTIVE, 0)
        if active:
            counts[SUCCEEDED] = counts.get(SUCCEEDED, 0) + active
    return tally


def started_again(replica: ReplicaState) -> int:
    """How often the kubelet has started containers of the pod again, init containers included."""
    return sum(container.restarts for container in replica.containers)


def counts_in_place(state: JobState, replica: ReplicaState) -> bool:
    """The pod's restarts in place count for `backoffLimit`: it runs, and its policy is not Never."""
    return (
        replica.phase is ReplicaPhase.RUNNING
        and not replica.leaving
        and state.running_plan.holds(replica.name)
        and state.running_plan.type_of(replica.name).restart_policy is not RestartPolicy.NEVER
    )


def in_place(state: JobState) -> int:
    """All restarts in place that count."""
    return sum(started_again(replica) for replica in state.members if counts_in_place(state, replica))


def budget(state: JobState, _replica: ReplicaName | None = None) -> Budget:
    """`backoffLimit`, and what counts for it: restarts in place, and pods made again because they failed.

    Of a job that has ended those of its end: its pods go, and with them the restarts in place that they tell of.
    Source: section 5, "Counting for backoffLimit".
    """
    used = state.spent + (state.in_place if state.cleaned else in_place(state))
    return Budget(state.running_plan.backoff_limit, used)


def is_too_much(state: JobState, started: int) -> bool:
    """So many restarts fail the job when one in place was the last. A limit of 0 is reached by the first."""
    limit = state.running_plan.backoff_limit
    return limit is not None and started >= max(1, limit)
