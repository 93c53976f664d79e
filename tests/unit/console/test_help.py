"""The help page, and that forms explain their fields in both languages."""

from pathlib import Path

import pytest

from jobledger.console.forms import field_labels
from jobledger.console.vocabulary.help import HELP, TOPICS
from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.schema.tables import walk
from tests.unit.console.words import KIND, console


async def test_every_page_leads_to_help_in_its_language(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for path in ("/jobs", "/about", f"/jobs/new/{KIND}"):
            assert 'href="/help"' in (await browser.get(path)).text
        english, chinese = [
            (await browser.get("/help", Accept_Language=language)).text for language in ("en", "zh")
        ]
        for topic in TOPICS:
            assert HELP[f"help.{topic}"][0] in english
            assert HELP[f"help.{topic}"][1] in chinese
        assert 'href="/v1/openapi.json"' in english
        assert "/v1/jobs" in (await browser.get("/v1/openapi.json")).json()["paths"]
    assert {key.split(".")[1] for key in HELP} == {*TOPICS, "title"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_what_a_field_is_for_and_its_name_are_said_in_chinese_too(kind: Kind) -> None:
    olds = [path for path, shape in walk(kind.model) if field_labels.is_old(shape)]
    for path, shape in walk(kind.model):
        if shape.opaque == "PodTemplateSpec" or any(
            f"{path}.".startswith((f"{old}.", f"{old}[")) for old in olds
        ):
            continue
        said = shape.info.description or ""
        assert not said or field_labels.explained("zh", said, kind.form) != said, (path, said)
        assert field_labels.explained("en", said, kind.form) == said
        name = path.rpartition(".")[2].removesuffix("[]")
        assert (
            field_labels.label("en", path, kind.form) != field_labels.humanized(name)
            or field_labels.label("zh", path, kind.form) != field_labels.label("en", path, kind.form)
            or (field_labels.label("en", path, kind.form) in SAME)
        ), path


SAME = {"Master", "Worker", "Launcher", "Local rank", "Pod", "Priority", "Queue"}
"""Names that are the same in both languages: they are what the thing is called."""


def test_no_sentence_is_left_over_of_a_field_that_is_gone() -> None:
    said = {shape.info.description for kind in KINDS for _, shape in walk(kind.model)}
    paths = {path for kind in KINDS for path, _ in walk(kind.model)}
    assert not {word for kind in KINDS for word in kind.form.chinese} - said
    named = {label for kind in KINDS for label in kind.form.labels}
    assert not named - paths - {path.rpartition(".")[2] for path in paths}


async def test_a_form_in_chinese_explains_its_fields_in_chinese(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        page = (await browser.get(f"/jobs/new/{KIND}", Accept_Language="zh")).text
        assert "该类型的副本数量。" in page
        assert "Number of replicas of this type." not in page
