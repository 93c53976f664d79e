"""The admission policies that keep the names in the history true, as plain data, and whether they are in place. Pure.

A ValidatingAdmissionPolicy (Kubernetes 1.30) refuses every name in our annotations but the caller's own. A
MutatingAdmissionPolicy (1.36) writes the caller's name with every change of a spec, so no client has to. Only the
accounts of our own front may name others, as it acts for its users. `jobledger.generate` writes both into
`deploy/`; the bridge compares the policies on the cluster with these.

Source: Kubernetes, admissionregistration.k8s.io/v1; ADR 0023.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from k8s_bridge.actors import ACTOR, ACTOR_OF, DELETED_BY
from statemachine.kind import Names
from statemachine.timestamps import instant

Manifest = dict[str, Any]

POLICY: Final = "jobledger-actor"
"""The name of both policies and of their bindings. A cluster has one: jobs belong to no release of a chart."""

GROUP: Final = "admissionregistration.k8s.io"

VALIDATING: Final = "ValidatingAdmissionPolicy"
MUTATING: Final = "MutatingAdmissionPolicy"

EFFECTIVE: Final = timedelta(seconds=5)
"""So long after it was written a policy holds: API servers read policies again every second."""

_ALWAYS_LATER: Final = datetime.max.replace(tzinfo=UTC) - EFFECTIVE
"""The time of an object that does not say when it was written."""

_WISHES: Final = ("pause", "resume", "scale")

_ACCOUNTS: Final = re.compile(r"\[('system:serviceaccount:[-a-z0-9.]+:[-a-z0-9.]+'(, )?)*\]")
"""The only part that differs from cluster to cluster."""


def _annotation(of: str, key: str) -> str:
    every = f"{of}.metadata.annotations"
    return f"has({every}) && '{key}' in {every} ? {every}['{key}'] : ''"


def _was(key: str) -> str:
    return f"oldObject == null ? '' : ({_annotation('oldObject', key)})"


_CHANGED: Final = (
    "oldObject == null || has(object.spec) != has(oldObject.spec) || "
    "(has(object.spec) && object.spec != oldObject.spec)"
)
_SIGNATURES: Final = ("", *(f" with kubectl jobledger {wish}" for wish in _WISHES))
_OWN: Final = " || ".join(f"variables.actor == variables.caller + '{signature}'" for signature in _SIGNATURES)


def _refusal(key: str, name: str) -> str:
    return f"'annotation {key} must be ' + variables.caller + ', who asks, and not ' + {name}"


def _variables(accounts: Sequence[str], own: Mapping[str, str]) -> list[Manifest]:
    expressions = {
        "accounts": f"[{', '.join(map(repr, accounts))}]",
        "caller": "request.userInfo.username",
        "speaksForOthers": "variables.caller in variables.accounts",
        "specChanged": _CHANGED,
        # the API server counts after admission
        "generation": "oldObject == null ? 1 : oldObject.metadata.generation + (variables.specChanged ? 1 : 0)",
        "actor": _annotation("object", ACTOR),
        **own,
    }
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def rules_of(kinds: Iterable[Names]) -> list[Manifest]:
    """The rules by which the policies hold for these kinds: for the jobs themselves, not for status or scale."""
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        groups.setdefault(kind.group, []).append(kind.plural)
    return [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": plurals}
        for group, plurals in groups.items()
    ]


def validating(kinds: Iterable[Names], accounts: Sequence[str]) -> list[Manifest]:
    """The policy that refuses other names than the caller's, and its binding."""
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules_of(kinds)},
        "variables": _variables(
            accounts,
            {
                "oldActor": _was(ACTOR),
                "of": _annotation("object", ACTOR_OF),
                "oldOf": _was(ACTOR_OF),
                "by": _annotation("object", DELETED_BY),
                "oldBy": _was(DELETED_BY),
                "isOwn": f"variables.actor == '' || variables.speaksForOthers || {_OWN}",
            },
        ),
        "validations": [
            {
                "expression": "variables.actor == variables.oldActor || variables.isOwn",
                "messageExpression": _refusal(ACTOR, "variables.actor"),
            },
            {
                "expression": (
                    "!variables.of.matches('^[1-9][0-9]{0,17}$') || int(variables.of) < variables.generation || "
                    "(int(variables.of) == variables.generation && (variables.specChanged ? variables.isOwn : "
                    "variables.of == variables.oldOf && variables.actor == variables.oldActor))"
                ),
                "messageExpression": (
                    f"'annotation {ACTOR_OF} says who wrote generation ' + variables.of + "
                    "', and this request does not write that one: take the annotation out'"
                ),
            },
            {
                "expression": (
                    "variables.by == variables.oldBy || variables.by == '' || variables.speaksForOthers || "
                    "variables.by == variables.caller"
                ),
                "messageExpression": _refusal(DELETED_BY, "variables.by"),
            },
        ],
    }
    binding = {"policyName": POLICY, "validationActions": ["Deny"]}
    return [_object(VALIDATING, spec), _object(f"{VALIDATING}Binding", binding)]


def mutating(kinds: Iterable[Names], accounts: Sequence[str]) -> list[Manifest]:
    """The policy that writes the caller's name with every change of a spec, and its binding."""
    name = "variables.speaksForOthers && variables.actor != '' ? variables.actor : variables.caller"
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"resourceRules": rules_of(kinds)},
        "variables": _variables(accounts, {}),
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": (
                        "variables.specChanged ? Object{metadata: Object.metadata{annotations: {"
                        f"'{ACTOR}': string({name}), '{ACTOR_OF}': string(variables.generation)"
                        "}}} : Object{}"
                    )
                },
            }
        ],
    }
    return [_object(MUTATING, spec), _object(f"{MUTATING}Binding", {"policyName": POLICY})]


def _object(kind: str, spec: Manifest) -> Manifest:
    labels = {"app.kubernetes.io/name": "jobledger", "app.kubernetes.io/instance": "jobledger"}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": POLICY, "labels": labels},
        "spec": spec,
    }


# ---- what is on a cluster ----------------------------------------------------------------------------------------


def guarded(
    policy: Manifest, binding: Manifest, kinds: Iterable[Names]
) -> Mapping[tuple[str, str], datetime]:
    """The kinds that policy and binding, as an API server shows them, guard, by group and plural; and since when.

    Empty if one of them is not what this release ships: under a looser policy any name may have been written.
    """
    spec, bound = policy.get("spec") or {}, binding.get("spec") or {}
    if not (_is_shipped(spec) and _binds(bound)):
        return {}
    since = max(_written_at(policy), _written_at(binding)) + EFFECTIVE
    return {
        (kind.group, kind.plural): since
        for kind in kinds
        if any(_matches(rule, kind) for rule in _held(spec))
    }


def _is_shipped(spec: Manifest) -> bool:
    """The policy asks what this release asks of a request, apart from the accounts and the kinds."""
    (shipped, _), variables = validating((), ()), list(spec.get("variables") or ())
    shipped_spec = shipped["spec"]
    accounts = variables.pop(0) if variables else {}
    match = spec.get("matchConstraints") or {}
    return (
        accounts.get("name") == "accounts"
        and _ACCOUNTS.fullmatch(str(accounts.get("expression"))) is not None
        and variables == shipped_spec["variables"][1:]
        and [_essence(validation) for validation in spec.get("validations") or ()]
        == [_essence(validation) for validation in shipped_spec["validations"]]
        and spec.get("failurePolicy") == "Fail"
        and not spec.get("matchConditions")
        and not spec.get("paramKind")
        and _is_unlimited(match)
    )


def _essence(validation: Manifest) -> str:
    return str(validation.get("expression"))


def _binds(spec: Manifest) -> bool:
    return (
        spec.get("policyName") == POLICY
        and "Deny" in (spec.get("validationActions") or ())
        and not spec.get("paramRef")
        and _is_unlimited(spec.get("matchResources") or {})
        and not (spec.get("matchResources") or {}).get("resourceRules")
    )


def _is_unlimited(match: Manifest) -> bool:
    """The policy excludes no namespace, object or resource."""
    return not any(
        match.get(part) for part in ("namespaceSelector", "objectSelector", "excludeResourceRules")
    )


def _held(spec: Manifest) -> Iterator[Manifest]:
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        if not rule.get("resourceNames") and rule.get("scope", "*") != "Cluster":
            yield rule


def _matches(rule: Manifest, names: Names) -> bool:
    values = {
        "apiGroups": {names.group},
        "apiVersions": {names.version},
        "operations": {"CREATE", "UPDATE"},
        "resources": {names.plural},
    }
    return all("*" in rule.get(key, ()) or values[key] <= set(rule.get(key, ())) for key in values)


def _written_at(raw: Manifest) -> datetime:
    """When the object was last written, apart from its status."""
    meta = raw.get("metadata") or {}
    managers = [manager for manager in meta.get("managedFields") or () if not manager.get("subresource")]
    times = [meta.get("creationTimestamp"), *(manager.get("time") for manager in managers)]
    return max(filter(None, map(instant, times)), default=_ALWAYS_LATER)
