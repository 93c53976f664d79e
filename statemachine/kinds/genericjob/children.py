"""The objects of a GenericJob. Source: genericjob.md, sections 3 and 4."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from statemachine.kinds.genericjob.roles import LAYOUT
from statemachine.kinds.genericjob.spec import GenericSpec
from statemachine.kinds.genericjob.variables import Expand, Variables, in_container
from statemachine.kinds.t9k.kind import DEBUG_COMMAND
from statemachine.kinds.t9k.listed import slots
from statemachine.kinds.t9k.modes import overridden, override
from statemachine.kinds.t9k.objects import (
    Member,
    member_labels,
    plain_pod_name,
    pod_group,
)
from statemachine.kinds.t9k.pods import pod, replica_pod
from statemachine.kinds.t9k.services import headless, selector
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Slot
from statemachine.schema.lookup import items
from statemachine.schema.manual import Variable
from statemachine.state import JobState

ENV_SAYS: Final = (
    "GenericJob sets no variables. These are replaced in commands, arguments and values of variables:"
)

ENV = (
    Variable("$(type)", ("own replica type",), "what this replica is"),
    Variable("$(rank)", ("own index",), "which of its type this one is"),
    Variable("$(replicas[<type>])", ("number of replicas",), "how many of the type there are"),
    Variable(
        "$(service.<type>[<rank>].host)",
        ("`<job>-<type>-<rank>`",),
        "host name of that replica; only with `service`",
    ),
    Variable("$(service.port[<name>])", ("port number",), "the port of that name; only if `service` has it"),
)


@dataclass(frozen=True)
class _Job:
    """A job with what all its pods need: made once, and only when one is built."""

    state: JobState
    spec: GenericSpec

    @cached_property
    def slots(self) -> Mapping[str, Slot]:
        """The pod templates by replica type."""
        return {slot.type: slot for slot in slots(self.state.spec)}

    @cached_property
    def ports(self) -> Mapping[str, int] | None:
        """The Services' ports by name; None without Services."""
        if self.spec.service is None:
            return None
        return {port.name or "": port.port for port in self.spec.service.ports or ()}

    @cached_property
    def scales(self) -> Mapping[str, int]:
        """The number of replicas by type."""
        return {type_.type: type_.scale for type_ in self.state.running_plan.types}

    def variables(self, member: Member) -> Variables:
        """What variables stand for in the pod of a replica."""
        return Variables(self.state.name, member.role, member.index, self.scales, self.ports)


def children(state: JobState, spec: GenericSpec) -> Iterator[Child]:
    """PodGroup, Services and pods, in the order of creation (spec R4); built when asked for."""
    plan, job = state.running_plan, _Job(state, spec)
    members = [Member(replica, plain_pod_name(state, replica), primary=False) for replica in plan.replicas()]
    if spec.scheduler is not None and spec.scheduler.t9k_scheduler is not None:
        yield pod_group(state, spec.scheduler.t9k_scheduler, plan.scale)
    if spec.service is not None:
        yield from (
            Child("v1", "Service", member.pod, partial(_service, state, member)) for member in members
        )
    for member in members:
        expand = job.variables(member).expanded
        yield replica_pod(state, member, partial(_pod, job, member, expand), expand)


def _service(state: JobState, member: Member) -> Manifest:
    ports = [port for _, port in items(state.spec, "service.ports")]
    return headless(state, member.pod, member_labels(state, member), selector(state, member), ports)


def _pod(job: _Job, member: Member, expand: Expand) -> Manifest:
    slot = job.slots[member.role]
    index, container = LAYOUT.admitted_training(slot)
    how = override(job.spec.run_mode, member.role, resumed=job.state.resumed, debug_command=DEBUG_COMMAND)
    scheduler = job.spec.scheduler.t9k_scheduler if job.spec.scheduler else None
    manifest = pod(
        job.state,
        member,
        slot,
        (index, overridden(container, how)),
        scheduler=scheduler,
        skip_init=how.skip_init,
    )
    spec = manifest["spec"]
    for name in ("containers", "initContainers"):
        if spec.get(name):
            spec[name] = [in_container(container, expand) for container in spec[name]]
    return manifest
