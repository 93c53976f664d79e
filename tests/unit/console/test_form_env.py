"""Environment variables in the form: values, and keys of Secrets and ConfigMaps."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.api.words import job
from tests.unit.console.words import KIND, console, editor_text, errors, inputs

NEW = f"/jobs/new/{KIND}"
CONTAINER = "spec.replicaSpecs[0].template.spec.containers[0]"
ENV = f"{CONTAINER}.env"


def row(index: int, name: str, source: str = "value", **said: str) -> dict[str, str]:
    fields = {"name": name, "source": source, "value": "", "from": said.pop("ref", ""), "key": "", **said}
    return {f"{ENV}[{index}].{field}": said for field, said in fields.items()}


def manifest(*env: dict[str, Any]) -> dict[str, Any]:
    manifest = job()
    manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["env"] = [*env]
    return manifest


def env_of(text: str) -> Any:
    spec = yaml.safe_load(text)["spec"]
    return spec["replicaSpecs"][0]["template"]["spec"]["containers"][0].get("env")


async def previewed(folder: Path, base: dict[str, Any], *rows: dict[str, str]) -> str:
    """The page that comes of the rows, typed over the form of `base`."""
    async with console(folder) as browser:
        await browser.get(NEW)
        fields = {"yaml": yaml.safe_dump(base), "do": "apply"}
        fields = inputs((await browser.post(NEW, fields)).text)
        fields = {path: value for path, value in fields.items() if not path.startswith(f"{ENV}[")}
        assert json.loads(fields["base"])["kind"] == KIND
        for row in rows:
            fields |= row
        fields |= {f"{ENV}#": str(len(rows)), "do": "preview"}
        return (await browser.post(NEW, fields)).text


@pytest.mark.parametrize("source", ["secretKeyRef", "configMapKeyRef"])
async def test_a_variable_comes_from_a_key(tmp_path: Path, source: str) -> None:
    page = await previewed(
        tmp_path,
        manifest(),
        row(0, "A", source, value="ignored", ref="store", key="k"),
        row(1, "B", value="1"),
    )
    assert env_of(editor_text(page)) == [
        {"name": "A", "valueFrom": {source: {"name": "store", "key": "k"}}},
        {"name": "B", "value": "1"},
    ]


async def test_what_else_a_reference_says_stays(tmp_path: Path) -> None:
    ref = {"name": "store", "key": "k", "optional": True}
    base = manifest({"name": "A", "valueFrom": {"secretKeyRef": ref}})
    page = await previewed(tmp_path, base, row(0, "A", "secretKeyRef", ref="other", key="k"))
    assert env_of(editor_text(page)) == [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k", "optional": True}}}
    ]
    page = await previewed(tmp_path, base, row(0, "A", "configMapKeyRef", ref="other", key="k"))
    assert env_of(editor_text(page)) == [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "other", "key": "k"}}}
    ]


async def test_a_row_that_nothing_was_typed_into_is_none(tmp_path: Path) -> None:
    page = await previewed(tmp_path, manifest(), row(0, ""), row(1, "", "secretKeyRef"))
    assert env_of(editor_text(page)) is None


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        (row(0, "A", "secretKeyRef", ref="store"), "key"),
        (row(0, "A", "configMapKeyRef", key="k"), "from"),
        (row(0, "", value="1"), "name"),
    ],
)
async def test_what_is_missing_is_said_where_it_is_missing(
    tmp_path: Path, typed: dict[str, str], field: str
) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        fields = inputs((await browser.post(NEW, {"yaml": yaml.safe_dump(manifest()), "do": "apply"})).text)
        answer = await browser.post(NEW, {**fields, **typed, f"{ENV}#": "1", "do": "create"})
        assert answer.status_code == 422
        assert errors(answer.text)[f"{ENV}[0].{field}"] == ["Required value"]
