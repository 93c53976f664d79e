"""What a PyTorchJob's spec boils down to: its replica types, who decides, the plan.

Source: kubeflow-pytorchjob.md, sections 1, 5 and 6.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.ids import JobUid, ReplicaName, replica_name
from statemachine.kind import Scaling
from statemachine.kinds.pytorchjob.spec import DEFAULT_PROCESSES, PyTorchJobSpec, ReplicaSpec
from statemachine.schema.lookup import find, number
from statemachine.spec import CleanUpPolicy, Plan, ReplicaType, RestartPolicy

MASTER: Final = "master"
WORKER: Final = "worker"
"""The replica types as they stand in names and labels: in lower case."""

KEYS: Final = {MASTER: "Master", WORKER: "Worker"}
"""The same as they stand in spec, status and messages."""

_CLEAN_UP: Final = {
    "None": CleanUpPolicy.NONE,
    "Running": CleanUpPolicy.UNFINISHED,
    "All": CleanUpPolicy.ALL,
}


def by_type(spec: PyTorchJobSpec) -> Iterator[tuple[str, ReplicaSpec]]:
    """The replica types that the job has, the Master first."""
    specs = spec.pytorch_replica_specs
    for type_, replica_spec in ((MASTER, specs.master), (WORKER, specs.worker)):
        if replica_spec is not None:
            yield type_, replica_spec


def has_master(spec: PyTorchJobSpec) -> bool:
    """The job has a Master, which decides its result."""
    return spec.pytorch_replica_specs.master is not None


def primary(spec: PyTorchJobSpec) -> ReplicaName:
    """The replica with job role master: the Master, else the first Worker. Source: section 3."""
    return replica_name(MASTER if has_master(spec) else WORKER, 0)


def total(spec: PyTorchJobSpec) -> int:
    """Number of replicas over all types."""
    return sum(replica_spec.replicas for _, replica_spec in by_type(spec))


def processes_per_node(spec: PyTorchJobSpec) -> str | None:
    """`nprocPerNode` or its default; None where the deprecated field of the elastic policy holds."""
    if spec.nproc_per_node is not None:
        return spec.nproc_per_node
    elastic = spec.elastic_policy
    return None if elastic is not None and elastic.n_proc_per_node is not None else DEFAULT_PROCESSES


def elastic_range(spec: PyTorchJobSpec) -> tuple[int, int]:
    """The fewest and the most Workers: what is not said is the other, else the number of Workers."""
    elastic, worker = spec.elastic_policy, spec.pytorch_replica_specs.worker
    workers = 0 if worker is None else worker.replicas
    if elastic is None:
        return workers, workers
    ends = [end for end in (elastic.min_replicas, elastic.max_replicas) if end is not None]
    return (ends[0], ends[-1]) if ends else (workers, workers)


def scaling(spec: Mapping[str, Any]) -> Scaling | None:
    """The Workers of an elastic job are scaled between its ends, unless metrics make an autoscaler that does it.

    Source: section 1, `elasticPolicy`; console.md, section 5.
    """
    workers = find(spec, "pytorchReplicaSpecs.Worker")
    if (
        find(spec, "elasticPolicy") is None
        or workers is None
        or find(spec, "elasticPolicy.metrics") is not None
    ):
        return None
    ends = [number(spec, f"elasticPolicy.{name}") for name in ("minReplicas", "maxReplicas")]
    said = [end for end in ends if end is not None]
    if not said or said[0] == said[-1]:
        return None
    now = number(workers, "replicas")
    return Scaling(said[0], said[-1], 1 if now is None else now)


def scaled(of: Plan) -> int:
    """The Workers: a Master is never scaled. Source: section 1, subresource `scale`."""
    return sum(type_.scale for type_ in of.types if type_.type != MASTER)


def plan(_name: str, _uid: JobUid, spec: PyTorchJobSpec) -> Plan:
    """How the job is to be run."""
    types = tuple(
        ReplicaType(
            type=type_, scale=replica_spec.replicas, restart_policy=RestartPolicy(replica_spec.restart_policy)
        )
        for type_, replica_spec in by_type(spec)
    )
    policy = spec.run_policy
    return Plan(
        types=types,
        primary=primary(spec),
        paused=policy.suspend,
        backoff_limit=policy.backoff_limit,
        active_deadline_seconds=policy.active_deadline_seconds,
        clean_up=_CLEAN_UP[policy.clean_pod_policy],
        ttl_seconds=policy.ttl_seconds_after_finished,
    )
