"""Which GenericJobs are accepted: the shared rules and GJ1-GJ8. Source: spec R2 and genericjob.md, section 2."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.errors import Problem
from statemachine.kinds.common.counts import most_in_all, most_replicas
from statemachine.kinds.common.rule_builders import alias_rules, bounds
from statemachine.kinds.genericjob.roles import LAYOUT
from statemachine.kinds.genericjob.spec import GenericSpec
from statemachine.kinds.genericjob.variables import Variables
from statemachine.kinds.t9k import general, immutable
from statemachine.kinds.t9k.listed import names_fit, numbers, scales
from statemachine.kinds.t9k.modes import RESUME_IGNORED
from statemachine.kinds.t9k.templates import template_rules
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.lookup import entries, find, items, number, text
from statemachine.schema.problems import shown

_SOURCE: Final = "genericjob.md, section 2"

Spec = Mapping[str, Any]


# ---- GJ1-GJ3: success and failure rules ---------------------------------------------------------------------------


def _rules(spec: Spec) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in ("successRules", "failureRules"):
        for index, rule in items(spec, name):
            yield f"spec.{name}[{index}]", rule


def _unknown_type(draft: Draft) -> Iterator[Problem]:
    known = scales(draft.spec)
    for path, rule in _rules(draft.spec):
        for type_ in rule:
            if type_ not in known:
                yield Problem("GJ1", path, f"unknown replica type {shown(type_)}")


_KNOWN_TYPE = Rule(
    "GJ1",
    Layer.CONTROLLER,
    says="every type in `successRules` and `failureRules` exists",
    text='spec.<successRules or failureRules>[i]: unknown replica type "<t>"',
    check=_unknown_type,
    source=_SOURCE,
)


def _out_of_range(draft: Draft) -> Iterator[Problem]:
    known = scales(draft.spec)
    for path, rule in _rules(draft.spec):
        for type_, ranks in rule.items():
            if type_ in known and isinstance(ranks, list):
                for rank in _wrong_ranks(ranks, known[type_]):
                    yield Problem("GJ2", f"{path}.{type_}", f"rank {rank} is out of range")


def _wrong_ranks(ranks: list[Any], scale: int) -> Iterator[int]:
    used: set[int] = set()
    for rank in ranks:
        if isinstance(rank, int) and (rank in used or not 0 <= rank < scale):
            yield rank
        used.add(rank if isinstance(rank, int) else -1)


_RANKS = Rule(
    "GJ2",
    Layer.CONTROLLER,
    says="every rank in a rule is that of a replica, and is there once",
    text="spec.<successRules or failureRules>[i].<t>: rank <r> is out of range",
    check=_out_of_range,
    source=_SOURCE,
)


def _names_nothing(draft: Draft) -> Iterator[Problem]:
    for path, rule in _rules(draft.spec):
        if not rule or any(ranks == [] for ranks in rule.values()):
            yield Problem("GJ3", path, "must name at least one replica")


_SOMETHING = Rule(
    "GJ3",
    Layer.CONTROLLER,
    says="every rule, and every list of ranks in it, names a replica",
    text="spec.<successRules or failureRules>[i]: must name at least one replica",
    check=_names_nothing,
    source=_SOURCE,
)

# ---- GJ4-GJ8 ------------------------------------------------------------------------------------------------------


def _no_replica(draft: Draft) -> Iterator[Problem]:
    values = [value for _, value in numbers(draft.spec)]
    if values and not any(values):
        yield Problem("GJ4", "spec.replicaSpecs", "at least one replica is required")


_ONE_REPLICA = Rule(
    "GJ4",
    Layer.CONTROLLER,
    says="there is a replica",
    text="spec.replicaSpecs: at least one replica is required",
    check=_no_replica,
    source=_SOURCE,
)


def _wrong_ports(draft: Draft) -> Iterator[Problem]:
    ports = list(items(draft.spec, "service.ports"))
    names: set[str] = set()
    for index, port in ports:
        path, name = f"spec.service.ports[{index}]", text(port, "name")
        value = number(port, "port")
        if value is not None and not 1 <= value <= 65535:
            yield Problem("GJ5", f"{path}.port", f"Invalid value: {value}: must be between 1 and 65535")
        if not name and len(ports) > 1:
            yield Problem("GJ5", f"{path}.name", "Required value: there are several ports")
        if name and name in names:
            yield Problem("GJ5", f"{path}.name", f"Duplicate value: {shown(name)}")
        names.add(name)


_PORTS = Rule(
    "GJ5",
    Layer.CONTROLLER,
    says="ports are 1 to 65535 and have names of their own, if there are several",
    text="spec.service.ports[i]: …",
    check=_wrong_ports,
    source=_SOURCE,
)


def _texts(spec: Spec) -> Iterator[tuple[str, str, str]]:
    """Replica type, path and text of everything in which variables are replaced."""
    for slot in LAYOUT.slots(spec):
        for where in ("containers", "initContainers"):
            for index, container in items(slot.template, f"spec.{where}"):
                for path, value in _in_container(f"{slot.path}.{where}[{index}]", container):
                    yield slot.type, path, value
    for where in ("runMode.debug.replicaSpecs", "runMode.pause.resumeSpecs"):
        for index, item in items(spec, where):
            for path, value in _in_container(f"spec.{where}[{index}]", item):
                yield text(item, "type"), path, value


def _in_container(path: str, container: Spec) -> Iterator[tuple[str, str]]:
    for name in ("command", "args"):
        words = find(container, name)
        for index, word in enumerate(words if isinstance(words, list) else ()):
            if isinstance(word, str):
                yield f"{path}.{name}[{index}]", word
    for index, entry in items(container, "env"):
        yield f"{path}.env[{index}].value", text(entry, "value")


def _unresolved(draft: Draft) -> Iterator[Problem]:
    service = find(draft.spec, "service")
    named = [port for _, port in items(service, "ports") if text(port, "name")]
    ports = {text(port, "name"): number(port, "port") or 0 for port in named}
    known = scales(draft.spec)
    for type_, path, value in _texts(draft.spec):
        variables = Variables(draft.name, type_, 0, known, None if service is None else ports)
        for name in variables.unresolved(value):
            yield Problem("GJ6", path, f"variable $({name}) cannot be resolved")


_VARIABLES = Rule(
    "GJ6",
    Layer.CONTROLLER,
    says="every variable that is used stands for something in this job",
    text="<path>: variable $(<v>) cannot be resolved",
    check=_unresolved,
    source=_SOURCE,
)

_POLICY = bounds(
    "GJ7",
    "spec.replicaSpecs[*].restartPolicy.policy",
    says="`restartPolicy.policy` is one of Always, OnFailure, Never",
    source=_SOURCE,
)

_ALWAYS = (
    "restartPolicy Always with a limit restarts replicas that have succeeded, too: the job may never end"
)


def _always(draft: Draft) -> Iterator[Notice]:
    policies = [entries(item, "restartPolicy") for _, item in items(draft.spec, "replicaSpecs")]
    if any(text(policy, "policy") == "Always" and (number(policy, "limit") or 0) > 0 for policy in policies):
        yield Notice("AlwaysRestart", _ALWAYS)


_ENDLESS = Rule(
    "GJ8",
    Layer.WARNING,
    says="no replica type has the policy Always and a limit above 0",
    text=_ALWAYS,
    check=_always,
    source=_SOURCE,
)


_TEMPLATES = template_rules(LAYOUT)

RULES: tuple[Rule, ...] = (
    general.NAME,
    names_fit(hashed=False),
    general.TYPE_NAME,
    general.UNIQUE_TYPES,
    *_TEMPLATES[:2],
    *general.known_types(),
    immutable.DEBUG,
    immutable.RESUME_SPECS,
    general.PRIORITY,
    *alias_rules(GenericSpec),
    *_TEMPLATES[2:],
    most_in_all(numbers, "spec.replicaSpecs"),
    most_replicas(numbers, "spec.replicaSpecs[*].replicas"),
    immutable.fixed_list("replicaSpecs"),
    immutable.fixed_in_items("replicaSpecs", "type"),
    immutable.fixed_in_items("replicaSpecs", "replicas", 1),
    immutable.fixed_in_items("replicaSpecs", "restartPolicy.policy", "OnFailure"),
    immutable.fixed_in_items("replicaSpecs", "restartPolicy.limit", 0),
    immutable.fixed("successRules"),
    immutable.fixed("failureRules"),
    immutable.fixed("service"),
    immutable.SCHEDULER,
    immutable.finished("cleanUpPolicy"),
    _KNOWN_TYPE,
    _RANKS,
    _SOMETHING,
    _ONE_REPLICA,
    _PORTS,
    _VARIABLES,
    _POLICY,
    _ENDLESS,
    RESUME_IGNORED,
)
"""In the order of the spec."""
