"""The admission policies that keep the names in the history true, as plain data, and whether they are in place. Pure.

A ValidatingAdmissionPolicy (Kubernetes 1.30) refuses any name in our annotations but the caller's own. A
MutatingAdmissionPolicy (1.36) writes the caller's name with every change of a spec, so that nobody has to. Only the
accounts of our own front may name others: it acts for the users who ask it. `jobledger.generate` writes both into
`deploy/`; the bridge compares what it finds on the cluster with what is here.

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
"""Name of both policies and of their bindings. There is one in a cluster: jobs are of no release."""

GROUP: Final = "admissionregistration.k8s.io"

VALIDATING: Final = "ValidatingAdmissionPolicy"
MUTATING: Final = "MutatingAdmissionPolicy"

EFFECTIVE: Final = timedelta(seconds=5)
"""After a policy was written it holds: API servers read theirs again every second."""

_ALWAYS_LATER: Final = datetime.max.replace(tzinfo=UTC) - EFFECTIVE
"""Of an object that does not say when it was written."""

_WISHES: Final = ("pause", "resume", "scale")

_ACCOUNTS: Final = re.compile(r"\[('system:serviceaccount:[-a-z0-9.]+:[-a-z0-9.]+'(, )?)*\]")
"""The one part that differs from cluster to cluster."""


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
_OWN: Final = " || ".join(f"variables.actor == variables.caller + '{each}'" for each in _SIGNATURES)


def _refusal(key: str, name: str) -> str:
    return f"'annotation {key} must be ' + variables.caller + ', who asks, and not ' + {name}"


def _variables(accounts: Sequence[str], more: Mapping[str, str]) -> list[Manifest]:
    found = {
        "accounts": f"[{', '.join(repr(each) for each in accounts)}]",
        "caller": "request.userInfo.username",
        "speaksForOthers": "variables.caller in variables.accounts",
        "specChanged": _CHANGED,
        # the API server counts after admission
        "generation": "oldObject == null ? 1 : oldObject.metadata.generation + (variables.specChanged ? 1 : 0)",
        "actor": _annotation("object", ACTOR),
        **more,
    }
    return [{"name": name, "expression": expression} for name, expression in found.items()]


def rules_of(kinds: Iterable[Names]) -> list[Manifest]:
    """What makes the policies hold for these kinds: for the jobs themselves, not for their status or scale."""
    groups: dict[str, list[str]] = {}
    for each in kinds:
        groups.setdefault(each.group, []).append(each.plural)
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
    """Since when the policy and its binding, as an API server shows them, guard which kinds: by API group and plural.

    Empty, if one of them is not what this release ships: whoever loosened it may have named anybody.
    """
    spec, bound = policy.get("spec") or {}, binding.get("spec") or {}
    if not (_is_shipped(spec) and _binds(bound)):
        return {}
    since = max(_written_at(policy), _written_at(binding)) + EFFECTIVE
    return {
        (each.group, each.plural): since
        for each in kinds
        if any(_matches(rule, each) for rule in _held(spec))
    }


def _is_shipped(spec: Manifest) -> bool:
    """What the policy asks of a request is what this release asks, but for the accounts and the kinds."""
    (shipped, _), said = validating((), ()), list(spec.get("variables") or ())
    wanted = shipped["spec"]
    accounts = said.pop(0) if said else {}
    match = spec.get("matchConstraints") or {}
    return (
        accounts.get("name") == "accounts"
        and _ACCOUNTS.fullmatch(str(accounts.get("expression"))) is not None
        and said == wanted["variables"][1:]
        and [_essence(each) for each in spec.get("validations") or ()]
        == [_essence(each) for each in wanted["validations"]]
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
    """No namespace, object or resource is left out."""
    return not any(
        match.get(each) for each in ("namespaceSelector", "objectSelector", "excludeResourceRules")
    )


def _held(spec: Manifest) -> Iterator[Manifest]:
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        if not rule.get("resourceNames") and rule.get("scope", "*") != "Cluster":
            yield rule


def _matches(rule: Manifest, names: Names) -> bool:
    wanted = {
        "apiGroups": {names.group},
        "apiVersions": {names.version},
        "operations": {"CREATE", "UPDATE"},
        "resources": {names.plural},
    }
    return all("*" in rule.get(key, ()) or wanted[key] <= set(rule.get(key, ())) for key in wanted)


def _written_at(raw: Manifest) -> datetime:
    """When the object was written last. Its status is not what holds."""
    meta = raw.get("metadata") or {}
    managers = [each for each in meta.get("managedFields") or () if not each.get("subresource")]
    times = [meta.get("creationTimestamp"), *(each.get("time") for each in managers)]
    return max(filter(None, map(instant, times)), default=_ALWAYS_LATER)
