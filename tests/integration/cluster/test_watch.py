"""The watches against a real API server: what it forgets, ends, refuses, and how it comes back from the dead."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from k8s_bridge.apiserver.access import ApiServerChoice
from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from k8s_bridge.apiserver.reflector import Reflector, WatchPatience, WatchProgress, WatchSource
from k8s_bridge.port import Manifest, Ref, Synced, Verb
from k8s_bridge.watchers import Bridge
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.observations import JobGone, JobObserved, Observation, PodGone, PodObserved
from tests.harness import JOB_CRDS, NEIGHBOUR_CRDS, Cluster, ControlPlane
from tests.support.bridges import Kept
from tests.support.repetition import kills
from tests.support.seeds import chance
from tests.unit.bridge import words
from tests.unit.bridge.words import listed, next_change, service, until

pytestmark = pytest.mark.integration

PATIENT = WatchPatience()
BRIEF = WatchPatience(watch=(1, 1))
"""The server ends every watch after a second."""


@asynccontextmanager
async def connected(
    harness: Cluster, *namespaces: str, patience: WatchPatience = PATIENT, context: str = ""
) -> AsyncIterator[ApiServerCluster]:
    cluster = ApiServerCluster(
        await Api.connect(ApiServerChoice(harness.kubeconfig, context)),
        namespaces=namespaces,
        patience=patience,
    )
    yield cluster
    await cluster.close()


@dataclass
class Heard:
    """What a bridge passed on."""

    observations: list[Observation] = field(default_factory=list)
    signals: Kept = field(default_factory=Kept)

    async def sink(self, observation: Observation) -> None:
        self.observations.append(observation)

    def gone(self) -> set[str]:
        """The uids of the jobs and pods that were said to be gone."""
        uids = [observation.job for observation in self.observations if isinstance(observation, JobGone)]
        return {
            *uids,
            *(observation.uid for observation in self.observations if isinstance(observation, PodGone)),
        }


@asynccontextmanager
async def bridged(cluster: ApiServerCluster) -> AsyncIterator[Heard]:
    heard = Heard()
    bridge = Bridge(cluster, heard.sink, signals=heard.signals)
    task = asyncio.create_task(bridge.run())
    await until(lambda: bridge.progress.synced or task.done())
    yield heard
    assert not task.done(), task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def progress(cluster: ApiServerCluster, kind: str) -> WatchProgress:
    return next(watch for watch in cluster.watches if watch.kind == kind)


async def test_watches_that_the_server_ends_are_resumed_and_nothing_is_listed_again(
    cluster: Cluster, namespace: str
) -> None:
    async with connected(cluster, namespace, patience=BRIEF) as there, bridged(there) as heard:
        owner = await there.create(words.job(namespace=namespace))
        for number in range(8):
            name = words.pod_name(owner, number)
            await there.create(words.pod(owner, namespace=namespace, name=name, replica=("worker", number)))
            await asyncio.sleep(0.5)
        await until(
            lambda: (
                len(
                    {
                        observation.uid
                        for observation in heard.observations
                        if isinstance(observation, PodObserved)
                    }
                )
                == 8
            )
        )
        for kind in ("PyTorchTrainingJob", "Pod", "Service"):
            await until(lambda kind=kind: progress(there, kind).watches >= 3)  # type: ignore[misc]
            assert progress(there, kind).lists == 1
        assert not heard.gone()


async def test_a_relabelled_pod_is_not_gone_and_an_ordinary_deletion_is_not_looked_at(
    cluster: Cluster, namespace: str
) -> None:
    async with connected(cluster, namespace) as there, bridged(there) as heard:
        owner = await there.create(words.job(namespace=namespace))
        names = [words.pod_name(owner, number) for number in range(2)]
        pods = [
            await there.create(
                words.pod(owner, namespace=namespace, name=name, replica=("worker", number), evidence=True)
            )
            for number, name in enumerate(names)
        ]
        goes, stays = (pod["metadata"]["uid"] for pod in pods)
        await until(
            lambda: sum(isinstance(observation, PodObserved) for observation in heard.observations) >= 2
        )
        before = {key: number for key, number in there.api.sent.items() if key[0] == "GET"}
        await there.delete(Ref.of(pods[0]))
        await until(lambda: any(child.name == names[0] and child.grace == 0 for child in there.known()))
        await there.release(Ref.of(pods[0]), goes)
        await until(lambda: goes in heard.gone())
        assert {key: number for key, number in there.api.sent.items() if key[0] == "GET"} == before
        cluster.kubectl("label", "-n", namespace, f"pod/{names[1]}", "tensorstack.dev/owner-kind-")
        await until(lambda: bool(heard.signals.jobs))
        assert stays not in heard.gone()
        assert names[1] in [child.name for child in there.known()]


async def test_a_list_comes_in_pages(
    cluster: Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server refuses to stream a list without a version to match, as servers do that cannot stream at all."""
    monkeypatch.setattr("k8s_bridge.apiserver.reflector._PAGE", "3")
    monkeypatch.setattr("k8s_bridge.apiserver.reflector._FROM_THE_BEGINNING", {"sendInitialEvents": "true"})
    async with connected(cluster, namespace) as there:
        names = [f"job-{number}" for number in range(8)]
        for name in names:
            await there.create(words.job(name, namespace=namespace))
        changes = await listed(there.watch())
        assert [change.object["metadata"]["name"] for change in changes] == names
        assert there.api.sent["GET", "200"] >= 3 + 2
        assert there.api.sent["WATCH", "422"] > 0


async def test_a_list_is_streamed_where_the_server_can(cluster: Cluster, namespace: str) -> None:
    """Services, too, of which only metadata come: their bookmark has to say where the list ends."""
    async with connected(cluster, namespace) as there:
        owner = await there.create(words.job("job", namespace=namespace))
        await there.create(service(owner, "by-hand"))
        changes = await listed(there.watch())
        assert [change.object["metadata"]["name"] for change in changes] == ["job", "by-hand"]
        assert there.api.sent["GET", "200"] == 0
        assert progress(there, "Service").synced


async def test_services_are_known_without_their_specs(cluster: Cluster, namespace: str) -> None:
    async with connected(cluster, namespace) as there, bridged(there) as heard:
        owner = await there.create(words.job(namespace=namespace))
        uid = owner["metadata"]["uid"]
        cluster.kubectl("create", "-f", "-", input=service(owner, "by-hand"))

        def known() -> list[tuple[str, str]]:
            return [(child.kind, child.name) for child in there.known()]

        await until(lambda: known() == [("Service", "by-hand")])
        assert not heard.signals.jobs
        cluster.kubectl("delete", "service", "by-hand", "-n", namespace)
        await until(lambda: heard.signals.jobs == [uid])
        assert known() == []


async def test_who_may_not_watch_says_so_and_goes_on_when_allowed(cluster: Cluster, namespace: str) -> None:
    async with connected(cluster, namespace, context="visitor") as there:
        items = there.watch()
        first = asyncio.ensure_future(anext(items))
        await until(lambda: bool(there.watches) and there.watches[0].failures > 0)
        assert 'User "visitor" cannot watch resource "pytorchtrainingjobs"' in there.watches[0].error
        assert not there.watches[0].synced
        role = ("--clusterrole=cluster-admin", "--user=visitor")
        cluster.kubectl("create", "rolebinding", "all", *role, "-n", namespace)
        async with asyncio.timeout(90):
            assert isinstance(await first, Synced)


async def test_credentials_are_read_again_when_the_server_does_not_take_them(
    cluster: Cluster, tmp_path: Path
) -> None:
    good = cluster.kubeconfig.read_text()
    file = tmp_path / "kubeconfig"
    file.write_text(good.replace("token: ", "token: not"))
    async with await Api.connect(ApiServerChoice(file)) as api:
        with pytest.raises(ClusterUnavailable, match="401"):
            await api.call("GET", "/api/v1/namespaces/default")
        file.write_text(good)
        assert (await api.call("GET", "/api/v1/namespaces/default"))["kind"] == "Namespace"


# ---- a control plane that may be hurt ----------------------------------------------------------------------


@pytest.fixture
def own(killable_plane: ControlPlane) -> ControlPlane:
    """A control plane whose kinds come and go."""
    return killable_plane


@pytest.fixture
def home(own: ControlPlane) -> Iterator[str]:
    """A namespace there, and the kinds of jobledger."""
    own.install(JOB_CRDS)
    with own.namespace() as name:
        yield name


async def test_while_the_kind_of_jobs_is_missing_the_watch_waits_and_says_so(own: ControlPlane) -> None:
    await asyncio.to_thread(own.uninstall, JOB_CRDS)
    async with connected(own, patience=WatchPatience(absent=0.5)) as there:
        items = there.watch()
        first = asyncio.ensure_future(anext(items))
        await until(lambda: bool(there.watches) and there.watches[0].failures > 1)
        assert there.watches[0].error == f"PyTorchTrainingJob {words.JOB_API} is not installed"
        assert not any(watch.synced for watch in there.watches)
        with pytest.raises(Refused, match=f"PyTorchTrainingJob {words.JOB_API} is not installed"):
            await there.create(words.job(namespace="default"))
        await asyncio.to_thread(own.install, JOB_CRDS)
        async with asyncio.timeout(90):
            item = await first
            while not isinstance(item, Synced) or item.withheld:
                item = await anext(items)
        # a server that has just learned of a kind may list it, and refuse for a moment to watch it
        await until(lambda: there.watches[0].error == "")


async def test_one_kind_of_jobs_that_is_missing_holds_up_only_itself(own: ControlPlane, home: str) -> None:
    crd = JOB_CRDS / "batch.tensorstack.dev_deepspeedjobs.yaml"
    await asyncio.to_thread(own.uninstall, crd)
    async with connected(own, home) as there:
        items = there.watch()
        there_is = await there.create(words.job(namespace=home))
        event = await next_change(items, lambda change: change.object["kind"] == "PyTorchTrainingJob")
        assert event.object["metadata"]["uid"] == there_is["metadata"]["uid"]
        async with asyncio.timeout(90):
            synced = await anext(items)
        assert synced == Synced(synced.at, frozenset({"DeepSpeedJob"}))
        await asyncio.to_thread(own.install, crd)
        async with asyncio.timeout(90):
            while not isinstance(item := await anext(items), Synced):
                pass
        assert item.withheld == frozenset()


async def test_kinds_of_others_are_watched_when_they_are_installed(own: ControlPlane, home: str) -> None:
    await asyncio.to_thread(own.uninstall, NEIGHBOUR_CRDS)
    async with connected(own, home, patience=WatchPatience(absent=0.5)) as there:
        items = there.watch()
        assert await listed(items) == []
        assert [watch.kind for watch in there.watches if watch.absent] == ["PodGroup", "TensorBoard"]
        owner = await there.create(words.job(namespace=home))
        group = pod_group(owner)
        with pytest.raises(Refused) as refused:
            await there.create(group)
        assert refused.value.message == "PodGroup scheduler.tensorstack.dev/v1beta1 is not installed"
        await asyncio.to_thread(own.install, NEIGHBOUR_CRDS)
        await there.create(group)
        event = await next_change(items, lambda change: change.object["kind"] == "PodGroup")
        assert event.object["spec"]["minMember"] == 2
        await until(lambda: not any(watch.absent for watch in there.watches))


def pod_group(owner: Manifest) -> Manifest:
    meta = service(owner, "group")["metadata"]
    spec = {"minMember": 2}
    return {
        "apiVersion": "scheduler.tensorstack.dev/v1beta1",
        "kind": "PodGroup",
        "metadata": meta,
        "spec": spec,
    }


async def test_a_place_that_the_server_has_forgotten_is_a_new_list(own: ControlPlane, home: str) -> None:
    """An API server that was started again knows nothing of what was before."""
    await asyncio.to_thread(own.restart, "kube-apiserver")
    manifests: list[Manifest] = []

    async def tell(_: Verb, raw: Manifest) -> None:
        manifests.append(raw)

    async def vanished(_: str) -> None:
        raise AssertionError

    async with await Api.connect(ApiServerChoice(own.kubeconfig)) as api:
        source = WatchSource("v1", "ServiceAccount", f"/api/v1/namespaces/{home}/serviceaccounts")
        reflector = Reflector(api, source, tell, vanished, WatchProgress("ServiceAccount"), _version="1")
        task = asyncio.create_task(reflector.run())
        await until(lambda: reflector.progress.synced)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [manifest["metadata"]["name"] for manifest in manifests] == ["default"]
    assert reflector.progress.lists == 1


@pytest.mark.slow
async def test_a_server_that_stands_still_is_left_and_watched_again(own: ControlPlane, home: str) -> None:
    """Its sockets are open, and it says nothing."""
    patience = WatchPatience(silence=2, watch=(240, 300))
    async with connected(own, home, patience=patience) as there, bridged(there) as heard:
        owner = await there.create(words.job(namespace=home))
        await until(lambda: bool(heard.observations))
        server = int((own.home / "kube-apiserver.pid").read_text())
        os.kill(server, signal.SIGSTOP)
        try:
            await until(lambda: all(watch.failures for watch in there.watches if not watch.absent))
            assert progress(there, "Pod").error == "the API server does not answer"
        finally:
            os.kill(server, signal.SIGCONT)
        pod = words.pod(owner, namespace=home, name=words.pod_name(owner))
        created = await again(lambda: there.create(pod))
        uid = created["metadata"]["uid"]
        await until(lambda: uid in {getattr(observation, "uid", "") for observation in heard.observations})
        assert progress(there, "Pod").lists == 1
        assert not heard.gone()


async def test_no_connection_outlives_a_session_whose_server_stands_still(
    own: ControlPlane, home: str
) -> None:
    def sockets() -> int:
        links = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        return sum(str(link.readlink()).startswith("socket:") for link in links)

    before = sockets()
    async with connected(own, home) as there:
        assert await there.list("v1", "Pod", home) == []
        server = int((own.home / "kube-apiserver.pid").read_text())
        os.kill(server, signal.SIGSTOP)
        try:
            asking = asyncio.create_task(there.list("v1", "Pod", home))
            await asyncio.sleep(0.3)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert sockets() > before
            await there.close()
            for _ in range(100):  # turns of the loop: nobody on the other side has a part in it
                await asyncio.sleep(0)
            assert sockets() == before
        finally:
            os.kill(server, signal.SIGCONT)


async def again(call: Callable[[], Any]) -> Any:
    """What `call` gives, as soon as the API server can be reached."""
    async with asyncio.timeout(150):
        while True:
            try:
                return await call()
            except ClusterUnavailable:
                await asyncio.sleep(0.2)


@dataclass
class Writer:
    """Makes jobs and pods and deletes some, however often the API server goes away meanwhile."""

    cluster: ApiServerCluster
    namespace: str
    chance: Random
    made: int = 0
    living: dict[str, Manifest] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    async def run(self) -> None:
        while True:
            with suppress(ClusterUnavailable):
                await self.step()
            await asyncio.sleep(0.05)

    async def step(self) -> None:
        jobs = [manifest for manifest in self.living.values() if manifest["kind"] == "PyTorchTrainingJob"]
        pods = [manifest for manifest in self.living.values() if manifest["kind"] == "Pod"]
        if len(jobs) < 5:
            self.made += 1
            await self.create(words.job(f"job-{self.made}", namespace=self.namespace))
        elif len(pods) < 15:
            self.made += 1
            owner = self.chance.choice(jobs)
            name = words.pod_name(owner, self.made)
            await self.create(
                words.pod(owner, namespace=self.namespace, name=name, replica=("worker", self.made))
            )
        elif self.chance.random() < 0.2:
            await self.delete(self.chance.choice(jobs))
        else:
            await self.delete(self.chance.choice(pods))

    async def create(self, manifest: Manifest) -> None:
        """An API server that dies may have stored what it gave no answer to: that is looked up, and counts, too."""
        try:
            created = await self.cluster.create(manifest)
        except (ClusterUnavailable, Conflict):
            try:
                created = await again(partial(self.cluster.get, Ref.of(manifest)))
            except Missing:
                return
        self.living[created["metadata"]["uid"]] = created

    async def delete(self, manifest: Manifest) -> None:
        """With a job go its pods; nobody counts on any of them from before the call on."""
        uid = manifest["metadata"]["uid"]
        doomed = {
            other for other, manifest in self.living.items() if uid in (other, words.owner_uid(manifest))
        }
        self.deleted |= doomed
        self.living = {other: manifest for other, manifest in self.living.items() if other not in doomed}
        with suppress(Missing, Conflict):
            await self.cluster.delete(Ref.of(manifest), uid=uid, grace=0)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_an_api_server_that_is_killed_again_and_again_loses_nothing(
    own: ControlPlane, home: str
) -> None:
    async with connected(own, home) as there, bridged(there) as heard:
        writer = Writer(there, home, chance(11))
        task = asyncio.create_task(writer.run())
        for _ in range(kills(2)):
            await asyncio.sleep(writer.chance.uniform(0.2, 3))
            await asyncio.to_thread(own.restart, "kube-apiserver")
        await asyncio.sleep(1)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        left = await settled(there, home)

        def reported() -> set[str]:
            jobs = {
                observation.job for observation in heard.observations if isinstance(observation, JobObserved)
            }
            return jobs.union(
                observation.uid for observation in heard.observations if isinstance(observation, PodObserved)
            )

        await until(lambda: left.keys() <= reported(), "all that is there was reported")
        await until(lambda: reported() - left.keys() == heard.gone(), "all that is gone was said to be")
        # asyncio may forget a connection that is being opened when its watch is cancelled
        await until(lambda: not any(watch.error for watch in there.watches if not watch.absent))
        assert heard.gone() <= writer.deleted, "something was said to be gone that nobody deleted"
    unanswered = [number for (_, answer), number in there.api.sent.items() if answer == "none"]
    assert sum(unanswered) > 0, "the API server was never away"


async def settled(cluster: ApiServerCluster, namespace: str) -> dict[str, Manifest]:
    """What the API server has, by uid, once the index says the same of pods and everything is quiet."""
    async with asyncio.timeout(
        300
    ):  # orphans go at once: the collector takes its time after a death of the server
        while True:
            jobs = await again(lambda: cluster.list(words.JOB_API, "PyTorchTrainingJob", namespace))
            pods = await again(lambda: cluster.list("v1", "Pod", namespace))
            there = {pod["metadata"]["uid"]: pod for pod in pods}
            known = {child.uid: str(child.version) for child in cluster.known() if child.kind == "Pod"}
            if known == {uid: version["metadata"]["resourceVersion"] for uid, version in there.items()}:
                living = {job["metadata"]["uid"] for job in jobs}
                orphans = [pod for pod in pods if words.owner_uid(pod) not in living]
                for orphan in orphans:
                    with suppress(Missing):
                        await again(partial(cluster.delete, Ref.of(orphan), grace=0))
                if not orphans:
                    return there | {job["metadata"]["uid"]: job for job in jobs}
            await asyncio.sleep(0.2)


async def test_a_kind_that_is_taken_away_takes_its_jobs_along_and_comes_back_empty(
    own: ControlPlane, home: str
) -> None:
    async with connected(own, home) as there, bridged(there) as heard:
        owner = await there.create(words.job(namespace=home))
        await until(lambda: bool(heard.observations))
        await asyncio.to_thread(own.uninstall, JOB_CRDS)
        await until(lambda: heard.gone() == {owner["metadata"]["uid"]})
        await until(lambda: "not installed" in progress(there, "PyTorchTrainingJob").error)
        await asyncio.to_thread(own.install, JOB_CRDS)
        await until(lambda: progress(there, "PyTorchTrainingJob").error == "", seconds=150)
        second = await again(lambda: there.create(words.job(namespace=home)))
        await until(
            lambda: second["metadata"]["uid"] in {observation.job for observation in heard.observations}
        )
