"""Who is who in an XGBoostTrainingJob: names, pod templates, the master, the plan. Source: xgboosttrainingjob.md."""

from typing import Final

from statemachine.ids import JobUid, replica_name
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.kinds.t9k.listed import slots
from statemachine.kinds.t9k.services import hashed_service
from statemachine.kinds.xgboosttrainingjob.spec import XGBoostTrainingSpec
from statemachine.schema.layout import Layout
from statemachine.spec import CleanUpPolicy, Plan, ReplicaType, RestartPolicy

NAMES = t9k_names("XGBoostTrainingJob", "xj")

CONTAINER: Final = "xgboost"
"""Name of the container that trains."""

MASTER: Final = "master"

LAYOUT = Layout(
    slots=slots,
    training_names=(CONTAINER,),
    generated_env=lambda _: ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"),
)


def plan(name: str, uid: JobUid, spec: XGBoostTrainingSpec) -> Plan:
    """How the job is to be run: the master decides, wherever it stands in the list."""
    return Plan(
        types=tuple(
            ReplicaType(
                type=replica.type,
                scale=replica.replicas,
                restart_policy=RestartPolicy(replica.restart_policy),
            )
            for replica in spec.replica_specs
        ),
        primary=replica_name(MASTER, 0),
        paused=spec.run_mode.pause.enabled,
        backoff_limit=spec.run_policy.backoff_limit,
        active_deadline_seconds=spec.run_policy.active_deadline_seconds,
        clean_up=CleanUpPolicy(spec.run_policy.clean_up_policy),
        service=hashed_service(name, uid),
    )
