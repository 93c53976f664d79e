"""The spec of a ColossalAIJob. Source: colossalaijob.md, section 1."""

from typing import Annotated

from pydantic import Field

from statemachine.kinds.t9k.launcher import LauncherRunPolicy
from statemachine.kinds.t9k.older import OldReplicaSpec
from statemachine.kinds.t9k.parts import Passed, RunMode, Scheduler, Words
from statemachine.kinds.t9k.ssh import SSH_DIRECTORY, SSHD, AbsolutePath
from statemachine.schema.fields import (
    Moved,
    Mutable,
    PodTemplate,
    Positive,
    SpecPart,
    Was,
    Word,
    replica_count,
)


class Ssh(SpecPart):
    """How the launcher reaches the workers. Their images hold an SSH client and server. Source: spec R15."""

    auth_mount_path: Annotated[AbsolutePath, Was("sshAuthMountPath")] = Field(
        SSH_DIRECTORY,
        description=f"Directory that the SSH keys are mounted at. Default: {SSH_DIRECTORY}.",
    )
    sshd_path: AbsolutePath = Field(
        SSHD, description="Path of the SSH server, which must be called by its full path."
    )


class EnvVar(SpecPart):
    """An environment variable."""

    name: Annotated[str, Field(min_length=1, max_length=1024)] = Field(description="Its name.")
    value: Annotated[str, Field(max_length=32768)] | None = Field(None, description="Its value.")
    value_from: Passed | None = Field(None, description="Where its value is taken from, as in a pod.")


class Launcher(SpecPart):
    """The launcher: one pod that starts the training on the workers and watches over it."""

    image: Word | None = Field(None, description="Container image of the launcher. Required.")
    working_dir: Word | None = Field(
        None,
        description="Directory that the training is started in, on the workers too: it must exist there. "
        "Default: the image's.",
    )
    env: Annotated[list[EnvVar], Field(max_length=256)] | None = Field(
        None, description="Environment of the launcher; it hands it on to the training on the workers."
    )
    resources: Passed | None = Field(None, description="Resources of the launcher: requests and limits.")


class Worker(SpecPart):
    """The workers: pods that wait with sshd until the launcher starts the training in them."""

    replicas: Annotated[int, replica_count(1)] = Field(1, description="Number of workers.")
    proc_per_worker: Positive = Field(1, description="Training processes on each worker.")
    command: Words | None = Field(
        None,
        description="Training script and its arguments. Required, unless in debug mode.",
    )
    torch_args: Words | None = Field(
        None,
        description="Options for torchrun: --name=value, --name value or --name. Neither name nor value may "
        "hold a comma.",
    )
    template: PodTemplate = Field(
        description="Pod template of the workers. Its container worker runs sshd. Its restartPolicy is ignored: "
        "pods get Never. Cannot be changed after creation."
    )


class OldTorchConfig(SpecPart):
    """How the training is started, in the older form."""

    proc_per_worker: Positive = Field(1, description="Training processes on each worker.")
    script: Words | None = Field(None, description="Training script and its arguments.")
    torch_args: Words | None = Field(None, description="Options for torchrun.")


class ColossalAISpec(SpecPart):
    """What is to be trained, where and how. launcher and worker are both required."""

    ssh: Ssh = Field(Ssh(), description="How the launcher reaches the workers.")
    launcher: Launcher | None = Field(None, description="The launcher, one pod. Required.")
    worker: Worker | None = Field(None, description="The workers. Required.")
    torch_config: Annotated[OldTorchConfig | None, Moved("worker")] = None
    replica_specs: Annotated[
        Annotated[list[OldReplicaSpec], Field(max_length=16)] | None, Moved("launcher and worker")
    ] = None
    run_policy: Annotated[LauncherRunPolicy, Mutable(until_finished=True)] = Field(
        LauncherRunPolicy(), description="What is left of the job when it has ended."
    )
    run_mode: RunMode = Field(RunMode(), description="Debug and pause.")
    scheduler: Scheduler | None = Field(
        None, description="Who places the workers. Default: the cluster's scheduler."
    )
