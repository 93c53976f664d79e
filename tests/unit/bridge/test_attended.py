"""Which jobs are managed: namespaces, and kinds that have to be switched on."""

from typing import Any

import pytest

from k8s_bridge.apiserver.sources import child_sources, job_sources
from k8s_bridge.attended import EVERYTHING, Attended, OptIn
from k8s_bridge.port import Change, Synced, Verb
from k8s_bridge.watchers import Bridge
from statemachine.kinds import kind_of
from statemachine.observations import JobObserved, Observation
from tests.support.memory_cluster import MemoryCluster
from tests.support.pytorchjob import training
from tests.support.scenario import START, workers

TORCH = kind_of("kubeflow.org/v1", "PyTorchJob")
OURS = kind_of("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob")

OFF = Attended(opted_in={})


def on(*namespaces: str, among: tuple[str, ...] = (), **settings: str) -> Attended:
    return Attended(among, {"PyTorchJob": OptIn(namespaces, settings)})


@pytest.mark.parametrize(
    ("attended", "places"),
    [
        (EVERYTHING, (None,)),
        (OFF, ()),
        (Attended(("a", "b"), {}), ()),
        (Attended(("a", "b")), ("a", "b")),
        (on(), (None,)),
        (on("a"), ("a",)),
        (on(among=("a", "b")), ("a", "b")),
        (on("a", "c", among=("a", "b")), ("a",)),
    ],
)
def test_where_jobs_of_an_opt_in_kind_are_watched(attended: Attended, places: tuple[str | None, ...]) -> None:
    assert attended.places(TORCH) == places
    assert [
        source.namespace or None for source in job_sources(attended) if source.kind == "PyTorchJob"
    ] == list(places)
    for namespace in ("a", "b", "c"):
        expected = None in places or namespace in places
        assert attended.covers("kubeflow.org/v1", "PyTorchJob", namespace) == expected


def test_other_kinds_are_looked_after_in_any_case() -> None:
    assert OFF.places(OURS) == (None,)
    assert OFF.covers("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob", "any")
    assert not Attended(("a",), {}).covers("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob", "any")


def test_jobs_of_a_kind_that_is_not_known_any_more_are_not_refused() -> None:
    assert OFF.covers("example.com/v1", "Job", "any")


def followed(attended: Attended) -> set[str]:
    label = TORCH.child_label
    return {
        f"{source.kind} {source.api_version}"
        for source in child_sources(attended)
        if source.selector == label
    }


def test_what_jobs_own_is_watched_where_they_may_own_it() -> None:
    always = {"Pod v1", "Service v1", "HorizontalPodAutoscaler autoscaling/v2"}
    assert followed(OFF) == set()
    assert followed(on()) == always
    volcano = "PodGroup scheduling.volcano.sh/v1beta1"
    assert followed(on(gang_scheduler="volcano")) == {*always, volcano}
    plugins = "PodGroup scheduling.x-k8s.io/v1alpha1"
    assert followed(on(gang_scheduler="scheduler-plugins")) == {*always, plugins}


def job(kind: Any, namespace: str) -> dict[str, Any]:
    spec = training() if kind is TORCH else workers(1)
    meta = {"name": "job", "namespace": namespace, "uid": f"{kind.names.kind}-{namespace}", "generation": 1}
    return {"apiVersion": kind.names.api_version, "kind": kind.names.kind, "metadata": meta, "spec": spec}


class ListedJobs(MemoryCluster):
    """A cluster whose watch tells of these objects and ends."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        super().__init__()
        self._listed = objects

    async def watch(self) -> Any:
        for manifest in self._listed:
            yield Change(Verb.ADDED, manifest, START)
        yield Synced(START)


async def heard(attended: Attended) -> list[JobObserved]:
    observations: list[Observation] = []

    async def sink(observation: Observation) -> None:
        observations.append(observation)

    cluster = ListedJobs(*(job(kind, namespace) for kind in (TORCH, OURS) for namespace in ("a", "b")))

    async def enough(_: float) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await Bridge(cluster, sink, sleep=enough, attended=attended).run()
    return [observation for observation in observations if isinstance(observation, JobObserved)]


async def test_nothing_is_said_of_jobs_that_are_not_looked_after() -> None:
    uids = [observation.job for observation in await heard(on("a"))]
    assert uids == ["PyTorchJob-a", "PyTorchTrainingJob-a", "PyTorchTrainingJob-b"]


async def test_jobs_are_reported_with_what_is_configured_for_them() -> None:
    said = await heard(on(gang_scheduler="volcano"))
    settings = {observation.job: observation.settings for observation in said}
    assert settings["PyTorchJob-a"] == {"gang_scheduler": "volcano"}  # type: ignore[index]
    assert settings["PyTorchTrainingJob-a"] == {}  # type: ignore[index]
