"""The objects of a PyTorchTrainingJob. Source: pytorchtrainingjob.md, sections 3 and 4."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from statemachine.ids import split_replica
from statemachine.kinds.pytorchtrainingjob.launch import Meeting, torchrun_args
from statemachine.kinds.pytorchtrainingjob.roles import LAYOUT
from statemachine.kinds.pytorchtrainingjob.spec import PyTorchTrainingSpec
from statemachine.kinds.t9k.kind import DEBUG_COMMAND
from statemachine.kinds.t9k.listed import slots
from statemachine.kinds.t9k.modes import overridden, override
from statemachine.kinds.t9k.objects import (
    Member,
    hashed_name,
    hashed_pod_name,
    pod_group,
)
from statemachine.kinds.t9k.pods import pod, replica_pod, with_env
from statemachine.kinds.t9k.services import services
from statemachine.kinds.t9k.tensorboard import tensorboard
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Slot
from statemachine.schema.manual import Variable
from statemachine.state import JobState

PORT_NAMES = ("pytorch-port", "pytorchjob-port")
DEFAULT_PORT = 23456

ENV = (
    Variable("MASTER_ADDR", ("master pod name", "same"), "host of the master"),
    Variable(
        "MASTER_PORT", (f"container port pytorch-port, else {DEFAULT_PORT}", "same"), "port of the master"
    ),
    Variable("WORLD_SIZE", ("number of replicas", "left to torchrun"), "how many replicas there are"),
    Variable("RANK", ("position over all types", "left to torchrun"), "which of them this one is"),
    Variable("PYTHONUNBUFFERED", ("1 unless you set it", "same"), "output appears in the log at once"),
)


@dataclass(frozen=True)
class _Job:
    """A job with what all its pods need: found once, and only when one is built."""

    state: JobState
    spec: PyTorchTrainingSpec

    @cached_property
    def slots(self) -> Mapping[str, Slot]:
        """The pod templates by replica type."""
        return {slot.type: slot for slot in slots(self.state.spec)}

    @cached_property
    def meeting(self) -> Meeting:
        """Where the replicas meet."""
        base, plan = hashed_name(self.state), self.state.running_plan
        return Meeting(base, hashed_pod_name(self.state, plan.primary), self._master_port(), plan.scale)

    def ports(self) -> Mapping[str, int]:
        """What a Service says."""
        return {"pytorch-port": self.meeting.port}

    def _master_port(self) -> int:
        """The port that the master's training container declares for it, else the usual one."""
        slot = self.slots.get(split_replica(self.state.running_plan.primary)[0])
        return LAYOUT.port(slot, PORT_NAMES) or DEFAULT_PORT


def children(state: JobState, spec: PyTorchTrainingSpec) -> Iterator[Child]:
    """PodGroup, Services, TensorBoard and pods, in the order of creation (spec R4); built when asked for."""
    plan = state.running_plan
    job = _Job(state, spec)
    base = hashed_name(state)
    members = [
        Member(replica, f"{base}-{replica}", primary=replica == plan.primary) for replica in plan.replicas()
    ]
    scheduler = spec.scheduler.t9k_scheduler if spec.scheduler else None
    if scheduler is not None:
        yield pod_group(state, scheduler, plan.scale if plan.min_running is None else plan.min_running)
    yield from services(state, members, job.ports)
    if state.spec.get("tensorboardSpec") is not None:
        yield tensorboard(state, state.spec["tensorboardSpec"])
    for rank, member in enumerate(members):
        yield replica_pod(state, member, partial(_pod, job, member, rank))


def _pod(job: _Job, member: Member, rank: int) -> Manifest:
    slot = job.slots[member.role]
    index, container = LAYOUT.admitted_training(slot)
    how = override(job.spec.run_mode, member.role, resumed=job.state.resumed, debug_command=DEBUG_COMMAND)
    if job.spec.torchrun_config.enabled and how.command is None:
        script = container.get("args") or [] if how.args is None else how.args
        args = torchrun_args(job.spec, job.meeting, member.role, script)
        container = {**container, "command": ["torchrun"], "args": args}
    else:
        container = overridden(container, how)
    container = with_env(container, _env(job, rank))
    scheduler = job.spec.scheduler.t9k_scheduler if job.spec.scheduler else None
    return pod(job.state, member, slot, (index, container), scheduler=scheduler, skip_init=how.skip_init)


def _env(job: _Job, rank: int) -> dict[str, str]:
    """The variables that distributed PyTorch looks for; under torchrun that sets the ranks (section 3)."""
    meeting = job.meeting
    always = {"MASTER_ADDR": meeting.host, "MASTER_PORT": str(meeting.port)}
    if job.spec.torchrun_config.enabled:
        return always
    return always | {"WORLD_SIZE": str(meeting.replicas), "RANK": str(rank)}
