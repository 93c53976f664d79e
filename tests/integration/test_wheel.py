"""The built wheel, in a fresh environment: installs by name, ships what it needs and nothing else, runs a job."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
PACKAGES = {"jobledger", "projectors", "k8s_bridge", "statemachine"}

JOB = """
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: hello}
spec:
  replicaSpecs:
  - type: worker
    template: {spec: {containers: [{name: pytorch, image: none, command: [sh, -c, "echo hello from $RANK"]}]}}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the files that git knows, built offline by this environment's setuptools."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)


def test_the_wheel_holds_everything_that_the_console_shows(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folder = ROOT / "jobledger" / "console"
    needed = [
        each for part in ("static", "templates") for each in (folder / part).rglob("*") if each.is_file()
    ]
    assert len(needed) > 10
    assert {str(each.relative_to(ROOT)) for each in needed} <= names


def test_a_job_runs_from_the_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    """The packages of this environment stand in for the network; jobledger itself comes from the wheel."""
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
    subprocess.run([*command, str(wheel)], check=True)
    (tmp_path / "job.yaml").write_text(JOB)
    code = "import jobledger.cli, sys; print(jobledger.__file__, file=sys.stderr); jobledger.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "job.yaml", "--logs", "--store", str(tmp_path / "ledger.db")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(target) in done.stderr
    assert "hello from 0" in done.stdout
