"""`kubectl jobledger` where PyTorchJob is Kubeflow's own CRD: in none of our categories, and without our schema."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import KUBEFLOW_CRDS, OPT_IN_CRDS, ControlPlane, wait_for
from tests.integration.cluster.test_plugin import kwok, out
from tests.integration.cluster.test_pytorchjob import TorchJobs, owned, pytorchjob
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_people import Person

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def plane(killable_plane: ControlPlane) -> Iterator[ControlPlane]:
    killable_plane.uninstall(OPT_IN_CRDS)
    killable_plane.install(KUBEFLOW_CRDS)
    yield killable_plane
    killable_plane.uninstall(KUBEFLOW_CRDS)


@pytest.fixture
def jobs(plane: ControlPlane, tmp_path: Path) -> Iterator[TorchJobs]:
    """`train` runs: a Master and a Worker."""
    with plane.namespace("theirs") as name:
        options = (f"--namespaces={name}", "--pytorchjobs=*")
        with ControllerProcess(plane, tmp_path, *options):
            jobs = TorchJobs(plane, name)
            jobs.apply(pytorchjob("train"))
            jobs.states("train", "Created=True", "Running=True")
            # the Master alone makes it Running
            jobs.becomes("train", *owned("train", "master-0", "worker-0"))
            yield jobs


def test_the_verbs_know_jobs_of_a_crd_that_kubeflow_installed(jobs: TorchJobs, tmp_path: Path) -> None:
    rights = "pytorchjobs.kubeflow.org"
    user = Person(jobs.cluster, jobs.namespace, "user", tmp_path).may("get,list,watch,patch", rights)
    user.may("get,list", "pods,events").may("get", "pods/log")

    def asked(*arguments: str) -> str:
        done: subprocess.CompletedProcess[str] = user.asks(*arguments)
        return out(done)

    name, kind, phase, *_ = asked("get").splitlines()[1].split()
    assert (name, kind, phase) == ("train", "PyTorchJob", "Running")
    # what needs no hurry, as Events, waits for writes that do
    wait_for("its Events", lambda: "worker-0" in asked("describe", "train", "--kind", "pytorchjobs"))

    pod = jobs.cluster.get("-n", jobs.namespace, "pod", "train-master-0")
    file = tmp_path / "log"
    file.write_text("2026-01-01T00:00:00.000000000Z stdout F epoch 1\n")
    jobs.kubectl("apply", "-f", "-", input=kwok("Logs", pod, {"logs": [{"logsFile": str(file)}]}))
    wait_for("the Master's log", lambda: user.asks("logs", "train").stdout == "epoch 1\n")

    asked("pause", "train")
    jobs.states("train", "Created=True", "Running=False", "Suspended=True")
    assert asked("get", "train").splitlines()[1].split()[2] != "Running"
    asked("resume", "train")
    jobs.states("train", "Created=True", "Suspended=False", "Running=True")
