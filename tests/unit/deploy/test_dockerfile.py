"""The Dockerfile keeps what its header and docs/operations.md promise, as far as reading can tell."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.deploy.dockerfile import Malformed, Stage, stages

ROOT = Path(__file__).parents[3]
FILE = ROOT / "Dockerfile"


@pytest.fixture(scope="module")
def build() -> Stage:
    """The stage that installs."""
    return stages(FILE.read_text(encoding="utf-8"))[0]


@pytest.fixture(scope="module")
def image() -> Stage:
    """The stage that is shipped."""
    return stages(FILE.read_text(encoding="utf-8"))[-1]


def sources(stage: Stage) -> Iterator[str]:
    """What a stage copies from the checkout."""
    for words in stage.words("COPY"):
        if not words[0].startswith("--from="):
            yield from words[:-1]


def test_bases_are_pinned_by_a_tag_of_python_and_system(build: Stage, image: Stage) -> None:
    assert build.image == image.image
    assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+", image.image)


def test_nothing_is_fetched_but_by_pip_from_the_lock(build: Stage, image: Stage) -> None:
    assert not build.all("ADD") + image.all("ADD")
    installs = [part for step in build.all("RUN") for part in step.split("&&") if " install " in part]
    assert [
        install for install in installs if "--require-hashes" not in install and "--no-index" not in install
    ] == []
    assert "--only-binary :all:" in installs[0]
    assert not re.search(r"\b(apt|apt-get|curl|wget|git)\b", " ".join(build.all("RUN")))


def test_it_runs_as_nobody_in_particular(image: Stage) -> None:
    assert image.all("USER") == ["65532:65532"]


def test_it_starts_the_command_without_a_shell(image: Stage) -> None:
    assert image.all("ENTRYPOINT") == ['["/opt/jobledger/bin/jobledger"]']
    assert image.words("CMD") == [["controller"]]


def test_the_shipped_stage_takes_the_installed_folder_and_runs_nothing(build: Stage, image: Stage) -> None:
    installed, state = image.words("COPY")
    assert installed == [f"--from={build.name}", "/opt/jobledger", "/opt/jobledger"]
    assert state == [f"--from={build.name}", "--chown=65532:65532", "/build/state/", "/var/lib/jobledger/"]
    assert "mkdir state" in build.all("RUN")
    assert build.all("WORKDIR") == ["/build"]
    assert image.all("RUN") == []
    assert "PREFIX=/opt/jobledger" in build.all("ARG")


def test_what_is_copied_exists_and_is_not_ignored(build: Stage) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    copied = list(sources(build))
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert f"!{source.rstrip('/')}" in ignored


def test_everything_that_ships_in_the_wheel_is_copied_and_no_test(build: Stage) -> None:
    packages = {path.parent.name for path in ROOT.glob("*/py.typed")}
    assert packages <= {source.rstrip("/") for source in sources(build)}
    assert not {"tests/", "examples/", "docs/"} & set(sources(build))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("RUN true", "RUN stands before the first FROM"),
        ("FROM a\nRUNS true", "no instruction: RUNS true"),
        ("FROM a\nUSER", "no instruction: USER"),
        ("FROM $A", "A has no default"),
        ("# nothing", "there is no FROM"),
    ],
)
def test_the_parser_refuses_what_it_does_not_know(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=re.escape(why)):
        stages(text)


def test_the_parser_joins_lines_and_fills_defaults() -> None:
    (stage,) = stages("ARG A=b:1\nFROM ${A} AS c\nRUN x \\\n    # why\n    y\n")
    assert (stage.image, stage.name, stage.instructions) == ("b:1", "c", [("RUN", "x y")])
