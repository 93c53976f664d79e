"""The end of a log, as an API server gives it: what is asked for, and of which pod."""

from collections.abc import AsyncIterator

import pytest

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from k8s_bridge.port import Ref, TailedLogs
from statemachine.errors import Missing
from tests.unit.bridge.apiserver.scripted import Answer, Server, no
from tests.unit.bridge.apiserver.test_watching import POD, everything
from tests.unit.bridge.words import listed

NAME = Ref.of(POD).name
PATH = f"/api/v1/namespaces/demo/pods/{NAME}"


@pytest.fixture
async def cluster(server: Server, api: Api) -> AsyncIterator[ApiServerCluster]:
    everything(server)
    cluster = ApiServerCluster(api)
    await listed(cluster.watch())
    server.on("GET", PATH, Answer(body=POD))
    server.on("GET", f"{PATH}/log", Answer(stream=[b"one\n", b"two\n"]))
    yield cluster
    await cluster.close()


async def test_so_many_lines_are_asked_for_and_no_more(server: Server, cluster: ApiServerCluster) -> None:
    assert isinstance(cluster, TailedLogs)
    assert b"".join([chunk async for chunk in cluster.log_tail("demo", NAME, 1000)]) == b"one\ntwo\n"
    [asked] = server.asked("GET", f"{PATH}/log")
    container = POD["spec"]["containers"][0]["name"]
    assert asked.query == {"container": container, "tailLines": "1000"}


async def test_what_is_added_and_what_was_before_are_asked_for_in_kubernetes_words(
    server: Server, cluster: ApiServerCluster
) -> None:
    async for _ in cluster.log_tail("demo", NAME, 5, follow=True):
        pass
    async for _ in cluster.log_tail("demo", NAME, 5, previous=True):
        pass
    follow, previous = (request.query for request in server.asked("GET", f"{PATH}/log"))
    assert (follow["follow"], follow["tailLines"]) == ("true", "5")
    assert (previous["previous"], "follow" in previous) == ("true", False)


async def test_a_run_before_that_there_was_not_is_missing(server: Server, cluster: ApiServerCluster) -> None:
    server.instead("GET", f"{PATH}/log", no(400, "previous terminated container not found"))
    with pytest.raises(Missing, match="not found"):
        await anext(cluster.log_tail("demo", NAME, 5, previous=True))


async def test_of_a_pod_that_was_made_anew_there_is_no_log_and_nobody_asks(
    server: Server, cluster: ApiServerCluster
) -> None:
    with pytest.raises(Missing, match="made anew"):
        await anext(cluster.log_tail("demo", NAME, 5, uid="another"))
    assert server.asked("GET", f"{PATH}/log") == []
