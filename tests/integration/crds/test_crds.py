"""The CRDs on a real API server: they apply, and each rule of layers S and C refuses what breaks just that rule.

What there is to break stands in a module for each kind, named like it. Everything happens in a namespace of its
own, which is deleted in the end; the CRDs stay.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from statemachine.kind import Kind, Names
from statemachine.kinds import KINDS
from statemachine.rulebook import Layer, Rule
from tests.harness import Cluster
from tests.integration.crds.words import Cases, Kept, Refused
from tests.unit.kinds.build import API, Spec, api_of

ROOT = Path(__file__).parents[3]

CASES: dict[str, Cases] = {
    kind.names.kind: import_module(f"tests.integration.crds.{kind.names.singular}").CASES for kind in KINDS
}

each_kind = pytest.mark.parametrize("cases", CASES.values(), ids=list(CASES))


@dataclass(frozen=True)
class Api:
    """What kubectl answers in a namespace of a cluster that knows the kinds."""

    cluster: Cluster
    namespace: str
    made: list[tuple[str, Spec]] = field(default_factory=list)

    def __call__(self, *arguments: str, given: Any = None) -> subprocess.CompletedProcess[str]:
        return self.cluster.answer(*arguments, "-n", self.namespace, input=given)

    def job(self, kind: str, spec: Spec) -> str:
        """Name of a job of this spec that is there; made once."""
        if (kind, spec) not in self.made:
            name = f"existing-{len(self.made)}"
            accepted(self("create", "-f", "-", given=manifest(kind, spec, name)))
            self.made.append((kind, spec))
        return f"existing-{self.made.index((kind, spec))}"


@pytest.fixture(scope="module")
def api(job_crds: Cluster) -> Iterator[Api]:
    with job_crds.namespace("crds") as name:
        yield Api(job_crds, name)


def manifest(kind: str, spec: Spec, name: str = "job") -> dict[str, Any]:
    """A whole job."""
    return {"apiVersion": api_of(kind), "kind": kind, "metadata": {"name": name}, "spec": spec}


def resource(kind: str) -> str:
    """What kubectl calls the kind."""
    return next(f"{each.names.plural}.{each.names.group}" for each in KINDS if each.names.kind == kind)


def refusal(answer: subprocess.CompletedProcess[str]) -> str:
    """The one thing that the API server has against a manifest."""
    assert answer.returncode != 0, answer.stdout
    lines = [
        line
        for line in answer.stderr.splitlines()
        if "some validation rules were not checked" not in line and not line.startswith("Warning: ")
    ]
    assert sum(line.startswith("* ") for line in lines) <= 1, answer.stderr
    return "\n".join(lines)


def accepted(answer: subprocess.CompletedProcess[str]) -> None:
    """The API server took what it was given."""
    assert answer.returncode == 0, answer.stderr


# ---- what there is to break -------------------------------------------------------------------------------------


def broken(kind: Kind, rule: Rule) -> bool:
    """Some case of the kind breaks the rule, and says so in the rule's own words if it has any."""
    cases = CASES[kind.names.kind]
    told = [each.text for each in cases.refused if each.rule == rule.id]
    told += [each.text for each in cases.kept if each.rule == rule.id]
    if rule.layer is Layer.SCHEMA:
        return bool(told)
    pattern = re.sub(r"<[a-z]+>", "[0-9a-z]+", re.escape(rule.text).replace(r"\<", "<").replace(r"\>", ">"))
    return any(re.fullmatch(pattern, text) for text in told)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_every_rule_of_the_api_server_is_broken_once(kind: Kind) -> None:
    held = [rule for rule in kind.rules if rule.layer in (Layer.SCHEMA, Layer.CEL)]
    finished = "spec.runPolicy is immutable"  # tried on a finished job, below
    whole = [rule.text for rule in held if rule.text != finished and not broken(kind, rule)]
    assert whole == []


REFUSED = [(cases.kind, each) for cases in CASES.values() for each in cases.refused]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kind", "case"), REFUSED, ids=[f"{kind}-{case.rule}-{at}" for at, (kind, case) in enumerate(REFUSED)]
)
def test_the_api_server_refuses_what_breaks_a_rule(api: Api, kind: str, case: Refused) -> None:
    given = manifest(kind, case.spec, case.name)
    assert case.text in refusal(api("create", "--dry-run=server", "-f", "-", given=given)), case.rule


KEPT = [(cases, each) for cases in CASES.values() for each in cases.kept]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("cases", "case"),
    KEPT,
    ids=[f"{cases.kind}-{case.rule}-{at}" for at, (cases, case) in enumerate(KEPT)],
)
def test_the_api_server_keeps_what_cannot_change(api: Api, cases: Cases, case: Kept) -> None:
    name = api.job(cases.kind, cases.old if case.old is None else case.old)
    answer = api("replace", "--dry-run=server", "-f", "-", given=manifest(cases.kind, case.new, name))
    assert case.text in refusal(answer), case.rule


# ---- what it lets pass ------------------------------------------------------------------------------------------


@pytest.mark.integration
@each_kind
def test_the_api_server_lets_change_what_may(api: Api, cases: Cases) -> None:
    given = manifest(cases.kind, cases.may_change, api.job(cases.kind, cases.old))
    accepted(api("replace", "--dry-run=server", "-f", "-", given=given))


@pytest.mark.integration
@pytest.mark.parametrize(
    "cases", [each for each in CASES.values() if api_of(each.kind) == API], ids=lambda cases: cases.kind
)
def test_g17_a_finished_job_keeps_its_run_policy(api: Api, cases: Cases) -> None:
    name = f"finished-{cases.kind.lower()}"
    accepted(api("create", "-f", "-", given=manifest(cases.kind, cases.old, name)))
    change = ("patch", resource(cases.kind), name, "--type=merge")
    accepted(api(*change, "-p", '{"spec": {"runPolicy": {"cleanUpPolicy": "All"}}}'))
    accepted(api(*change, "--subresource=status", "-p", '{"status": {"phase": "Succeeded"}}'))
    answer = refusal(api(*change, "-p", '{"spec": {"runPolicy": {"cleanUpPolicy": "Unfinished"}}}'))
    assert "spec.runPolicy is immutable" in answer
    accepted(api(*change, "-p", '{"spec": {"runMode": {"pause": {"enabled": true}}}}'))


ELASTIC = [each for each in CASES.values() if each.scale is not None]


@pytest.mark.integration
@pytest.mark.parametrize("cases", ELASTIC, ids=lambda cases: cases.kind)
def test_scale_is_the_wished_for_number(api: Api, cases: Cases) -> None:
    assert cases.scale is not None
    good, bad = cases.scale
    what, name = resource(cases.kind), f"scaled-{cases.kind.lower()}"
    accepted(api("create", "-f", "-", given=manifest(cases.kind, cases.old, name)))
    accepted(api("scale", what, name, f"--replicas={good}"))
    found = api("get", what, name, "-o", f"jsonpath={{{cases.scale_path}}}")
    assert found.stdout == str(good)
    answer = api("scale", what, name, f"--replicas={bad}")
    assert cases.scale_text in answer.stderr


@pytest.mark.integration
@each_kind
def test_a_whole_status_is_taken(api: Api, cases: Cases) -> None:
    counts = dict.fromkeys(("creating", "pending", "running", "succeeded", "failed", "unknown", "deleted"), 0)
    replica = {
        "name": "a",
        "uid": "",
        "phase": "Running",
        "containers": [{"name": "pytorch", "state": "Terminated", "exitCode": 0}],
    }
    status = {
        "phase": "Running",
        "startTime": "2024-01-09T15:24:26Z",
        "observedGeneration": 1,
        "aggregate": counts,
        "tasks": [{"type": "worker", "restartCount": 1, "replicas": [replica]}],
        "conditions": [
            {
                "type": "Running",
                "status": "True",
                "reason": "-",
                "message": "All pods are running normally.",
                "lastTransitionTime": "2024-01-09T15:24:26Z",
            }
        ],
        **cases.status,
    }
    status = dict(cases.whole_status or status)
    name = api.job(cases.kind, cases.old)
    patch = ("patch", resource(cases.kind), name, "--subresource=status", "--type=merge", "-o", "json", "-p")
    answer = api(*patch, json.dumps({"status": status}))
    accepted(answer)
    assert json.loads(answer.stdout)["status"] == status


ALIASES = [(kind, names) for kind in KINDS for names in kind.aliases]


@pytest.mark.integration
@pytest.mark.parametrize(("kind", "names"), ALIASES, ids=[names.kind for _, names in ALIASES])
def test_an_alias_is_served_like_its_kind_and_warned_of(api: Api, kind: Kind, names: Names) -> None:
    cases = CASES[kind.names.kind]
    answer = api("create", "-f", "-", given=manifest(names.kind, cases.old, "alias"))
    accepted(answer)
    assert f"Warning: kind {names.kind} is deprecated, use {kind.names.kind}" in answer.stderr
    found = api("get", f"{names.plural}.{names.group}", "alias", "-o", "jsonpath={.kind}")
    assert found.stdout == names.kind
    for case in cases.refused:
        given = manifest(names.kind, case.spec, case.name)
        assert case.text in refusal(api("create", "--dry-run=server", "-f", "-", given=given)), case.rule


GOLDEN = sorted((ROOT / "tests" / "golden").glob("*/*.yaml"))


@pytest.mark.integration
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_worked_examples_are_accepted(api: Api, path: Path) -> None:
    _, job, *_ = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    job["metadata"].pop("namespace", None)
    accepted(api("create", "--dry-run=server", "-f", "-", given=job))
