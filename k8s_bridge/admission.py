"""Refuses what an API server with our CRDs would refuse, for clusters without one.

Only the layers that the API server checks refuse here: S (schema) and C (CEL). The controller finds all other
problems: such a job is stored and fails visibly. Source: spec R2.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from k8s_bridge.observe import is_job
from k8s_bridge.port import Manifest
from statemachine.errors import Problem, Refused
from statemachine.kinds import UnknownKind, kind_of
from statemachine.rulebook import Layer, Rule

_REFUSING = (Layer.SCHEMA, Layer.CEL)


def admit(new: Manifest, old: Manifest | None) -> None:
    """Refuses `new` if it is a job that the API server would not store.

    Raises:
        Refused: 422 with every problem, in field order as the kind found them; 404 for a kind that is not
        served.
    """
    if not is_job(new):
        return
    api_version, name = new["apiVersion"], new["metadata"]["name"]
    try:
        kind = kind_of(api_version, new["kind"])
    except UnknownKind as error:
        raise Refused(404, "NotFound", str(error)) from error
    before = None if old is None else kind.canonical(_spec(old))
    admission = kind.admit(name, _spec(new), before)
    refusals = list(refused(kind.rules, admission.problems))
    if refusals:
        message = "; ".join(map(str, refusals))
        raise Refused(422, "Invalid", f'{new["kind"]}.{kind.names.group} "{name}" is invalid: {message}')


def admit_here(new: Manifest, old: Manifest | None) -> None:
    """Refuses what `admit` refuses, and new jobs that no single machine can run. Raises Refused."""
    admit(new, old)
    if old is None and is_job(new) and (why := kind_of(new["apiVersion"], new["kind"]).needs_cluster):
        raise Refused(422, "Invalid", f"a {new['kind']} does not run on one machine: {why}")


def refused(rules: Iterable[Rule], problems: Iterable[Problem]) -> Iterable[Problem]:
    """The problems for which the API server refuses; a problem without a known rule is about the schema."""
    layers = {rule.id: rule.layer for rule in rules}
    return (problem for problem in problems if layers.get(problem.rule, Layer.SCHEMA) in _REFUSING)


def _spec(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = manifest.get("spec")
    return spec if isinstance(spec, Mapping) else {}
