"""The objects of an XGBoostTrainingJob. Source: xgboosttrainingjob.md, section 3."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from statemachine.ids import replica_name
from statemachine.kinds.t9k.kind import DEBUG_COMMAND
from statemachine.kinds.t9k.listed import slots
from statemachine.kinds.t9k.modes import overridden, override
from statemachine.kinds.t9k.objects import Member, hashed_pod_name, pod_group
from statemachine.kinds.t9k.pods import pod, replica_pod, with_env
from statemachine.kinds.t9k.services import services
from statemachine.kinds.xgboosttrainingjob.roles import LAYOUT, MASTER
from statemachine.kinds.xgboosttrainingjob.spec import XGBoostTrainingSpec
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Slot
from statemachine.schema.manual import Variable
from statemachine.state import JobState

PORT_NAMES = ("xgboost-port", "xgboostjob-port")
DEFAULT_PORT = 9991

ENV = (
    Variable("MASTER_ADDR", ("master pod name",), "host of the master"),
    Variable("MASTER_PORT", (f"container port xgboost-port, else {DEFAULT_PORT}",), "port of the master"),
    Variable("WORLD_SIZE", ("number of replicas",), "how many replicas there are"),
    Variable("RANK", ("master 0, worker-i i + 1",), "which of them this one is"),
    Variable("PYTHONUNBUFFERED", ("1 unless you set it",), "output appears in the log at once"),
)


@dataclass(frozen=True)
class _Job:
    """A job with what all its pods need: made once, and only when one is built."""

    state: JobState
    spec: XGBoostTrainingSpec

    @cached_property
    def slots(self) -> Mapping[str, Slot]:
        """The pod templates by replica type."""
        return {slot.type: slot for slot in slots(self.state.spec)}

    @cached_property
    def port(self) -> int:
        """Where the master listens."""
        return LAYOUT.port(self.slots.get(MASTER), PORT_NAMES) or DEFAULT_PORT

    def ports(self) -> Mapping[str, int]:
        """What a Service says."""
        return {PORT_NAMES[0]: self.port}

    def env(self, member: Member) -> dict[str, str]:
        """What the replica has to know of the others; ranks do not depend on the order in the spec."""
        return {
            "MASTER_ADDR": hashed_pod_name(self.state, replica_name(MASTER, 0)),
            "MASTER_PORT": str(self.port),
            "WORLD_SIZE": str(self.state.running_plan.scale),
            "RANK": str(0 if member.primary else member.index + 1),
        }


def children(state: JobState, spec: XGBoostTrainingSpec) -> Iterator[Child]:
    """PodGroup, Services and pods, in the order of creation (spec R4); built when asked for."""
    plan, job = state.running_plan, _Job(state, spec)
    members = [
        Member(replica, hashed_pod_name(state, replica), primary=replica == plan.primary)
        for replica in plan.replicas()
    ]
    if spec.scheduler is not None and spec.scheduler.t9k_scheduler is not None:
        yield pod_group(state, spec.scheduler.t9k_scheduler, plan.scale)
    yield from services(state, members, job.ports)
    for member in members:
        yield replica_pod(state, member, partial(_pod, job, member))


def _pod(job: _Job, member: Member) -> Manifest:
    slot = job.slots[member.role]
    index, container = LAYOUT.admitted_training(slot)
    how = override(job.spec.run_mode, member.role, resumed=job.state.resumed, debug_command=DEBUG_COMMAND)
    container = with_env(overridden(container, how), job.env(member))
    scheduler = job.spec.scheduler.t9k_scheduler if job.spec.scheduler else None
    return pod(job.state, member, slot, (index, container), scheduler=scheduler, skip_init=how.skip_init)
