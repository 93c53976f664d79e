"""The made-up kind on a real control plane: its CRD, its own child, its labels, and a life without a primary."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.harness import ControlPlane
from tests.support.checkouts import FOLDER, with_sledgejob
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs

pytestmark = pytest.mark.integration

NAME: Final = "north"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_sledgejob(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module", autouse=True)
def crds(simulated: ControlPlane, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The API server knows the kind, and what its jobs own, as long as these tests run."""
    folder = tmp_path_factory.mktemp("crds")
    for crd in (checkout / "crds/opt-in/north.example_sledgejobs.yaml", FOLDER / "harness.yaml"):
        (folder / crd.name).write_text(crd.read_text(encoding="utf-8"), encoding="utf-8")
    simulated.install(folder)
    yield
    simulated.uninstall(folder)


def example(**spec: Any) -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((FOLDER / "example.yaml").read_text(encoding="utf-8"))
    return {**job, "spec": {**job["spec"], **spec}}


def test_enough_dogs_arrive(simulated: ControlPlane, namespace: str, checkout: Path, tmp_path: Path) -> None:
    jobs = Jobs(simulated, namespace, "sledgejobs", owner="SledgeJob")
    refused = jobs.refused("apply", "-f", "-", input=[example(arrivals=9)])
    assert "spec.arrivals: more than there are dogs" in refused
    own = {"PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1", "JOBLEDGER_SLEDGEJOBS__PACE": "trot"}
    controller = ControllerProcess(
        simulated, tmp_path, "--namespaces", namespace, "--sledgejobs", namespace, **own
    )
    controller.real = True
    with controller:
        jobs.apply(example())
        jobs.wait(NAME, "pulling", 4)
        harness = simulated.get("harnesses", "-n", namespace, NAME)
        assert harness["spec"] == {"size": 4}
        assert harness["metadata"]["ownerReferences"][0]["kind"] == "SledgeJob"
        jobs.end(f"leader-0-of-{NAME}", 1)  # it gets up again
        jobs.until(NAME, "the leader has fallen", lambda status: status["pulling"] == 3)
        jobs.wait(NAME, "pulling", 4)
        jobs.end(f"dog-0-of-{NAME}")
        jobs.end(f"leader-0-of-{NAME}")
        status = jobs.until(NAME, "it is there", lambda status: status["gait"] == "arrived")
        assert status["arrived"] == 2
        jobs.kubectl("wait", "--for=delete", f"harness/{NAME}", "--timeout=90s")
