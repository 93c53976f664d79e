"""What the children projector makes of answers that the watches have overtaken."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from projectors.children import Children
from statemachine.ids import JobUid, Seq
from statemachine.observations import Observation, PodGone
from statemachine.state import JobState
from tests.support.scenario import Story, workers
from tests.unit.bridge.apiserver.scripted import Answer, Server, no, page
from tests.unit.bridge.apiserver.test_watching import JOB, JOBS, child
from tests.unit.bridge.words import AT, JOB_API, listed, pod, service

STORY = Story(workers(1), uid="j-1").submit()


class Log:
    """Its only job waits for its only pod."""

    def state(self, _: JobUid) -> JobState:
        return STORY.state

    def seq(self, _: JobUid) -> Seq:
        return Seq(len(STORY.entries))

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> None:
        return None

    async def fresh(self, _: JobUid) -> None:
        """There is no other process."""


class Clock:
    """It stands still until somebody moves it."""

    def __init__(self) -> None:
        self.at = AT

    def now(self) -> datetime:
        return self.at


@pytest.fixture
async def cluster(server: Server, api: Api) -> AsyncIterator[ApiServerCluster]:
    server.on("GET", JOBS, page(JOB, version=10))
    cluster = ApiServerCluster(api)
    await listed(cluster.watch())
    yield cluster
    await cluster.close()


@pytest.mark.parametrize(("version", "gone"), [(9, ["p-1"]), (12, [])], ids=["overtaken", "ahead"])
async def test_a_pod_that_was_gone_before_the_answer_came_is_said_to_be_gone_and_has_no_twin(
    server: Server, cluster: ApiServerCluster, version: int, gone: list[str]
) -> None:
    """Made at version 9, away at version 10, when pods were listed: no watch will ever speak of it."""
    name = next(
        manifest["metadata"]["name"] for manifest in STORY.children.values() if manifest["kind"] == "Pod"
    )
    made = {
        "pods": child(pod(JOB, name=name), "p-1", version),
        "services": child(service(JOB, name), "s-1", 12),
    }
    paths = {kind: f"/api/v1/namespaces/demo/{kind}" for kind in made}
    for kind, answer in made.items():
        server.on("POST", paths[kind], Answer(201, answer))
    meta = {"name": STORY.state.name, "namespace": STORY.state.namespace, "uid": STORY.uid, "generation": 1}
    there = {"apiVersion": STORY.state.api_version, "kind": STORY.state.kind, "metadata": meta}
    server.on(
        "GET",
        f"/apis/{JOB_API}/namespaces/demo/pytorchtrainingjobs/{STORY.state.name}",
        Answer(200, there | {"spec": dict(STORY.state.spec)}),
    )
    missing = no(404, f'pods "{name}" not found', "NotFound", name=name, kind="pods")
    server.on("GET", f"{paths['pods']}/{name}", missing)
    said: list[Observation] = []

    async def observe(observation: Observation) -> None:
        said.append(observation)

    clock = Clock()
    children = Children(Log(), cluster, observe, clock)
    for _ in range(3):
        assert await children.visit(STORY.uid) is not None
        clock.at += timedelta(seconds=6)
    assert [len(server.asked("POST", path)) for path in paths.values()] == [1, 1]
    assert said == []
    await children.visit(STORY.uid)
    assert [observation.uid for observation in said if isinstance(observation, PodGone)] == gone
