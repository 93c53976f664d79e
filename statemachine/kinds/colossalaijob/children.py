"""The objects of a ColossalAIJob. Source: colossalaijob.md, sections 3 and 4."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from statemachine.ids import replica_name
from statemachine.kinds.colossalaijob.launch import COMMAND, PORT, launch_args
from statemachine.kinds.colossalaijob.roles import LAYOUT, launcher_slot, worker
from statemachine.kinds.colossalaijob.spec import ColossalAISpec
from statemachine.kinds.t9k.hostfile import hostfile_mount
from statemachine.kinds.t9k.kind import DEBUG_COMMAND
from statemachine.kinds.t9k.launched import LaunchedJob
from statemachine.kinds.t9k.launcher import LAUNCHER
from statemachine.kinds.t9k.modes import Override, overridden, override
from statemachine.kinds.t9k.objects import Member
from statemachine.kinds.t9k.pods import pod, with_env
from statemachine.kinds.t9k.ssh import ssh_keys_at
from statemachine.kinds.t9k.workers import WORKER, worker_slots
from statemachine.owned import Child, Manifest
from statemachine.schema.manual import Variable
from statemachine.state import JobState

PORTS: Final = {"ssh": 22, "master": PORT}

ENV = (Variable("PYTHONUNBUFFERED", ("1 unless you set it",), "output appears in the log at once"),)


def children(state: JobState, spec: ColossalAISpec) -> Iterator[Child]:
    """The objects of the job in the order of creation."""
    job = LaunchedJob(state, worker(spec).replicas, spec.scheduler)
    return job.objects(
        hosts=lambda member: member.pod,
        ports=lambda: PORTS,
        worker=partial(_worker, job, spec),
        launcher=partial(_launcher, job, spec),
    )


def _override(job: LaunchedJob, spec: ColossalAISpec, type_: str) -> Override:
    """How debug mode or the end of a pause has replicas of this type start."""
    return override(spec.run_mode, type_, resumed=job.state.resumed, debug_command=DEBUG_COMMAND)


def _worker(job: LaunchedJob, spec: ColossalAISpec, member: Member) -> Manifest:
    """A worker waits with sshd for what the launcher has it do."""
    slot, how = next(worker_slots(job.state.spec)), _override(job, spec, WORKER)
    index, container = LAYOUT.admitted_training(slot)
    sshd = {**container, "command": [spec.ssh.sshd_path, "-D"], "args": []}
    return pod(
        job.state,
        member,
        slot,
        (index, with_env(overridden(sshd, how), {})),
        scheduler=job.scheduler,
        skip_init=how.skip_init,
        attached=(ssh_keys_at(job.state, spec.ssh.auth_mount_path),),
    )


def _launcher(job: LaunchedJob, spec: ColossalAISpec, member: Member) -> Manifest:
    """The launcher finds the workers in its hostfile and starts the training on them."""
    slot, how, workers = launcher_slot(job.state.spec), _override(job, spec, LAUNCHER), worker(spec)
    index, container = LAYOUT.admitted_training(slot)
    script = workers.command or () if how.args is None else how.args
    if how.command is None:
        master = job.member(replica_name(WORKER, 0)).pod
        args = launch_args(workers.proc_per_worker, master, workers.torch_args or (), script)
        container = {**container, "command": list(COMMAND), "args": args}
    else:
        container = overridden(container, how)
    return pod(
        job.state,
        member,
        slot,
        (index, with_env(container, {})),
        scheduler=job.scheduler,
        attached=(ssh_keys_at(job.state, spec.ssh.auth_mount_path), hostfile_mount(job.state)),
        grouped=False,
    )
