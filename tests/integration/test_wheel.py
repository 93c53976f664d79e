"""The built wheel, in a fresh environment: installs by name, ships what it needs and nothing else, runs a job."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from sysconfig import get_path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
PACKAGES = {"jobledger", "projectors", "k8s_bridge", "statemachine"}

QUICKLY = ("--no-deps", "--no-compile")
"""For pip: a command compiles what it imports, which is less than all."""

JOB = """
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: hello}
spec:
  replicaSpecs:
  - type: worker
    template: {spec: {containers: [{name: pytorch, image: none, command: [sh, -c, "echo hello from $RANK"]}]}}
"""

OTHER = {
    "statemachine/__init__.py": "from .state import State\nfrom .statemachine import StateMachine\n",
    "statemachine/state.py": "class State:\n    pass\n",
    "statemachine/statemachine.py": "class StateMachine:\n    pass\n",
    "statemachine/events.py": "class Events:\n    pass\n",
    "python_statemachine-3.2.2.dist-info/METADATA": "Metadata-Version: 2.4\nName: python-statemachine\n"
    "Version: 3.2.2\n",
    "python_statemachine-3.2.2.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\n"
    "Root-Is-Purelib: true\nTag: py3-none-any\n",
}
"""The names of python-statemachine, without its code: what matters is whose files lie in `statemachine/`."""


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
        path for part in ("static", "templates") for path in (folder / part).rglob("*") if path.is_file()
    ]
    assert len(needed) > 10
    assert {str(file.relative_to(ROOT)) for file in needed} <= names


def test_the_wheel_holds_the_schemas_and_events_of_every_contract_that_was_released(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    contract = ROOT / "projectors" / "contract"
    released = [*(contract / "released").glob("*/*/*.json*"), *contract.glob("lineage/released/*/*.json")]
    needed = {str(path.relative_to(ROOT)) for path in released}
    assert len(needed) > 10
    assert needed <= names


def test_a_job_runs_from_the_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    """The packages of this environment stand in for the network; jobledger itself comes from the wheel."""
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", *QUICKLY, "--target", str(target)]
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


# ---- beside another distribution that brings one of our packages -----------------------------------------------


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of python-statemachine, as far as its names go."""
    path = tmp_path_factory.mktemp("other") / "python_statemachine-3.2.2-py3-none-any.whl"
    record = "python_statemachine-3.2.2.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as written:
        for name, text in OTHER.items():
            written.writestr(name, text)
        written.writestr(record, "".join(f"{name},,\n" for name in (*OTHER, record)))
    return path


class Installation:
    """An environment of its own; the packages of this one stand in for the network, behind its own."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        self.bin = folder / "bin"
        site = next(folder.glob("lib/python3*/site-packages"))
        (site / "packages.pth").write_text(get_path("purelib") + "\n")

    def pip(self, verb: str, *arguments: str) -> None:
        python = ["--python", str(self.bin / "python")]
        subprocess.run([sys.executable, "-m", "pip", *python, verb, "--quiet", *arguments], check=True)

    def install(self, *wheels: Path) -> None:
        for wheel in wheels:
            self.pip("install", *QUICKLY, "--no-index", str(wheel))

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [str(self.bin / program), *arguments],
            cwd=self.bin.parent,
            env={**clean, "JOBLEDGER_STORE": str(self.bin.parent / "ledger.db")},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    made = Installation(tmp_path / "venv")
    (tmp_path / "venv" / "job.yaml").write_text(JOB)
    return made


def is_one_sentence(done: subprocess.CompletedProcess[str]) -> bool:
    return (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


COMMANDS = (("run", "job.yaml"), ("config",), ("validate", "job.yaml"), ("history", "hello"))


def test_a_distribution_that_overwrote_our_files_is_named_in_one_sentence_and_not_called_a_bug(
    wheel: Path, other: Path, installation: Installation
) -> None:
    installation.install(wheel, other)
    for command in COMMANDS:
        done = installation.run("jobledger", *command)
        assert is_one_sentence(done), (command, done)
        assert 'the installed distribution "python-statemachine" also brings the package "statemachine"' in (
            done.stderr
        )
        assert "environment of its own" in done.stderr


def test_a_distribution_whose_files_we_overwrote_is_named_before_a_job_runs(
    wheel: Path, other: Path, installation: Installation
) -> None:
    installation.install(other, wheel)
    done = installation.run("jobledger", "run", "job.yaml")
    assert is_one_sentence(done), done
    assert "python-statemachine" in done.stderr


def test_files_that_another_distribution_took_along_are_missed_in_one_sentence(
    wheel: Path, other: Path, installation: Installation
) -> None:
    installation.install(wheel, other)
    installation.pip("uninstall", "--yes", "python-statemachine")
    for command in COMMANDS:
        done = installation.run("jobledger", *command)
        assert is_one_sentence(done), (command, done)
        assert "statemachine/__init__.py of jobledger is missing" in done.stderr
        assert "install jobledger again" in done.stderr
    installation.pip("install", *QUICKLY, "--no-index", "--force-reinstall", str(wheel))
    assert installation.run("jobledger", "run", "job.yaml").returncode == 0
