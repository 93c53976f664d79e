"""The controller as processes: roles in processes of their own, one that waits for another, and how they end."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from jobledger.wiring.roles import Role
from statemachine.events import ReplicaLost
from tests.harness import Cluster, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type
from tests.support.cluster_log import Ledger, comes_to_rest
from tests.support.http import PLAIN
from tests.support.line import Line
from tests.support.seeds import chance

pytestmark = pytest.mark.integration


class Process(ControllerProcess):
    """A controller that is also asked over HTTP."""

    def __init__(self, cluster: Cluster, folder: Path, store: Path, namespace: str, *options: str) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(cluster, folder, "--namespaces", namespace, *options)
        self.store = store
        self._token = yaml.safe_load(cluster.kubeconfig.read_text())["users"][0]["user"]["token"]

    @property
    def address(self) -> str:
        """Where the process that was started last listens; empty before it says."""
        match = re.search(r"address +(http://\S+)", self.latest)
        return match[1] if match else ""

    def ask(self, path: str) -> tuple[int, dict[str, Any]]:
        """What it answers: status and body; nothing while it does not listen."""
        try:
            answer = PLAIN.get(
                f"{self.address}{path}", headers={"Authorization": f"Bearer {self._token}"}, timeout=10
            )
        except (httpx.HTTPError, httpx.UnsupportedProtocol):
            return 0, {}
        return answer.status_code, answer.json()

    def becomes(self, status: str, within: float = 150) -> dict[str, Any]:
        """The answer to `/readyz` as soon as its status is this."""

        def look() -> dict[str, Any] | None:
            answer = self.ask("/readyz")[1]
            return answer if answer.get("status") == status else None

        return wait_for(f"{self._options} is {status}: {self.latest}", look, within)

    def exit_code(self, within: float = 90) -> int | None:
        """What it ended with."""
        assert self._process is not None
        return self._process.wait(within)


@pytest.fixture
def jobs(cluster: Cluster, namespace: str) -> Jobs:
    return Jobs(cluster, namespace)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


# ---- roles ----


@pytest.fixture
def alone(cluster: Cluster, tmp_path: Path, store: Path, namespace: str) -> Iterator[dict[Role, Process]]:
    """A process for each role."""
    with ExitStack() as running:
        yield {
            role: running.enter_context(
                Process(
                    cluster,
                    tmp_path / role,
                    store,
                    namespace,
                    "--roles",
                    role,
                    "--lease-namespace",
                    namespace,
                )
            )
            for role in Role
        }


@pytest.mark.timeout(600)
def test_every_role_in_a_process_of_its_own_each_killed_in_the_middle(
    alone: dict[Role, Process], jobs: Jobs, store: Path
) -> None:
    choices = chance(3)
    for process in alone.values():
        process.becomes("ok")
    names = [f"train-{number}" for number in range(3)]
    jobs.apply(*(job(name, replica_type("worker", 3), runPolicy={"backoffLimit": 20}) for name in names))
    for role in choices.sample(list(Role), len(Role)):
        time.sleep(choices.uniform(0.0, 1.0))
        alone[role].kill()
        alone[role].start()
    for name in names:
        jobs.wait(name, "aggregate.running", 3, within=150)
    jobs.end(f"{jobs.base(names[0])}-worker-1", code=137)
    jobs.wait(names[0], "backoffCount", 1)
    jobs.wait(names[0], "aggregate.running", 3)
    starts = Counter(
        (child["metadata"]["name"], child["metadata"]["annotations"]["jobledger.dev/attempt"])
        for name in names
        for child in jobs.children(name).values()
    )
    assert len(starts) == 9
    for name in names:
        for pod in list(jobs.children(name)):
            jobs.end(f"{jobs.base(name)}-{pod}")
    for name in names:
        jobs.wait(name, "phase", "Succeeded", within=150)
        comes_to_rest(jobs, Ledger(store), name)
    status, answer = alone[Role.FRONT].ask(f"/v1/jobs/{jobs.namespace}/{names[0]}")
    assert (status, answer["status"]["phase"]) == (200, "Succeeded")
    for role, process in alone.items():
        assert process.becomes("ok"), role
        assert process.ask("/healthz") == (200, {"status": "ok"}), role
        assert process.stop() == 0, process.latest


@pytest.mark.timeout(300)
def test_the_end_of_a_pod_counts_although_the_bridge_was_dead_and_somebody_deleted_the_pod(
    alone: dict[Role, Process], jobs: Jobs, store: Path
) -> None:
    """An ordinary deletion of a pod that has ended has no grace period, as the last step of every deletion."""
    for process in alone.values():
        process.becomes("ok")
    ends = {"done": (0, "Succeeded"), "broken": (2, "Failed")}
    jobs.apply(*(job(name, replica_type("worker", 1, restartPolicy="Never")) for name in ends))
    for name in ends:
        jobs.wait(name, "aggregate.running", 1)
    alone[Role.BRIDGE].kill()
    for name, (code, phase) in ends.items():
        pod = f"{jobs.base(name)}-worker-0"
        jobs.end(pod, code)
        jobs.kubectl("wait", "pod", pod, f"--for=jsonpath={{.status.phase}}={phase}", "--timeout=60s")
        jobs.kubectl("delete", "pod", pod, "--wait=false")
    time.sleep(2)  # a finalizer that is taken off too early goes at once
    alone[Role.BRIDGE].start()
    for name, (_, phase) in ends.items():
        jobs.wait(name, "phase", phase)
        wait_for(f"the pod of {name} is gone", lambda name=name: not jobs.children(name), 60)  # type: ignore[misc]
        story = Ledger(store).story(jobs.get(name)["metadata"]["uid"])
        assert not [event for _, event in story.events() if isinstance(event, ReplicaLost)]


# ---- one waits for another ----


@contextmanager
def pair(
    cluster: Cluster, folder: Path, store: Path, namespace: str, *options: str
) -> Iterator[tuple[Process, Process]]:
    """Two processes of which one works."""
    options = ("--leader-elect", "--lease-namespace", namespace, *options)
    with Process(cluster, folder / "first", store, namespace, *options) as first:
        first.becomes("ok")
        with Process(cluster, folder / "second", store, namespace, *options) as second:
            yield first, second


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_standby_answers_and_takes_over_from_a_leader_that_ends_or_is_killed(
    cluster: Cluster, tmp_path: Path, store: Path, namespace: str, jobs: Jobs
) -> None:
    with pair(cluster, tmp_path, store, namespace) as (first, second):
        answer = second.becomes("standby")
        assert re.fullmatch(r"standby: \S+ has the lease", answer["notes"][0])
        assert second.stop() == 0, second.latest
        second.start()
        second.becomes("standby")
        jobs.apply(job("train", replica_type("worker", 2)))
        jobs.wait("train", "aggregate.running", 2)

        def known_to_the_standby() -> bool:
            return second.ask(f"/v1/jobs/{namespace}/train")[0] == 200

        wait_for("the standby answers for the leader", known_to_the_standby)
        leader = _holder(jobs)
        assert first.stop() == 0, first.latest
        assert _holder(jobs) != leader, "nobody has to wait until it runs out"
        second.becomes("ok")
        jobs.end(f"{jobs.base('train')}-worker-1", code=1)
        jobs.wait("train", "backoffCount", 1)
        first.start()
        first.becomes("standby")
        second.kill()
        first.becomes("ok")
        jobs.wait("train", "aggregate.running", 2)
        for pod in list(jobs.children("train")):
            jobs.end(f"{jobs.base('train')}-{pod}")
        jobs.wait("train", "phase", "Succeeded")
        comes_to_rest(jobs, Ledger(store), "train")


def _holder(jobs: Jobs) -> str:
    lease = json.loads(jobs.kubectl("get", "lease", "jobledger-bridge", "-o", "json"))
    return str(lease["spec"].get("holderIdentity", ""))


def _steal(jobs: Jobs, holder: str = "thief") -> None:
    jobs.kubectl(
        "patch",
        "lease",
        "jobledger-bridge",
        "--type=merge",
        "-p",
        json.dumps({"spec": {"holderIdentity": holder}}),
    )


@pytest.mark.timeout(600)
def test_a_leader_that_loses_its_lease_ends_with_a_sentence_and_lets_go_of_the_store(
    cluster: Cluster, tmp_path: Path, store: Path, namespace: str, jobs: Jobs
) -> None:
    options = ("--leader-elect", "--lease-namespace", namespace)
    with Process(cluster, tmp_path / "leader", store, namespace, *options) as leader:
        leader.becomes("ok")
        _steal(jobs)
        assert leader.exit_code() == 3, leader.latest
        assert leader.latest.splitlines()[-1] == "jobledger: the lease jobledger-bridge was taken by thief"
        assert "Traceback" not in leader.said
    with Process(cluster, tmp_path / "next", store, namespace) as follower:
        follower.becomes("ok")


@pytest.mark.timeout(600)
def test_a_bridge_that_loses_its_lease_goes_on_waiting(
    cluster: Cluster, tmp_path: Path, store: Path, namespace: str, jobs: Jobs
) -> None:
    options = ("--leader-elect", "--lease-namespace", namespace, "--roles", "bridge")
    with Process(cluster, tmp_path / "bridge", store, namespace, *options) as bridge:
        bridge.becomes("ok")
        _steal(jobs)
        assert bridge.becomes("standby")["notes"] == ["standby: thief has the lease"]
        jobs.kubectl("delete", "lease", "jobledger-bridge")
        bridge.becomes("ok")


@pytest.mark.timeout(600)
def test_two_bridges_at_once_are_harmless(
    cluster: Cluster, tmp_path: Path, store: Path, namespace: str, jobs: Jobs
) -> None:
    with ExitStack() as running:
        for roles in ("engine,projectors", "bridge", "bridge"):
            folder = tmp_path / f"{roles}-{len(list(tmp_path.iterdir()))}"
            running.enter_context(
                Process(cluster, folder, store, namespace, "--roles", roles, "--no-leader-elect")
            ).becomes("ok")
        jobs.apply(job("train", replica_type("worker", 4), runPolicy={"backoffLimit": 9}))
        jobs.wait("train", "aggregate.running", 4)
        for count in range(1, 4):
            jobs.end(f"{jobs.base('train')}-worker-{count}", code=137)
            jobs.wait("train", "backoffCount", count)
            jobs.wait("train", "aggregate.running", 4)
        for pod in list(jobs.children("train")):
            jobs.end(f"{jobs.base('train')}-{pod}")
        jobs.wait("train", "phase", "Succeeded")
        assert comes_to_rest(jobs, Ledger(store), "train")["backoffCount"] == 3


# ---- beginning and ending ----


@pytest.mark.timeout(600)
def test_sigterm_in_full_swing_ends_in_order_and_nothing_is_lost(
    cluster: Cluster, tmp_path: Path, store: Path, namespace: str, jobs: Jobs
) -> None:
    """That it takes less than ten seconds is measured on simulated time: `tests/unit/cli/test_process.py`."""
    options = ("--leader-elect", "--lease-namespace", namespace)
    with Process(cluster, tmp_path / "controller", store, namespace, *options) as controller:
        controller.becomes("ok")
        names = [f"train-{number}" for number in range(10)]
        for some in (names[:5], names[5:]):
            jobs.apply(*(job(name, replica_type("worker", 4)) for name in some))
            wait_for("the first pod", lambda some=some: any(jobs.children(name) for name in some))  # type: ignore[misc]
            assert controller.stop() == 0, controller.latest
            assert "Traceback" not in controller.said, controller.said
            assert _holder(jobs) == ""
            controller.start()
            controller.becomes("ok")
        for name in names:
            jobs.wait(name, "aggregate.running", 4, within=150)
            assert len(jobs.children(name)) == 4
        assert Ledger(store).findings() == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("options", [(), ("--leader-elect",)], ids=["alone", "elected"])
async def test_an_api_server_that_is_away_at_the_start_is_waited_for_and_that_is_said(
    cluster: Cluster, tmp_path: Path, store: Path, namespace: str, options: tuple[str, ...]
) -> None:
    line = Line(cluster.kubeconfig, tmp_path)
    line.hangs_up = True
    async with line.kubeconfig() as kubeconfig:
        options = ("--lease-namespace", namespace, "--kubeconfig", str(kubeconfig), *options)
        with Process(cluster, tmp_path / "controller", store, namespace, *options) as controller:

            def the_trouble() -> bool:
                return "cannot be reached" in " ".join(controller.ask("/readyz")[1].get("troubles", ()))

            await asyncio.to_thread(wait_for, "the trouble is named", the_trouble)
            assert (await asyncio.to_thread(controller.ask, "/healthz"))[0] == 200
            line.hangs_up = False
            await asyncio.to_thread(controller.becomes, "ok")
            assert await asyncio.to_thread(controller.stop) == 0
