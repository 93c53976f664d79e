"""Observations that no bridge has made: nothing comes of them that the cluster does not confirm."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from jobledger.wiring.roles import ALL
from k8s_bridge.admission import admit
from k8s_bridge.env_values import EnvValues
from k8s_bridge.observe import job as job_seen
from k8s_bridge.port import Change, Manifest, Ref, Verb
from projectors.confirming import Confirmation, compared, within
from statemachine.decide import decide
from statemachine.errors import Refused
from statemachine.evolve import fold
from statemachine.ids import JobUid
from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.log.inbox import MemoryInbox
from statemachine.observations import JobObserved
from statemachine.phases import Phase
from statemachine.state import JobState, changed
from tests.support.controllers import controller_of
from tests.support.examples import job_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.simulated import LoopClock, run_simulated
from tests.unit.api.words import elastic, job

START: Final = datetime(2024, 1, 9, 15, tzinfo=UTC)
UID: Final = JobUid("7f1c2a34-0000-4000-8000-000000000001")


# ---- a whole controller, and somebody who can put observations ---------------------------------------------------


class World:
    """A controller over a cluster in memory, and an inbox that others can reach."""

    def __init__(self) -> None:
        clock = LoopClock(START)
        self.cluster, self.inbox = MemoryCluster(admit=admit, clock=clock.now), MemoryInbox()
        self.reads: list[Ref] = []
        self.controller = controller_of(MemoryLog(), self.cluster, clock, roles=ALL, inbox=self.inbox)
        self._get = self.cluster.get
        self.cluster.get = self.allowed  # type: ignore[method-assign]

    async def allowed(self, ref: Ref) -> Manifest:
        """What the cluster has; that a job was asked for is remembered."""
        if ref.kind.endswith("Job"):
            self.reads.append(ref)
        return await self._get(ref)

    async def forge(self, manifest: Mapping[str, Any], uid: str, generation: int = 1) -> None:
        """Somebody says that this job is there."""
        raw = deepcopy(dict(manifest))
        raw["metadata"] = {"namespace": "demo", **raw["metadata"], "uid": uid, "generation": generation}
        observation = job_seen(Change(Verb.ADDED, raw, START))
        assert isinstance(observation, JobObserved)
        await self.inbox.put([observation])

    async def submit(self, manifest: Mapping[str, Any]) -> str:
        """A user makes this job; its uid."""
        raw = deepcopy(dict(manifest))
        raw["metadata"]["namespace"] = "demo"
        return str((await self.cluster.create(raw))["metadata"]["uid"])

    def made(self) -> list[str]:
        """The kinds of everything that exists and is no job."""
        return [
            object_["kind"]
            for kind in ("Pod", "Service", "ConfigMap", "Secret", "TensorBoard", "PodGroup")
            for object_ in self.cluster.objects.peek_all(kind)
        ]

    def images(self) -> set[str]:
        """Those of all pods."""
        pods = self.cluster.objects.peek_all("Pod")
        return {one["image"] for pod in pods for one in pod["spec"]["containers"]}


def lives(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """The story of a world, on simulated time."""

    async def whole() -> None:
        world = World()
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(world.controller.run())
            await asyncio.sleep(1)
            try:
                await story(world)
            finally:
                running.cancel()

    run_simulated(whole(), seed=1)


def evil(name: str = "train") -> dict[str, Any]:
    """A job whose pod owns its node."""
    forged = job(name)
    container = forged["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container |= {"image": "evil", "securityContext": {"privileged": True}}
    return forged


def test_a_job_that_does_not_exist_gets_nothing() -> None:
    async def story(world: World) -> None:
        await world.forge(evil(), UID)
        await asyncio.sleep(25)
        state = world.controller.states.state(UID)
        assert state is not None
        assert any(replica.has_pod for replica in state.replicas.values())
        assert world.made() == []
        assert world.controller.unconfirmed == 1

    lives(story)


def test_it_is_asked_for_a_few_times_and_then_the_audit_says_that_it_is_gone() -> None:
    async def story(world: World) -> None:
        await world.forge(evil(), UID)
        await asyncio.sleep(600)
        assert len(world.reads) < 10
        assert world.controller.unconfirmed == 0
        assert world.made() == []
        state = world.controller.states.state(UID)
        assert state is None or state.deleted

    lives(story)


def test_the_name_of_a_job_that_exists_is_not_enough() -> None:
    async def story(world: World) -> None:
        await world.submit(job())
        await world.forge(evil(), UID)
        await asyncio.sleep(25)
        assert world.images() == {"x"}
        assert world.controller.unconfirmed == 1

    lives(story)


def test_the_uid_of_a_job_that_exists_is_not_enough_in_another_namespace() -> None:
    async def story(world: World) -> None:
        world.cluster.disturbance = lambda _: ()  # the bridge is late
        uid = await world.submit(job())
        forged = evil()
        forged["metadata"]["namespace"] = "kube-system"
        await world.forge(forged, uid)
        await asyncio.sleep(25)
        assert world.made() == []

    lives(story)


def test_another_spec_of_a_job_that_exists_gets_nothing() -> None:
    async def story(world: World) -> None:
        world.cluster.disturbance = lambda _: ()
        uid = await world.submit(job())
        await world.forge(evil(), uid)
        await asyncio.sleep(25)
        assert world.made() == []
        assert world.controller.unconfirmed == 1

    lives(story)


def test_a_later_generation_that_the_object_does_not_have_gets_nothing_more() -> None:
    async def story(world: World) -> None:
        uid = await world.submit(elastic())
        await asyncio.sleep(5)
        before = len(world.made())
        larger = elastic()
        larger["spec"]["elastic"]["expectedReplicas"] = 4
        await world.forge(larger, uid, generation=2)
        await asyncio.sleep(25)
        assert len(world.made()) == before
        assert world.controller.unconfirmed == 1

    lives(story)


def test_a_job_that_a_user_has_made_is_read_once() -> None:
    async def story(world: World) -> None:
        await world.submit(job(replicas=3))
        await asyncio.sleep(30)
        pods = list(world.cluster.objects.peek_all("Pod"))
        assert len(pods) == 3
        world.cluster.delete_pod("demo", pods[0]["metadata"]["name"], force=True)
        await asyncio.sleep(60)
        assert len(list(world.cluster.objects.peek_all("Pod"))) == 3
        assert len(world.reads) == 1
        assert world.controller.unconfirmed == 0

    lives(story)


def test_an_edited_job_goes_on() -> None:
    async def story(world: World) -> None:
        await world.submit(elastic())
        await asyncio.sleep(5)
        ref = Ref("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob", "demo", "train")
        await world.cluster.patch(ref, {"spec": {"elastic": {"expectedReplicas": 4}}})
        await asyncio.sleep(30)
        assert len(list(world.cluster.objects.peek_all("Pod"))) == 4
        assert len(world.reads) == 2

    lives(story)


def test_a_job_whose_user_changed_what_may_not_change_gets_its_pods_again_from_who_takes_over() -> None:
    async def story(world: World) -> None:
        await world.submit(job())
        await asyncio.sleep(5)
        ref = Ref("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob", "demo", "train")
        other = job()["spec"]["replicaSpecs"]
        other[0]["template"]["spec"]["containers"][0]["image"] = "y"
        await world.cluster.patch(ref, {"spec": {"replicaSpecs": other}})
        await asyncio.sleep(5)
        assert world.controller.projectors is not None
        uid = JobUid((await world.cluster.get(ref))["metadata"]["uid"])
        world.controller.projectors.levels.confirming.forget(uid)
        (pod,) = world.cluster.objects.peek_all("Pod")
        world.cluster.delete_pod("demo", pod["metadata"]["name"], force=True)
        await asyncio.sleep(30)
        assert world.images() == {"x"}
        assert len(list(world.cluster.objects.peek_all("Pod"))) == 1

    lives(story)


# ---- what is compared --------------------------------------------------------------------------------------------


def observed_as(kind: Kind, spec: Mapping[str, Any], generation: int = 1) -> JobObserved:
    return JobObserved(
        job=UID,
        at=START,
        api_version=f"{kind.names.group}/{kind.names.version}",
        kind=kind.names.kind,
        namespace="demo",
        name="train",
        generation=generation,
        spec=dict(spec),
    )


def state_of(observation: JobObserved, before: JobState | None = None) -> JobState:
    state = before or JobState(UID)
    return fold(state, decide(state, observation))


by_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all texts, numbers and truths."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from leaves(one, (*at, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from leaves(one, (*at, index))
    elif value is not None:
        yield at


def with_other(spec: Any, at: tuple[Any, ...]) -> Any:
    """The spec, with another value there."""
    other = deepcopy(spec)
    *outer, last = at
    place = other
    for step in outer:
        place = place[step]
    value = place[last]
    place[last] = (
        not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}-x"
    )
    return other


@by_kind
def test_the_spec_of_every_example_is_confirmed(kind: Kind) -> None:
    spec = job_of(kind).raw["spec"]
    observation = observed_as(kind, spec)
    assert compared(state_of(observation), observation) == (Confirmation.CONFIRMED, "")


@by_kind
def test_another_value_anywhere_is_refused(kind: Kind) -> None:
    spec = job_of(kind).raw["spec"]
    real = observed_as(kind, spec)
    places = list(leaves(spec))
    assert len(places) > 5
    forged = {at: state_of(observed_as(kind, with_other(spec, at))) for at in places}
    admitted = {at: state for at, state in forged.items() if state.plan is not None}
    assert len(admitted) > 3
    confirmed = [at for at, state in admitted.items() if compared(state, real)[0] is not Confirmation.REFUSED]
    assert confirmed == []


@by_kind
def test_another_value_anywhere_in_a_newer_object_waits_for_the_log(kind: Kind) -> None:
    spec = job_of(kind).raw["spec"]
    state = state_of(observed_as(kind, spec))
    for at in leaves(spec):
        verdict, _ = compared(state, observed_as(kind, with_other(spec, at), generation=2))
        assert verdict is not Confirmation.REFUSED


def test_a_privileged_container_that_the_object_does_not_have_is_refused() -> None:
    kind = KINDS[0]
    spec = job_of(kind).raw["spec"]
    forged = deepcopy(spec)
    forged["replicaSpecs"][0]["template"]["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    verdict, why = compared(state_of(observed_as(kind, forged)), observed_as(kind, spec))
    assert verdict is Confirmation.REFUSED
    assert why == "its spec, of generation 1, is not the one that the log has"


def test_what_a_newer_crd_adds_to_an_object_is_no_reason_for_doubt() -> None:
    kind = KINDS[0]
    spec = job_of(kind).raw["spec"]
    added = deepcopy(spec)
    added["replicaSpecs"][0]["template"]["spec"]["dnsPolicy"] = "ClusterFirst"
    assert compared(state_of(observed_as(kind, spec)), observed_as(kind, added))[0] is Confirmation.CONFIRMED


def test_an_update_that_the_log_says_to_have_ignored_is_no_reason_for_doubt() -> None:
    kind = KINDS[0]
    spec = job_of(kind).raw["spec"]
    updated = deepcopy(spec)
    updated["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"] = "other"
    newer = observed_as(kind, updated, generation=2)
    state = state_of(observed_as(kind, spec))
    assert compared(state, newer) == (Confirmation.AHEAD, "it was changed")
    assert compared(state_of(newer, state), newer)[0] is Confirmation.CONFIRMED


def test_an_update_that_came_too_late_is_no_reason_for_doubt() -> None:
    kind = KINDS[0]
    spec = {**job_of(kind).raw["spec"], "runPolicy": {"backoffLimit": 1}}
    state = changed(state_of(observed_as(kind, spec)), phase=Phase.FAILED)
    newer = observed_as(kind, spec | {"runPolicy": {"backoffLimit": 2}}, generation=2)
    assert compared(state, newer)[0] is Confirmation.AHEAD
    known = state_of(newer, state)
    assert known.spec["runPolicy"] == {"backoffLimit": 1}
    assert compared(known, newer)[0] is Confirmation.CONFIRMED


def test_an_object_that_is_being_deleted_is_ahead() -> None:
    kind = KINDS[0]
    observation = observed_as(kind, job_of(kind).raw["spec"])
    deleted = observation.changed(terminating_since=START)
    assert compared(state_of(observation), deleted)[0] is Confirmation.AHEAD


def test_another_object_or_none_is_refused() -> None:
    kind = KINDS[0]
    observation = observed_as(kind, job_of(kind).raw["spec"])
    state = state_of(observation)
    assert compared(changed(state, uid=JobUid("another")), observation)[0] is Confirmation.REFUSED
    assert compared(state, None)[0] is Confirmation.REFUSED
    assert compared(changed(state, name="train/status"), observation)[0] is Confirmation.REFUSED
    assert compared(changed(state, namespace="kube-system"), observation)[0] is Confirmation.REFUSED


def test_an_object_that_may_not_be_read_is_refused_and_ends_nothing() -> None:
    async def story(world: World) -> None:
        async def refused(ref: Ref) -> Manifest:
            raise Refused(403, "Forbidden", f"{ref} is forbidden")

        world.cluster.get = refused  # type: ignore[method-assign]
        await world.submit(job())
        await asyncio.sleep(30)
        assert world.made() == []
        assert world.controller.unconfirmed == 1
        world.cluster.get = world.allowed  # type: ignore[method-assign]
        await asyncio.sleep(120)
        assert "Pod" in world.made()
        assert world.controller.unconfirmed == 0

    lives(story)


@pytest.mark.parametrize(
    ("part", "whole", "holds"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": None}, {}, True),
        ([1], [1, 2], False),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ({"a": True}, {"a": 1}, False),
        ("x", "y", False),
        ({"a": {}}, {"a": "text"}, False),
    ],
)
def test_within(part: object, whole: object, holds: bool) -> None:
    assert within(part, whole) is holds


def test_values_that_the_log_has_references_to_confirm_a_spec_and_others_are_left_to_who_makes_the_pods() -> (
    None
):
    kind = next(kind for kind in KINDS if not kind.opt_in)
    spec = deepcopy(job_of(kind).raw["spec"])
    container = next(leaf for leaf in _containers(spec))
    container["env"] = [{"name": "TEAM", "value": "vision"}]
    real, env_values = observed_as(kind, spec), EnvValues((b"the key of this test",), conceals=True)
    state = state_of(env_values.concealed(real))
    values = env_values.values({"metadata": {"uid": UID}, "spec": spec})
    assert compared(state, real, values) == (Confirmation.CONFIRMED, "")
    assert compared(state, real, {})[0] is Confirmation.CONFIRMED, (
        "the key is lost: EnvValues makes no pod of it"
    )
    container["image"] = "forged"
    assert compared(state, observed_as(kind, spec), values)[0] is Confirmation.REFUSED


def _containers(tree: Any) -> Iterator[dict[str, Any]]:
    """Every container in it."""
    if isinstance(tree, dict):
        yield from tree.get("containers", ())
        for inner in tree.values():
            yield from _containers(inner)
    elif isinstance(tree, list):
        for inner in tree:
            yield from _containers(inner)
