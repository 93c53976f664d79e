"""Who is who in a TensorFlowTrainingJob: names, pod templates, the primary, the plan.

Source: tensorflowtrainingjob.md, sections 2 and 3.
"""

from typing import Final

from statemachine.ids import JobUid, ReplicaName, replica_name, short_hash
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.kinds.t9k.listed import slots
from statemachine.kinds.t9k.services import hashed_service
from statemachine.kinds.t9k.tensorboard import planned
from statemachine.kinds.tensorflowtrainingjob.spec import TensorFlowTrainingSpec
from statemachine.schema.layout import Layout
from statemachine.spec import CleanUpPolicy, Plan, ReplicaType, RestartPolicy

NAMES = t9k_names("TensorFlowTrainingJob", "tj")

CONTAINER: Final = "tensorflow"
"""Name of the container that trains."""

CHIEF: Final = "chief"
WORKER: Final = "worker"
PS: Final = "ps"
EVALUATOR: Final = "evaluator"

TF_CONFIG: Final = "TF_CONFIG"

LAYOUT = Layout(slots=slots, training_names=(CONTAINER,), generated_env=lambda _: (TF_CONFIG,))


def plan(name: str, uid: JobUid, spec: TensorFlowTrainingSpec) -> Plan:
    """How the job is to be run: the chief decides, wherever it stands in the list, or else worker 0."""
    return Plan(
        types=tuple(
            ReplicaType(
                type=replica.type,
                scale=replica.replicas,
                restart_policy=RestartPolicy(replica.restart_policy),
            )
            for replica in spec.replica_specs
        ),
        primary=_primary(spec),
        paused=spec.run_mode.pause.enabled,
        backoff_limit=spec.run_policy.backoff_limit,
        active_deadline_seconds=spec.run_policy.active_deadline_seconds,
        clean_up=CleanUpPolicy(spec.run_policy.clean_up_policy),
        children=() if spec.tensorboard_spec is None else (planned(f"{name}-{short_hash(uid)}"),),
        service=hashed_service(name, uid),
    )


def _primary(spec: TensorFlowTrainingSpec) -> ReplicaName:
    chief = any(replica.type == CHIEF and replica.replicas for replica in spec.replica_specs)
    return replica_name(CHIEF if chief else WORKER, 0)
