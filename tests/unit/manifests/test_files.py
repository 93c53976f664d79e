"""Files → manifests, and a sentence for everything that is none."""

import io
import json
from pathlib import Path

import pytest

from jobledger.manifests import FILE_LIMIT, MANIFESTS_LIMIT, OBJECT_LIMIT, Loaded, load, read
from statemachine.errors import SpecInvalid
from tests.support.scenario import API, workers

JOB = {"apiVersion": API, "kind": "PyTorchTrainingJob", "metadata": {"name": "mnist"}, "spec": workers(1)}


def job(**more: object) -> dict[str, object]:
    return {**JOB, **more}


def only_fault(loaded: Loaded) -> str:
    assert len(loaded.faults) == 1
    return str(loaded.faults[0])


def from_text(text: str) -> Loaded:
    return read(text.encode(), "job.yaml")


def test_documents_lists_and_files_come_out_in_order_with_their_places(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.json"
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [job(metadata={"name": "c"}), job(metadata={"name": "d"})],
    }
    first.write_text(f"---\n# one\n{json.dumps(job(metadata={'name': 'a'}))}\n---\n{json.dumps(listed)}\n")
    second.write_text(json.dumps(job(metadata={"name": "e"})))
    loaded = load([str(first), str(second)])
    assert not loaded.faults
    places = [
        (manifest.name, manifest.source.document, manifest.source.item, manifest.source.line)
        for manifest in loaded.manifests
    ]
    assert places == [("a", 1, 0, 3), ("c", 2, 1, 5), ("d", 2, 2, 5), ("e", 1, 0, 1)]


def test_a_list_of_a_kind_is_a_list_too() -> None:
    text = json.dumps({"apiVersion": API, "kind": "PyTorchTrainingJobList", "items": [JOB]})
    assert [manifest.name for manifest in from_text(text).manifests] == ["mnist"]


@pytest.mark.parametrize("name", ["../../etc", "A", "a.b", "-a", "a" * 64, "a\n"])
def test_g20_a_namespace_is_a_dns_label(name: str) -> None:
    metadata = {"name": "a", "namespace": name}
    for manifest in (job(metadata=metadata), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}):
        assert only_fault(from_text(json.dumps(manifest))).startswith(
            f"job.yaml, line 1: metadata.namespace: Invalid value: {json.dumps(name)}: must be a DNS-1123 label"
        )


@pytest.mark.parametrize("name", ["a", "a-1", "1", "a" * 63])
def test_g20_a_dns_label_is_a_namespace(name: str) -> None:
    assert not from_text(json.dumps(job(metadata={"name": "a", "namespace": name}))).faults


@pytest.mark.parametrize("of", ["labels", "annotations"])
@pytest.mark.parametrize(
    ("value", "shown"), [("1.10", "1.1"), ("yes", "true"), ("", "null"), ("{a: b}", '"object"')]
)
def test_g20_labels_and_annotations_are_strings(of: str, value: str, shown: str) -> None:
    text = f"apiVersion: {API}\nkind: PyTorchTrainingJob\nmetadata: {{name: a, {of}: {{v: {value}}}}}"
    assert only_fault(from_text(text)) == (
        f"job.yaml, line 1: metadata.{of}.v: Invalid value: {shown}: must be a string; put it in quotes"
    )


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"labels": {"v": "a b"}}, 'metadata.labels[v]: Invalid value: "a b": must be at most 63 letters'),
        ({"annotations": {"a b": ""}}, 'metadata.annotations: Invalid value: "a b": a key must be'),
        ({"labels": []}, "metadata.labels: must be an object"),
    ],
)
def test_g20_labels_have_their_syntax(metadata: dict[str, object], sentence: str) -> None:
    assert sentence in only_fault(from_text(json.dumps(job(metadata={"name": "a", **metadata}))))


def test_what_stands_beside_a_job_has_a_name_that_can_be_stored() -> None:
    text = "{apiVersion: v1, kind: Secret, metadata: {name: ../../etc}}"
    sentence = 'metadata.name: Invalid value: "../../etc": must be a DNS-1123 subdomain'
    assert sentence in only_fault(from_text(text))


def test_standard_input_is_a_minus() -> None:
    loaded = load(["-"], io.BytesIO(json.dumps(JOB).encode()))
    assert [str(manifest.source) for manifest in loaded.manifests] == ["standard input, line 1"]


def test_config_maps_and_secrets_may_stand_beside_jobs() -> None:
    kinds = ("ConfigMap", "Secret")
    text = "\n---\n".join(f"{{apiVersion: v1, kind: {kind}, metadata: {{name: c}}}}" for kind in kinds)
    assert [(manifest.kind, manifest.is_job) for manifest in from_text(text).manifests] == [
        ("ConfigMap", False),
        ("Secret", False),
    ]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# only a comment\n", b"---\n---\n", b"\xef\xbb\xbf"])
def test_an_empty_file_holds_no_manifest(data: bytes) -> None:
    assert only_fault(read(data, "job.yaml")) == "job.yaml: holds no manifest"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x7fELF\0\0", "job.yaml, line 0: ".replace(", line 0", "") + "is no text"),
        ("a: 1".encode("utf-16"), "job.yaml: is in UTF-16; save it as UTF-8"),
        (b"a: 1\nb: \xff", "job.yaml, line 2: is not UTF-8: the byte 0xff does not belong there"),
        (b"x" * (FILE_LIMIT + 1), "job.yaml: is larger than 3 MiB, the limit for manifests"),
    ],
)
def test_bytes_that_are_no_manifest_are_refused_with_a_sentence(data: bytes, says: str) -> None:
    assert only_fault(read(data, "job.yaml")).startswith(says)


def test_an_object_too_large_for_any_cluster_is_refused_and_names_the_limit() -> None:
    text = json.dumps(job(metadata={"name": "big", "annotations": {"a": "x" * OBJECT_LIMIT}}))
    assert only_fault(from_text(text)).endswith(
        "is too large: 1.5 MiB as JSON, and no cluster stores more than 1.5 MiB"
    )


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert read(b"\xef\xbb\xbf" + json.dumps(JOB).encode(), "job.yaml").manifests


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([1], "is a list; a manifest is an object"),
        ("x", "is a text; a manifest is an object"),
        (5, "is a single value; a manifest is an object"),
        ({"kind": "PyTorchTrainingJob"}, "apiVersion: Required value"),
        (job(kind=5), "kind: must be a string"),
        (job(kind="PyTorchTrainigJob"), 'did you mean "PyTorchTrainingJob"?'),
        (job(apiVersion="v1"), f'apiVersion: Unsupported value: "v1": supported values: "{API}"'),
        (
            job(apiVersion="apps/v1", kind="Deployment"),
            'kind: Unsupported value: "Deployment": supported values: ',
        ),
        (job(apiVersion="v2", kind="Secret"), "kind: Unsupported value"),
        (job(metadata=None), "metadata: Required value"),
        (job(metadata=[1]), "metadata: must be an object"),
        (job(metadata={}), "metadata.name: Required value"),
        (job(metadata={"name": 5}), "metadata.name: must be a string; put it in quotes"),
        (job(metadata={"name": "a", "namespace": 5}), "metadata.namespace: must be a string"),
        (job(metadata={"generateName": "a-"}), "metadata.generateName: is not supported"),
        (job(metadata={"name": "\ud800"}), "half of a Unicode character"),
    ],
)
def test_an_object_that_is_no_manifest_is_refused_with_its_field(raw: object, says: str) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [raw, JOB]})
    loaded = from_text(text)
    assert says in only_fault(loaded)
    assert only_fault(loaded).startswith("job.yaml, item 1, line 1: ")
    assert [manifest.name for manifest in loaded.manifests] == ["mnist"]


def test_all_faults_are_raised_together_for_those_who_want_every_manifest() -> None:
    with pytest.raises(SpecInvalid) as error:
        from_text("[1]\n---\n{a: 1}\n---\nb: [").usable()
    assert len(error.value.problems) == 3


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    loaded = load([str(tmp_path), str(tmp_path / "none"), "a\0b"])
    assert [str(fault).removeprefix(str(tmp_path)) for fault in loaded.faults] == [
        ": is a directory; name the files in it",
        "/none: there is no such file",
        "'a\\x00b': is no name of a file",
    ]


def test_a_file_name_cannot_write_on_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "a\n\x1b[31m.yaml"
    file.write_text("[]")
    assert str(load([str(file)]).faults[0]).isprintable()


def test_a_thousand_manifests_are_enough_for_a_file() -> None:
    assert "holds more than 1000 documents" in str(from_text("{}" * (MANIFESTS_LIMIT + 5)).faults[-1])
    assert "holds more than 1000 manifests" in str(from_text("--- {}\n" * (MANIFESTS_LIMIT + 5)).faults[-1])
