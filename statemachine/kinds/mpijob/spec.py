"""The spec of an MPIJob. Source: mpijob.md, section 1."""

from typing import Annotated, Any, Final

from pydantic import Field

from statemachine.kinds.t9k.launcher import LauncherRunPolicy
from statemachine.kinds.t9k.older import OldReplicaSpec
from statemachine.kinds.t9k.parts import Passed, RunMode, Scheduler, Words
from statemachine.kinds.t9k.ssh import SSH_DIRECTORY, SSHD, AbsolutePath
from statemachine.schema.fields import (
    Count,
    Moved,
    Mutable,
    PodTemplate,
    Positive,
    Read,
    SpecPart,
    Was,
    replica_count,
)

_MOST_PARAMETERS: Final = 128
_LONGEST: Final = 8192
_MCA_SCHEMA: Final = {
    "type": "object",
    "maxProperties": _MOST_PARAMETERS,
    "additionalProperties": {"type": "string", "maxLength": _LONGEST},
}


def _as_it_is(value: Any) -> Any:
    return value


Mca = Annotated[
    dict[str, Annotated[str, Field(max_length=_LONGEST)]],
    Field(max_length=_MOST_PARAMETERS),
    Read(_as_it_is, _MCA_SCHEMA, "map of strings"),
]
"""MCA parameters of Open MPI by name."""


class MpiSsh(SpecPart):
    """How the launcher reaches the workers. The image holds an SSH client and server. Source: spec R15."""

    ssh_auth_mount_path: Annotated[AbsolutePath, Was("authMountPath")] = Field(
        SSH_DIRECTORY,
        description=f"Directory that the SSH keys are mounted at. Default: {SSH_DIRECTORY}.",
    )
    sshd_path: AbsolutePath = Field(
        SSHD, description="Path of the SSH server, which must be called by its full path."
    )


class MpiLauncher(SpecPart):
    """The launcher: one pod, made of the workers' template, that runs mpirun."""

    resources: Passed | None = Field(
        None,
        description="Resources of the launcher: requests and limits. It never gets GPUs or other devices. Default: "
        "requests of 100m CPU and 100Mi memory, limits of 200m and 200Mi.",
    )


class ProcessRecovery(SpecPart):
    """Whether processes that fail are started again, in the older form."""

    enable: bool | None = Field(None, description="Start processes that fail again. Default false.")
    limit: Count | None = Field(None, description="Most restarts of a process.")


class MpiWorker(SpecPart):
    """The workers: pods that wait with sshd until mpirun starts processes in them."""

    replicas: Annotated[int, replica_count(1)] = Field(1, description="Number of workers.")
    cmd: Words | None = Field(
        None, description="The MPI program and its arguments. Required, unless in debug mode."
    )
    extra_mpi_args: Words | None = Field(
        None,
        alias="extraMPIArgs",
        description="Further options of mpirun, for example -N and the number of processes on each worker. Which "
        "hosts there are is the controller's to say.",
    )
    processes_per_worker: Annotated[Positive | None, Moved("extraMPIArgs: -N")] = None
    process_recovery: Annotated[ProcessRecovery | None, Moved("extraMPIArgs: --enable-recovery")] = None
    template: PodTemplate = Field(
        description="Pod template of the workers; the launcher is made of it, too. Its container mpi-worker (or "
        "worker) runs sshd. Its restartPolicy is ignored: pods get Never. Cannot be changed after creation."
    )


class OldMpiConfig(SpecPart):
    """What mpirun is called with, in the older form."""

    mca: Mca | None = Field(None, description="MCA parameters by name.")
    home: AbsolutePath | None = Field(None, description="Where Open MPI is installed.")
    extra_args: Words | None = Field(None, description="Further options of mpirun.")
    script: Words | None = Field(None, description="The MPI program and its arguments.")


class MpiSpec(SpecPart):
    """What is to be run by MPI, where and how. worker is required."""

    worker: MpiWorker | None = Field(
        None, description="The workers; their image and environment are the launcher's, too. Required."
    )
    mca: Mca | None = Field(None, description="MCA parameters of Open MPI by name, for example btl: ^openib.")
    mpi_home: AbsolutePath | None = Field(
        None,
        description="Where Open MPI is installed, on the workers too. Default: mpirun is looked for on the PATH.",
    )
    ssh: MpiSsh = Field(MpiSsh(), description="How the launcher reaches the workers.")
    launcher: MpiLauncher = Field(MpiLauncher(), description="The launcher, one pod.")
    mpi_config: Annotated[OldMpiConfig | None, Moved("worker, mca and mpiHome")] = None
    replica_specs: Annotated[
        Annotated[list[OldReplicaSpec], Field(max_length=16)] | None, Moved("worker and launcher")
    ] = None
    run_policy: Annotated[LauncherRunPolicy, Mutable(until_finished=True)] = Field(
        LauncherRunPolicy(), description="What is left of the job when it has ended."
    )
    run_mode: RunMode = Field(RunMode(), description="Debug and pause.")
    scheduler: Scheduler | None = Field(
        None, description="Who places the workers. Default: the cluster's scheduler."
    )
