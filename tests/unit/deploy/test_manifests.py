"""Rights and versions in deploy/, read without a cluster."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobledger.generate.rbac import (
    GRANTS,
    KUEUE_GRANTS,
    LEASE,
    SWITCHED_GRANTS,
    USERS,
    PolicyRule,
    Scope,
    bindings,
    rbac_objects,
)
from jobledger.settings.loading import paths
from jobledger.settings.model import Settings
from jobledger.wiring.roles import Role
from k8s_bridge.apiserver import lease
from statemachine.kinds import KINDS

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "jobledger"

ALL_RULES = [
    *(rule for grants in GRANTS.values() for rules in grants.values() for rule in rules),
    *(rule for rules in USERS.values() for rule in rules),
    *(rule for grants in SWITCHED_GRANTS.values() for rules in grants.values() for rule in rules),
]

DEPLOYED = frozenset({"store", "server", "namespace", "python", "settle", "full"})
"""Settings of a machine's own jobledger, which nobody needs on a cluster."""


FROM_SECRETS = frozenset(f"kafka.{name}_file" for name in ("password", "token", "ca", "certificate", "key"))
"""Settings that the chart makes of `kafka.password` and its like."""

OF_SNAPSHOTS = frozenset({"snapshot_key_file"})
"""The setting that the chart makes of `snapshotKey` where it is needed."""

OF_SINKS = frozenset({"events.sinks"})
"""The setting that the chart makes of `events.sinks` where something projects."""

OF_HISTORY = frozenset({"history", "history_password_file"})
"""Settings that the chart makes of `history` where they are needed."""

OF_PRIVACY = frozenset({"privacy.key_file"})
"""The setting that the chart makes of `privacy.key` where it is needed."""

OF_KINDS = frozenset(set(paths()) - set(paths(Settings)))
"""Settings that the chart makes of the values of an opt-in kind."""

OF_KUEUE = frozenset({"kueue.enabled"})
"""A setting that comes with rights, so that the chart has a value of its own for it."""

BY_POD = frozenset({"kafka.instance"})
"""Settings that no two pods may have the same."""


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("rule", ALL_RULES, ids=str)
def test_no_rule_grants_more_than_it_says(rule: PolicyRule) -> None:
    assert "*" not in (rule.group, *rule.resources, *rule.verbs)
    assert not {"pods/exec", "pods/attach", "pods/portforward"} & set(rule.resources)
    assert not {"impersonate", "escalate", "bind"} & set(rule.verbs)
    assert rule.group != "rbac.authorization.k8s.io"


def test_secrets_are_made_and_nobody_looks_around_among_them() -> None:
    held = {
        (role, scope, rule.verbs)
        for role, grants in GRANTS.items()
        for scope, rules in grants.items()
        for rule in rules
        if "secrets" in rule.resources
    }
    assert held == {(Role.PROJECTORS, Scope.JOBS, ("get", "create", "delete"))}
    assert not any("secrets" in rule.resources for rules in USERS.values() for rule in rules)


def test_every_role_of_a_controller_has_its_rights_and_no_other() -> None:
    assert set(GRANTS) == set(Role)


def test_the_lease_of_the_rights_is_the_one_that_is_held() -> None:
    assert lease.NAME == LEASE


def test_every_kind_is_watched_and_its_status_written() -> None:
    for kind in KINDS:
        names = kind.names
        if kind.opt_in:
            continue
        assert allows(GRANTS[Role.BRIDGE][Scope.JOBS], names.group, names.plural, "watch")
        assert allows(GRANTS[Role.PROJECTORS][Scope.JOBS], names.group, f"{names.plural}/status", "patch")
        assert allows(USERS["edit"], names.group, names.plural, "create")


def test_a_kind_that_is_not_switched_on_is_out_of_reach() -> None:
    granted = [*(grant for grants in GRANTS.values() for grant in grants.values()), *USERS.values()]
    for kind in (kind for kind in KINDS if kind.opt_in):
        names = kind.names
        assert not [rule for rules in granted for rule in rules if rule.group == names.group]
        more = SWITCHED_GRANTS[names.plural]
        assert allows(more[Role.BRIDGE], names.group, names.plural, "watch")
        assert allows(more[Role.PROJECTORS], names.group, f"{names.plural}/status", "patch")
        assert allows(more[Role.PROJECTORS], names.group, names.plural, "delete") == kind.expires


def test_workloads_are_read_by_those_who_watch_and_only_where_that_is_switched_on() -> None:
    granted = [*(grant for grants in GRANTS.values() for grant in grants.values()), *USERS.values()]
    assert not [rule for rules in granted for rule in rules if rule.group == "kueue.x-k8s.io"]
    for role in (Role.BRIDGE, Role.PROJECTORS):
        assert [rule.verbs for rule in KUEUE_GRANTS[role]] == [("list", "watch")]


def test_nobody_but_the_projectors_writes_a_status() -> None:
    writers = {
        role
        for role, grants in GRANTS.items()
        for rules in grants.values()
        for rule in rules
        if any(resource.endswith("/status") for resource in rule.resources)
    }
    assert writers == {Role.PROJECTORS}


def allows(rules: Any, group: str, resource: str, verb: str) -> bool:
    return any(rule.group == group and resource in rule.resources and verb in rule.verbs for rule in rules)


def test_every_role_object_is_bound_once_and_to_the_account_of_its_role() -> None:
    objects = {manifest["metadata"]["name"]: manifest["kind"] for manifest in rbac_objects()}
    bound = {binding["roleRef"]["name"]: binding["roleRef"]["kind"] for binding in bindings()}
    users = {f"jobledger-{user}" for user in USERS}
    assert bound == {name: kind for name, kind in objects.items() if name not in users}
    for binding in bindings():
        (subject,) = binding["subjects"]
        assert binding["metadata"]["name"].startswith(subject["name"])


def versions() -> Iterator[tuple[str, str]]:
    chart = read(CHART / "Chart.yaml")
    yield "chart", chart["version"]
    yield "application", chart["appVersion"]
    for overlay in sorted((DEPLOY / "overlays").iterdir()):
        (image,) = read(overlay / "kustomization.yaml")["images"]
        yield overlay.name, image["newTag"]


@pytest.mark.parametrize(("where", "version"), list(versions()), ids=str)
def test_what_is_deployed_is_this_release(where: str, version: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert version == project["version"]


def test_the_chart_takes_every_setting_that_a_cluster_has_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    wanted = {path for path in paths() if not path.startswith("controller.")}  # those are flags
    assert (
        set(schema["properties"]["settings"]["properties"])
        == wanted
        - DEPLOYED
        - FROM_SECRETS
        - OF_HISTORY
        - OF_SNAPSHOTS
        - OF_SINKS
        - OF_PRIVACY
        - OF_KINDS
        - OF_KUEUE
        - BY_POD
    )


def test_the_chart_has_a_secret_for_each_setting_that_is_a_file() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    known = {f"kafka.{name}_file" for name in schema["properties"]["kafka"]["properties"]}
    assert known & set(paths()) == FROM_SECRETS


def described(schema: Any, at: str = "") -> Iterator[str]:
    """Every value that a schema knows by name."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{at}{name}"
        yield from described(inner, f"{at}{name}/")


def valued(values: Any, at: str = "") -> Iterator[str]:
    """Every value that values.yaml sets."""
    if isinstance(values, dict):
        for name, inner in values.items():
            yield f"{at}{name}"
            yield from valued(inner, f"{at}{name}/")


def test_values_yaml_shows_every_value_that_the_schema_takes() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    hidden = set(described(schema)) - set(valued(read(CHART / "values.yaml")))
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    commented = {f"settings/{path}" for path in paths() if f"\n  # {path}: " in text}
    assert hidden == {"global", *commented}
