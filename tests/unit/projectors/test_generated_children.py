"""Children that are generated, mutable or somebody else's: what visits make of them, in a cluster in memory."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from k8s_bridge.port import Manifest, Ref
from k8s_bridge.ssh_keys import SecretData, secret_data
from projectors.diff import diff
from statemachine.desired import desired
from statemachine.engine.clock import WallClock
from statemachine.errors import Missing
from statemachine.ids import JobUid
from statemachine.owned import SSH_KEYS
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.unit.kinds.deepspeed import ELASTIC, spec, worker

KEY = b"the private key"
SECRET = Ref("v1", "Secret", "demo", "gpt-ssh")
HOSTS = Ref("v1", "ConfigMap", "demo", "gpt-hostfile")


class Desk:
    """A controller at work on a cluster in memory, whose keys are counted."""

    def __init__(self) -> None:
        self.cluster, self.log = MemoryCluster(), MemoryLog()
        self.made = 0
        self.controller = controller_of(self.log, self.cluster, WallClock(), generators={SSH_KEYS: self.keys})

    async def keys(self) -> SecretData:
        self.made += 1
        return secret_data(KEY, b"the public key\n")

    async def submit(self, **more: Any) -> JobUid:
        manifest = {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "DeepSpeedJob",
            "metadata": {"name": "gpt", "namespace": "demo"},
            "spec": spec(worker(2), **more),
        }
        return JobUid((await self.cluster.create(manifest))["metadata"]["uid"])

    async def is_done(self, job: JobUid) -> bool:
        """The job is Running, and nothing is left to write."""
        state = self.controller.states.state(job)
        if state is None or state.phase != "Running":
            return False
        live = await self.cluster.children("demo", job)
        return not list(diff(state, desired(state), live))

    async def lines(self) -> list[str]:
        """The hostfile's."""
        return str((await self.cluster.get(HOSTS))["data"]["hostfile"]).splitlines()


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    running = asyncio.create_task(desk.controller.run())
    try:
        async with asyncio.timeout(30):
            yield desk
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(holds: Any) -> None:
    while not await holds():  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)


def exists(desk: Desk, ref: Ref, uid: str = "") -> Any:
    async def look() -> bool:
        try:
            return bool((await desk.cluster.get(ref))["metadata"]["uid"] != uid)
        except Missing:
            return False

    return look


async def test_keys_are_made_once_and_get_into_the_secret_and_nowhere_else() -> None:
    async with desk() as there:
        job = await there.submit()
        await until(lambda: there.is_done(job))
        secret = await there.cluster.get(SECRET)
        assert b64decode(secret["data"]["id_rsa"]) == KEY
        assert there.made == 1
        history = b"".join([record.body for record in await _records(there.log)])
        assert b"gpt-worker-1" in history
        for text in (KEY, secret["data"]["id_rsa"].encode()):
            assert text not in history
            assert text not in str(there.controller.states.state(job)).encode()


async def _records(log: MemoryLog) -> list[Any]:
    return [record async for batch in log.scan(0) for record in batch]


async def test_a_secret_that_is_there_already_is_kept() -> None:
    async with desk() as there:
        job = await there.submit()
        await until(lambda: there.is_done(job))
        uid = (await there.cluster.get(SECRET))["metadata"]["uid"]
    again = Desk()
    again.cluster = there.cluster
    again.controller = controller_of(there.log, there.cluster, WallClock(), generators={SSH_KEYS: again.keys})
    running = asyncio.create_task(again.controller.run())
    await until(lambda: again.is_done(job))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert again.made == 0
    assert (await again.cluster.get(SECRET))["metadata"]["uid"] == uid


async def test_a_secret_that_somebody_deleted_is_made_again_before_pods_that_need_it() -> None:
    async with desk() as there:
        job = await there.submit()
        await until(lambda: there.is_done(job))
        uid = (await there.cluster.get(SECRET))["metadata"]["uid"]
        await there.cluster.delete(SECRET)
        there.cluster.delete_pod("demo", "gpt-worker-1")
        await until(exists(there, SECRET, uid))
        await until(lambda: there.is_done(job))
        assert there.made == 2


async def test_another_scale_rewrites_the_hostfile_and_keeps_the_keys() -> None:
    async with desk() as there:
        job = await there.submit(**ELASTIC)
        await until(lambda: there.is_done(job))
        assert await there.lines() == ["gpt-worker-0 slots=1"]
        ref = Ref("batch.tensorstack.dev/v1beta1", "DeepSpeedJob", "demo", "gpt")
        await there.cluster.patch(ref, {"spec": {"elastic": {"expectedReplicas": 3}}})

        async def scaled() -> bool:
            pods = [child for child in await there.cluster.children("demo", job) if child["kind"] == "Pod"]
            return len(pods) == 3 and await there.is_done(job)

        await until(scaled)
        assert await there.lines() == [f"gpt-worker-{index} slots=1" for index in range(3)]
        assert there.made == 1


async def test_names_that_are_taken_are_waited_for_and_nothing_is_overwritten() -> None:
    strangers: list[Manifest] = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gpt-ssh", "namespace": "demo"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gpt-hostfile", "namespace": "demo"}},
    ]
    for stranger in strangers:
        async with desk() as there:
            stored = await there.cluster.create(stranger)
            job = await there.submit()

            async def is_shown(there: Desk = there, job: JobUid = job) -> bool:
                state = there.controller.states.state(job)
                return state is not None and state.condition("Initialized") is not None

            await until(is_shown)
            state = there.controller.states.state(job)
            assert state is not None
            condition = state.condition("Initialized")
            assert condition is not None
            name = stranger["metadata"]["name"]
            message = f'{stranger["kind"]} "{name}" already exists and is not controlled by this job'
            assert (condition.status, condition.reason, condition.message) == (
                "False",
                "NameConflict",
                message,
            )
            assert await there.cluster.get(Ref.of(stored)) == stored
