"""What people do with kubectl and our kinds all day, without a controller: find, explain, watch, scale, apply."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from statemachine.kinds import KINDS, SERVED
from tests.harness import JOB_CRDS, OPT_IN_CRDS, Cluster
from tests.unit.kinds.build import API, ELASTIC, KIND, TORCHRUN, Spec, replicas, spec

pytestmark = pytest.mark.integration

NOW = "2026-01-09T15:24:26Z"
CONDITION = {"reason": "-", "message": "All pods are running normally.", "lastTransitionTime": NOW}


@dataclass(frozen=True)
class Desk:
    """kubectl in a namespace."""

    cluster: Cluster
    namespace: str

    def __call__(self, *arguments: str, input: Any = None) -> str:
        """What it prints. Raises CommandFailed."""
        return self.cluster.kubectl("-n", self.namespace, *arguments, input=input)

    def answer(self, *arguments: str, input: Any = None) -> subprocess.CompletedProcess[str]:
        """What it answers, be it yes or no."""
        return self.cluster.answer("-n", self.namespace, *arguments, input=input)

    def create(self, name: str, **more: Any) -> None:
        """A job that no controller knows of."""
        self("create", "-f", "-", input=job(name, spec(**more)))

    def status(self, name: str, **status: Any) -> None:
        """The status that a controller would have written."""
        change = json.dumps({"status": status})
        self("patch", "pj", name, "--subresource=status", "--type=merge", "-p", change)

    def table(self, *arguments: str) -> list[list[str]]:
        """The words of each printed line."""
        return [line.split() for line in self(*arguments).splitlines()]


@pytest.fixture
def desk(cluster: Cluster, namespace: str) -> Desk:
    return Desk(cluster, namespace)


def job(name: str, of: Spec) -> dict[str, Any]:
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": name}, "spec": of}


# ---- find ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "by", ["pj", "pytorchtrainingjob", "pytorchtrainingjobs", "jobledger", "all", "training"]
)
def test_kubectl_gets_a_job_by_short_name_and_category(desk: Desk, by: str) -> None:
    desk.create("mnist")
    (name,) = desk("get", by, "-o", "name").split()
    assert name == "pytorchtrainingjob.batch.tensorstack.dev/mnist"


def test_every_kind_has_its_short_names_and_all_categories(cluster: Cluster) -> None:
    for category in ("all", "jobledger", "training"):
        lines = cluster.kubectl("api-resources", f"--categories={category}", "--no-headers").splitlines()
        short_names = {line.split()[-1]: line.split()[1] for line in lines}
        for kind in KINDS:
            assert short_names[kind.names.kind] == (",".join(kind.names.short) or kind.names.api_version)


def test_columns_tell_how_far_a_job_is(desk: Desk) -> None:
    desk.create("mnist", scheduler={"t9kScheduler": {"queue": "night"}})
    desk.status(
        "mnist", phase="Running", backoffCount=2, aggregate={"running": 3, "succeeded": 1, "failed": 0}
    )
    head, line = desk.table("get", "pj")
    assert head == ["NAME", "PHASE", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]
    assert line[:-1] == ["mnist", "Running", "3", "1", "0"]
    wide, line = desk.table("get", "pj", "-o", "wide")
    assert wide == [*head, "RESTARTS", "QUEUE"]
    assert line[-2:] == ["2", "night"]


# ---- explain ------------------------------------------------------------------------------------------------------


def described(cluster: Cluster, kind: str) -> Iterator[tuple[str, str]]:
    """Path and description of every field below spec and status, as the API server publishes them."""
    schemas = json.loads(cluster.kubectl("get", "--raw", f"/openapi/v3/apis/{API}"))["components"]["schemas"]
    (root,) = [schema for name, schema in schemas.items() if name.endswith(f".{kind}")]

    def below(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
        for name, inner in schema.get("properties", {}).items():
            yield f"{path}.{name}", inner.get("description", "")
            yield from below(inner, f"{path}.{name}")
        if "items" in schema:
            yield from below(schema["items"], path)

    for part in ("spec", "status"):
        yield part, root["properties"][part]["description"]
        yield from below(root["properties"][part], part)


def test_every_field_is_explained_in_a_sentence(cluster: Cluster) -> None:
    fields = dict(described(cluster, KIND))
    assert len(fields) > 90
    assert [path for path, text in fields.items() if len(text.split()) < 2 or not text.endswith(".")] == []


@pytest.mark.parametrize(
    ("path", "meaning"),
    [
        ("", "Distributed training with PyTorch."),
        ("spec.replicaSpecs", "The first replica of the first type is the master."),
        ("spec.replicaSpecs.restartPolicy", "Default: OnFailure."),
        ("spec.runPolicy.backoffLimit", "0: nothing is restarted. Raising it while"),
        ("spec.runPolicy.backoffLimit", "Default: 3."),
        ("spec.elastic.expectedReplicas", "Default: minReplicas."),
        ("spec.torchrunConfig.enable", "Deprecated: use enabled."),
        ("status.conditions.type", "Initialized, Running, ReplicaFailure, Completed, Failed or Paused."),
    ],
)
def test_explain_says_what_a_field_means(cluster: Cluster, path: str, meaning: str) -> None:
    shown = cluster.kubectl("explain", ".".join(["pytorchtrainingjob", *filter(None, [path])]))
    assert meaning in " ".join(shown.split())


# ---- wait and scale -----------------------------------------------------------------------------------------------


def test_wait_sees_a_condition_and_a_phase(desk: Desk) -> None:
    desk.create("mnist")
    waiting = ("wait", "pj/mnist", "--timeout=0s")
    assert desk.answer(*waiting, "--for=condition=Running").returncode == 1
    desk.status("mnist", phase="Running", conditions=[{"type": "Running", "status": "True", **CONDITION}])
    assert "condition met" in desk(*waiting, "--for=condition=Running")
    assert "condition met" in desk(*waiting, "--for=jsonpath={.status.phase}=Running")
    assert desk.answer(*waiting, "--for=jsonpath={.status.phase}=Succeeded").returncode == 1


def test_scale_changes_what_is_wished_for_and_shows_what_runs(desk: Desk) -> None:
    desk.create("mnist", **TORCHRUN, **ELASTIC)
    desk.status("mnist", aggregate={"running": 2})
    desk("scale", "pj/mnist", "--replicas=4")
    scale = json.loads(desk("get", "pj/mnist", "--subresource=scale", "-o", "json"))
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (4, 2)
    refused = desk.answer("scale", "pj/mnist", "--replicas=9").stderr
    assert "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas" in refused


# ---- create and apply ---------------------------------------------------------------------------------------------


def test_defaults_are_filled_in_but_for_those_of_entries_of_lists(desk: Desk) -> None:
    item = {"type": "worker", "template": replicas()["template"]}
    small = {"replicaSpecs": [item], "runPolicy": {}, "torchrunConfig": {}, "scheduler": {"t9kScheduler": {}}}
    desk("create", "-f", "-", input=job("mnist", small))
    stored_spec = json.loads(desk("get", "pj/mnist", "-o", "json"))["spec"]
    assert stored_spec == {
        "replicaSpecs": [item],
        "runPolicy": {"backoffLimit": 3, "cleanUpPolicy": "None"},
        "torchrunConfig": {"rdzvBackend": "c10d"},
        "scheduler": {"t9kScheduler": {"queue": "default", "priority": 0}},
    }


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_applying_a_job_twice_changes_nothing(desk: Desk, how: tuple[str, ...]) -> None:
    given = job("mnist", spec(**TORCHRUN))
    desk("apply", *how, "-f", "-", input=given)
    before = json.loads(desk("get", "pj/mnist", "-o", "json"))
    desk("apply", *how, "-f", "-", input=given)
    after = json.loads(desk("get", "pj/mnist", "-o", "json"))
    assert (after["metadata"]["generation"], after["spec"]) == (1, before["spec"])
    assert desk("diff", *how, "-f", "-", input=given) == ""


ROOT = Path(__file__).parents[3]

EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.yaml")) if path.name != "broken.yaml"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_that_is_applied_again_is_unchanged(desk: Desk, path: Path) -> None:
    given = path.read_text(encoding="utf-8")
    created = desk("apply", "-f", "-", input=given).splitlines()
    assert {line.split()[-1] for line in created} == {"created"}
    again = desk("apply", "-f", "-", input=given).splitlines()
    assert [line.split() for line in again] == [[line.split()[0], "unchanged"] for line in created]


def test_entries_that_an_older_crd_had_filled_in_are_those_that_the_user_wrote(desk: Desk) -> None:
    entry = {"type": "worker", "command": ["sleep", "9"]}
    item = {"type": "worker", "template": replicas()["template"]}
    filled = {**item, "replicas": 1, "restartPolicy": "OnFailure", "scalingWeight": 1}
    for name, mode, specs in (("held", "debug", "replicaSpecs"), ("paused", "pause", "resumeSpecs")):

        def given(
            one: Spec, entries: list[Spec], name: str = name, mode: str = mode, specs: str = specs
        ) -> Spec:
            return job(name, {"replicaSpecs": [one], "runMode": {mode: {"enabled": True, specs: entries}}})

        desk("create", "-f", "-", input=given(filled, [{**entry, "skipInitContainer": False}]))
        desk("replace", "-f", "-", input=given(item, [entry]))
        refused = desk.answer("replace", "-f", "-", input=given(item, [{**entry, "skipInitContainer": True}]))
        assert "immutable" in refused.stderr
        other = desk.answer("replace", "-f", "-", input=given(item, [{**entry, "command": ["sleep", "8"]}]))
        assert "immutable" in other.stderr


def test_a_dry_run_names_all_that_is_wrong_in_whole_sentences(desk: Desk) -> None:
    broken = spec(elastic={"enabled": True, "minReplicas": 1})
    answer = desk.answer("apply", "--dry-run=server", "-f", "-", input=job("9th", broken))
    assert answer.stderr.splitlines() == [
        'The PyTorchTrainingJob "9th" is invalid: ',
        "* <nil>: Invalid value: metadata.name must be a DNS-1035 label: lower-case letters, digits and '-', "
        "starting with a letter",
        "* spec: Invalid value: spec.elastic: minReplicas and maxReplicas are required",
    ]


def test_a_misspelled_field_is_refused_by_name(desk: Desk) -> None:
    answer = desk.answer("create", "-f", "-", input=job("mnist", spec(runPolicie={})))
    assert 'unknown field "spec.runPolicie"' in answer.stderr


# ---- the CRDs themselves ------------------------------------------------------------------------------------------


def copied_crds() -> list[dict[str, Any]]:
    """Our CRDs in a group of their own: new to the cluster, and nobody else's jobs are in the way."""
    crds = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(JOB_CRDS.rglob("*.yaml"))]
    for crd in crds:
        names = crd["spec"]["names"]
        crd["spec"]["group"] = "copied.example.com"
        crd["metadata"]["name"] = f"{names['plural']}.copied.example.com"
        for claimed in ("shortNames", "categories"):
            names.pop(claimed, None)
    return crds


@pytest.fixture
def copies(cluster: Cluster) -> Iterator[list[dict[str, Any]]]:
    crds = copied_crds()
    yield crds
    cluster.kubectl("delete", "--ignore-not-found", "-f", "-", input=crds)


def test_the_crds_are_applied_plainly_then_server_side(
    cluster: Cluster, copies: list[dict[str, Any]]
) -> None:
    plainly = ("apply", "-f", "-")  # keeps a copy in an annotation, which may have 262,144 bytes
    assert cluster.kubectl(*plainly, input=copies).count(" created") == len(SERVED)
    assert cluster.kubectl(*plainly, input=copies).count(" unchanged") == len(SERVED)
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=90s", "-f", "-", input=copies)
    assert cluster.kubectl(*plainly, "--server-side", input=copies).count(" serverside-applied") == len(
        SERVED
    )


def test_the_folder_is_what_kubectl_apply_expects(cluster: Cluster) -> None:
    applied = cluster.kubectl("apply", "--server-side", "--dry-run=server", "-f", str(JOB_CRDS))
    others = list(OPT_IN_CRDS.glob("*.yaml"))
    assert others
    assert applied.count(" serverside-applied") == len(SERVED) - len(others)


def test_the_api_server_accepts_the_names_of_every_kind(cluster: Cluster) -> None:
    for crd in cluster.get("crd")["items"]:
        if crd["spec"]["group"] in {kind.names.group for kind in KINDS}:
            held = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
            assert held == {"NamesAccepted": "True", "Established": "True"}
