"""`validate`, `render`, `crds`: no store and no server needed."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobledger.manifests.documents import documents
from jobledger.manifests.text import to_yaml
from statemachine.ids import CLUSTER_DOMAIN
from statemachine.kinds import KINDS
from tests.support.scenario import API, UID, Story, workers
from tests.unit.cli_offline.conftest import Ask

EXAMPLES = Path(__file__).parents[3] / "examples"


def manifest(name: str = "mnist", replicas: int = 2, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": name},
        "spec": workers(replicas, **spec),
    }


def write(path: Path, *objects: object) -> Path:
    path.write_text(to_yaml(objects))
    return path


def test_a_valid_file_is_exit_code_0(ask: Ask, tmp_path: Path) -> None:
    said = ask("validate", write(tmp_path / "a.yaml", manifest()))
    assert (said.code, said.out) == (0, f"{tmp_path}/a.yaml, line 1: PyTorchTrainingJob mnist: valid\n")


def test_every_problem_of_every_file_is_reported_at_once_with_rule_and_field(
    ask: Ask, tmp_path: Path
) -> None:
    first = write(tmp_path / "a.yaml", manifest("X", 0), manifest(foo=1), {"kind": "Pod", "apiVersion": "v1"})
    second = tmp_path / "b.yaml"
    second.write_text("a: [")
    said = ask("validate", first, second)
    assert said.code == 2
    assert "a.yaml:4:3: metadata.name must be a DNS-1035 label" in said.out
    assert (
        "spec.replicaSpecs[0].replicas: must be at least 1, its first replica is the master [PT1]" in said.out
    )
    assert "document 2" in said.out
    assert ": warning: spec.foo is no known field and is ignored [UnknownField]" in said.out
    assert 'kind: Unsupported value: "Pod"' in said.out
    assert "b.yaml:1:" in said.out or "b.yaml:2:" in said.out


def test_validation_as_data_has_all_fields(ask: Ask, tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", manifest(replicas=0))
    answer = json.loads(ask("validate", file, "-o", "json").out)
    assert answer["valid"] is False
    (report,) = answer["manifests"]
    assert (report["file"], report["line"], report["kind"], report["name"]) == (
        str(file),
        1,
        "PyTorchTrainingJob",
        "mnist",
    )
    assert [(problem["rule"], problem["path"]) for problem in report["problems"]] == [
        ("PT1", "spec.replicaSpecs[0].replicas")
    ]
    assert yaml.safe_load(ask("validate", file, "-o", "yaml").out) == answer


def test_an_object_that_is_there_twice_is_a_problem(ask: Ask, tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", manifest(), manifest())
    said = ask("validate", file)
    assert said.code == 2
    assert f'metadata.name: PyTorchTrainingJob "mnist" is there already: {file}, line 1' in said.out


@pytest.mark.parametrize("spec", [None, [], "x", 5, {"replicaSpecs": None}])
def test_a_spec_that_is_none_is_a_problem_and_not_a_bug(ask: Ask, tmp_path: Path, spec: object) -> None:
    file = write(tmp_path / "a.yaml", {**manifest(), "spec": spec})
    assert ask("validate", file).code == 2
    assert ask("render", file).code == 2


def test_render_prints_what_the_state_machine_wants_in_the_order_of_creation(
    ask: Ask, tmp_path: Path
) -> None:
    said = ask("render", write(tmp_path / "a.yaml", manifest()))
    rendered = {f"{item['kind']}/{item['metadata']['name']}": item for item in yaml.safe_load_all(said.out)}
    wanted = Story(workers(2), settings={CLUSTER_DOMAIN: "cluster.local"}).submit().children
    assert list(rendered) == list(wanted)
    for name, built in wanted.items():
        built["metadata"].setdefault("namespace", "demo")
        assert rendered[name] == json.loads(json.dumps(built))


def test_render_shows_names_in_the_domain_of_the_cluster(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBLEDGER_CLUSTER__DOMAIN", "k8s.example")
    said = ask("render", write(tmp_path / "a.yaml", manifest())).out
    assert said.count(".svc.k8s.example") == 2


def test_render_makes_names_from_the_given_uid(ask: Ask, tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", manifest(replicas=1))
    default, other = ask("render", file).out, ask("render", file, "--uid", "another").out
    assert UID in default
    assert default != other
    assert ask("render", file, "--uid", "").code == 2


def test_rendered_texts_stay_texts_for_every_reader_of_yaml(ask: Ask, tmp_path: Path) -> None:
    job = manifest(replicas=1)
    args = ["train.py", "--lr", "1e-4", "y", "0o17", "no", "2024-01-09"]
    job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = args
    out = ask("render", write(tmp_path / "a.yaml", job)).out
    pod = next(document.value for document in documents(out, 1 << 20) if document.value["kind"] == "Pod")
    assert pod["spec"]["containers"][0]["args"] == args


def test_render_of_a_paused_job_has_no_pods(ask: Ask, tmp_path: Path) -> None:
    said = ask("render", write(tmp_path / "a.yaml", manifest(runMode={"pause": {"enabled": True}})))
    assert "kind: Pod\n" not in said.out


@pytest.mark.parametrize(
    ("example", "last"), [("mpi", ("Pod", "pi-launcher")), ("beam", ("Job", "wordcount-batchjob"))]
)
def test_render_prints_last_what_waits_until_other_pods_run(
    ask: Ask, example: str, last: tuple[str, str]
) -> None:
    objects = list(yaml.safe_load_all(ask("render", EXAMPLES / f"{example}.yaml").out))
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in objects]
    assert names[-1] == last
    assert len(names) == len(set(names))


def test_render_refuses_what_validate_refuses(ask: Ask, tmp_path: Path) -> None:
    said = ask("render", write(tmp_path / "a.yaml", manifest(replicas=0)))
    assert (said.code, said.out) == (2, "")
    assert "PyTorchTrainingJob mnist: spec.replicaSpecs[0].replicas: must be at least 1" in said.err


def test_crds_are_those_of_the_kinds(ask: Ask) -> None:
    manifests = list(yaml.safe_load_all(ask("crds").out))
    assert manifests == [
        json.loads(json.dumps(kind.crd(names)))
        for kind in KINDS
        if not kind.opt_in
        for names in (kind.names, *kind.aliases)
    ]
    switched_on = list(yaml.safe_load_all(ask("crds", "PyTorchJob").out))
    assert [item["spec"]["names"]["kind"] for item in switched_on] == ["PyTorchJob"]
    assert list(yaml.safe_load_all(ask("crds", "pj", "PyTorchTrainingJob").out)) == manifests[:1]


def test_an_unknown_kind_is_answered_with_the_nearest(ask: Ask) -> None:
    said = ask("crds", "PyTorchTrainJobs")
    assert said.code == 2
    assert "did you mean" in said.err
