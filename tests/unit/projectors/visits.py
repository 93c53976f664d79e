"""Single visits to a job's children: a log of one job, and a cluster in memory that says how it was called."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from k8s_bridge.port import Manifest, Ref
from k8s_bridge.ssh_keys import SecretData, secret_data
from projectors.base import Quarantine
from projectors.children import Children
from projectors.confirming import Confirming
from projectors.leisure import Rush
from statemachine.ids import JobUid, Seq
from statemachine.observations import Observation
from statemachine.owned import SSH_KEYS
from statemachine.state import JobState
from tests.support.memory_cluster import MemoryCluster, counted_uids
from tests.support.scenario import UID, Story
from tests.support.simulated import LoopClock


class Call(NamedTuple):
    """A write, with what it depends on."""

    verb: str
    ref: Ref
    uid: str = ""
    version: str = ""
    merge: Mapping[str, Any] = {}


class Recorder(MemoryCluster):
    """Writes down every write, and how often a job object was read.

    `listed` is called when children were listed, before anybody acts on them. With `stale` that is what is listed.
    """

    def __init__(self, clock: LoopClock) -> None:
        uids = counted_uids()
        first = [UID]
        super().__init__(clock=clock.now, new_uid=lambda: str(first.pop()) if first else uids())
        self.calls: list[Call] = []
        self.reads = 0
        self.listed: Callable[[], object] = lambda: None
        self.stale: Sequence[Manifest] | None = None

    async def children(self, namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
        children = await super().children(namespace, owner, also)
        self.listed()
        return children if self.stale is None else self.stale

    async def get(self, ref: Ref) -> Manifest:
        self.reads += ref.kind.endswith("Job")
        return await super().get(ref)

    async def create(self, manifest: Manifest) -> Manifest:
        self.calls.append(Call("create", Ref.of(manifest)))
        return await super().create(manifest)

    async def patch(self, ref: Ref, merge: Mapping[str, Any], *, uid: str = "") -> Manifest:
        self.calls.append(Call("patch", ref, uid, merge=merge))
        return await super().patch(ref, merge, uid=uid)

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        self.calls.append(Call("delete", ref, uid, version))
        await super().delete(ref, uid=uid, version=version, grace=grace)

    async def release(self, ref: Ref, uid: str) -> None:
        self.calls.append(Call("release", ref, uid))
        await super().release(ref, uid)

    def made(self, verb: str, kind: str = "Pod") -> list[Call]:
        """The calls of a verb that are about objects of a kind."""
        return [call for call in self.calls if (call.verb, call.ref.kind) == (verb, kind)]


class OneJob:
    """The states of a log with one job; `newest` is what it says once somebody asks for the latest."""

    def __init__(self, state: JobState) -> None:
        self.now: JobState | None = state
        self.newest: JobState | None = None
        self.quarantine: Quarantine | None = None

    def state(self, _: JobUid) -> JobState | None:
        return self.now

    def seq(self, _: JobUid) -> Seq:
        return 1

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> Quarantine | None:
        return self.quarantine

    async def fresh(self, _: JobUid) -> None:
        self.now = self.newest or self.now


class Visits:
    """A job of which a story tells, its object in a cluster, and the projector of its children.

    To be made in a running loop. `reported` is what the projector has observed, `keys` how many were made.
    """

    def __init__(self, story: Story) -> None:
        self.story, self.states = story, OneJob(story.state)
        self.clock = LoopClock(datetime(2024, 1, 9, 15, tzinfo=UTC))
        self.cluster = Recorder(self.clock)
        self.confirming = Confirming(self.cluster, self.clock)
        self.reported: list[Observation] = []
        self.keys, self.rush = 0, Rush()
        self.children = Children(
            self.states,
            self.cluster,
            self._observe,
            self.clock,
            generators={SSH_KEYS: self._generate},
            confirming=self.confirming,
            rush=self.rush,
        )
        meta = {"name": story.name, "namespace": "demo"}
        self.cluster.objects.create(
            {"apiVersion": story.api, "kind": story.kind, "metadata": meta, "spec": story.spec}
        )

    async def _observe(self, observation: Observation) -> None:
        self.reported.append(observation)

    async def _generate(self) -> SecretData:
        self.keys += 1
        return secret_data(b"private", b"public")

    def put(self, key: str, **annotations: str) -> Manifest:
        """A child that should exist exists, with these annotations; as stored."""
        child = self.story.children[key]
        meta = child["metadata"]
        meta |= {"namespace": "demo", "annotations": {**meta.get("annotations", {}), **annotations}}
        return self.cluster.objects.create(child)

    def knows(self, state: JobState | None = None) -> None:
        """The log says what the story does by now, or this."""
        self.states.now = state or self.story.state

    def again(self, manifest: Manifest) -> Manifest:
        """The object is gone, and another one has its name; as stored."""
        ref = Ref.of(manifest)
        self.cluster.objects.patch(ref, {"metadata": {"finalizers": None}})
        if ref.kind == "Pod":
            self.cluster.delete_pod(ref.namespace, ref.name, force=True)
        else:
            self.cluster.objects.delete(ref)
        return self.cluster.objects.create(manifest)

    async def visit(self) -> float | None:
        """The projector has visited the job; in how many seconds it wants to come back."""
        return await self.children.visit(UID)
