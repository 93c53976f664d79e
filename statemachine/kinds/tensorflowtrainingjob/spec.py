"""The spec of a TensorFlowTrainingJob. Source: tensorflowtrainingjob.md, section 1."""

from typing import Annotated, Literal

from pydantic import Field

from statemachine.kinds.t9k.parts import ReplicaSpec, RunMode, RunPolicy, Scheduler, TensorBoardSpec
from statemachine.schema.fields import Mutable, SpecPart


class TensorFlowReplicaSpec(ReplicaSpec):
    """The chief, the workers, the parameter servers, or the evaluator."""

    type: Literal["chief", "worker", "ps", "evaluator"] = Field(
        description="chief, worker, ps or evaluator. Becomes part of pod names."
    )


class TensorFlowTrainingSpec(SpecPart):
    """What is to be trained, where and how."""

    replica_specs: list[TensorFlowReplicaSpec] = Field(
        min_length=1,
        max_length=4,
        description="The replicas by type. The chief decides the result; without a chief worker 0 does.",
    )
    run_policy: Annotated[RunPolicy, Mutable(until_finished=True)] = Field(
        RunPolicy(), description="How long the job may run, how often it may fail, what is left of it."
    )
    run_mode: RunMode = Field(RunMode(), description="Debug and pause.")
    scheduler: Scheduler | None = Field(
        None, description="Who places the pods. Default: the cluster's scheduler."
    )
    tensorboard_spec: Annotated[TensorBoardSpec | None, Mutable()] = Field(
        None, description="Make a TensorBoard for the job, with this spec."
    )
