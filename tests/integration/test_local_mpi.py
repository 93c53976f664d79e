"""An MPIJob whose pods are processes of this machine: real mpirun, sshd and ssh, on ports of 127.0.0.1."""

import json
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.cli_words import ROOT, Place, is_alive, wait_until

_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
_ABSENT = [name for name in ("mpirun", "sshd", "ssh") if shutil.which(name, path=_PATH) is None]

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="other systems have one loopback address only"
    ),
]
if not os.environ.get("JOBLEDGER_REQUIRE_ALL"):
    pytestmark.append(pytest.mark.skipif(bool(_ABSENT), reason=f"not installed here: {', '.join(_ABSENT)}"))

EXAMPLE = ROOT / "examples" / "mpi.yaml"

SAYS = 'echo "$* $$$$" >"$PWD/rank-$OMPI_COMM_WORLD_RANK.$HOSTNAME"; exec sleep 1000'
"""A process that is there, says so in a file, and goes on until it is killed."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def example(place: Place, **changed: Any) -> dict[str, Any]:
    """The example, started in a folder of its own; `changed` are fields of its spec."""
    manifest: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    shutil.copy(EXAMPLE.with_name("pi.py"), place.folder)
    manifest["spec"] |= changed
    return manifest


def waiting(place: Place, **changed: Any) -> dict[str, Any]:
    """The same with processes that do not end by themselves."""
    manifest = example(place, **changed)
    manifest["spec"]["worker"]["cmd"] = ["/bin/sh", "-c", SAYS, "sh", "first"]
    return manifest


def there(place: Place) -> dict[str, str]:
    """Processes that said that they are there, and with which word."""
    return {file.name: file.read_text().partition(" ")[0] for file in place.folder.glob("rank-*")}


def four(word: str) -> dict[str, str]:
    """What four processes say, two on each worker."""
    return {f"rank-{rank}.pi-worker-{rank // 2}": word for rank in range(4)}


def servers(uid: str) -> list[int]:
    """Processes of the SSH server of a pod."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (process / "cmdline").read_bytes()
            if line.startswith((b"sshd: /", b"/usr/sbin/sshd")) and uid.encode() in line:
                pids.append(int(process.name))
    return pids


def lives(place: Place) -> bool:
    """One of the processes that said that they are there is."""
    return any(is_alive(int(file.read_text().split()[1])) for file in place.folder.glob("rank-*"))


def status(place: Place) -> dict[str, Any]:
    """The job's status."""
    job_status: dict[str, Any] = json.loads(place.ok("get", "pi", "-o", "json"))["status"]
    return job_status


def uid_of(place: Place, pod: str) -> str:
    """The uid of a pod."""
    replicas = [replica for task in status(place)["tasks"] for replica in task["replicas"]]
    return next(str(replica["uid"]) for replica in replicas if replica["name"] == pod)


def test_the_example_computes_pi_in_four_processes_on_two_workers(place: Place) -> None:
    done = place.run("run", place.write("pi.yaml", example(place)), "--logs", "--timeout=50s")
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(4):
        assert f"process {rank} of 4 on pi-worker-{rank // 2}" in done.stdout
    assert "round 3: pi = 3.14159265359" in done.stdout


def test_a_worker_that_is_killed_ends_mpirun_and_with_it_the_job(place: Place) -> None:
    with place.server():
        place.ok("submit", place.write("pi.yaml", waiting(place, runPolicy={"cleanUpWorkers": True})))
        wait_until(lambda: there(place) == four("first"), "the start of four processes")
        (server,) = servers(uid_of(place, "pi-worker-1"))
        os.kill(server, signal.SIGKILL)
        place.ok("wait", "pi", "--for=phase=Failed", "--timeout=50s")
        job_status = status(place)
        conditions = {
            condition["type"]: (condition["status"], condition["reason"])
            for condition in job_status["conditions"]
        }
        assert job_status["phase"] == "Failed"
        assert conditions["Failed"] == ("True", "Failed")
        assert conditions["ReplicaFailure"] == ("True", "ReplicaFailed")
        assert [task["restartCount"] for task in job_status["tasks"]] == [0, 0]
        assert "ORTE has lost communication with a remote daemon" in place.ok("logs", "pi")
        wait_until(lambda: not lives(place), "the end of all processes")


def test_a_pause_ends_all_processes_and_a_resumed_job_starts_them_as_asked(place: Place) -> None:
    entry = {"type": "launcher", "args": ["/bin/sh", "-c", SAYS, "sh", "again"]}
    mode = {"pause": {"enabled": False, "resumeSpecs": [entry]}}
    with place.server():
        place.ok("submit", place.write("pi.yaml", waiting(place, runMode=mode)))
        wait_until(lambda: there(place) == four("first"), "the start of four processes")
        place.ok("pause", "pi")
        wait_until(lambda: status(place)["phase"] == "Paused", "the pause")
        wait_until(lambda: not lives(place), "the end of all processes")
        place.ok("resume", "pi")
        wait_until(lambda: there(place) == four("again"), "the start of four processes")
        wait_until(lambda: status(place)["phase"] == "Running", "the second run")
        place.ok("delete", "pi")
        wait_until(lambda: not lives(place), "the end of all processes")


def test_without_open_mpi_the_job_says_what_to_install(place: Place) -> None:
    manifest = example(place, mpiHome="/nowhere")
    done = place.run("run", place.write("pi.yaml", manifest), "--timeout=50s")
    assert done.returncode == 1, done.stdout + done.stderr
    sentence = (
        'container "mpi-worker" starts /nowhere/bin/mpirun, which this machine does not have; install Open MPI '
        "(on Debian: apt-get install openmpi-bin), or run the job on a cluster"
    )
    assert sentence in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
