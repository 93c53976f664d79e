"""What each role of a controller may ask of the API server, and what users may do with jobs, as RBAC objects.

`jobledger.generate` writes them into `deploy/`. The integration test of RBAC compares them with the audit log of an
API server while controllers drive a job through its life, both ways: nothing that they ask for is missing, and
nothing is granted that none of them asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from jobledger.wiring.roles import Role
from statemachine.kinds import SERVED

Manifest = dict[str, Any]

_RBAC: Final = "rbac.authorization.k8s.io"

LEASE: Final = "jobledger-bridge"

LABELS: Final = {"app.kubernetes.io/name": "jobledger", "app.kubernetes.io/instance": "jobledger"}
"""On everything that is installed but the CRDs, so that one selector uninstalls it and leaves the jobs."""


class Rule(NamedTuple):
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


Rules = Sequence[Rule]


def _jobs(*verbs: str, subresource: str = "") -> Rules:
    """The verbs on every job kind, a rule for each API group."""
    groups: dict[str, list[str]] = {}
    for names in SERVED:
        groups.setdefault(names.group, []).append(names.plural + subresource)
    return [Rule(group, tuple(plurals), verbs) for group, plurals in groups.items()]


def _watched() -> Rules:
    """What a process follows that bridges, or that acts on children: both work from the same watches."""
    return [
        *_jobs("list", "watch"),
        Rule("", ("pods", "services"), ("list", "watch")),
        Rule("scheduler.tensorstack.dev", ("podgroups",), ("list", "watch")),
        Rule("tensorstack.dev", ("tensorboards",), ("list", "watch")),
    ]


GRANTS: Final[Mapping[Role, Mapping[Scope, Rules]]] = {
    Role.BRIDGE: {
        Scope.JOBS: _watched(),
        Scope.OWN: [
            Rule("coordination.k8s.io", ("leases",), ("create",)),  # a name cannot be asked for at creation
            Rule("coordination.k8s.io", ("leases",), ("get", "update"), (LEASE,)),
        ],
    },
    Role.ENGINE: {},
    Role.PROJECTORS: {
        Scope.JOBS: [
            *_watched(),
            *_jobs("get"),
            *_jobs("patch", subresource="/status"),
            # get: whose it is, where a name is taken; patch: labels that somebody took off, too
            Rule("", ("pods", "services"), ("get", "create", "patch", "delete")),
            Rule("scheduler.tensorstack.dev", ("podgroups",), ("get", "create", "patch", "delete")),
            Rule("tensorstack.dev", ("tensorboards",), ("get", "create", "patch", "delete")),
            Rule("", ("events",), ("create",)),
        ],
    },
    Role.FRONT: {
        Scope.JOBS: [
            *_jobs("get", "list", "create", "patch", "delete"),
            Rule("", ("pods",), ("get",)),
            Rule("", ("pods/log",), ("get",)),
            Rule("", ("events",), ("list",)),
        ],
        Scope.CLUSTER: [
            Rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
            Rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
        ],
    },
}
"""Role → scope → rules. The engine works on the log alone."""

USERS: Final[Mapping[str, Rules]] = {
    "view": _jobs("get", "list", "watch"),
    "edit": [
        *_jobs("create", "delete", "deletecollection", "patch", "update"),
        *_jobs("get", "patch", "update", subresource="/scale"),
    ],
}
"""Built-in ClusterRole → what it gets, so that whoever may work with pods may work with jobs.

`view` is part of `edit`, and `edit` of `admin`. Nobody but the controller writes a status.
"""


def rbac_objects() -> Iterator[Manifest]:
    """The ClusterRoles and Roles of the kustomize base."""
    for role, grants in GRANTS.items():
        for scope, rules in grants.items():
            yield _object(scope.kind, scope.holder(role), rules)
    for user, rules in USERS.items():
        yield _object("ClusterRole", f"jobledger-{user}", rules, _aggregated(user))


def bindings(account: str | None = None) -> Iterator[Manifest]:
    """Every role bound to the ServiceAccount `account`, or each to one of its own name."""
    for role, grants in GRANTS.items():
        for scope in grants:
            name = scope.holder(role)
            yield {
                "apiVersion": f"{_RBAC}/v1",
                "kind": f"{scope.kind}Binding",
                "metadata": {"name": name, "labels": dict(LABELS)},
                "roleRef": {"apiGroup": _RBAC, "kind": scope.kind, "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": account or f"jobledger-{role}"}],
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
    }


def _manifests(rules: Rules) -> list[Manifest]:
    return [rule.manifest() for rule in rules]
