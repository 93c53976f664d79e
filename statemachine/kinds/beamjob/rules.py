"""Which BeamJobs are accepted: the shared rules and BJ1-BJ5. Source: spec R2 and beamjob.md, section 2."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from statemachine.errors import Problem
from statemachine.kinds.beamjob.flink import OURS
from statemachine.kinds.beamjob.roles import LAYOUT, SUBMIT, TASK_MANAGER, flink_name, slots
from statemachine.kinds.beamjob.spec import BeamSpec
from statemachine.kinds.common.contents import amounts, nul
from statemachine.kinds.common.counts import most_replicas, numbers_at
from statemachine.kinds.common.names import cel_fits, digits, name_length
from statemachine.kinds.common.rule_builders import alias_rules, bounds
from statemachine.kinds.common.template import Resources
from statemachine.kinds.t9k import general, immutable
from statemachine.kinds.t9k.templates import requests_within_limits, template_rules
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.lookup import entries, find, is_object, number, text
from statemachine.schema.metadata import invalid, labels_and_annotations
from statemachine.schema.problems import parsed, shown

_SOURCE: Final = "beamjob.md, section 2"

_CLUSTER: Final = "flinkClusterTemplate.spec"
_PARTS: Final = ("jobManager", "taskManager")
_TEMPLATE: Final = "spec.jobTemplate.spec.template.spec"

_REQUIRED = bounds(
    "BJ1",
    "spec.flinkClusterTemplate",
    "spec.flinkClusterTemplate.spec",
    f"spec.{_CLUSTER}.flinkVersion",
    f"spec.{_CLUSTER}.image",
    f"spec.{_CLUSTER}.image.name",
    "spec.jobTemplate",
    says="the cluster's version, x.y.z, its image and the template of the Job are there",
    source=_SOURCE,
)

_TAIL: Final = f"{flink_name('')}-{TASK_MANAGER}-"

_NAME_LENGTH = name_length(
    "BJ4",
    lambda spec: len(_TAIL) + digits(number(spec, f"{_CLUSTER}.taskManager.replicas") or 1),
    says="`<job>-flinkcluster-taskmanager-<index>` has at most 63 characters, for every index that there is",
    cel=cel_fits(
        len(_TAIL),
        "has(self.spec.flinkClusterTemplate.spec.taskManager) && "
        "has(self.spec.flinkClusterTemplate.spec.taskManager.replicas) ? "
        "self.spec.flinkClusterTemplate.spec.taskManager.replicas : 1",
    ),
    source=_SOURCE,
)


def _restart_policy(draft: Draft) -> Iterator[Problem]:
    for slot in slots(draft.spec):
        if find(slot.template, "spec.restartPolicy") not in ("OnFailure", "Never"):
            yield Problem("BJ3", f"{slot.path}.restartPolicy", "must be OnFailure or Never")


_RESTART_POLICY = Rule(
    "BJ3",
    Layer.CONTROLLER,
    says="the pods of the Job have restartPolicy OnFailure or Never, as Jobs want it",
    text=f"{_TEMPLATE}.restartPolicy: must be OnFailure or Never",
    check=_restart_policy,
    source=_SOURCE,
)


def _properties(draft: Draft) -> Iterator[Problem]:
    given = entries(draft.spec, f"{_CLUSTER}.flinkProperties")
    for name in OURS:
        if name in given:
            path = f"spec.{_CLUSTER}.flinkProperties"
            yield Problem("BJ5", path, f'"{name}" is set by the controller')


_PROPERTIES = Rule(
    "BJ5",
    Layer.CONTROLLER,
    says="`flinkProperties` leaves addresses and ports to the controller",
    text=f'spec.{_CLUSTER}.flinkProperties: "<k>" is set by the controller',
    check=_properties,
    source=_SOURCE,
)


def _resources(draft: Draft) -> Iterator[Problem]:
    for path, part in _resourced(draft.spec):
        if is_object(part.get("resources")):
            _, problems = parsed(Resources, part["resources"], path)
            yield from (Problem("G6", problem.path, problem.text) for problem in problems)
            yield from requests_within_limits(path, part)


def _resourced(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in _PARTS:
        yield f"spec.{_CLUSTER}.{name}.resources", entries(spec, f"{_CLUSTER}.{name}")


_FLINK_RESOURCES = Rule(
    "G6",
    Layer.CONTROLLER,
    says="the Flink containers request no more of a resource than their limits",
    text='<path>.resources.requests: Invalid value: "<request>": must be less than or equal to '
    "<resource> limit of <limit>",
    check=_resources,
    source="spec R2, G6",
)


def _flink_contents(draft: Draft) -> Iterator[Problem]:
    path = "spec.flinkClusterTemplate"
    faults = [
        *labels_and_annotations(f"{path}.metadata", entries(draft.spec, "flinkClusterTemplate.metadata"))
    ]
    image = text(draft.spec, f"{_CLUSTER}.image.name")
    if image != "".join(image.split()):
        faults.append((f"{path}.spec.image.name", invalid(image, "must not contain blanks")))
    for at, part in _resourced(draft.spec):
        faults += amounts(at, entries(part, "resources"))
    for key, value in entries(draft.spec, f"{_CLUSTER}.flinkProperties").items():
        if _is_no_line(key, value):
            sentence = f"{shown(key)}: a key is one word without ':', a value is one line"
            faults.append((f"{path}.spec.flinkProperties", sentence))
    faults += nul(path, entries(draft.spec, "flinkClusterTemplate"))
    yield from (Problem("G20", *fault) for fault in faults)


def _is_no_line(key: str, value: object) -> bool:
    """A line of flink-conf.yaml is `key: value`: what has an end of a line would be another property."""
    said = value if isinstance(value, str) else ""
    return len(key.split()) != 1 or key != key.strip() or ":" in key or len(said.splitlines()) > 1


_FLINK = Rule(
    "G20",
    Layer.CONTROLLER,
    says="what is said of the Flink pods is what an API server takes, and each property is a line of its file",
    text="<path>: Invalid value: <value>: <what is allowed>",
    check=_flink_contents,
    source="spec R2, G20",
)

_TEMPLATES: Final = {rule.id: rule for rule in template_rules(LAYOUT)}


def _required_container(draft: Draft) -> Iterator[Problem]:
    """What G5 asks of a pod template, under the kind's own id."""
    check = _TEMPLATES["G5"].check
    for problem in check(draft) if check else ():
        if isinstance(problem, Problem):
            yield replace(problem, rule="BJ2")


_CONTAINER = Rule(
    "BJ2",
    Layer.CONTROLLER,
    says="the template of the Job has a container; every container has a name, its own, and an image",
    text=f"{_TEMPLATE}.containers: Required value: at least one container",
    check=_required_container,
    source=_SOURCE,
)

_TYPES: Final = general.known_types(SUBMIT)
"""G7 and G18 for debug mode; there is no pause, of which the one between them is."""

_FIXED: Final = (
    immutable.fixed(f"{_CLUSTER}.flinkVersion"),
    immutable.fixed(f"{_CLUSTER}.image.name"),
    immutable.fixed(f"{_CLUSTER}.image.pullPolicy", "IfNotPresent"),
    immutable.fixed(f"{_CLUSTER}.taskManager.replicas", 1),
)

RULES: tuple[Rule, ...] = (
    general.NAME,
    _REQUIRED,
    _CONTAINER,
    _RESTART_POLICY,
    _NAME_LENGTH,
    _PROPERTIES,
    _TEMPLATES["G6"],
    _FLINK_RESOURCES,
    _FLINK,
    _TYPES[0],
    _TYPES[2],
    immutable.DEBUG,
    general.PRIORITY,
    *alias_rules(BeamSpec),
    *(_TEMPLATES[id_] for id_ in ("G15", "G20", "GX1")),
    most_replicas(numbers_at(f"{_CLUSTER}.taskManager.replicas"), f"spec.{_CLUSTER}.taskManager.replicas"),
    *_FIXED,
    *(
        immutable.fixed_unread(path)
        for path in (
            "flinkClusterTemplate.metadata",
            f"{_CLUSTER}.flinkProperties",
            *(f"{_CLUSTER}.{name}.resources" for name in _PARTS),
        )
    ),
    immutable.SCHEDULER,
    immutable.FINISHED,
)
"""In the order of the spec."""
