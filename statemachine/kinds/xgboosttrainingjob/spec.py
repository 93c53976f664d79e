"""The spec of an XGBoostTrainingJob. Source: xgboosttrainingjob.md, section 1."""

from typing import Annotated, Literal

from pydantic import Field

from statemachine.kinds.t9k.parts import ReplicaSpec, RunMode, RunPolicy, Scheduler
from statemachine.schema.fields import Mutable, SpecPart


class XGBoostReplicaSpec(ReplicaSpec):
    """The master, or the workers."""

    type: Literal["master", "worker"] = Field(description="master or worker. Becomes part of pod names.")


class XGBoostTrainingSpec(SpecPart):
    """What is to be trained, where and how."""

    replica_specs: list[XGBoostReplicaSpec] = Field(
        min_length=1, max_length=2, description="The master and the workers. The master decides the result."
    )
    run_policy: Annotated[RunPolicy, Mutable(until_finished=True)] = Field(
        RunPolicy(), description="How long the job may run, how often it may fail, what is left of it."
    )
    run_mode: RunMode = Field(RunMode(), description="Debug and pause.")
    scheduler: Scheduler | None = Field(
        None, description="Who places the pods. Default: the cluster's scheduler."
    )
