"""The spec of a PyTorchTrainingJob. Source: pytorchtrainingjob.md, section 1."""

from typing import Annotated, Literal

from pydantic import Field

from statemachine.kinds.t9k.parts import (
    Elastic,
    ReplicaSpec,
    RunMode,
    RunPolicy,
    Scheduler,
    TensorBoardSpec,
)
from statemachine.schema.fields import AsText, Count, Ignored, Mutable, SpecPart, Was, Word

PROC_PER_NODE_PATTERN = "^([1-9][0-9]*|gpu|cpu|auto)$"


class TorchReplicaSpec(ReplicaSpec):
    """One type of replicas: pods that are alike but for their index."""

    scaling_weight: Count = Field(
        1,
        description="Share of this type when elastic training spreads replicas over the types. "
        "0: always as many as replicas says.",
    )


class TorchrunConfig(SpecPart):
    """How torchrun starts the training. Script and arguments are the args of the training container."""

    enabled: Annotated[bool, Was("enable")] = Field(
        False,
        description="Start the training with torchrun; the command of the training container is then "
        "ignored. Default false.",
    )
    max_restarts: Count | None = Field(
        None,
        description="How often torchrun restarts its processes inside living pods. Not to be confused with "
        "runPolicy.backoffLimit, which counts pods. Default: as torchrun has it.",
    )
    proc_per_node: Annotated[str, Field(pattern=PROC_PER_NODE_PATTERN), AsText()] | None = Field(
        None, description="Processes per replica: a number, gpu (one for each GPU), cpu or auto."
    )
    rdzv_backend: Literal["c10d", "etcd", "etcd-v2"] = Field(
        "c10d", description="How the replicas find each other. etcd and etcd-v2 need a server of your own."
    )
    extra_options: list[Word] | None = Field(
        None, max_length=256, description="Further options of torchrun. They win over the generated ones."
    )
    min_nodes: Annotated[int | None, Ignored("spec.elastic.minReplicas")] = None


class PyTorchTrainingSpec(SpecPart):
    """What is to be trained, where and how."""

    replica_specs: list[TorchReplicaSpec] = Field(
        min_length=1,
        max_length=16,
        description="The replicas by type. The first replica of the first type is the master.",
    )
    torchrun_config: TorchrunConfig = Field(TorchrunConfig(), description="Start the training with torchrun.")
    elastic: Elastic = Field(Elastic(), description="Let the number of replicas change; only with torchrun.")
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
