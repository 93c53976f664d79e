"""The guard against another distribution that brings one of our packages."""

import subprocess
import sys
from pathlib import Path

import pytest

from jobledger.program.installation import PACKAGES, intruder, lost

OURS = {package: ["jobledger"] for package in PACKAGES}
ROOT = Path(__file__).resolve().parents[3]


def test_alone_there_is_nothing_to_say() -> None:
    assert intruder(OURS) == ""
    assert intruder({}) == ""


def test_this_environment_is_clean() -> None:
    assert intruder() == ""


@pytest.mark.parametrize("package", PACKAGES)
def test_another_owner_of_a_package_is_named_with_what_to_do(package: str) -> None:
    sentence = intruder({**OURS, package: ["jobledger", "python-statemachine"]})
    assert '"python-statemachine"' in sentence
    assert f'"{package}"' in sentence
    assert "uninstall" in sentence


def test_a_file_of_ours_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    there, gone = tmp_path / "there.py", tmp_path / "gone.py"
    there.touch()
    assert lost([there]) == ""
    assert f"the file {gone} of jobledger is missing" in lost([there, gone])
    assert "install jobledger again" in lost([there, gone])


def _installed_beside_us(folder: Path) -> dict[str, str]:
    """An environment in which another distribution has a `statemachine` of its own, before ours on the path."""
    (folder / "statemachine").mkdir()
    (folder / "statemachine" / "__init__.py").write_text("")
    info = folder / "python_statemachine-2.5.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: python-statemachine\nVersion: 2.5.0\n")
    (info / "top_level.txt").write_text("statemachine\n")
    (info / "RECORD").write_text("statemachine/__init__.py,,\n")
    return {"PYTHONPATH": f"{folder}:{ROOT}", "PATH": ""}


@pytest.mark.parametrize("verb", [["run", "x.yaml"], ["config"]])
def test_a_shadowed_package_ends_every_command_with_a_sentence(verb: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jobledger", *verb],
        env=_installed_beside_us(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "python-statemachine" in done.stderr
    assert "Traceback" not in done.stderr
