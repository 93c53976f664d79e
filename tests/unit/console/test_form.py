"""The form: every field of every kind is in it, and what is typed is what the manifest says."""

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jobledger.console.forms import controls, field_labels
from jobledger.console.forms.build import FormBuilder
from jobledger.console.forms.posted import Posted
from jobledger.console.forms.read import FormReader, starter
from jobledger.console.forms.tree import Field, Group, Many, nodes, place
from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.schema.tables import walk
from tests.unit.api.words import job, phase
from tests.unit.console.words import HTMX, KIND, console, editor_text, errors, inputs

GPUS = ("nvidia.com/gpu.shared", "nvidia.com/gpu")
CONTAINER = "spec.replicaSpecs[0].template.spec.containers[0]"
TEMPLATE = "spec.replicaSpecs[0].template"

WORKED_EXAMPLE_A = {
    "metadata.name": "torch-mnist-trainingjob",
    "spec.torchrunConfig.enabled": "on",
    "spec.torchrunConfig.maxRestarts": "3",
    "spec.torchrunConfig.procPerNode": "4",
    f"{CONTAINER}.image": "t9kpublic/pytorch-1.13.0:sdk-0.5.2",
    f"{CONTAINER}.args": 'torch_mnist_trainingjob.py "--save_path=model_state_dict.pt" '
    '"--log_dir=log" "--backend=nccl"',
    f"{CONTAINER}.resources.limits.cpu": "8",
    f"{CONTAINER}.resources.limits.memory": "16Gi",
    f"{CONTAINER}.resources.requests.cpu": "4",
    f"{CONTAINER}.resources.requests.memory": "8Gi",
    f"{TEMPLATE}~gpu": "nvidia.com/gpu",
    f"{TEMPLATE}~gpus": "4",
    f"{CONTAINER}.workingDir": "/t9k/mnt/torch-mnist",
    f"{TEMPLATE}~volumes#": "1",
    f"{TEMPLATE}~volumes[0].claim": "tutorial",
    f"{TEMPLATE}~volumes[0].name": "data",
    f"{TEMPLATE}~volumes[0].mountPath": "/t9k/mnt",
}
NEW = f"/jobs/new/{KIND}"


def form_of(kind: Kind, manifest: Any) -> Group:
    return FormBuilder("en", kind, GPUS, queues=True).form(manifest, namespace=True)


def sent(tree: Group) -> dict[str, list[str]]:
    """What a browser sends of a form that nobody touched."""
    fields: dict[str, list[str]] = {}
    for node in nodes(tree):
        if isinstance(node, Field) and (node.control != "switch" or node.on):
            fields[node.path] = [node.value]
        elif isinstance(node, Many):
            fields[f"{node.path}#"] = [str(len(node.groups))]
    return fields


def read(kind: Kind, fields: dict[str, list[str]], base: Any, **how: Any) -> dict[str, Any]:
    return FormReader(Posted(fields, **how), kind, GPUS, queues=True).manifest(base)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_every_field_of_a_kind_is_in_its_form(kind: Kind) -> None:
    manifest: dict[str, Any] = {"metadata": {}, "spec": {}}
    grown: set[str] = set()
    while True:  # lists are empty to begin with: each gets an item, as its button does
        tree = form_of(kind, manifest)
        lists = {node.path for node in nodes(tree) if isinstance(node, Many)} - grown
        if not lists:
            break
        path = min(lists)
        fields = sent(tree) | {
            f"{node.path}": ["on"]
            for node in nodes(tree)
            if isinstance(node, Field) and node.control == "switch"
        }
        manifest = read(kind, fields, manifest, grow=path)
        grown.add(path)
    olds = [path for path, shape in walk(kind.model) if field_labels.is_old(shape)]
    shown = {node.path.replace("[0]", "[]").removesuffix("?") for node in nodes(tree)}
    for path, _ in walk(kind.model):
        if not any(f"{path}.".startswith((f"{old}.", f"{old}[")) for old in olds):
            assert path in shown, path


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_a_form_that_nobody_touched_says_what_it_was_made_from(kind: Kind) -> None:
    manifest = starter(kind)
    manifest["metadata"] = {"name": "a", "namespace": "b", "labels": {"team": "vision"}}
    first = read(kind, sent(form_of(kind, manifest)), manifest)
    again = read(kind, sent(form_of(kind, first)), first)
    assert again == first
    assert first["metadata"] == manifest["metadata"]


FULL = """
replicaSpecs:
- type: worker
  replicas: 2
  restartPolicy: ExitCode
  scalingWeight: 1
  template:
    metadata: {annotations: {a: b}}
    spec:
      nodeSelector: {disk: fast}
      initContainers: [{name: first, image: i}]
      containers:
      - name: sidecar
        image: s
      - name: pytorch
        image: p
        command: [python, -u, "a b.py"]
        args: ["--x", "it's", ""]
        env:
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: A, value: "1"}
        - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 2, nvidia.com/gpu: "1"}, requests: {cpu: 500m, example.com/dongle: 1}}
        volumeMounts:
        - {name: data, mountPath: /a, readOnly: true}
        - {name: data, mountPath: /b, subPath: x}
        - {name: scratch, mountPath: /c}
        - {name: dshm, mountPath: /dev/shm}
      volumes:
      - {name: scratch, emptyDir: {}}
      - {name: data, persistentVolumeClaim: {claimName: c, readOnly: true}}
      - {name: dshm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}
torchrunConfig: {enabled: true, procPerNode: gpu, extraOptions: ["--log_dir", "a b"]}
elastic: {enabled: true, minReplicas: 1, maxReplicas: 4, expectedReplicas: 2}
runPolicy: {activeDeadlineSeconds: 60, backoffLimit: 0, cleanUpPolicy: All}
runMode: {pause: {enabled: false, resumeSpecs: [{type: worker, args: [resume.py]}]}}
scheduler: {t9kScheduler: {}}
tensorboardSpec: {image: tb, logDir: {pvc: [{name: c, subPath: [logs]}], s3: {uri: [x]}}, extra: kept}
"""


def _normal(tree: Any) -> Any:
    """Lists of named things without their order."""
    if isinstance(tree, dict):
        return {key: _normal(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return sorted((_normal(item) for item in tree), key=lambda item: json.dumps(item, sort_keys=True))
    return tree


def test_what_the_form_cannot_show_is_kept() -> None:
    kind, manifest = KINDS[0], {"metadata": {"name": "a"}, "spec": yaml.safe_load(FULL)}
    kept = read(kind, sent(form_of(kind, manifest)), manifest)
    assert _normal(kept["spec"]) == _normal(manifest["spec"])


def test_an_item_that_goes_takes_only_itself_along() -> None:
    kind, spec = KINDS[0], yaml.safe_load(FULL)
    spec["replicaSpecs"] += [
        {"type": "second", "template": {"spec": {"containers": [{"name": "x", "image": "y"}]}}}
    ]
    manifest = {"metadata": {"name": "a"}, "spec": spec}
    fields = sent(form_of(kind, manifest))
    left = read(kind, fields, manifest, drop="spec.replicaSpecs[0]")
    assert [item["type"] for item in left["spec"]["replicaSpecs"]] == ["second"]
    assert left["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"] == "y"
    left = read(kind, fields, manifest, drop=f"{TEMPLATE}~volumes[0]")
    mounts = left["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][1]["volumeMounts"]
    assert {mount["mountPath"] for mount in mounts} == {"/b", "/c", "/dev/shm"}


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8), max_size=6))
def test_words_are_split_as_a_shell_does_and_written_so_that_they_are_again(words: list[str]) -> None:
    assert controls.typed("words", controls.written("words", words)).value == (words or None)


@pytest.mark.parametrize(
    ("control", "text", "value"),
    [
        ("number", " 7 ", 7),
        ("number", "seven", "seven"),
        ("text", "  ", None),
        ("words", "a \"b c\" --d='e f'", ["a", "b c", "--d=e f"]),
        ("yaml", "a: [1, x]", {"a": [1, "x"]}),
        ("switch", "on", True),
    ],
)
def test_what_is_typed_becomes_a_value(control: Any, text: str, value: object) -> None:
    assert controls.typed(control, text).value == value


@pytest.mark.parametrize(("control", "text"), [("words", 'a "b'), ("yaml", "a: [1"), ("yaml", "\t- x: {")])
def test_what_cannot_be_read_is_one_sentence(control: Any, text: str) -> None:
    assert controls.typed(control, text).problem.startswith("Invalid value: ")


def test_a_problem_stands_at_its_field_else_at_the_nearest_one_above() -> None:
    inner = Field("spec.a.b", "b")
    group = Group("spec.a", "a", children=[inner], folded=True)
    shown, left = place(
        Group("", "", children=[group]),
        [("spec.a.b", "x"), ("spec.a.c[0].d", "y"), ("spec.z", "w"), ("", "v")],
    )
    assert (inner.errors, group.errors, left) == (["x"], ["spec.a.c[0].d: y"], ["spec.z: w", "v"])
    assert shown == 4
    assert not group.folded


QUANTITIES = {
    f"{CONTAINER}.resources.limits.cpu": ("1x", "must be a quantity such as"),
    f"{CONTAINER}.resources.limits.memory": ("-1", "must be greater than or equal to 0"),
    f"{CONTAINER}.resources.requests.cpu": ("4", "must be less than or equal to cpu limit of 2"),
    f"{TEMPLATE}~gpus": ("-1", "must be a"),
}


@pytest.mark.parametrize("field", QUANTITIES)
async def test_a_mistake_in_a_quantity_stands_at_its_field_while_the_user_types(
    tmp_path: Path, field: str
) -> None:
    async with console(tmp_path) as browser:
        fields = inputs((await browser.get(NEW)).text) | WORKED_EXAMPLE_A
        fields[f"{CONTAINER}.resources.limits.cpu"] = "2"
        value, sentence = QUANTITIES[field]
        typed = {**fields, field: value, "do": "check", "touched": field}
        problems = errors((await browser.post(NEW, typed, HTMX)).text)[field]
        assert any(sentence in problem for problem in problems)
        assert errors((await browser.post(NEW, {**typed, "touched": "metadata.name"}, HTMX)).text) == {}


async def test_a_form_is_restored_as_it_was_typed_also_what_cannot_be_read(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        fields = inputs((await browser.get(NEW)).text) | WORKED_EXAMPLE_A
        fields |= {f"{CONTAINER}.resources.limits.cpu": "1x", "spec.torchrunConfig.maxRestarts": "many"}
        restored = inputs((await browser.post(NEW, {**fields, "do": "restore"}, HTMX)).text)
        words, base = f"{CONTAINER}.args", "base"
        assert shlex.split(restored[words]) == shlex.split(fields[words])
        assert [name for name in fields if restored[name] != fields[name] and name not in (words, base)] == []


async def test_the_preview_beside_the_form_is_the_manifest_that_create_would_send(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        fields = inputs((await browser.get(NEW)).text) | WORKED_EXAMPLE_A
        text = editor_text((await browser.post(NEW, {**fields, "do": "preview"})).text)
        checked = {**fields, "do": "check", "touched": ""}
        shown = (await browser.post(NEW, {**checked, "preview": "on"}, HTMX)).text
        (yaml_beside,) = re.findall(r'<pre id="preview-yaml"[^>]*>(.*?)</pre>', shown, re.DOTALL)
        assert html.unescape(yaml_beside) == text
        assert "preview-yaml" not in (await browser.post(NEW, checked, HTMX)).text


async def test_worked_example_a_is_previewed_and_created(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        fields = inputs((await browser.get(NEW)).text) | WORKED_EXAMPLE_A
        text = editor_text((await browser.post(NEW, {**fields, "do": "preview"})).text)
        spec = yaml.safe_load(text)["spec"]
        assert spec["torchrunConfig"] == {"enabled": True, "maxRestarts": 3, "procPerNode": "4"}
        assert len(spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"]) == 4
        assert set(spec) == {"replicaSpecs", "torchrunConfig"}
        shared = {**fields, f"{TEMPLATE}~shm": "on"}
        more = yaml.safe_load(editor_text((await browser.post(NEW, {**shared, "do": "preview"})).text))[
            "spec"
        ]
        pod, before = (item["replicaSpecs"][0]["template"]["spec"] for item in (more, spec))
        assert pod["volumes"] == [*before["volumes"], {"name": "dshm", "emptyDir": {"medium": "Memory"}}]
        assert pod["containers"][0]["volumeMounts"] == [
            *before["containers"][0]["volumeMounts"],
            {"name": "dshm", "mountPath": "/dev/shm"},
        ]
        answer = await browser.post(NEW, {**fields, "do": "create"})
        assert answer.status_code == 303
        assert (
            "torch-mnist-trainingjob has been created" in (await browser.get(answer.headers["location"])).text
        )
        assert (await browser.app.job("default", "torch-mnist-trainingjob"))["spec"] == spec
        actor = "jobledger.dev/actor"
        stored = await browser.app.job("default", "torch-mnist-trainingjob")
        assert stored["metadata"]["annotations"][actor] == "web console"


async def test_errors_of_every_layer_stand_at_their_fields_and_nothing_is_created(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        fields = inputs((await browser.get(NEW)).text) | WORKED_EXAMPLE_A
        wrong = {
            **fields,
            "metadata.name": "Not_A_Name",
            "spec.torchrunConfig.procPerNode": "many",
            "spec.torchrunConfig.extraOptions": '"open',
            "spec.replicaSpecs[0].replicas": "some",
            f"{CONTAINER}.args": "",
            f"{CONTAINER}.image": "",
            "do": "create",
        }
        answer = await browser.post(NEW, wrong)
        assert answer.status_code == 422
        errors_there = errors(answer.text)
        assert set(errors_there) >= {
            "metadata.name",
            "spec.torchrunConfig.procPerNode",
            "spec.torchrunConfig.extraOptions",
            "spec.replicaSpecs[0].replicas",
            f"{CONTAINER}.image",
            f"{CONTAINER}.args",
        }
        assert errors_there[f"{CONTAINER}.args"] == [
            "Required value: torchrun needs the training script in args"
        ]
        assert inputs(answer.text)["spec.torchrunConfig.procPerNode"] == "many"
        assert await browser.app.jobs() == []


async def test_while_typing_only_touched_fields_complain(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        fields = inputs((await browser.get(NEW)).text) | {"metadata.name": "No!", "do": "check"}
        answer = await browser.post(NEW, {**fields, "touched": "metadata.name\nspec.x"})
        assert list(errors(answer.text)) == ["metadata.name"]
        assert answer.text.count("hx-swap-oob") > 30


async def test_a_name_that_is_taken_is_reported_at_the_name(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        fields = inputs((await browser.get(NEW)).text) | WORKED_EXAMPLE_A | {"do": "create"}
        assert (await browser.post(NEW, fields)).status_code == 303
        answer = await browser.post(NEW, fields)
        assert answer.status_code == 409
        assert list(errors(answer.text)) == ["metadata.name"]


async def test_arguments_alone_are_those_of_python_unless_torchrun_starts_them(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        fields = inputs((await browser.get(NEW)).text) | WORKED_EXAMPLE_A | {"do": "preview"}
        del fields["spec.torchrunConfig.enabled"]
        spec = yaml.safe_load(editor_text((await browser.post(NEW, fields)).text))["spec"]
        assert spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["command"] == ["python"]


async def test_a_text_is_applied_to_the_form_with_a_notice_for_each_old_name(tmp_path: Path) -> None:
    manifest = job("old", torchrunConfig={"enable": True})
    manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["a.py"]
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        answer = await browser.post(NEW, {"yaml": yaml.safe_dump(manifest), "do": "apply"})
        assert "torchrunConfig.enable → torchrunConfig.enabled" in answer.text
        assert inputs(answer.text)["spec.torchrunConfig.enabled"] == "on"
        answer = await browser.post(NEW, {"yaml": yaml.safe_dump(manifest), "do": "create"})
        assert answer.status_code == 303
        spec = (await browser.app.job("default", "old"))["spec"]
        assert spec["torchrunConfig"] == {"enabled": True}, "the canonical form is sent"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (yaml.safe_dump_all([job("a"), job("b")]), "only one object can be created at a time"),
        ("a: [", "YAML"),
        ("", "no"),
        ("kind: Pod\napiVersion: v1\nmetadata: {name: a}", "Pod"),
        (yaml.safe_dump(job("a", replicas=0)), "must be at least 1"),
    ],
)
async def test_a_text_that_is_no_job_gets_a_sentence_and_is_kept(
    tmp_path: Path, text: str, says: str
) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        answer = await browser.post(NEW, {"yaml": text, "do": "create"})
        assert answer.status_code in (400, 422)
        assert says in answer.text
        assert editor_text(answer.text).strip() == text.strip()
        assert await browser.app.jobs() == []


async def test_a_copy_has_another_name_and_no_secret(tmp_path: Path) -> None:
    manifest = job("train")
    container = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "API_TOKEN", "value": "hunter2"}, {"name": "EPOCHS", "value": "5"}]
    async with console(tmp_path) as browser:
        await browser.submit(manifest)
        await phase(browser.app, "train", "Running")
        answer = await browser.get(f"/jobs/default/{KIND}/train/clone")
        assert "hunter2" not in answer.text
        fields = inputs(answer.text)
        assert fields["metadata.name"] == "train-copy"
        assert fields[f"{CONTAINER}.command"] == shlex.join(["python", "train.py"])
        refused = await browser.post(NEW, {**fields, "do": "create"})
        assert refused.status_code == 422
        assert errors(refused.text)[f"{CONTAINER}.env[0].value"] == [
            "the secret was not copied: type it again"
        ]
        fields[f"{CONTAINER}.env[0].value"] = "hunter3"
        assert (await browser.post(NEW, {**fields, "do": "create"})).status_code == 303
        assert "uid" not in json.loads(fields["base"])["metadata"]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_a_small_text_that_stands_for_a_large_value_is_refused() -> None:
    assert "Too long" in controls.typed("yaml", BOMB).problem


@pytest.mark.parametrize("base", ["", "[]", "{", "[" * 100_000, '{"a":' * 500 + "1" + "}" * 500])
async def test_a_form_that_was_tampered_with_gets_a_sentence(tmp_path: Path, base: str) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        answer = await browser.post(NEW, {"base": base, "do": "check"})
        assert answer.status_code == 400
        assert "the form cannot be read" in answer.text


async def test_an_unknown_kind_has_no_form(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        assert (await browser.get("/jobs/new/NoSuchJob")).status_code == 404
