"""Jobs under the real Kueue: `make kueue-tools` once, then `make soak PARTS=kueue`.

Not a part of the gate: Kueue takes ten minutes to build. Each test is a situation of the table in docs/kueue.md.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness import JOB_CRDS, OPT_IN_CRDS, Cluster, ControlPlane, program, wait_for
from tests.harness.fixtures import own_control_plane
from tests.harness.programs import built
from tests.harness.queueing import KUEUE, Kueue
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import SIMULATED, Jobs

_LONG: Final = 180.0

QUEUE: Final = "kueue.x-k8s.io/queue-name"
PRIORITY: Final = "kueue.x-k8s.io/priority-class"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that nobody else uses, with the kinds of jobledger."""
    if not built(KUEUE)[0]:
        pytest.skip(built(KUEUE)[1])
    with own_control_plane(tmp_path_factory.mktemp("kueue-plane"), nodes=2) as started:
        started.install(JOB_CRDS)
        started.install(OPT_IN_CRDS)
        yield started


class Queued:
    """PyTorchJobs in one namespace, queue `team` there, and what is reported of them."""

    def __init__(self, plane: Cluster, namespace: str, controller: ControllerProcess) -> None:
        self.plane, self.namespace, self.controller = plane, namespace, controller
        self.jobs = Jobs(plane, namespace, "pytorchjob")

    def submit(self, *names: str, cpu: str = "1", priority: str = "", **life: Any) -> None:
        """Jobs of one worker each, put into the queue."""
        labels = {QUEUE: "team", **({PRIORITY: priority} if priority else {})}
        self.jobs.apply(*(_job(name, labels, cpu, life) for name in names))

    def why(self, name: str) -> dict[str, Any]:
        """What `jobledger why` says; nothing while the log does not know the job."""
        asked = ("why", name, "-n", self.namespace, "-o", "json", "--store", str(self.controller.store))
        done = program.run(*asked)
        reasons: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return reasons

    def tells(self, name: str, what: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The explanation as soon as it holds."""
        last: dict[str, Any] = {}

        def asked() -> bool:
            nonlocal last
            last = self.why(name)
            return bool(last) and holds(last)

        try:
            wait_for(what, asked, _LONG)
        except AssertionError as error:
            raise AssertionError(
                f"{error}\n{json.dumps(last, indent=1)[:4000]}\n{self.controller.latest[-1500:]}"
            ) from None
        return last

    def waits(self, name: str, words: str) -> str:
        """The first thing that the job waits for, once it says `words`; with Kueue's words."""
        answer = self.tells(
            name, f"{name} waits: {words}", lambda it: any(words in wait["says"] for wait in it["waitsFor"])
        )
        wait = next(reason for reason in answer["waitsFor"] if words in reason["says"])
        return f"{wait['says']} {wait['message']}"

    def incident(self, name: str, kind: str, words: str = "") -> dict[str, Any]:
        """The last incident of the kind that says `words`."""

        def of(it: dict[str, Any]) -> list[dict[str, Any]]:
            return [
                incident
                for incident in it["incidents"]
                if incident["kind"] == kind and words in incident["says"]
            ]

        incidents = of(self.tells(name, f"{name}: {kind} {words}", lambda it: bool(of(it))))
        print(f"{name}: {incidents[-1]['says']}")
        return incidents[-1]

    def phase(self, name: str, phase: str) -> dict[str, Any]:
        """What is reported once the job has this phase."""
        return self.tells(name, f"{name} is {phase}", lambda it: it["phase"] == phase)

    def uid(self, name: str) -> str:
        return str(self.jobs.get(name)["metadata"]["uid"])


def _job(name: str, labels: dict[str, str], cpu: str, life: dict[str, Any]) -> dict[str, Any]:
    annotations = {f"{SIMULATED}{key.replace('_', '-')}": str(value) for key, value in life.items()}
    container = {"name": "pytorch", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}
    worker = {"replicas": 1, "restartPolicy": "Never", "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "labels": labels},
        "spec": {"pytorchReplicaSpecs": {"Worker": worker}, "runPolicy": {}},
    }


def _queue(plane: Cluster, namespace: str, *quotas: tuple[str, int]) -> None:
    """ResourceFlavors with so much CPU each, a ClusterQueue of the namespace, and LocalQueue `team` in it."""
    api = "kueue.x-k8s.io/v1beta2"
    cluster_queue = f"cq-{namespace}"
    flavors = [
        {"name": f"{flavor}-{namespace}", "resources": [{"name": "cpu", "nominalQuota": number}]}
        for flavor, number in quotas
    ]
    plane.kubectl(
        "apply",
        "-f",
        "-",
        input=[
            *(
                {"apiVersion": api, "kind": "ResourceFlavor", "metadata": {"name": flavor["name"]}}
                for flavor in flavors
            ),
            *(
                {
                    "apiVersion": api,
                    "kind": "WorkloadPriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                }
                for name, value in (("low", 1), ("high", 1000))
            ),
            {
                "apiVersion": api,
                "kind": "ClusterQueue",
                "metadata": {"name": cluster_queue},
                "spec": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "preemption": {"withinClusterQueue": "LowerPriority"},
                    "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
                },
            },
            {
                "apiVersion": api,
                "kind": "LocalQueue",
                "metadata": {"name": "team", "namespace": namespace},
                "spec": {"clusterQueue": cluster_queue},
            },
        ],
    )


@pytest.fixture
def team(plane: ControlPlane, tmp_path: Path) -> Iterator[Queued]:
    """A namespace with a controller of jobledger; the queue is the test's to make."""
    with plane.namespace("team") as namespace:
        options = (f"--namespaces={namespace}", "--pytorchjobs=*")
        with ControllerProcess(plane, tmp_path, *options, JOBLEDGER_KUEUE__ENABLED="true") as controller:
            yield Queued(plane, namespace, controller)


def test_a_job_is_admitted_waits_and_is_preempted(plane: ControlPlane, team: Queued, tmp_path: Path) -> None:
    with Kueue(plane, tmp_path / "kueue"):
        _queue(plane, team.namespace, ("default", 1))
        team.submit("first", priority="low")
        team.incident("first", "admission", "Kueue admitted the job (queue team, ClusterQueue cq-")
        team.phase("first", "Running")
        team.submit("second", priority="low")
        print(team.waits("second", "Kueue to admit the job to queue team"))
        team.submit("urgent", priority="high")
        evicted = team.incident("first", "eviction", "Kueue preempted the job for the job with uid")
        assert evicted["nature"] == "abnormal"
        assert team.uid("urgent") in evicted["says"]
        team.phase("urgent", "Running")
        print(team.why("first")["answer"])
        print(team.waits("first", "Kueue to admit the job to queue team"))


def test_a_preemption_while_the_controller_was_away_is_reported(
    plane: ControlPlane, team: Queued, tmp_path: Path
) -> None:
    with Kueue(plane, tmp_path / "kueue"):
        _queue(plane, team.namespace, ("default", 1))
        team.submit("first", priority="low")
        team.phase("first", "Running")
        team.controller.kill()
        team.submit("urgent", priority="high")
        wait_for(
            "Kueue suspends it",
            lambda: bool(team.jobs.get("first")["spec"]["runPolicy"].get("suspend")),
            _LONG,
        )
        team.controller.start()
        assert team.uid("urgent") in team.incident("first", "eviction")["says"]
        team.phase("urgent", "Running")


def test_the_second_flavor_is_used_when_the_first_is_full(
    plane: ControlPlane, team: Queued, tmp_path: Path
) -> None:
    with Kueue(plane, tmp_path / "kueue"):
        _queue(plane, team.namespace, ("reserved", 1), ("spot", 1))
        team.submit("one")
        team.incident("one", "admission", "flavors reserved-")
        team.submit("two")
        team.incident("two", "admission", "flavors spot-")


def test_pods_that_do_not_get_ready_cost_the_quota_and_then_the_activation(
    plane: ControlPlane, team: Queued, tmp_path: Path
) -> None:
    strategy = {"backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 1}
    ready = {"timeout": "5s", "requeuingStrategy": strategy}
    with Kueue(plane, tmp_path / "kueue", waitForPodsReady=ready):
        _queue(plane, team.namespace, ("default", 1))
        team.submit("slow", start_seconds=3600)
        assert team.incident("slow", "eviction", "PodsReadyTimeout")["nature"] == "abnormal"
        print(team.waits("slow", "Kueue has deactivated it"))
        print(team.why("slow")["answer"])


def test_kueue_undoes_a_pause_and_a_resume_of_its_jobs(
    plane: ControlPlane, team: Queued, tmp_path: Path
) -> None:
    with Kueue(plane, tmp_path / "kueue"):
        _queue(plane, team.namespace, ("default", 1))
        team.submit("in")
        team.phase("in", "Running")
        generation = team.jobs.get("in")["metadata"]["generation"]
        team.jobs.patch("in", runPolicy={"suspend": True})
        wait_for(
            "Kueue resumes it",
            lambda: (
                (job := team.jobs.get("in"))["metadata"]["generation"] > generation + 1
                and not job["spec"]["runPolicy"].get("suspend")
            ),
            _LONG,
        )
        team.submit("out")
        team.phase("out", "Paused")
        team.jobs.patch("out", runPolicy={"suspend": False})
        wait_for("Kueue suspends it", lambda: team.jobs.get("out")["spec"]["runPolicy"]["suspend"], _LONG)


def test_fifty_jobs_pass_a_quota_of_five_while_the_controller_is_killed(
    plane: ControlPlane, team: Queued, tmp_path: Path
) -> None:
    names = [f"job-{number}" for number in range(50)]
    most = 0
    with Kueue(plane, tmp_path / "kueue"):
        _queue(plane, team.namespace, ("default", 5))
        team.submit(*names, run_seconds=2)

        def ended() -> int:
            nonlocal most
            pods = plane.get("-n", team.namespace, "pods")["items"]
            alive = [pod for pod in pods if pod.get("status", {}).get("phase") in ("Pending", "Running")]
            most = max(most, len(alive))
            jobs = plane.get("-n", team.namespace, "pytorchjobs.kubeflow.org")["items"]
            return sum(
                any(
                    c["type"] == "Succeeded" and c["status"] == "True"
                    for c in job.get("status", {}).get("conditions", ())
                )
                for job in jobs
            )

        for kill in (10, 25, 40):
            wait_for(f"{kill} jobs have ended", partial(lambda least: ended() >= least, kill), 4 * _LONG)
            team.controller.kill()
            team.controller.start()
        wait_for("all jobs have ended", lambda: ended() == len(names), 4 * _LONG)
        assert most <= 5
        for name in names:
            answer = team.why(name)
            assert answer["phase"] == "Succeeded"
            assert "admission" in [incident["kind"] for incident in answer["incidents"]]


def test_pods_of_a_kind_that_kueue_does_not_know_are_queued_one_by_one(
    plane: ControlPlane, team: Queued, tmp_path: Path
) -> None:
    """A T9k job whose pod templates carry the label: Kueue's integration `pod` holds pods with a scheduling gate."""
    plane.kubectl("label", "namespace", team.namespace, "jobledger.dev/pods=kueue")
    container = {"name": "pytorch", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {QUEUE: "team"}}, "spec": {"containers": [container]}}
    job = {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": "t9k"},
        "spec": {"replicaSpecs": [{"type": "worker", "replicas": 2, "template": template}]},
    }
    with Kueue(plane, tmp_path / "kueue"):
        _queue(plane, team.namespace, ("default", 1))
        jobs = Jobs(plane, team.namespace)
        jobs.apply(job)

        def pods() -> list[str]:
            items = plane.get("-n", team.namespace, "pods")["items"]
            return sorted(
                pod.get("status", {}).get("phase", "")
                + (" gated" if pod["spec"].get("schedulingGates") else "")
                for pod in items
            )

        wait_for("one pod runs, one is gated", lambda: pods() == ["Pending gated", "Running"], _LONG)
        print(team.why("t9k")["answer"], [wait["says"] for wait in team.why("t9k")["waitsFor"]])
