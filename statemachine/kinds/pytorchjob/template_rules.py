"""Rules about the inside of pod templates, which CEL cannot read: K4-K6 with G20, and the warnings K17, KX1 and KX3.

Source: kubeflow-pytorchjob.md, sections 2 and 5.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from statemachine.errors import Problem
from statemachine.ids import replica_name
from statemachine.kinds.common.contents import Added, contents
from statemachine.kinds.common.environment import env_overridden
from statemachine.kinds.common.strangers import strange_fields
from statemachine.kinds.common.template import Template
from statemachine.kinds.pytorchjob.env import variables
from statemachine.kinds.pytorchjob.replica_types import KEYS, MASTER, WORKER
from statemachine.kinds.pytorchjob.roles import CONTAINER, LAYOUT, WAITING
from statemachine.kinds.pytorchjob.spec import PyTorchJobSpec
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.layout import Slot
from statemachine.schema.lookup import find, text
from statemachine.schema.problems import parsed

_SOURCE: Final = "kubeflow-pytorchjob.md, section 2"


def _each_slot(problems: Callable[[Slot], Iterator[Problem]]) -> Callable[[Draft], Iterator[Problem]]:
    """A check that looks into every template."""

    def check(draft: Draft) -> Iterator[Problem]:
        for slot in LAYOUT.slots(draft.spec):
            yield from problems(slot)

    return check


def _has_containers(slot: Slot) -> bool:
    return bool(find(slot.template, "spec.containers"))


def _missing(slot: Slot) -> Iterator[Problem]:
    if not _has_containers(slot):
        yield Problem("K4", f"{slot.path}.containers", "Required value: must be specified")


CONTAINERS = Rule(
    "K4",
    Layer.CONTROLLER,
    says="each pod template has containers",
    text="spec.pytorchReplicaSpecs[<t>].template.spec.containers: Required value: must be specified",
    check=_each_slot(_missing),
    source=_SOURCE,
)


def _malformed(slot: Slot) -> Iterator[Problem]:
    """What in the template Kubernetes would not take: a container without image, a number among the arguments."""
    if not _has_containers(slot):
        return
    _, problems = parsed(Template, slot.template, slot.path.removesuffix(".spec"))
    for problem in problems:
        no_image = problem.path.endswith(".image") and problem.text == "Required value"
        yield Problem("K5", problem.path, "Required value: must be required" if no_image else problem.text)


IMAGES = Rule(
    "K5",
    Layer.CONTROLLER,
    says="each container has an image; and what else is in a template is of the type that Kubernetes wants there",
    text="spec.pytorchReplicaSpecs[<t>].template.spec.containers[<i>].image: Required value: must be required",
    check=_each_slot(_malformed),
    source=_SOURCE,
)


def _added(draft: Draft, slot: Slot) -> Added:
    """A Worker waits for the Master, if there is one."""
    waits = slot.type == WORKER and find(draft.spec, f"pytorchReplicaSpecs.{KEYS[MASTER]}") is not None
    return Added(containers=(WAITING,) if waits else ())


CONTENTS = contents(LAYOUT, _added)

STRANGERS = strange_fields("KX3", LAYOUT)


def _untrained(slot: Slot) -> Iterator[Problem]:
    if _has_containers(slot) and all(
        text(container, "name") != CONTAINER for _, container in slot.containers
    ):
        sentence = f"Required value: must have at least one container with name {CONTAINER}"
        yield Problem("K6", f"{slot.path}.containers", sentence)


TRAINING = Rule(
    "K6",
    Layer.CONTROLLER,
    says=f"each pod template has a container called `{CONTAINER}`",
    text="spec.pytorchReplicaSpecs[<t>].template.spec.containers: Required value: must have at least one container "
    f"with name {CONTAINER}",
    check=_each_slot(_untrained),
    source=_SOURCE,
)


def _generated(spec: Mapping[str, Any]) -> set[str]:
    """Names of the variables that a job's pods get: the same for all of its replicas."""
    model, _ = parsed(PyTorchJobSpec, spec)
    if model is None:
        return set()
    return {name for name, _ in variables("", model, {}, replica_name(WORKER, 0))}


ENVIRONMENT = env_overridden(
    "K17",
    LAYOUT,
    _generated,
    lambda slot: (container for _, container in slot.containers),
    source=_SOURCE,
)

_OVERWRITTEN: Final = "Restart policy in pod template will be overwritten by restart policy in replica spec"


def _restart_policy(draft: Draft) -> Iterator[Notice]:
    if any(find(slot.template, "spec.restartPolicy") is not None for slot in LAYOUT.slots(draft.spec)):
        yield Notice("SetPodTemplateRestartPolicy", _OVERWRITTEN)


RESTART_POLICY = Rule(
    "KX1",
    Layer.WARNING,
    says="a pod template says nothing about `restartPolicy`: the replica type does",
    text=_OVERWRITTEN,
    check=_restart_policy,
    source="kubeflow-pytorchjob.md, section 5",
)
