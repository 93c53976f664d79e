"""The objects of an MPIJob. Source: mpijob.md, sections 3 and 4."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from statemachine.kinds.mpijob.launch import launch_args, mpirun
from statemachine.kinds.mpijob.roles import WORKERS, launcher_slot, slots_per_worker, worker
from statemachine.kinds.mpijob.spec import MpiSpec
from statemachine.kinds.t9k.hostfile import hostfile_mount
from statemachine.kinds.t9k.kind import DEBUG_COMMAND
from statemachine.kinds.t9k.launched import LaunchedJob
from statemachine.kinds.t9k.launcher import LAUNCHER
from statemachine.kinds.t9k.modes import overridden, override
from statemachine.kinds.t9k.objects import Member
from statemachine.kinds.t9k.pods import pod, with_env
from statemachine.kinds.t9k.ssh import ssh_keys_at
from statemachine.kinds.t9k.workers import WORKER, worker_slots
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Container
from statemachine.schema.lookup import items, text
from statemachine.schema.manual import Variable
from statemachine.state import JobState

PORTS: Final = {"ssh": 22}

ENV = (Variable("PYTHONUNBUFFERED", ("1 unless you set it",), "output appears in the log at once"),)


def children(state: JobState, spec: MpiSpec) -> Iterator[Child]:
    """The objects of the job in the order of creation."""
    job = LaunchedJob(state, worker(spec).replicas, spec.scheduler)
    return job.objects(
        hosts=lambda member: f"{member.pod} slots={slots_per_worker(state.spec)}",
        ports=lambda: PORTS,
        worker=partial(_worker, job, spec),
        launcher=partial(_launcher, job, spec),
    )


def _labels(job: LaunchedJob) -> Mapping[str, str]:
    """Labels by which users of MPIJobs look for pods. Source: section 3."""
    return {"app": job.state.name, "mpi-job": job.state.name}


def _worker(job: LaunchedJob, spec: MpiSpec, member: Member) -> Manifest:
    """A worker waits with sshd for what mpirun starts in it."""
    server = (spec.ssh.sshd_path, "-D")
    how = override(spec.run_mode, WORKER, resumed=job.state.resumed, debug_command=server)
    slot = next(worker_slots(job.state.spec))
    index, container = WORKERS.admitted_training(slot)
    sshd = {**container, "command": list(server), "args": []}
    return pod(
        job.state,
        member,
        slot,
        (index, with_env(overridden(sshd, how), {})),
        scheduler=job.scheduler,
        skip_init=how.skip_init,
        attached=(ssh_keys_at(job.state, spec.ssh.ssh_auth_mount_path),),
        own_labels=_labels(job),
    )


def _launcher(job: LaunchedJob, spec: MpiSpec, member: Member) -> Manifest:
    """The launcher finds the workers in its hostfile and starts processes on them."""
    how = override(spec.run_mode, LAUNCHER, resumed=job.state.resumed, debug_command=DEBUG_COMMAND)
    slot = launcher_slot(job.state.spec, next(worker_slots(job.state.spec)))
    index, container = WORKERS.admitted_training(slot)
    if how.command is None:
        started: dict[str, Any] = {**container, "command": [mpirun(spec.mpi_home)]}
        started["args"] = _args(spec, container, worker(spec).cmd or () if how.args is None else how.args)
    else:
        started = overridden(container, how)
    return pod(
        job.state,
        member,
        slot,
        (index, with_env(started, {})),
        scheduler=job.scheduler,
        skip_init=how.skip_init,
        attached=(ssh_keys_at(job.state, spec.ssh.ssh_auth_mount_path), hostfile_mount(job.state)),
        grouped=False,
        own_labels=_labels(job),
    )


def _args(spec: MpiSpec, container: Container, program: tuple[str, ...] | list[str]) -> list[str]:
    variables = [text(entry, "name") for _, entry in items(container, "env")]
    extra = worker(spec).extra_mpi_args or ()
    return launch_args(spec.mpi_home, spec.mca or {}, variables, extra, program)
