"""The spec of a DeepSpeedJob. Source: deepspeedjob.md, section 1."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from statemachine.kinds.t9k.parts import Elastic, Policy, RunMode, RunPolicy, Scheduler, Words
from statemachine.schema.fields import (
    AsWords,
    Mutable,
    PodTemplate,
    Positive,
    SpecPart,
    Was,
    Word,
    replica_count,
)


class WorkerSpec(SpecPart):
    """The workers: pods that are alike but for their index. worker-0 runs the launcher."""

    replicas: Annotated[int, replica_count(1)] = Field(
        1, description="Number of workers; ignored in elastic training."
    )
    restart_policy: Policy = Field(
        "OnFailure",
        description="Which ends of a pod make the controller start it again. ExitCode: only exit codes 130, "
        "137, 138 and 143, or an end without exit code. Every restart counts towards runPolicy.backoffLimit.",
    )
    template: PodTemplate = Field(
        description="Pod template of the workers; the image needs deepspeed, pdsh, and an SSH server and client. "
        "Its restartPolicy is ignored: pods get Never, the controller restarts. Cannot be changed after creation."
    )


class Run(SpecPart):
    """What is started: exactly one of the three. Each is a list of words, or one string that a shell would split."""

    model_config = ConfigDict(json_schema_extra={"maxProperties": 1})

    python: Annotated[Words, AsWords()] | None = Field(
        None, description="A Python script and its arguments: a list, or a string with all of it."
    )
    module: Annotated[Words, AsWords()] | None = Field(
        None, description="A Python module and its arguments: a list, or a string with all of it."
    )
    exec: Annotated[Words, AsWords()] | None = Field(
        None, description="A program and its arguments: a list, or a string with all of it."
    )


class Config(SpecPart):
    """How deepspeed starts the training."""

    slots_per_worker: Annotated[Positive | None, Was("slotPerWorker")] = Field(
        None,
        description="Processes per worker. Default: the number of nvidia.com/gpu in the limits of the training "
        "container, else 1.",
    )
    run: Run = Field(Run(), description="What is started: exactly one of python, module and exec.")
    local_rank: bool = Field(
        True,
        description="Hand the local rank to the program as an argument, too (deepspeed --no_local_rank).",
    )
    autotune: Literal["none", "run", "tune"] = Field(
        "none",
        description="Search for good hyperparameters. tune: search only. run: search, then train with them.",
    )
    other_args: list[Word] | None = Field(
        None,
        max_length=256,
        description="Further options of deepspeed, but for those that other fields or the controller set.",
    )
    custom_command: Annotated[str, Field(max_length=65536)] | None = Field(
        None,
        description="A shell command that worker-0 runs instead of deepspeed; of the other fields only "
        "slotsPerWorker counts then.",
    )


class DeepSpeedSpec(SpecPart):
    """What is to be trained, where and how."""

    worker: WorkerSpec = Field(description="The workers. When worker-0 ends, the job ends.")
    config: Config | None = Field(None, description="How to run. Required unless in debug mode.")
    disable_custom_env: bool = Field(
        False,
        description="Do not hand the environment variables of the training container on to the processes that "
        "deepspeed starts over SSH.",
    )
    elastic: Elastic = Field(
        Elastic(), description="Let the number of workers change; every change starts all of them anew."
    )
    run_policy: Annotated[RunPolicy, Mutable(until_finished=True)] = Field(
        RunPolicy(), description="How long the job may run, how often it may fail, what is left of it."
    )
    run_mode: RunMode = Field(RunMode(), description="Debug and pause.")
    scheduler: Scheduler | None = Field(
        None, description="Who places the pods. Default: the cluster's scheduler."
    )
