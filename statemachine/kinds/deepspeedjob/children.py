"""The objects of a DeepSpeedJob. Source: deepspeedjob.md, sections 3 and 4."""

from collections.abc import Iterator
from functools import partial
from re import fullmatch

from statemachine.kinds.deepspeedjob.launch import SSH_PORT, SSH_SERVER, launch_command, master_port, script
from statemachine.kinds.deepspeedjob.roles import LAYOUT, PRIMARY, slots_per_worker
from statemachine.kinds.deepspeedjob.spec import Config, DeepSpeedSpec
from statemachine.kinds.t9k.hostfile import hostfile, hostfile_mount
from statemachine.kinds.t9k.modes import Override, overridden, override
from statemachine.kinds.t9k.objects import Member, plain_pod_name, pod_group
from statemachine.kinds.t9k.pods import pod, replica_pod, with_env
from statemachine.kinds.t9k.services import services
from statemachine.kinds.t9k.ssh import ssh_keys_at, ssh_secret
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Container
from statemachine.schema.lookup import items, text
from statemachine.schema.manual import Variable
from statemachine.state import JobState

ENV = (Variable("PYTHONUNBUFFERED", ("1 unless you set it",), "output appears in the log at once"),)


def children(state: JobState, spec: DeepSpeedSpec) -> Iterator[Child]:
    """PodGroup, Secret, ConfigMap, Services and pods, in the order of creation (spec R4); built when asked for."""
    plan = state.running_plan
    members = [
        Member(replica, plain_pod_name(state, replica), primary=replica == PRIMARY)
        for replica in plan.replicas()
    ]
    scheduler = spec.scheduler.t9k_scheduler if spec.scheduler else None
    if scheduler is not None:
        yield pod_group(state, scheduler, plan.scale if plan.min_running is None else plan.min_running)
    yield ssh_secret(state)
    yield hostfile(state, lambda: _lines(state, members))
    yield from services(state, members, lambda: _ports(spec))
    for member in members:
        yield replica_pod(state, member, partial(_pod, state, spec, member))


def _ports(spec: DeepSpeedSpec) -> dict[str, int]:
    """The ports of a worker by name."""
    return {"ssh": SSH_PORT, "master": master_port(spec.config or Config())}


def _lines(state: JobState, members: list[Member]) -> Iterator[str]:
    slots = slots_per_worker(state.spec)
    return (f"{member.pod} slots={slots}" for member in members)


def _pod(state: JobState, spec: DeepSpeedSpec, member: Member) -> Manifest:
    slot = next(LAYOUT.slots(state.spec))
    index, container = LAYOUT.admitted_training(slot)
    how = override(spec.run_mode, member.role, resumed=state.resumed, debug_command=SSH_SERVER)
    if how.command is None:
        how = _start(spec, member, container, how)
    return pod(
        state,
        member,
        slot,
        (index, with_env(overridden(container, how), {})),
        scheduler=spec.scheduler.t9k_scheduler if spec.scheduler else None,
        skip_init=how.skip_init,
        attached=(ssh_keys_at(state), hostfile_mount(state)),
    )


def _start(spec: DeepSpeedSpec, member: Member, container: Container, how: Override) -> Override:
    """How a worker starts the training: worker-0 with the launcher, the others with an SSH server."""
    if not member.primary:
        return Override(SSH_SERVER, (), skip_init=how.skip_init)
    command = launch_command(spec.config or Config(), member.pod, how.args)
    env = None if spec.disable_custom_env else exported(container)
    return Override(("/bin/sh", "-c", script(command, env)), (), skip_init=how.skip_init)


def exported(container: Container) -> list[str]:
    """Names of the variables that are handed on, in the user's order: those that a shell can export."""
    names = [text(entry, "name") for _, entry in items(container, "env")]
    return list(dict.fromkeys(name for name in names if fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)))
