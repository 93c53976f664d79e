"""What each role of a controller may ask of the API server, and what users may do with jobs, as RBAC objects.

`jobledger.generate` writes them into `deploy/`. The integration test of RBAC compares them with the audit log of an
API server while controllers drive a job through its life, both ways: nothing that they ask for is missing, and
nothing is granted that none of them asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from pydantic.alias_generators import to_camel

from jobledger.wiring.roles import Role
from k8s_bridge.actor_policy import GROUP, POLICY
from statemachine.kind import Kind
from statemachine.kinds import KINDS, OPT_IN
from statemachine.owned import Owned

Manifest = dict[str, Any]

_RBAC: Final = "rbac.authorization.k8s.io"

LEASE: Final = "jobledger-bridge"

LABELS: Final = {"app.kubernetes.io/name": "jobledger", "app.kubernetes.io/instance": "jobledger"}
"""On everything that is installed but the CRDs, so that one selector uninstalls it and leaves the jobs."""


class PolicyRule(NamedTuple):
    """Verbs on resources of one API group, on all objects or on those named."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def manifest(self) -> Manifest:
        """The rule as (Cluster)Roles have it."""
        rule = {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}
        return {**rule, "resourceNames": list(self.names)} if self.names else rule


class Scope(StrEnum):
    """Where rules hold."""

    JOBS = "jobs"
    """Wherever jobs may be: in all namespaces, or in those that the controller is limited to."""

    CLUSTER = "cluster"
    """On what has no namespace."""

    OWN = "own"
    """In the controller's own namespace."""

    @property
    def kind(self) -> str:
        """Kind of the object that holds the rules."""
        return "Role" if self is Scope.OWN else "ClusterRole"

    def holder(self, role: Role) -> str:
        """Name of the object that holds the rules of `role`."""
        return f"jobledger-{role}" if self is Scope.JOBS else f"jobledger-{role}-{self}"


Rules = Sequence[PolicyRule]

When = tuple[str, str]
"""A setting of a kind, and the value that it has (`Owned.when`)."""


ALWAYS: Final[Sequence[Kind]] = tuple(kind for kind in KINDS if not kind.opt_in)
"""The kinds that are managed wherever jobledger runs."""

_FOLLOW: Final = ("list", "watch")

_MAKE: Final = ("get", "create", "patch", "delete")
"""get: whose it is, where a name is taken; patch: labels that somebody took off, too."""


def _jobs(kinds: Sequence[Kind], *verbs: str, subresource: str = "") -> Rules:
    """The verbs on jobs of these kinds, a rule for each API group."""
    groups: dict[str, list[str]] = {}
    for names in (spelling for kind in kinds for spelling in (kind.names, *kind.aliases)):
        groups.setdefault(names.group, []).append(names.plural + subresource)
    return [PolicyRule(group, tuple(plurals), verbs) for group, plurals in groups.items()]


def _owned(kinds: Sequence[Kind], verbs: tuple[str, ...], when: When | None = None) -> Rules:
    """The verbs on what jobs of these kinds own beside pods and Services: always, or `when` a setting has a value."""
    owned: dict[Owned, None] = dict.fromkeys(
        child for kind in kinds for child in kind.owns if child.when == when
    )
    return [PolicyRule(child.group, (child.plural,), verbs) for child in owned]


def _shown(kinds: Sequence[Kind]) -> Rules:
    """What pages show of what jobs own."""
    owned = dict.fromkeys(child for kind in kinds for child in kind.owns if child.is_shown)
    return [PolicyRule(child.group, (child.plural,), ("get",)) for child in owned]


def _offered(kinds: Sequence[Kind]) -> Rules:
    """What else forms of these kinds offer."""
    sources = dict.fromkeys(source for kind in kinds for source in kind.form.choices.values())
    return [PolicyRule(source.group, (source.plural,), ("list",)) for source in sources if source.group]


def _watched() -> Rules:
    """What a process follows that bridges, or that acts on children: both work from the same watches."""
    return [
        *_jobs(ALWAYS, *_FOLLOW),
        PolicyRule("", ("pods", "services"), _FOLLOW),
        *_owned(ALWAYS, _FOLLOW),
    ]


GRANTS: Final[Mapping[Role, Mapping[Scope, Rules]]] = {
    Role.BRIDGE: {
        Scope.JOBS: [
            *_watched(),
            PolicyRule("", ("pods",), ("get",)),  # one that lost its labels: no list and no watch shows it
        ],
        Scope.OWN: [
            PolicyRule(
                "coordination.k8s.io", ("leases",), ("create",)
            ),  # a name cannot be asked for at creation
            PolicyRule("coordination.k8s.io", ("leases",), ("get", "update"), (LEASE,)),
        ],
        Scope.CLUSTER: [
            # whether names in the history are verified (ADR 0023)
            PolicyRule(
                GROUP,
                ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
                ("get",),
                (POLICY,),
            ),
        ],
    },
    Role.ENGINE: {},
    Role.PROJECTORS: {
        Scope.JOBS: [
            *_watched(),
            *_jobs(ALWAYS, "get"),
            *_jobs(ALWAYS, "patch", subresource="/status"),
            PolicyRule("", ("pods", "services"), _MAKE),
            # get: whose it is, of which only metadata is asked; watching would show everybody's (ADR 0013)
            PolicyRule("", ("secrets",), ("get", "create", "delete")),
            *_owned(ALWAYS, _MAKE),
            PolicyRule("", ("events",), ("create",)),
        ],
    },
    Role.FRONT: {
        Scope.JOBS: [
            *_jobs(ALWAYS, "get", "list", "create", "patch", "delete"),
            # one by one, for those who may get them themselves: replicas as such are in the log
            PolicyRule("", ("pods", "pods/log"), ("get",)),
            *_shown(ALWAYS),
            PolicyRule("", ("events",), ("list",)),
            # what the form offers, to those who may list it themselves
            PolicyRule("", ("persistentvolumeclaims",), ("list",)),
            PolicyRule("", ("configmaps",), ("list",)),
            *_offered(ALWAYS),
        ],
        Scope.CLUSTER: [
            PolicyRule("authentication.k8s.io", ("tokenreviews",), ("create",)),
            PolicyRule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
        ],
    },
}
"""Role → scope → rules. The engine works on the log alone."""


def _more(kind: Kind, when: When | None = None) -> Mapping[Role, Rules]:
    """What roles need beside `GRANTS` where the kind is switched on; `when` a setting has a value, beside that."""
    if when is not None:
        return {
            Role.BRIDGE: _owned([kind], _FOLLOW, when),
            Role.PROJECTORS: [*_owned([kind], _FOLLOW, when), *_owned([kind], _MAKE, when)],
        }
    watched = [*_jobs([kind], *_FOLLOW), *_owned([kind], _FOLLOW)]
    return {
        Role.BRIDGE: watched,
        Role.PROJECTORS: [
            *watched,
            *_jobs([kind], "get", *(["delete"] if kind.expires else [])),
            *_jobs([kind], "patch", subresource="/status"),
            *_owned([kind], _MAKE),
        ],
        Role.FRONT: _jobs([kind], "get", "list", "create", "patch", "delete"),
    }


SWITCHED_GRANTS: Final[Mapping[str, Mapping[Role, Rules]]] = {
    kind.names.plural: _more(kind) for kind, _ in OPT_IN
}
"""Plural of an opt-in kind → role → rules, in the namespaces where it is switched on."""


_WORKLOADS: Final = (PolicyRule("kueue.x-k8s.io", ("workloads",), _FOLLOW),)

KUEUE_GRANTS: Final[Mapping[Role, Rules]] = {Role.BRIDGE: _WORKLOADS, Role.PROJECTORS: _WORKLOADS}
"""What roles need beside `GRANTS` where Kueue's Workloads are read: both work from the same watches."""


def _of_users(kinds: Sequence[Kind]) -> Mapping[str, Rules]:
    return {
        "view": _jobs(kinds, "get", "list", "watch"),
        "edit": [
            *_jobs(kinds, "create", "delete", "deletecollection", "patch", "update"),
            *_jobs(kinds, "get", "patch", "update", subresource="/scale"),
        ],
    }


USERS: Final[Mapping[str, Rules]] = _of_users(ALWAYS)
"""Built-in ClusterRole → what it gets, so that a user who may work with pods may work with jobs.

`view` is part of `edit`, and `edit` of `admin`. Nobody but the controller writes a status.
"""


def rbac_objects() -> Iterator[Manifest]:
    """The ClusterRoles and Roles of the kustomize base."""
    for role, grants in GRANTS.items():
        for scope, rules in grants.items():
            yield _object(scope.kind, scope.holder(role), rules)
    for user, rules in USERS.items():
        yield _object("ClusterRole", f"jobledger-{user}", rules, _aggregated(user))


def switched_objects(kind: Kind, account: str) -> Iterator[Manifest]:
    """ClusterRoles for an opt-in kind that is switched on in all namespaces, bound to one account."""
    plural = kind.names.plural
    for role, rules in SWITCHED_GRANTS[plural].items():
        name = f"jobledger-{role}-{plural}"
        yield _object("ClusterRole", name, rules)
        yield _binding("ClusterRole", name, account)
    for user, rules in _of_users([kind]).items():
        yield _object("ClusterRole", f"jobledger-{user}-{plural}", rules, _aggregated(user))


def kueue_objects(account: str) -> Iterator[Manifest]:
    """ClusterRoles for reading Kueue's Workloads in all namespaces, bound to one account."""
    for role, rules in KUEUE_GRANTS.items():
        name = f"jobledger-{role}-kueue"
        yield _object("ClusterRole", name, rules)
        yield _binding("ClusterRole", name, account)


def bindings(account: str | None = None) -> Iterator[Manifest]:
    """Every role bound to the ServiceAccount `account`, or each to one of its own name."""
    for role, grants in GRANTS.items():
        for scope in grants:
            yield _binding(scope.kind, scope.holder(role), account or f"jobledger-{role}")


def _binding(kind: str, name: str, account: str) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": name, "labels": dict(LABELS)},
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account}],
    }


def _aggregated(role: str) -> dict[str, str]:
    """The label by which the built-in ClusterRole `role` takes rules in."""
    return {f"{_RBAC}/aggregate-to-{role}": "true"}


def _object(kind: str, name: str, rules: Rules, labels: Mapping[str, str] | None = None) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {**LABELS, **(labels or {})}},
        "rules": [rule.manifest() for rule in rules],
    }


def chart_rules() -> Manifest:
    """The same rules as the chart's templates read them: role → scope → rules; users' roles → rules."""
    return {
        "roles": {
            str(role): {str(scope): _manifests(rules) for scope, rules in grants.items()}
            for role, grants in GRANTS.items()
        },
        "users": {role: _manifests(rules) for role, rules in USERS.items()},
        "kueue": _by_role(KUEUE_GRANTS),
        "switched": {kind.names.plural: _switched(kind) for kind, _ in OPT_IN},
    }


def _switched(kind: Kind) -> Manifest:
    """The same of an opt-in kind; `by` holds what is needed for one value of a setting alone, by both."""
    by: Manifest = {}
    for when in dict.fromkeys(child.when for child in kind.owns if child.when):
        by.setdefault(to_camel(when[0]), {})[when[1]] = _by_role(_more(kind, when))
    return {
        "roles": _by_role(_more(kind)),
        "by": by,
        "users": {user: _manifests(rules) for user, rules in _of_users([kind]).items()},
    }


def _by_role(rules: Mapping[Role, Rules]) -> Manifest:
    return {str(role): _manifests(of_role) for role, of_role in rules.items()}


def _manifests(rules: Rules) -> list[Manifest]:
    return [rule.manifest() for rule in rules]
