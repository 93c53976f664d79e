"""What the kinds with a launcher share: one pod that starts the training on workers, which wait for it with sshd.

The launcher decides the result, and no pod is restarted: one that comes back would not join a training that runs.
Source: colossalaijob.md, sections 3 and 5; spec R9, R13.
"""

from collections.abc import Iterator
from typing import Final

from pydantic import Field

from statemachine.errors import Problem
from statemachine.ids import ReplicaName, replica_name
from statemachine.kinds.common.names import cel_fits, digits, name_length
from statemachine.kinds.common.template import Resources
from statemachine.kinds.t9k.objects import plain_pod_name
from statemachine.kinds.t9k.parts import RunMode
from statemachine.kinds.t9k.services import plain_service
from statemachine.kinds.t9k.templates import requests_within_limits
from statemachine.kinds.t9k.workers import WORKER
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.fields import SpecPart
from statemachine.schema.layout import Layout
from statemachine.schema.lookup import entries, find, is_object, number, text
from statemachine.schema.problems import parsed
from statemachine.spec import CleanUpPolicy, Launch, Plan, ReplicaType, RestartPolicy
from statemachine.state import JobState

LAUNCHER: Final = "launcher"

TYPES: Final = (LAUNCHER, WORKER)
"""The replica types, in the order of `status.tasks`. Source: spec R7."""

THE_LAUNCHER: Final = replica_name(LAUNCHER, 0)


class LauncherRunPolicy(SpecPart):
    """What is left of a job that has ended. Source: spec R9."""

    clean_up_workers: bool = Field(
        False,
        description="Delete the pods of all workers when the job has ended. The launcher's pod stays for its log.",
    )


def launcher_pod_name(job: JobState, replica: ReplicaName) -> str:
    """`<job>-launcher` or `<job>-worker-<index>`; also a worker's host name. Source: spec R3."""
    return f"{job.name}-{LAUNCHER}" if replica == THE_LAUNCHER else plain_pod_name(job, replica)


def launcher_plan(name: str, workers: int, policy: LauncherRunPolicy, mode: RunMode) -> Plan:
    """How such a job is run: workers first, then the launcher, at once in debug mode. Source: spec R8-R10."""
    return Plan(
        types=(
            ReplicaType(type=LAUNCHER, scale=1, restart_policy=RestartPolicy.NEVER),
            ReplicaType(type=WORKER, scale=workers, restart_policy=RestartPolicy.NEVER),
        ),
        primary=THE_LAUNCHER,
        launch=Launch.AT_ONCE if mode.debug.enabled else Launch.WHEN_READY,
        paused=mode.pause.enabled,
        backoff_limit=0,
        clean_up=CleanUpPolicy.WORKERS if policy.clean_up_workers else CleanUpPolicy.NONE,
        service=plain_service(name),
    )


def command_ignored(id_: str, layout: Layout, *, source: str) -> Rule:
    """The warning that the command of a worker's training container has no effect, under the kind's own id."""

    def check(draft: Draft) -> Iterator[Notice]:
        for slot in layout.slots(draft.spec):
            training = layout.training(slot)
            if training is not None and (find(training[1], "command") or find(training[1], "args")):
                name = text(training[1], "name")
                yield Notice("CommandIgnored", f'command of container "{name}" is ignored, it runs sshd')

    return Rule(
        id_,
        Layer.WARNING,
        says="the training container of the workers has no `command` and no `args`",
        text='command of container "<c>" is ignored, it runs sshd',
        check=check,
        source=source,
    )


_OF_WORKER = cel_fits(
    "1 + 6 + 1", "has(self.spec.worker) && has(self.spec.worker.replicas) ? self.spec.worker.replicas : 1"
)
_OF_OLD_ITEM = cel_fits("1 + 6 + 1", "has(r.replicas) ? r.replicas : 1")

NAME_LENGTH = name_length(
    "G2",
    lambda spec: 1 + len(WORKER) + 1 + digits(number(spec, "worker.replicas") or 1),
    says="`<job>-worker-<index>` has at most 63 characters, for every index that there is",
    cel=f"{_OF_WORKER} && (!has(self.spec.replicaSpecs) || "
    f"self.spec.replicaSpecs.all(r, r.type != 'worker' || {_OF_OLD_ITEM}))",
    source="spec R2, G2",
)
"""G2 for workers in the present form and in the older one."""


def _launcher_resources(draft: Draft) -> Iterator[Problem]:
    path, launcher = "spec.launcher.resources", entries(draft.spec, "launcher")
    if is_object(launcher.get("resources")):
        _, problems = parsed(Resources, launcher["resources"], path)
        yield from (Problem("G6", problem.path, problem.text) for problem in problems)
        yield from requests_within_limits(path, launcher)


RESOURCES = Rule(
    "G6",
    Layer.CONTROLLER,
    says="the launcher requests no more of a resource than its limit",
    text='spec.launcher.resources.requests: Invalid value: "<request>": must be less than or equal to '
    "<resource> limit of <limit>",
    check=_launcher_resources,
    source="spec R2, G6",
)
"""G6 for `launcher.resources`."""
