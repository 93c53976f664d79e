"""The verbs for every kind of jobs: what the plugin knows of a kind, the kind has said.

The jobs and pods are those of a controller in memory, shown by an API server that selects by labels.
"""

import asyncio
from functools import cache
from typing import Any

import pytest

from jobledger.jobs.views import replicas_of
from jobledger.plugin.cluster import ClusterJobs, KindPath
from jobledger.program.errors import NotPossible
from k8s_bridge.json_data import merged
from statemachine.kind import Kind
from statemachine.kinds import KINDS, SERVED, kind_of
from tests.support.examples import manifests_of
from tests.unit.api.words import app_in_memory, until
from tests.unit.plugin.words import Asked, Fake, Reply, listed, server

PODS = "/api/v1/namespaces/default/pods"


async def alive(kind: Kind) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A job of the kind with all its pods."""
    async with app_in_memory() as app:
        await app.submit(manifests_of(kind), "tests")
        manifests: list[dict[str, Any]] = []
        job: dict[str, Any] = {}

        async def all_are_there() -> bool:
            nonlocal job
            job = next(job for job in await app.jobs() if job["kind"] == kind.names.kind)
            children = await app.cluster.children("default", job["metadata"]["uid"])
            manifests[:] = [child for child in children if child["kind"] == "Pod"]
            return bool(manifests) and len(manifests) == len(replicas_of(job))

        await until(all_are_there)
        return job, manifests


def selected(pods: list[dict[str, Any]], selector: str) -> list[dict[str, Any]]:
    """As an API server selects."""
    wanted = [part.partition("=") for part in selector.split(",")]
    return [
        pod
        for pod in pods
        if all(
            key in pod["metadata"]["labels"] and (not equals or pod["metadata"]["labels"][key] == value)
            for key, equals, value in wanted
        )
    ]


@cache
def discovery() -> dict[str, Any]:
    """What the API server says of the CRDs of all kinds."""
    paths: dict[str, Any] = {}
    for names in SERVED:
        crd = kind_of(names.api_version, names.kind).crd(names)["spec"]["names"]
        about = {
            "name": crd["plural"],
            "kind": crd["kind"],
            "singularName": crd["singular"],
            "shortNames": crd.get("shortNames"),
            "categories": crd["categories"],
        }
        paths.setdefault(f"/apis/{names.api_version}", {"resources": []})["resources"].append(about)
    return paths


def shown(fake: Fake, job: dict[str, Any], pods: list[dict[str, Any]]) -> None:
    """The server has the job, its pods, and those of another job of the same name."""
    names = kind_of(job["apiVersion"], job["kind"]).names
    path = KindPath(names.api_version, names.kind, names.plural).path("default", job["metadata"]["name"])
    strangers = [merged(pod, {"metadata": {"ownerReferences": [{"uid": "another"}]}}) for pod in pods]
    fake.answers |= {
        path: job,
        PODS: lambda asked: listed(*selected([*strangers, *pods], asked.query["labelSelector"])),
        **{f"{PODS}/{pod['metadata']['name']}/log": log_of(pod) for pod in pods},
    }


def log_of(pod: dict[str, Any]) -> Any:
    def answer(_: Asked) -> Reply:
        return Reply(pod["metadata"]["name"].encode(), kind="text/plain")

    return answer


def said(cluster: ClusterJobs, name: str, **which: str) -> str:
    with cluster.logs("default", name, **which) as pieces:
        return b"".join(pieces).decode()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_the_log_of_each_replica_is_read(kind: Kind) -> None:
    job, pods = asyncio.run(alive(kind))
    name = job["metadata"]["name"]
    with server(discovery()) as fake:
        shown(fake, job, pods)
        cluster = ClusterJobs(fake.api())
        logs = {replica: said(cluster, name, replica=replica) for replica in replicas_of(job)}
        assert sorted(logs.values()) == sorted(pod["metadata"]["name"] for pod in pods)
        plan = kind.admit(name, job["spec"]).plan
        assert plan is not None
        assert said(cluster, name) == logs[plan.leading]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_a_replica_without_a_pod_is_known_all_the_same(kind: Kind) -> None:
    job, _ = asyncio.run(alive(kind))
    with server(discovery()) as fake:
        shown(fake, job, [])
        for replica in replicas_of(job):
            with pytest.raises(NotPossible, match=f"replica {replica} .* has no pod now"):
                said(ClusterJobs(fake.api()), job["metadata"]["name"], replica=replica)


def test_pods_of_a_kind_that_is_not_known_here_are_selected_by_what_all_have() -> None:
    job, pods = asyncio.run(alive(KINDS[0]))
    newer = {**job, "kind": "NewerJob", "status": {}}
    place = KindPath(job["apiVersion"], "NewerJob", "newerjobs").path("default", job["metadata"]["name"])
    answers = {
        f"/apis/{job['apiVersion']}": {
            "resources": [{"name": "newerjobs", "kind": "NewerJob", "categories": ["jobledger"]}]
        }
    }
    with server(answers) as fake:
        shown(fake, job, pods)
        fake.answers[place] = newer
        assert said(ClusterJobs(fake.api()), job["metadata"]["name"]) in {
            pod["metadata"]["name"] for pod in pods
        }
        assert "replica-type,replica-index" in [request.query.get("labelSelector") for request in fake.asked]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_pausing_and_resuming_is_what_the_kind_says(kind: Kind) -> None:
    job, _ = asyncio.run(alive(kind))
    name = job["metadata"]["name"]
    stored = {**job}

    def answer(asked: Asked) -> dict[str, Any]:
        if asked.method == "PATCH":
            stored["spec"] = merged(stored["spec"], asked.body["spec"])
        return stored

    with server(discovery()) as fake:
        names = kind.names
        fake.answers[KindPath(names.api_version, names.kind, names.plural).path("default", name)] = answer
        if not kind.pausing(True):
            with pytest.raises(NotPossible, match="cannot be paused"):
                ClusterJobs(fake.api()).wish("pause", "default", name)
            return
        for wish, paused in (("pause", True), ("resume", False)):
            ClusterJobs(fake.api()).wish(wish, "default", name)
            plan = kind.admit(name, stored["spec"], job["spec"]).plan
            assert plan is not None
            assert plan.paused is paused


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_a_kind_is_called_as_kubectl_lets_users_call_it(kind: Kind) -> None:
    names = kind.names
    with server(discovery()) as fake:
        cluster = ClusterJobs(fake.api())
        for word in (names.kind, names.plural, names.singular, *names.short, names.kind.upper()):
            assert names.kind in [served.kind for served in cluster.kinds(word)]
            meant = {kind_of(served.api_version, served.kind).names for served in cluster.kinds(word)}
            assert len(meant) == 1


def test_a_job_under_an_older_name_of_its_kind_is_looked_up_and_patched_there() -> None:
    (alias, kind) = next((alias, kind) for kind in KINDS for alias in kind.aliases)
    job, _ = asyncio.run(alive(kind))
    older = {**job, "kind": alias.kind}
    name = job["metadata"]["name"]
    place = KindPath(alias.api_version, alias.kind, alias.plural).path("default", name)
    with server({**discovery(), place: older}) as fake:
        cluster = ClusterJobs(fake.api())
        for word in ("", alias.kind, kind.names.kind, *kind.names.short):
            assert cluster.job("default", name, kind=word)["kind"] == alias.kind
        cluster.wish("pause", "default", name)
        assert fake.asked[-1].path == place
