"""`validate` says where in the file the field stands, in the form that editors jump by; --strict; as a process."""

import json
import re
from pathlib import Path

import pytest

from tests.harness.program import run

SPOT = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+):(?P<column>\d+): (?P<text>.*)$")


def spots(folder: Path, text: str, *options: str, name: str = "job.yaml") -> dict[str, tuple[int, int]]:
    """What is said of the file → line and column of it."""
    (folder / name).write_text(text)
    done = run("validate", name, *options, cwd=folder)
    assert "Traceback" not in done.stderr
    result = [SPOT.match(line) for line in done.stdout.splitlines()]
    return {item["text"]: (int(item["line"]), int(item["column"])) for item in result if item}


def spot(folder: Path, text: str, about: str, name: str = "job.yaml") -> str:
    """The text of the file from the place on that is given for the line with `about`, up to the end of its line."""
    result = spots(folder, text, name=name)
    (place,) = [item for said, item in result.items() if about in said]
    return text.splitlines()[place[0] - 1][place[1] - 1 :]


HEAD = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: %s}
"""

REPLICAS = """\
spec:
  replicaSpecs:
  - type: worker
    replicas: 0
    template:
      spec:
        containers:
        - {name: pytorch, image: x, comand: [ls], env: [{name: A}, {name: "=b"}]}
"""


def test_a_problem_is_at_the_name_of_its_field(tmp_path: Path) -> None:
    assert spot(tmp_path, HEAD % "a" + REPLICAS, "[PT1]") == "replicas: 0"
    assert spot(tmp_path, HEAD % "a" + REPLICAS, "env[1].name") == 'name: "=b"}]}'


def test_a_warning_is_at_the_field_with_which_its_sentence_begins(tmp_path: Path) -> None:
    assert spot(tmp_path, HEAD % "a" + REPLICAS, ".comand is").startswith("comand: [ls]")
    assert spot(tmp_path, HEAD % "a" + "specc: 1\n" + REPLICAS, "specc is no known field") == "specc: 1"
    text = HEAD % "a, anotations: {}" + REPLICAS
    assert spot(tmp_path, text, "metadata.anotations is no known field") == "anotations: {}}"


def test_a_field_that_is_missing_is_at_what_it_is_missing_in(tmp_path: Path) -> None:
    text = HEAD % "a" + "spec: {replicaSpecs: [{type: worker, template: {}}]}\n"
    assert "template: {}" in spot(tmp_path, text, "template.spec.containers")
    assert (
        spot(tmp_path, "kind: PyTorchTrainingJob\n", "apiVersion: Required value")
        == "kind: PyTorchTrainingJob"
    )


def test_a_name_with_dots_and_slashes_is_one_name(tmp_path: Path) -> None:
    text = (HEAD % "a, labels: {team: x, a/b.c: '!'}") + REPLICAS
    assert spot(tmp_path, text, "metadata.labels[a/b.c]") == "a/b.c: '!'}}"


def test_lines_count_on_in_further_documents(tmp_path: Path) -> None:
    text = HEAD % "a" + REPLICAS + "---\n" + HEAD % "b" + REPLICAS
    (tmp_path / "job.yaml").write_text(text)
    done = run("validate", "job.yaml", "-o", "json", cwd=tmp_path)
    result = [item["problems"][0] for item in json.loads(done.stdout)["manifests"]]
    assert [(item["line"], item["column"]) for item in result] == [(7, 5), (19, 5)]


def test_what_an_alias_repeats_is_at_its_anchor(tmp_path: Path) -> None:
    text = (
        HEAD % "a"
        + REPLICAS.replace("template:", "template: &pod", 1)
        + ("  - {type: ps, replicas: 1, template: *pod}\n")
    )
    result = spots(tmp_path, text)
    places = {place for said, place in result.items() if "env[1].name" in said}
    assert [text.splitlines()[line - 1][column - 1 :] for line, column in places] == ['name: "=b"}]}']


def test_what_is_merged_in_is_where_it_was_written(tmp_path: Path) -> None:
    text = "x: &base\n  replicas: 0\n" + HEAD % "a" + REPLICAS.replace("replicas: 0", "<<: *base")
    assert spot(tmp_path, text, "[PT1]") == "replicas: 0"


def test_a_field_of_its_own_wins_over_one_that_is_merged_in(tmp_path: Path) -> None:
    text = (
        "x: &base\n  replicas: 3\n"
        + HEAD % "a"
        + REPLICAS.replace("replicas: 0", "<<: *base\n    replicas: -1")
    )
    assert spot(tmp_path, text, "replicas: ") == "replicas: -1"


def test_items_of_a_list_have_places_of_their_own(tmp_path: Path) -> None:
    item = "- " + (HEAD % "a" + REPLICAS).replace("\n", "\n  ")
    text = "apiVersion: v1\nkind: List\nitems:\n" + item.rstrip() + "\n"
    assert spot(tmp_path, text, "[PT1]") == "replicas: 0"


JSON = """\
{"apiVersion": "batch.tensorstack.dev/v1beta1",
\t"kind": "PyTorchTrainingJob", "metadata": {"name": "a", "annotations": {"\\u0061\\/b": "\\ud83d\\ude00 [{,"}},
  "spec": {"empty": [], "replicaSpecs": [{"type": "worker", "template": {"spec": {"containers": [
    {"name": "pytorch", "image": "x",
     "env": [{"name": "A"}, {"name": "=b"}]}]}},
    "replicas": 0}]}}
"""


@pytest.mark.parametrize(
    ("about", "there"),
    [
        ("[PT1]", '"replicas": 0}]}}'),
        ("env[1].name", '"name": "=b"}]}]}},'),
        ("spec.empty is", '"empty": [],'),
    ],
)
def test_json_has_places_too(tmp_path: Path, about: str, there: str) -> None:
    assert spot(tmp_path, JSON, about, name="job.json").startswith(there)


def test_json_documents_in_a_row_have_places(tmp_path: Path) -> None:
    (tmp_path / "jobs.json").write_text(JSON + JSON.replace('"name": "a"', '"name": "b"'))
    done = run("validate", "jobs.json", "-o", "json", cwd=tmp_path)
    reports = json.loads(done.stdout)["manifests"]
    assert [item["problems"][0]["line"] for item in reports] == [6, 12]


def test_standard_input_is_named_as_compilers_name_it(tmp_path: Path) -> None:
    done = run("validate", "-", cwd=tmp_path, sent=HEAD % "a" + REPLICAS)
    assert done.returncode == 2
    assert "<stdin>:7:5: spec.replicaSpecs[0].replicas: must be at least 1" in done.stdout


def test_a_file_that_is_no_yaml_has_the_place_at_which_it_goes_wrong(tmp_path: Path) -> None:
    assert spots(tmp_path, "a: 1\n b: 2\n") == {
        'a ":" is not expected here; quote the text, or mend the indentation': (2, 3)
    }


def test_an_object_that_is_there_twice_is_at_the_second_name(tmp_path: Path) -> None:
    good = HEAD % "a" + REPLICAS.replace("replicas: 0", "replicas: 1").replace('"=b"', "b")
    assert spots(tmp_path, good + "---\n" + good)[
        'metadata.name: PyTorchTrainingJob "a" is there already: job.yaml, line 1'
    ] == (15, 12)


GOOD = HEAD % "a" + REPLICAS.replace("replicas: 0", "replicas: 1").replace('"=b"', "b")


def test_strict_makes_errors_of_warnings(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(GOOD)
    lenient = run("validate", "job.yaml", cwd=tmp_path)
    strict = run("validate", "job.yaml", "--strict", cwd=tmp_path)
    assert (lenient.returncode, strict.returncode) == (0, 2)
    assert ": warning: " in lenient.stdout
    assert ": warning: " not in strict.stdout
    assert "job.yaml:11:37: spec.replicaSpecs[0].template.spec.containers[0].comand is no known field" in (
        strict.stdout
    )
    assert "[UnknownPodField]" in strict.stdout


def test_strict_has_nothing_against_what_has_no_warning(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(GOOD.replace("comand", "command"))
    assert run("validate", "job.yaml", "--strict", cwd=tmp_path).returncode == 0


def test_strict_data_is_not_valid_and_has_the_places(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(GOOD)
    result = json.loads(run("validate", "job.yaml", "--strict", "-o", "json", cwd=tmp_path).stdout)
    assert result["valid"] is False
    (problem,) = result["manifests"][0]["problems"]
    assert (problem["rule"], problem["line"], problem["column"]) == ("UnknownPodField", 11, 37)
