"""What the kinds with a launcher share: one pod that starts the training on workers, which wait for it with sshd.

The launcher decides the result, and no pod is restarted: one that comes back would not join a training that runs.
Source: colossalaijob.md, sections 3 and 5; spec R9, R13.
"""

from collections.abc import Iterator
from typing import Final

from pydantic import Field

from statemachine.ids import ReplicaName, replica_name
from statemachine.kinds.t9k.objects import plain_pod_name
from statemachine.kinds.t9k.parts import RunMode
from statemachine.kinds.t9k.services import plain_service
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.fields import SpecPart
from statemachine.schema.layout import Layout
from statemachine.schema.lookup import find, text
from statemachine.spec import CleanUpPolicy, Launch, Plan, ReplicaType, RestartPolicy
from statemachine.state import JobState

LAUNCHER: Final = "launcher"
WORKER: Final = "worker"

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
