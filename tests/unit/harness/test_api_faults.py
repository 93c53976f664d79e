"""A troubled API server misleads only as a real one does: what it serves is old, and still what the port promises."""

from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.support.api_faults import Past, TroubledCluster
from tests.support.faults import Life, Odds, Weather
from tests.support.memory_cluster import MemoryCluster
from tests.support.simulated import LoopClock, on_simulated_time, passing


def troubled() -> tuple[MemoryCluster, TroubledCluster]:
    """A cluster, and what one process reads of it: always as it was."""
    cluster = MemoryCluster(clock=LoopClock(datetime(2026, 1, 1, tzinfo=UTC)).now)
    weather = Weather(Random(1), Odds(stale_reads=1.0))
    return cluster, TroubledCluster(cluster, Life(weather, lambda: None), Past(cluster))


def pod(name: str, *, owner: str) -> dict[str, Any]:
    """A pod with labels by which watches select, that `owner` controls; nobody, if that is empty."""
    owners = [{"apiVersion": "v1", "kind": "Job", "name": "job", "uid": owner, "controller": True}]
    labels = {"training.kubeflow.org/operator-name": "pytorchjob-controller"}
    meta = {"name": name, "namespace": "demo", "labels": labels, "ownerReferences": owners if owner else []}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}}


@on_simulated_time
async def test_an_old_read_has_the_pods_that_are_asked_for_by_uid_and_have_no_owner() -> None:
    cluster, process = troubled()
    of_job = cluster.objects.create(pod("of-job", owner="job"))
    stripped = cluster.objects.create(pod("stripped", owner=""))
    cluster.objects.create(pod("anybodys", owner=""))
    await passing(60.0)
    uids = [manifest["metadata"]["uid"] for manifest in (of_job, stripped)]

    owned = await process.children("demo", "job", uids)

    assert [manifest["metadata"]["uid"] for manifest in owned] == uids


@on_simulated_time
async def test_an_old_read_lacks_what_was_made_a_moment_ago_by_somebody_else() -> None:
    cluster, process = troubled()
    cluster.objects.create(pod("pod-0", owner="job"))
    await passing(60.0)
    cluster.objects.create(pod("pod-1", owner="job"))

    owned = await process.children("demo", "job")

    assert [manifest["metadata"]["name"] for manifest in owned] == ["pod-0"]


@on_simulated_time
async def test_an_old_read_of_a_job_whose_namespace_is_not_known_has_its_pods_of_any() -> None:
    cluster, process = troubled()
    cluster.objects.create(pod("pod-0", owner="job"))
    await passing(60.0)

    owned = await process.children("", "job")

    assert [manifest["metadata"]["name"] for manifest in owned] == ["pod-0"]
