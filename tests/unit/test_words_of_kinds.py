"""Outside `statemachine/kinds/` no source has the words of a kind: what it needs to know it asks for by the port."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.generate import files as generate
from statemachine.kinds import KINDS, REPLICA_LABELS

CODE = ("jobledger", "projectors", "k8s_bridge", "statemachine")

KUBERNETES = ("ConfigMap", "Job")
"""Owned objects that have nothing to do with the kinds that own them."""

FIELD = (
    *(
        "launcher",
        "torchrun",
        "deepspeed",
        "colossal",
        "xgboost",
        "pytorch",
        "t9k",
        "tensorstack",
        "kubeflow",
    ),
    *("PyTorchJobFailedValidation", '"Restarting"', '"Suspended"', "job-role"),
)
"""What kinds alone know: who starts their training, and with what; whose they are; words of their status."""

ALLOWED = {
    ("statemachine/upcasters.py", "tensorboard"): "events of earlier releases have the name",
    ("statemachine/upcasters.py", "podgroup"): "events of earlier releases have the name",
    ("projectors/contract/catalogue.py", "podgroup"): "the published contract calls a job's gang so",
    ("projectors/contract/of_jobs.py", "podgroup"): "the published contract calls a job's gang so",
    ("projectors/contract/model/jobs.py", "podgroup"): "the published contract calls a job's gang so",
    ("jobledger/settings/model.py", "torchrun"): "tells users for which programs the setting is",
    ("jobledger/settings/sections.py", "t9k"): "a setting that users have set by this name",
    ("jobledger/console/frame.py", "t9k"): "the setting's value",
    ("jobledger/console/choices.py", "t9k"): "the setting's value",
    ("jobledger/console/creating.py", "t9k"): "the setting's value",
    ("jobledger/api/choices.py", "t9k"): "the setting's value, and what the API's documentation says of it",
    ("jobledger/api/models.py", "t9k"): "what the API's documentation says of the setting",
}
"""Source and word → why it stands there."""


def words() -> Iterator[str]:
    """The words of kinds: what they are called, what they own, their labels, the programs of their launch lines."""
    yield from FIELD
    for kind in KINDS:
        for names in (kind.names, *kind.aliases):
            yield from (names.kind, names.plural, names.singular, names.group)
        for owned in kind.owns:
            if owned.kind not in KUBERNETES:
                yield owned.kind
        yield from (kind.child_label, kind.name_label)
        yield from (program.name for program in kind.programs)
    yield from (label for pair in REPLICA_LABELS for label in pair)


WORDS = sorted({word.lower() for word in words()})

MADE = {generate.ROOT / path for path in generate.files()}

SOURCES = [
    path
    for folder in CODE
    for path in sorted((generate.ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".html", ".js", ".css")
    and path not in MADE
    and generate.ROOT / "statemachine" / "kinds" not in path.parents
]


def met(path: Path) -> set[tuple[str, str]]:
    """Which words of kinds stand in a source, comments included."""
    text = path.read_text(encoding="utf-8").lower()
    name = path.relative_to(generate.ROOT).as_posix()
    return {(name, word) for word in WORDS if word in text}


def test_no_source_has_the_words_of_a_kind() -> None:
    assert len(SOURCES) > 300
    assert {pair for path in SOURCES for pair in met(path)} == {*ALLOWED}


@pytest.mark.parametrize(
    "word", ["tensorboard", "podgroup", "torchrun", "launcher", "tensorstack.dev/owner-kind"]
)
def test_the_words_are_looked_for(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = generate.ROOT / "statemachine" / "rules" / "pods.py"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: f"# A sentence about {word.upper()}s.")
    assert (source.relative_to(generate.ROOT).as_posix(), word) in met(source)


def test_no_source_asks_what_class_a_kind_is_of() -> None:
    asks = re.compile(r"\bModelKind\b|statemachine\.kinds\.(?!\s)\w")
    assert [path.name for path in SOURCES if asks.search(path.read_text(encoding="utf-8"))] == []
