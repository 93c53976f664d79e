"""Scenes for exhibits: a cluster in memory with one job, and visits of the projector that makes its children."""

from collections.abc import Callable
from itertools import count

from k8s_bridge.port import Manifest, Ref
from projectors.children import Children
from statemachine.ids import JobUid, Seq
from statemachine.observations import Observation
from statemachine.state import JobState
from tests.support.memory_cluster import MemoryCluster
from tests.support.scenario import START, Story
from tests.support.simulated import LoopClock


class OneJob:
    """The states of a log with the job of a story; `old` is what is known until somebody asks for the log's end."""

    def __init__(self, story: Story, old: JobState | None = None) -> None:
        self._story, self._old = story, old

    def becomes(self, story: Story) -> None:
        """The log is that of another job from now on."""
        self._story = story

    def state(self, _: JobUid) -> JobState:
        """The state that is known."""
        return self._old or self._story.state

    def seq(self, _: JobUid) -> Seq:
        """The number of entries."""
        return Seq(len(self._story.entries))

    def is_forgotten(self, _: JobUid) -> bool:
        """The job is kept."""
        return False

    def quarantined(self, _: JobUid) -> None:
        """The history can be folded."""

    async def fresh(self, _: JobUid) -> None:
        """From here on the state is that of the log's end."""
        self._old = None


class Scene:
    """A cluster, and the projector of children over it. Has to be made on simulated time."""

    def __init__(self, story: Story, old: JobState | None = None) -> None:
        clock = LoopClock(START)
        self.story = story
        self.cluster = MemoryCluster(clock=clock.now, new_uid=_first(story.uid))
        self.cluster.disturbance = lambda _: ()
        self.observations: list[Observation] = []
        self.created: list[str] = []
        self._log = OneJob(story, old)
        self.children = Children(self._log, self.cluster, self._observe, clock)
        self._create = self.cluster.create
        self.cluster.create = self._counted  # type: ignore[method-assign]

    async def _observe(self, observation: Observation) -> None:
        self.observations.append(observation)

    async def _counted(self, manifest: Manifest) -> Manifest:
        stored = await self._create(manifest)
        self.created.append(f"{stored['kind']}/{stored['metadata']['name']}")
        return stored

    async def submit(self) -> None:
        """The job object exists, under the uid that the story has for it."""
        meta = {"name": self.story.name, "namespace": "demo"}
        spec = self.story.spec
        await self._create(
            {"apiVersion": self.story.api, "kind": self.story.kind, "metadata": meta, "spec": spec}
        )

    async def submit_again(self) -> None:
        """The job object is deleted, and created again under its name: the story is now that of the new one."""
        self.remove_job()
        before = self.story
        meta = {"name": before.name, "namespace": "demo"}
        stored = await self._create(
            {"apiVersion": before.api, "kind": before.kind, "metadata": meta, "spec": before.spec}
        )
        self.story = Story(before.spec, name=before.name, uid=stored["metadata"]["uid"]).submit()
        self._log.becomes(self.story)

    async def visit(self) -> float | None:
        """The projector has visited the job."""
        return await self.children.visit(self.story.uid)

    def pods(self) -> list[Manifest]:
        """All pods of the cluster."""
        return list(self.cluster.objects.peek_all("Pod"))

    @property
    def pods_made(self) -> int:
        """How many pods the projector has created."""
        return sum(name.startswith("Pod/") for name in self.created)

    def remove_pod(self) -> None:
        """The only pod is gone at once, whatever held it."""
        (pod,) = self.pods()
        self.cluster.delete_pod("demo", pod["metadata"]["name"], force=True)

    def remove_job(self) -> None:
        """The job object is gone."""
        self.cluster.objects.delete(Ref(self.story.api, self.story.kind, "demo", self.story.name))


def _first(uid: JobUid) -> Callable[[], str]:
    numbers = count()
    return lambda: f"u-{number}" if (number := next(numbers)) else uid
