"""PyTorchJobs whose pods wait until Volcano lets their PodGroup in, on a real API server.

Volcano itself is not there: the tests write the status that it would.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness import Cluster, wait_for
from tests.integration.cluster.policies import undeletable
from tests.integration.cluster.test_pytorchjob import TorchJobs, pytorchjob
from tests.support.cluster_controller import ControllerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

VOLCANO_CRDS: Final = Path(__file__).parents[2] / "harness/volcano"
WORD: Final = "podgroups.scheduling.volcano.sh"


@pytest.fixture(scope="module")
def volcano(job_crds: Cluster) -> Iterator[Cluster]:
    """The shared cluster with Volcano's PodGroups, which go again: others of that name are called like them."""
    job_crds.install(VOLCANO_CRDS)
    yield job_crds
    job_crds.uninstall(VOLCANO_CRDS)


class Gangs(TorchJobs):
    """The PyTorchJobs of one namespace, and what Volcano does with their PodGroups."""

    def group(self, name: str) -> dict[str, Any]:
        """The job's PodGroup, as soon as there is one that stays."""

        def look() -> dict[str, Any] | None:
            answer = self.cluster.api.request("GET", self._group(name))
            return answer.body if answer.is_accepted and not _goes(answer.body) else None

        return wait_for(f"a PodGroup {name}", look, 90)

    def says(self, name: str, phase: str) -> None:
        """Volcano writes the phase."""
        self.cluster.api.write("PATCH", f"{self._group(name)}/status", {"status": {"phase": phase}})

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Somebody's finalizer holds the PodGroup."""
        self._finalizers(name, "example.org/held")
        try:
            yield
        finally:
            self._finalizers(name)

    def _finalizers(self, name: str, *finalizers: str) -> None:
        self.cluster.api.write("PATCH", self._group(name), {"metadata": {"finalizers": list(finalizers)}})

    def place(self, name: str) -> None:
        """Volcano puts the job's only pod on a node, as soon as there is one."""
        wait_for(f"a pod of {name}", lambda: self.left(name, "pods"), 90)
        self.bind(f"{name}-worker-0")

    def goes(self, name: str) -> None:
        """The PodGroup is being deleted."""
        wait_for(
            f"PodGroup {name} is being deleted",
            lambda: _goes(self.cluster.api.request("GET", self._group(name)).body),
            90,
        )

    def _group(self, name: str) -> str:
        resource = self.cluster.resources.named(WORD)
        assert resource is not None, f"the API server has no {WORD}"
        return resource.path(self.namespace, name)


def _goes(manifest: dict[str, Any]) -> bool:
    return "deletionTimestamp" in manifest["metadata"]


@pytest.fixture
def jobs(volcano: Cluster) -> Iterator[Gangs]:
    with volcano.namespace("gang") as name:
        yield Gangs(volcano, name)


@pytest.fixture
def controller(jobs: Gangs, tmp_path: Path) -> Iterator[ControllerProcess]:
    with ControllerProcess(
        jobs.cluster,
        tmp_path,
        f"--namespaces={jobs.namespace}",
        "--pytorchjobs=*",
        JOBLEDGER_PYTORCHJOBS__GANG_SCHEDULER="volcano",
    ) as started:
        yield started


@pytest.mark.usefixtures("controller")
def test_pods_wait_for_a_pod_group_again_that_somebody_held_across_a_pause(jobs: Gangs) -> None:
    jobs.apply(pytorchjob("team", master=False))
    first = jobs.group("team")["metadata"]["uid"]
    jobs.says("team", "Pending")
    jobs.states("team", "Created=True")
    assert jobs.left("team", "pods") == []
    jobs.says("team", "Inqueue")
    jobs.place("team")
    jobs.states("team", "Created=True", "Running=True")
    pod = jobs.cluster.get("-n", jobs.namespace, "pod", "team-worker-0")
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "team"
    assert pod["spec"]["schedulerName"] == "volcano"
    with jobs.held("team"):
        jobs.patch("team", runPolicy={"suspend": True})
        jobs.goes("team")
        jobs.states("team", "Created=True", "Running=False", "Suspended=True")
        jobs.patch("team", runPolicy={"suspend": False})
        jobs.states("team", "Created=True", "Running=False", "Suspended=False")
        assert jobs.left("team", "pods") == [], "the PodGroup that goes lets nobody in"
    assert jobs.group("team")["metadata"]["uid"] != first
    jobs.says("team", "Inqueue")
    jobs.place("team")
    jobs.states("team", "Created=True", "Suspended=False", "Running=True")


def test_a_pod_group_that_nobody_may_delete_lets_the_pods_of_a_resumed_job_in(
    jobs: Gangs, controller: ControllerProcess
) -> None:
    jobs.apply(pytorchjob("team", master=False))
    group = jobs.group("team")["metadata"]["uid"]
    jobs.says("team", "Running")
    jobs.place("team")
    jobs.states("team", "Created=True", "Running=True")
    with undeletable(jobs, "podgroups", "team", "scheduling.volcano.sh"):
        jobs.patch("team", runPolicy={"suspend": True})
        jobs.event_message("team", "FailedDeletePodGroup")
        jobs.becomes("team")
        jobs.patch("team", runPolicy={"suspend": False})
        jobs.place("team")
        jobs.states("team", "Created=True", "Suspended=False", "Running=True")
        assert jobs.group("team")["metadata"]["uid"] == group
    assert controller.is_running
