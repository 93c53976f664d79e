"""The objects of a TensorFlowTrainingJob. Source: tensorflowtrainingjob.md, section 3."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from statemachine.ids import replica_name
from statemachine.kinds.t9k.kind import DEBUG_COMMAND
from statemachine.kinds.t9k.listed import slots
from statemachine.kinds.t9k.modes import overridden, override
from statemachine.kinds.t9k.objects import Member, hashed_pod_name, pod_group
from statemachine.kinds.t9k.pods import pod, replica_pod, with_env
from statemachine.kinds.t9k.services import services_by_type
from statemachine.kinds.t9k.tensorboard import tensorboard
from statemachine.kinds.tensorflowtrainingjob.roles import CHIEF, LAYOUT, PS, TF_CONFIG, WORKER
from statemachine.kinds.tensorflowtrainingjob.spec import TensorFlowTrainingSpec
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Slot
from statemachine.schema.manual import Variable
from statemachine.state import JobState

PORT_NAMES: Final = ("tensorflow-port", "tfjob-port")
DEFAULT_PORT: Final = 2222

CLUSTER: Final = (CHIEF, WORKER, PS)
"""The types that TensorFlow counts to the cluster, in the order of TF_CONFIG. An evaluator stands beside it."""

ENV = (
    Variable(
        TF_CONFIG,
        (
            '`{"cluster":{"<type>":["<pod>:<port>",…],…},"task":{"type":"<type>","index":<i>}}`; port: container '
            f"port tensorflow-port of the type, else {DEFAULT_PORT}",
        ),
        "who trains, where, and which of them this one is",
    ),
    Variable("PYTHONUNBUFFERED", ("1 unless you set it",), "output appears in the log at once"),
)


@dataclass(frozen=True)
class _Job:
    """A job with what all its pods need: made once, and only when one is built."""

    state: JobState
    spec: TensorFlowTrainingSpec

    @cached_property
    def slots(self) -> Mapping[str, Slot]:
        """The pod templates by replica type."""
        return {slot.type: slot for slot in slots(self.state.spec)}

    @cached_property
    def cluster(self) -> str:
        """The part of TF_CONFIG that is the same for all: addresses by type; types without replicas are left out."""
        scales = {type_.type: type_.scale for type_ in self.state.running_plan.types}
        hosts = {type_: self._hosts(type_, scales[type_]) for type_ in CLUSTER if scales.get(type_)}
        return json.dumps(hosts, separators=(",", ":"))

    def _hosts(self, type_: str, scale: int) -> list[str]:
        names = (hashed_pod_name(self.state, replica_name(type_, index)) for index in range(scale))
        port = self.port(type_)
        return [f"{name}:{port}" for name in names]

    def port(self, type_: str) -> int:
        """Where a replica of this type listens, as its training container says."""
        return LAYOUT.port(self.slots.get(type_), PORT_NAMES) or DEFAULT_PORT

    def ports(self, type_: str) -> Mapping[str, int]:
        """What a Service says of this type."""
        return {PORT_NAMES[0]: self.port(type_)}

    def env(self, member: Member) -> dict[str, str]:
        """What the replica has to know of the others, and of itself."""
        task = json.dumps({"type": member.role, "index": member.index}, separators=(",", ":"))
        return {TF_CONFIG: f'{{"cluster":{self.cluster},"task":{task}}}'}


def children(state: JobState, spec: TensorFlowTrainingSpec) -> Iterator[Child]:
    """PodGroup, Services, TensorBoard and pods, in the order of creation (spec R4); built when asked for."""
    plan, job = state.running_plan, _Job(state, spec)
    members = [
        Member(replica, hashed_pod_name(state, replica), primary=replica == plan.primary)
        for replica in plan.replicas()
    ]
    if spec.scheduler is not None and spec.scheduler.t9k_scheduler is not None:
        yield pod_group(state, spec.scheduler.t9k_scheduler, plan.scale)
    yield from services_by_type(state, members, job.ports)
    if state.spec.get("tensorboardSpec") is not None:
        yield tensorboard(state, state.spec["tensorboardSpec"])
    for member in members:
        yield replica_pod(state, member, partial(_pod, job, member))


def _pod(job: _Job, member: Member) -> Manifest:
    slot = job.slots[member.role]
    index, container = LAYOUT.admitted_training(slot)
    how = override(job.spec.run_mode, member.role, resumed=job.state.resumed, debug_command=DEBUG_COMMAND)
    container = with_env(overridden(container, how), job.env(member))
    scheduler = job.spec.scheduler.t9k_scheduler if job.spec.scheduler else None
    return pod(job.state, member, slot, (index, container), scheduler=scheduler, skip_init=how.skip_init)
