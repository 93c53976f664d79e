"""The CRDs on a real API server: they apply, and each rule of layers S and C refuses what breaks just that rule.

What there is to break stands in a module for each kind, named like it. Everything happens in a namespace of its
own, which is deleted in the end; the CRDs stay.
"""

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
from statemachine.kinds import KINDS, kind_of
from statemachine.rulebook import Layer, Rule
from tests.harness import Cluster
from tests.harness.api import DRY_RUN, STRICT, Answer
from tests.integration.crds.words import Cases, Kept, Refused
from tests.unit.kinds.build import API, Spec, api_of

ROOT = Path(__file__).parents[3]

CASES: dict[str, Cases] = {
    kind.names.kind: import_module(f"tests.integration.crds.{kind.names.singular}").CASES for kind in KINDS
}

each_kind = pytest.mark.parametrize("cases", CASES.values(), ids=list(CASES))


@dataclass(frozen=True)
class Server:
    """The API server, asked in a namespace of a cluster that knows the kinds."""

    cluster: Cluster
    namespace: str
    made: list[tuple[str, Spec]] = field(default_factory=list)

    def create(self, manifest: Spec, *, dry: bool = False) -> Answer:
        """A new object, only tried if `dry`."""
        path = self._path(resource(manifest["kind"]))
        return self.cluster.api.request("POST", path, manifest, DRY_RUN if dry else STRICT)

    def replace(self, manifest: Spec) -> Answer:
        """Another version of an object that is there, only tried."""
        path = self._path(resource(manifest["kind"]), manifest["metadata"]["name"])
        version = self.cluster.api.request("GET", path).body["metadata"]["resourceVersion"]
        new = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
        return self.cluster.api.request("PUT", path, new, DRY_RUN)

    def patch(self, kind: str, name: str, change: Spec, *, subresource: str = "") -> Answer:
        """A merge patch of an object or of a part that has a path of its own."""
        place = self._path(resource(kind), name) + (f"/{subresource}" if subresource else "")
        return self.cluster.api.request("PATCH", place, change, STRICT)

    def get(self, what: str, name: str) -> Answer:
        """An object by its resource and name."""
        return self.cluster.api.request("GET", self._path(what, name))

    def kubectl(self, *arguments: str, given: Any = None) -> subprocess.CompletedProcess[str]:
        """What kubectl answers in the namespace."""
        return self.cluster.answer(*arguments, "-n", self.namespace, input=given)

    def job(self, kind: str, spec: Spec) -> str:
        """Name of a job of this spec that is there; made once."""
        if (kind, spec) not in self.made:
            name = f"existing-{len(self.made)}"
            accepted(self.create(manifest(kind, spec, name)))
            self.made.append((kind, spec))
        return f"existing-{self.made.index((kind, spec))}"

    def _path(self, what: str, name: str = "") -> str:
        known = self.cluster.resources.named(what)
        assert known is not None, f"the API server has no {what}"
        return known.path(self.namespace, name)


@pytest.fixture(scope="module")
def server(job_crds: Cluster) -> Iterator[Server]:
    with job_crds.namespace("crds") as name:
        yield Server(job_crds, name)


def manifest(kind: str, spec: Spec, name: str = "job") -> dict[str, Any]:
    """A whole job."""
    return {"apiVersion": api_of(kind), "kind": kind, "metadata": {"name": name}, "spec": spec}


def resource(kind: str) -> str:
    """What kubectl calls the kind or alias."""
    names = (names for kind in KINDS for names in (kind.names, *kind.aliases))
    return next(f"{name.plural}.{name.group}" for name in names if name.kind == kind)


def refusal(answer: Answer) -> str:
    """The one thing that the API server has against a manifest."""
    assert answer.code == 422, answer.body
    causes = [
        f"{cause.get('field')}: {cause['message']}"
        for cause in answer.causes
        if "some validation rules were not checked" not in cause["message"]
    ]
    assert len(causes) == 1, answer.message
    assert causes[0] in answer.message
    return causes[0]


def printed_refusal(answer: subprocess.CompletedProcess[str]) -> str:
    """The one thing that the API server has against a manifest, as kubectl prints it."""
    assert answer.returncode != 0, answer.stdout
    lines = [
        line
        for line in answer.stderr.splitlines()
        if "some validation rules were not checked" not in line and not line.startswith("Warning: ")
    ]
    assert sum(line.startswith("* ") for line in lines) <= 1, answer.stderr
    return "\n".join(lines)


def accepted(answer: Answer) -> None:
    """The API server took what it was given."""
    assert answer.is_accepted, answer.message


# ---- what there is to break -------------------------------------------------------------------------------------


def broken(kind: Kind, rule: Rule) -> bool:
    """Some case of the kind breaks the rule, and says so in the rule's own words if it has any."""
    cases = CASES[kind.names.kind]
    texts = [case.text for case in cases.refused if case.rule == rule.id]
    texts += [case.text for case in cases.kept if case.rule == rule.id]
    if rule.layer is Layer.SCHEMA:
        return bool(texts)
    pattern = re.sub(r"<[a-z]+>", "[0-9a-z]+", re.escape(rule.text).replace(r"\<", "<").replace(r"\>", ">"))
    return any(re.fullmatch(pattern, text) for text in texts)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_every_rule_of_the_api_server_is_broken_once(kind: Kind) -> None:
    held = [rule for rule in kind.rules if rule.layer in (Layer.SCHEMA, Layer.CEL)]
    finished = CASES[kind.names.kind].finished_text  # tried on a finished job, below
    whole = [rule.text for rule in held if rule.text != finished and not broken(kind, rule)]
    assert whole == []


REFUSED = [(cases.kind, case) for cases in CASES.values() for case in cases.refused]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kind", "case"), REFUSED, ids=[f"{kind}-{case.rule}-{at}" for at, (kind, case) in enumerate(REFUSED)]
)
def test_the_api_server_refuses_what_breaks_a_rule(server: Server, kind: str, case: Refused) -> None:
    answer = server.create(manifest(kind, case.spec, case.name), dry=True)
    assert case.text in refusal(answer), case.rule


KEPT = [(cases, case) for cases in CASES.values() for case in cases.kept]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("cases", "case"),
    KEPT,
    ids=[f"{cases.kind}-{case.rule}-{at}" for at, (cases, case) in enumerate(KEPT)],
)
def test_the_api_server_keeps_what_cannot_change(server: Server, cases: Cases, case: Kept) -> None:
    name = server.job(cases.kind, cases.old if case.old is None else case.old)
    assert case.text in refusal(server.replace(manifest(cases.kind, case.new, name))), case.rule


@pytest.mark.integration
@each_kind
def test_kubectl_prints_what_the_api_server_refuses(server: Server, cases: Cases) -> None:
    broken, kept = cases.refused[0], cases.kept[0]
    dry = ("--dry-run=server", "-f", "-")
    answer = server.kubectl("create", *dry, given=manifest(cases.kind, broken.spec, broken.name))
    assert broken.text in printed_refusal(answer)
    name = server.job(cases.kind, cases.old if kept.old is None else kept.old)
    answer = server.kubectl("replace", *dry, given=manifest(cases.kind, kept.new, name))
    assert kept.text in printed_refusal(answer)


# ---- what it lets pass ------------------------------------------------------------------------------------------


@pytest.mark.integration
@each_kind
def test_the_api_server_lets_change_what_may(server: Server, cases: Cases) -> None:
    given = manifest(cases.kind, cases.may_change, server.job(cases.kind, cases.old))
    accepted(server.replace(given))
    answer = server.kubectl("replace", "--dry-run=server", "-f", "-", given=given)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    "cases", [case for case in CASES.values() if api_of(case.kind) == API], ids=lambda cases: cases.kind
)
def test_g17_a_finished_job_keeps_its_run_policy(server: Server, cases: Cases) -> None:
    name = f"finished-{cases.kind.lower()}"
    accepted(server.create(manifest(cases.kind, cases.old, name)))
    while_running, afterwards = ({"spec": policy} for policy in cases.policies)
    accepted(server.patch(cases.kind, name, while_running))
    accepted(server.patch(cases.kind, name, {"status": {"phase": "Succeeded"}}, subresource="status"))
    answer = server.patch(cases.kind, name, afterwards)
    assert cases.finished_text in refusal(answer)
    if wish := kind_of(API, cases.kind).pausing(True):
        accepted(server.patch(cases.kind, name, {"spec": wish}))


ELASTIC = [case for case in CASES.values() if case.scale is not None]


@pytest.mark.integration
@pytest.mark.parametrize("cases", ELASTIC, ids=lambda cases: cases.kind)
def test_scale_is_the_wished_for_number(server: Server, cases: Cases) -> None:
    assert cases.scale is not None
    good, bad = cases.scale
    what, name = resource(cases.kind), f"scaled-{cases.kind.lower()}"
    accepted(server.create(manifest(cases.kind, cases.old, name)))
    printed = server.kubectl("scale", what, name, f"--replicas={good}")
    assert printed.returncode == 0, printed.stderr
    printed = server.kubectl("get", what, name, "-o", f"jsonpath={{{cases.scale_path}}}")
    assert printed.stdout == str(good)
    printed = server.kubectl("scale", what, name, f"--replicas={bad}")
    assert cases.scale_text in printed.stderr


@pytest.mark.integration
@each_kind
def test_a_whole_status_is_taken(server: Server, cases: Cases) -> None:
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
    name = server.job(cases.kind, cases.old)
    answer = server.patch(cases.kind, name, {"status": status}, subresource="status")
    accepted(answer)
    assert answer.body["status"] == status


ALIASES = [(kind, names) for kind in KINDS for names in kind.aliases]


@pytest.mark.integration
@pytest.mark.parametrize(("kind", "names"), ALIASES, ids=[names.kind for _, names in ALIASES])
def test_an_alias_is_served_like_its_kind_and_warned_of(server: Server, kind: Kind, names: Names) -> None:
    cases = CASES[kind.names.kind]
    warning = f"kind {names.kind} is deprecated, use {kind.names.kind}"
    printed = server.kubectl("create", "-f", "-", given=manifest(names.kind, cases.old, "alias"))
    assert printed.returncode == 0, printed.stderr
    assert f"Warning: {warning}" in printed.stderr
    answer = server.get(f"{names.plural}.{names.group}", "alias")
    assert answer.body["kind"] == names.kind
    assert any(text.startswith(warning) for text in answer.warnings)
    for case in cases.refused:
        answer = server.create(manifest(names.kind, case.spec, case.name), dry=True)
        assert case.text in refusal(answer), case.rule


GOLDEN = sorted((ROOT / "tests" / "golden").glob("*/*.yaml"))


@pytest.mark.integration
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_worked_examples_are_accepted(server: Server, path: Path) -> None:
    _, job, *_ = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    job["metadata"].pop("namespace", None)
    accepted(server.create(job, dry=True))
