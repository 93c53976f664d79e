"""Literal values of environment variables stay out of the log, and get into pods."""

import asyncio
import copy
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from jobledger.settings.sections import PrivacySettings
from k8s_bridge.env_values import EnvValues, Unresolved
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Manifest, Ref, Verb
from projectors.verify import Verification
from statemachine.concealed import is_reference
from statemachine.decide import decide
from statemachine.engine.clock import WallClock
from statemachine.errors import ConfigError
from statemachine.events import Announced
from statemachine.evolve import fold
from statemachine.ids import JobUid
from statemachine.observations import JobObserved
from statemachine.state import JobState
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.scenario import API, KIND, START, Story, workers
from tests.unit.kinds import generic

KEY: Final = b"the key of all these tests"
VALUE: Final = "literal-4711"
LINES: Final = "literal-1\nliteral-2"


def spec_with_env(value: str = VALUE) -> dict[str, Any]:
    """A worker whose containers have literal values, one of a Secret, and the simulation's long run."""
    spec = workers(1)
    template = spec["replicaSpecs"][0]["template"]
    env = [
        {"name": "TEAM", "value": value},
        {"name": "SCRIPT", "value": LINES},
        {"name": "EMPTY", "value": ""},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "store", "key": "token"}}},
    ]
    template["spec"]["containers"][0]["env"] = env
    template["spec"]["initContainers"] = [{"name": "fetch", "image": "x", "env": copy.deepcopy(env[:1])}]
    return spec


class Desk:
    """A controller at work on a cluster in memory."""

    def __init__(self, keys: tuple[bytes, ...] = (KEY,)) -> None:
        self.cluster, self.log = MemoryCluster(), MemoryLog()
        self.controller = controller_of(
            self.log, self.cluster, WallClock(), env_values=EnvValues(keys, conceals=True)
        )

    async def submit(self) -> JobUid:
        meta = {"name": "mnist", "namespace": "demo"}
        job = {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec_with_env()}
        return JobUid((await self.cluster.create(job))["metadata"]["uid"])

    async def pod(self) -> Manifest | None:
        """The pod of worker-0, if it is there."""
        return next(iter(await self.cluster.list("v1", "Pod", "demo")), None)

    async def set_value(self, value: str) -> None:
        """The user edits the variable in the job object."""
        await self.cluster.patch(Ref(API, KIND, "demo", "mnist"), {"spec": spec_with_env(value)})

    async def bodies(self) -> bytes:
        """All that the log holds."""
        return b"".join([record.body async for batch in self.log.scan() for record in batch])


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    running = asyncio.create_task(desk.controller.run())
    try:
        async with asyncio.timeout(60):
            yield desk
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(holds: Callable[[], Awaitable[Any]]) -> Any:
    while not (outcome := await holds()):  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)
    return outcome


def values_of(pod: Manifest) -> dict[str, list[Any]]:
    """Name of a variable → what its containers have for it."""
    values: dict[str, list[Any]] = {}
    for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
        for entry in container.get("env") or ():
            values.setdefault(entry["name"], []).append(entry.get("value", entry.get("valueFrom")))
    return values


async def test_pods_have_the_values_and_the_log_has_none() -> None:
    async with desk() as there:
        job = await there.submit()
        pod = await until(there.pod)
        values = values_of(pod)
        assert values["TEAM"] == [VALUE, VALUE]
        assert (values["SCRIPT"], values["EMPTY"]) == ([LINES], [""])
        assert values["TOKEN"] == [{"secretKeyRef": {"name": "store", "key": "token"}}]

        async def runs() -> bool:
            state = there.controller.states.state(job)
            return state is not None and state.phase == "Running"

        await until(runs)
        body = await there.bodies()
        assert b"TEAM" in body
        assert b"secretKeyRef" in body
        assert b"literal" not in body
        verification = Verification([])
        async for batch in there.log.scan():
            for record in batch:
                verification.take(record)
        (verdict,) = verification.verdicts()
        assert verdict.difference is None
        assert verdict.decided_again == verdict.entries > 0


async def test_variables_of_a_kind_are_replaced_in_values_that_the_log_does_not_have() -> None:
    env = [{"name": "SHARD", "value": "literal-$(type)-$(rank)-$$(rank)-$(HOME)"}]
    async with desk() as there:
        job = {
            "apiVersion": API,
            "kind": generic.KIND,
            "metadata": {"name": "shards", "namespace": "demo"},
            "spec": generic.spec(generic.replicas("worker", 1, generic.container(env=env))),
        }
        await there.cluster.create(job)
        assert values_of(await until(there.pod)) == {"SHARD": ["literal-worker-0-$$(rank)-$(HOME)"]}
        assert b"literal" not in await there.bodies()


async def test_a_pod_made_again_has_the_values_again() -> None:
    async with desk() as there:
        await there.submit()
        first = await until(there.pod)
        await there.cluster.delete(Ref.of(first), uid=first["metadata"]["uid"])

        async def another() -> Manifest | None:
            pod = await there.pod()
            return pod if pod and pod["metadata"]["uid"] != first["metadata"]["uid"] else None

        assert values_of(await until(another))["TEAM"] == [VALUE, VALUE]


async def test_no_pod_is_made_with_another_value_and_the_job_goes_on_once_it_is_put_back() -> None:
    async with desk() as there:
        job = await there.submit()
        first = await until(there.pod)
        await there.set_value("another")

        async def events_say_so() -> bool:
            return b"ImmutableFieldChanged" in await there.bodies()

        await until(events_say_so)
        await there.cluster.delete(Ref.of(first), uid=first["metadata"]["uid"])

        async def refused() -> list[str]:
            events = await there.cluster.events("demo", job)
            return [event.message for event in events if event.reason == "FailedCreate"]

        (message, *_) = await until(refused)
        assert "TEAM" in message
        assert "put them back" in message
        assert "another" not in message
        assert await there.pod() is None
        await there.set_value(VALUE)
        assert values_of(await until(there.pod))["TEAM"] == [VALUE, VALUE]


# ---- what counts as a change ------------------------------------------------------------------------------------


def observed(spec: dict[str, Any], keys: tuple[bytes, ...], *, generation: int = 1) -> JobObserved:
    """What a bridge with these keys says of the job; without any it says the literal values."""
    meta = {"name": "mnist", "namespace": "demo", "uid": "u-1", "generation": generation}
    raw = {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec}
    (observation,) = observe(Change(Verb.MODIFIED, raw, START))
    assert isinstance(observation, JobObserved)
    return EnvValues(keys, conceals=bool(keys)).concealed(observation)


def announced(before: JobObserved, after: JobObserved) -> list[str]:
    """Reasons of what is announced when the second follows the first."""
    state = JobState(before.job)
    state = fold(state, decide(state, before))
    return [event.reason for event in decide(state, after) if isinstance(event, Announced)]


@pytest.mark.parametrize("before", [(KEY,), (b"a key that was lost",), ()])
@pytest.mark.parametrize("after", [(KEY,), ()])
def test_neither_another_key_nor_the_setting_looks_like_a_change(
    before: tuple[bytes, ...], after: tuple[bytes, ...]
) -> None:
    first, second = observed(spec_with_env(), before), observed(spec_with_env(), after, generation=2)
    assert announced(first, second) == []


def test_a_changed_value_is_distinguished_from_the_same_one() -> None:
    first = observed(spec_with_env(), (KEY,))
    assert first.spec == observed(spec_with_env(), (KEY,)).spec
    assert announced(first, observed(spec_with_env("other"), (KEY,), generation=2)) == [
        "ImmutableFieldChanged",
        "ImmutableFieldChanged",
    ]


def test_a_new_key_first_and_the_old_one_behind_it_resolve_both() -> None:
    old, new = EnvValues((KEY,), conceals=True), EnvValues((b"the next key of them", KEY), conceals=True)
    raw = {"metadata": {"uid": "u-1"}, "spec": spec_with_env()}
    for env_values in (old, new):
        concealed = env_values.concealed(observed(spec_with_env(), ())).spec
        assert new.resolved(dict(concealed), new.values(raw)) == spec_with_env()
    with pytest.raises(Unresolved, match="TEAM, SCRIPT"):
        old.resolved(dict(new.concealed(observed(spec_with_env(), ())).spec), old.values(raw))


def test_equal_values_of_two_jobs_do_not_show_that_they_are_equal() -> None:
    values, observation = EnvValues((KEY,), conceals=True), observed(spec_with_env(), ())
    other = observation.changed(job=JobUid("u-2"))
    assert values.concealed(observation).spec != values.concealed(other).spec


def test_what_is_no_text_gets_into_the_log_as_nothing() -> None:
    spec = {"env": [{"name": "A", "value": 4711}, {"name": "B", "value": {"c": "literal"}}]}
    observation = observed(spec_with_env(), ()).changed(spec=spec)
    assert EnvValues((KEY,), conceals=True).concealed(observation).spec == {
        "env": [{"name": "A", "value": 0}, {"name": "B", "value": {}}]
    }


def test_env_is_concealed_wherever_it_stands() -> None:
    nested = {
        "launcher": {"env": [{"name": "A", "value": "x"}]},
        "resumeSpecs": [{"a": {"env": [{"name": "B", "value": "y"}]}}],
    }
    observation = observed(spec_with_env(), ()).changed(spec=nested)
    spec = EnvValues((KEY,), conceals=True).concealed(observation).spec
    assert is_reference(spec["launcher"]["env"][0]["value"])
    assert is_reference(spec["resumeSpecs"][0]["a"]["env"][0]["value"])


def test_a_concealed_job_is_refused_and_warned_of_as_any_other() -> None:
    concealed = Story(dict(observed(spec_with_env(), (KEY,)).spec)).submit()
    assert concealed.reasons == Story(spec_with_env()).submit().reasons


# ---- keys -------------------------------------------------------------------------------------------------------


def test_a_key_is_made_beside_the_store_for_its_owner_alone_and_kept(tmp_path: Path) -> None:
    off = PrivacySettings(env_values=False)
    first = off.values_beside(tmp_path / "ledger.db")
    made = tmp_path / "ledger.db.env-key"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert off.values_beside(tmp_path / "ledger.db") == first
    assert made.read_text(encoding="utf-8").strip() not in repr(first)


def test_no_key_is_made_while_values_are_logged_and_one_that_is_there_is_still_used(tmp_path: Path) -> None:
    assert PrivacySettings().values_beside(tmp_path / "ledger.db") == EnvValues()
    assert list(tmp_path.iterdir()) == []
    keys = PrivacySettings(env_values=False).values_beside(tmp_path / "ledger.db").keys
    assert PrivacySettings().values_beside(tmp_path / "ledger.db") == EnvValues(keys, conceals=False)


@pytest.mark.parametrize("text", [None, "", "short\n", "a long enough key\nshort\n"])
def test_a_file_without_keys_is_refused_at_the_start(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "key").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="key"):
        PrivacySettings(env_values=False, key_file=tmp_path / "key").values_beside(None)


def test_without_a_log_in_a_file_the_key_has_to_be_named() -> None:
    with pytest.raises(ConfigError, match=r"privacy\.key_file"):
        PrivacySettings(env_values=False).values_beside(None)
