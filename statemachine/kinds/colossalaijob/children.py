"""The objects of a ColossalAIJob. Source: colossalaijob.md, sections 3 and 4."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from statemachine.ids import ReplicaName, replica_name
from statemachine.kinds.colossalaijob.launch import COMMAND, PORT, launch_args
from statemachine.kinds.colossalaijob.roles import LAYOUT, launcher_slot, worker, worker_slots
from statemachine.kinds.colossalaijob.spec import ColossalAISpec
from statemachine.kinds.t9k.hostfile import hostfile, hostfile_mount
from statemachine.kinds.t9k.kind import DEBUG_COMMAND
from statemachine.kinds.t9k.launcher import LAUNCHER, THE_LAUNCHER, WORKER, launcher_pod_name
from statemachine.kinds.t9k.modes import Override, overridden, override
from statemachine.kinds.t9k.objects import Member, pod_group
from statemachine.kinds.t9k.parts import T9kScheduler
from statemachine.kinds.t9k.pods import pod, replica_pod, with_env
from statemachine.kinds.t9k.services import services
from statemachine.kinds.t9k.ssh import ssh_keys_at, ssh_secret
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Slot
from statemachine.schema.manual import Variable
from statemachine.state import JobState

PORTS: Final = {"ssh": 22, "master": PORT}

ENV = (Variable("PYTHONUNBUFFERED", ("1 unless you set it",), "output appears in the log at once"),)


@dataclass(frozen=True)
class _Job:
    """A job with what all its pods need."""

    state: JobState
    spec: ColossalAISpec

    def member(self, replica: ReplicaName) -> Member:
        return Member(replica, launcher_pod_name(self.state, replica), primary=replica == THE_LAUNCHER)

    @property
    def workers(self) -> Iterator[Member]:
        """The workers by index."""
        return (self.member(replica_name(WORKER, index)) for index in range(worker(self.spec).replicas))

    @property
    def scheduler(self) -> T9kScheduler | None:
        return self.spec.scheduler.t9k_scheduler if self.spec.scheduler else None

    def override(self, type_: str) -> Override:
        """How debug mode or the end of a pause has replicas of this type start."""
        mode = self.spec.run_mode
        return override(mode, type_, resumed=self.state.resumed, debug_command=DEBUG_COMMAND)


def children(state: JobState, spec: ColossalAISpec) -> Iterator[Child]:
    """PodGroup, Secret, ConfigMap, Services and pods, in the order of creation (spec R4).

    The launcher's pod comes last; when it is asked for is not decided here.
    """
    job = _Job(state, spec)
    if job.scheduler is not None:
        yield pod_group(state, job.scheduler, worker(spec).replicas)
    yield ssh_secret(state)
    yield hostfile(state, lambda: (worker.pod for worker in job.workers))
    yield from services(state, job.workers, lambda: PORTS)
    for member in job.workers:
        yield replica_pod(state, member, partial(_worker, job, member))
    launcher = job.member(THE_LAUNCHER)
    yield replica_pod(state, launcher, partial(_launcher, job, launcher))


def _worker(job: _Job, member: Member) -> Manifest:
    """A worker waits with sshd for what the launcher has it do."""
    slot, how = _worker_slot(job), job.override(WORKER)
    index, container = LAYOUT.admitted_training(slot)
    sshd = {**container, "command": [job.spec.ssh.sshd_path, "-D"], "args": []}
    training = index, with_env(overridden(sshd, how), {})
    keys = ssh_keys_at(job.state, job.spec.ssh.auth_mount_path)
    return pod(
        job.state,
        member,
        slot,
        training,
        scheduler=job.scheduler,
        skip_init=how.skip_init,
        attached=(keys,),
    )


def _launcher(job: _Job, member: Member) -> Manifest:
    """The launcher finds the workers in its hostfile and starts the training on them."""
    slot, how, workers = launcher_slot(job.state.spec), job.override(LAUNCHER), worker(job.spec)
    index, container = LAYOUT.admitted_training(slot)
    script = workers.command or () if how.args is None else how.args
    if how.command is None:
        master = job.member(replica_name(WORKER, 0)).pod
        args = launch_args(workers.proc_per_worker, master, workers.torch_args or (), script)
        container = {**container, "command": list(COMMAND), "args": args}
    else:
        container = overridden(container, how)
    keys = ssh_keys_at(job.state, job.spec.ssh.auth_mount_path)
    return pod(
        job.state,
        member,
        slot,
        (index, with_env(container, {})),
        scheduler=job.scheduler,
        attached=(keys, hostfile_mount(job.state)),
        grouped=False,
    )


def _worker_slot(job: _Job) -> Slot:
    return next(worker_slots(job.state.spec))
