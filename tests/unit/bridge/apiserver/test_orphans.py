"""Pods that the evidence finalizer holds although no watch knows their job."""

import asyncio

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from k8s_bridge.port import EVIDENCE, Manifest
from tests.unit.bridge.apiserver.scripted import SILENT, Server, page, watch
from tests.unit.bridge.apiserver.test_watching import JOB, JOBS, PODS, child
from tests.unit.bridge.words import listed, pod


def held(uid: str, job: str, *finalizers: str) -> Manifest:
    """A pod, as a list of an API server has it."""
    manifest = child(pod({**JOB, "metadata": {**JOB["metadata"], "uid": job}}), uid, 4)
    return {**manifest, "metadata": {**manifest["metadata"], "name": uid, "finalizers": list(finalizers)}}


async def test_an_orphan_is_a_held_pod_of_a_job_that_is_not_there(server: Server, api: Api) -> None:
    server.on("GET", JOBS, page(JOB))
    server.on(
        "GET",
        PODS,
        page(
            held("of-the-job", "j-1", EVIDENCE),
            held("orphan", "j-gone", EVIDENCE),
            held("nobodys", "j-gone", "example.com/other"),
        ),
    )
    cluster = ApiServerCluster(api)
    await listed(cluster.watch())
    assert [orphan["metadata"]["name"] for orphan in await cluster.orphans()] == ["orphan"]
    await cluster.close()


async def test_while_not_everything_is_listed_nothing_is_an_orphan(server: Server, api: Api) -> None:
    """The job of a pod that is known may be in the part of a list that has yet to come."""
    server.on("GET", JOBS, page())
    server.on("GET", PODS, page(held("orphan", "j-gone", EVIDENCE), place="more"), watch(SILENT))
    cluster = ApiServerCluster(api)
    assert await cluster.orphans() == []
    watching = asyncio.create_task(listed(cluster.watch()))
    async with asyncio.timeout(60):
        while not cluster.known():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
    assert await cluster.orphans() == []
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await cluster.close()
