"""Who is who in a PyTorchTrainingJob: names, pod templates, the master, the plan.

Source: pytorchtrainingjob.md, sections 3 and 5.
"""

from collections.abc import Mapping
from typing import Any

from statemachine.ids import JobUid, replica_name, short_hash
from statemachine.kind import Scaling
from statemachine.kinds.common.kind import usual_scaling
from statemachine.kinds.pytorchtrainingjob.spec import PyTorchTrainingSpec
from statemachine.kinds.t9k.elastic import distributed
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.kinds.t9k.listed import slots
from statemachine.kinds.t9k.services import hashed_service
from statemachine.kinds.t9k.tensorboard import planned
from statemachine.schema.layout import Layout
from statemachine.schema.lookup import flag
from statemachine.spec import CleanUpPolicy, Plan, ReplicaType, RestartPolicy

NAMES = t9k_names("PyTorchTrainingJob", "pj")


def generated_env(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the variables that replace the user's. Source: section 3."""
    always = ("MASTER_ADDR", "MASTER_PORT")
    return always if flag(spec, "torchrunConfig.enabled") else (*always, "WORLD_SIZE", "RANK")


LAYOUT = Layout(slots=slots, training_names=("python", "pytorch"), generated_env=generated_env)


def is_elastic(spec: Mapping[str, Any]) -> bool:
    """The number of replicas may change while they train: torchrun alone can do that (PT2)."""
    return flag(spec, "elastic.enabled") and flag(spec, "torchrunConfig.enabled")


def scaling(spec: Mapping[str, Any]) -> Scaling | None:
    """How the job is scaled; not at all where `elastic` takes no effect."""
    return usual_scaling(spec) if is_elastic(spec) else None


def _is_elastic(spec: PyTorchTrainingSpec) -> bool:
    return spec.elastic.enabled and spec.torchrun_config.enabled


def scales(spec: PyTorchTrainingSpec) -> tuple[int, ...]:
    """Number of replicas of each type, in the order of the spec. Source: section 5."""
    numbers = tuple(replica_spec.replicas for replica_spec in spec.replica_specs)
    if not _is_elastic(spec) or spec.elastic.expected_replicas is None:
        return numbers
    shares = [(replica_spec.scaling_weight, replica_spec.replicas) for replica_spec in spec.replica_specs]
    return distributed(spec.elastic.expected_replicas, shares)


def plan(name: str, uid: JobUid, spec: PyTorchTrainingSpec) -> Plan:
    """How the job is to be run: the master decides, elastic jobs are up with `minReplicas`."""
    types = tuple(
        ReplicaType(
            type=replica_type.type, scale=scale, restart_policy=RestartPolicy(replica_type.restart_policy)
        )
        for replica_type, scale in zip(spec.replica_specs, scales(spec), strict=True)
    )
    return Plan(
        types=types,
        primary=replica_name(types[0].type, 0),
        min_running=spec.elastic.min_replicas if _is_elastic(spec) else None,
        paused=spec.run_mode.pause.enabled,
        backoff_limit=spec.run_policy.backoff_limit,
        active_deadline_seconds=spec.run_policy.active_deadline_seconds,
        clean_up=CleanUpPolicy(spec.run_policy.clean_up_policy),
        children=() if spec.tensorboard_spec is None else (planned(f"{name}-{short_hash(uid)}"),),
        service=hashed_service(name, uid),
    )
