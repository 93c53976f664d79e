"""What the children projector makes of answers that the watches have overtaken."""

from collections.abc import AsyncIterator

import pytest

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from projectors.children import Children
from statemachine.engine.clock import WallClock
from statemachine.ids import JobUid, Seq
from statemachine.observations import Observation
from statemachine.state import JobState
from tests.support.scenario import Story, workers
from tests.unit.bridge.apiserver.scripted import Answer, Server, page
from tests.unit.bridge.apiserver.test_watching import JOB, JOBS, child
from tests.unit.bridge.words import listed, pod, service

STORY = Story(workers(1), uid="j-1").submit()


class Log:
    """Its only job waits for its only pod."""

    def state(self, _: JobUid) -> JobState:
        return STORY.state

    def seq(self, _: JobUid) -> Seq:
        return Seq(len(STORY.entries))

    async def fresh(self, _: JobUid) -> None:
        """There is no other process."""


async def nothing_is_said(seen: Observation) -> None:
    raise AssertionError(seen)


@pytest.fixture
async def cluster(server: Server, api: Api) -> AsyncIterator[ApiServerCluster]:
    server.on("GET", JOBS, page(JOB, version=10))
    found = ApiServerCluster(api)
    await listed(found.watch())
    yield found
    await found.close()


@pytest.mark.parametrize(("version", "pods"), [(9, 2), (12, 1)], ids=["overtaken", "ahead"])
async def test_a_pod_that_was_gone_before_the_answer_came_is_made_again(
    server: Server, cluster: ApiServerCluster, version: int, pods: int
) -> None:
    """Made at version 9, away at version 10, when pods were listed: no watch will ever speak of it."""
    name = next(each["metadata"]["name"] for each in STORY.children.values() if each["kind"] == "Pod")
    made = {
        "pods": child(pod(JOB, name=name), "p-1", version),
        "services": child(service(JOB, name), "s-1", 12),
    }
    paths = {kind: f"/api/v1/namespaces/demo/{kind}" for kind in made}
    for kind, answer in made.items():
        server.on("POST", paths[kind], Answer(201, answer))
    children = Children(Log(), cluster, nothing_is_said, WallClock())
    assert await children.visit(STORY.uid) is not None
    assert await children.visit(STORY.uid) is not None
    assert [len(server.asked("POST", each)) for each in paths.values()] == [pods, 1]
