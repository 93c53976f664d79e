"""The steps of the Dockerfile, run without a container: what they install starts, and is what the image promises."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "image-steps.sh"

WHEN = 1_700_000_000
"""A time that nothing else has: seconds since 1970."""


def run_steps(folder: Path) -> subprocess.CompletedProcess[str]:
    """The script, with this Python in the place of the base image's."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": str(WHEN)}
    command = [str(SCRIPT), str(folder)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=390)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that the image has as /opt/jobledger, and what the script printed."""
    folder = tmp_path_factory.mktemp("image") / "steps"
    done = run_steps(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "opt" / "jobledger", done.stdout


@pytest.fixture(scope="module")
def packages(built: tuple[Path, str]) -> Path:
    """Where the installed packages are."""
    return next((built[0] / "lib").glob("python3.*/site-packages"))


@pytest.mark.slow
def test_it_ends_with_the_version_of_what_it_has_installed(built: tuple[Path, str]) -> None:
    assert built[1].splitlines()[-1].startswith("jobledger 0.")


@pytest.mark.parametrize(
    ("program", "arguments", "code"),
    [
        ("jobledger", ["controller", "--kubeconfig", "nowhere", "--log", "sqlite:x.db"], 2),
        (
            "python",
            [
                "-c",
                "import jobledger.cli.cluster.process, jobledger.telemetry.spans, k8s_bridge.apiserver.cluster",
            ],
            0,
        ),
    ],
)
def test_it_starts_and_has_nothing_left_to_compile(
    built: tuple[Path, str], tmp_path: Path, program: str, arguments: list[str], code: int
) -> None:
    before = set(built[0].rglob("*.pyc"))
    command = [str(built[0] / "bin" / program), *arguments]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert set(built[0].rglob("*.pyc")) == before


def test_it_holds_no_installer_no_compiler_and_no_test_of_ours(packages: Path) -> None:
    there = {path.name for path in packages.iterdir()}
    assert {"jobledger", "projectors", "k8s_bridge", "statemachine", "kubernetes", "opentelemetry"} <= there
    assert not {"pip", "setuptools", "wheel", "tests", "deploy", "pytest"} & there


def test_every_file_has_the_time_that_was_asked_for(built: tuple[Path, str]) -> None:
    others = [path for path in built[0].rglob("*") if path.lstat().st_mtime != WHEN]
    assert others == []


def test_bytecode_is_there_and_depends_on_contents_alone(packages: Path) -> None:
    """PEP 552: of the flags, bit 0 says that a hash stands in the place of a time, bit 1 that it is checked."""
    source = packages / "jobledger" / "settings" / "model.py"
    compiled = Path(importlib.util.cache_from_source(str(source)))
    assert compiled.read_bytes()[4:8] == (0b01).to_bytes(4, "little")


def test_what_no_role_imports_is_not_compiled(packages: Path) -> None:
    models = packages / "kubernetes" / "client" / "models"
    assert models.is_dir()
    assert [path.name.partition(".")[0] for path in models.rglob("*.pyc")] == ["__init__"]


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    done = run_steps(tmp_path)
    assert (done.returncode, done.stderr) == (2, f"{tmp_path} exists already\n")
    assert list(tmp_path.iterdir()) == []
