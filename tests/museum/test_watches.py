"""Watches and what is known of the cluster: late answers, silent streams, and streams that end."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import cast

from k8s_bridge import observe as bridge_observe
from k8s_bridge import watchers
from k8s_bridge.apiserver.index import Index
from k8s_bridge.context import Known
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Cluster, Manifest, Ref, Sight, Synced, Verb
from k8s_bridge.raw import number
from k8s_bridge.watchers import Bridge
from projectors import diff
from statemachine.desired import desired
from statemachine.errors import Expired
from statemachine.ids import JobUid, PodUid, ReplicaName, short_hash
from statemachine.observations import ChildObserved, Observation
from tests.museum.exhibit import exhibit, given, swap
from tests.support.bridges import LogOf
from tests.support.pytorchjob import API, TorchStory, training
from tests.support.simulated import on_simulated_time
from tests.unit.bridge.words import job, pod

AT = datetime(2024, 1, 9, 15, tzinfo=UTC)
JOB = job(uid="j-1")

Script = Sequence[Change | Synced | Exception]


def stored(version: int, phase: str) -> Manifest:
    """The job's pod as an API server gives it."""
    raw = pod(JOB, name=f"mnist-{short_hash('j-1')}-worker-0")
    raw["metadata"] |= {"uid": "p-1", "resourceVersion": str(version)}
    return raw | {"status": {"phase": phase}}


# ---- what is known -------------------------------------------------------------------------------------------------


def last_wins(self: Index, raw: Manifest, collection: str = "") -> bool:
    self.remove(raw["metadata"]["uid"], 0)
    return RIGHT_INDEX(self, raw, collection)


RIGHT_INDEX = Index.put


@exhibit(
    "opensandbox-group/OpenSandbox#1673",
    "Late answers to requests were written over newer events of a watch: the cache went back in time.",
    wrong=(swap(Index, "put", last_wins),),
)
def test_opensandbox_group_opensandbox_1673_an_older_answer_changes_nothing() -> None:
    index = Index()
    index.put(stored(12, "Running"))
    index.note(stored(11, "Pending"), "pods", position=0)
    known = index.get("p-1")
    assert known is not None
    assert (known.version, known.phase) == (12, "Running")


@exhibit(
    "ray-project/kuberay#715",
    "The pods that a controller had just created were not in its cache yet, so it created more of them.",
    wrong=(swap(Index, "note", lambda *_, **__: False),),
)
def test_ray_project_kuberay_715_what_was_just_made_is_known_at_once() -> None:
    index = Index()
    index.note(stored(12, "Pending"), "pods", position=number("11"))
    assert [known.uid for known in index.owned("j-1")] == ["p-1"]


def always_different(built: Manifest, _live: Manifest) -> Manifest:
    return {key: value for key, value in built.items() if key == "spec"}


@exhibit(
    "kubernetes-sigs/jobset#926",
    "Applying the same object again made a new generation of it, and controllers that apply reconciled for ever.",
    wrong=(swap(diff, "_difference", always_different),),
)
def test_kubernetes_sigs_jobset_926_what_is_as_wished_is_not_written_again() -> None:
    story = TorchStory(training(workers=1), gang_scheduler="volcano").submit()
    live = []
    for place, child in enumerate(story.children.values()):
        meta = {**child["metadata"], "uid": f"u-{place}"}
        live.append({**child, "metadata": meta})
    given("PodGroup" in {raw["kind"] for raw in live}, "something that may be updated is there")
    writes = diff.diff(story.state, desired(story.state), live)
    assert [write for write in writes if isinstance(write, diff.Update)] == []


def by_name(change: Change) -> ChildObserved | None:
    """The group that goes is the one of that name, whichever it was."""
    known = RIGHT_GROUP(change)
    return known and known.changed(gone_uid="group-2" if known.gone_uid else "")


RIGHT_GROUP = bridge_observe.child


@exhibit(
    "volcano-sh/volcano#2044",
    "A job was deleted and made again at once, and the end of the first one's PodGroup lost the second one's.",
    wrong=(swap(bridge_observe, "child", by_name),),
)
def test_volcano_sh_volcano_2044_the_group_before_is_not_the_group() -> None:
    story = TorchStory(training(workers=0), gang_scheduler="volcano").submit()
    story.group("Running", uid="group-1").group("Running", uid="group-2")
    owner = {
        "apiVersion": API,
        "kind": "PyTorchJob",
        "name": story.name,
        "uid": story.uid,
        "controller": True,
    }
    meta = {"name": story.name, "namespace": "demo", "uid": "group-1", "ownerReferences": [owner]}
    gone = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": meta}
    reports = observe(Change(Verb.DELETED, gone, AT))
    given(len(reports) == 1, "the bridge tells of it")
    story.see(reports[0])
    group = story.state.child("PodGroup", story.name)
    assert group is not None
    assert group.uid == "group-2"


# ---- streams -------------------------------------------------------------------------------------------------------


class Scripted:
    """A cluster whose watches tell what they are given to tell; then they stay open, and silent."""

    def __init__(self, *watches: Script) -> None:
        self.watches, self.opened = list(watches), 0

    async def watch(self) -> AsyncIterator[Change | Synced]:
        """The next of the watches; the last one again and again."""
        script = self.watches[min(self.opened, len(self.watches) - 1)]
        self.opened += 1
        for item in script:
            if isinstance(item, Exception):
                raise item
            yield item
        await asyncio.Event().wait()

    async def look(self, _: Ref, __: str) -> Sight:
        """The pod is gone."""
        return Sight(None, AT)


async def followed(
    *watches: Script, silence: float | None = None, known: Known | None = None
) -> tuple[list[str], int]:
    """What a bridge passes on within ten minutes, and how many watches it has opened by then."""
    passed_on: list[str] = []

    async def sink(observation: Observation) -> None:
        passed_on.append(observation.type)

    cluster = Scripted(*watches)
    bridge = Bridge(cast(Cluster, cluster), sink, LogOf(known or {}), silence=silence, chance=lambda: 0.0)
    following = asyncio.create_task(bridge.run())
    await asyncio.wait([following], timeout=600)
    following.cancel()
    await asyncio.wait([following])
    return passed_on, cluster.opened


def added(raw: Manifest) -> Change:
    """An object that is there."""
    return Change(Verb.ADDED, raw, AT)


async def once(self: Bridge) -> None:
    await self._follow()


@exhibit(
    "nolar/kopf#1276",
    "When the task of a watch had ended, nobody opened another, and the operator lived on as a zombie.",
    wrong=(swap(Bridge, "run", once),),
)
@on_simulated_time
async def test_nolar_kopf_1276_a_watch_that_ends_is_opened_again() -> None:
    first: Script = [added(JOB), Synced(AT), Expired("too old")]
    passed_on, opened = await followed(first, [added(JOB), added(stored(1, "Running")), Synced(AT)])
    assert (passed_on, opened) == (["JobObserved", "PodObserved"], 2)


@exhibit(
    "opensandbox-group/OpenSandbox#1534",
    "An API server that went away left the stream open: no event, no end, no error, and an old cache for hours.",
    wrong=(swap(Bridge, "_signs_of_life", lambda _: object()),),
)
@on_simulated_time
async def test_opensandbox_group_opensandbox_1534_a_silent_watch_is_opened_again() -> None:
    first: Script = [added(JOB), Synced(AT)]
    passed_on, _ = await followed(first, [added(JOB), added(stored(1, "Running")), Synced(AT)], silence=60)
    assert passed_on == ["JobObserved", "PodObserved"]


async def nothing_vanished(_: Bridge, __: Synced) -> None:
    """What is not listed is not missed."""


@exhibit(
    "argoproj/argo-workflows#4560",
    "Pods ran to their end and the controller never heard of it; the workflows went on as zombies.",
    wrong=(swap(Bridge, "_report_vanished", nothing_vanished),),
)
@on_simulated_time
async def test_argoproj_argo_workflows_4560_what_went_between_two_watches_is_reported() -> None:
    first: Script = [added(JOB), added(stored(1, "Running")), Synced(AT), Expired("too old")]
    passed_on, _ = await followed(first, [added(JOB), Synced(AT)])
    assert passed_on == ["JobObserved", "PodObserved", "PodGone"]


@exhibit(
    "flux-framework/flux-core#5579",
    "Jobs that had ended while the manager was down stayed in cleanup after its restart, waiting for what had gone.",
    wrong=(swap(watchers, "gone_of", lambda *_: {}),),
)
@on_simulated_time
async def test_flux_framework_flux_core_5579_what_went_while_nobody_looked_is_reported() -> None:
    known: Known = {JobUid("j-1"): {(ReplicaName("worker-0"), 1): PodUid("p-1")}}
    passed_on, _ = await followed([Synced(AT)], known=known)
    assert passed_on == ["JobGone", "PodGone"]
