"""What the application does for users, over a cluster and a log in memory."""

import asyncio

import pytest

from jobledger.jobs.intake import Inadmissible
from jobledger.jobs.views import manifest_of, phase_of
from jobledger.program.errors import JobExists, NotPossible, UnknownJob, UnknownReplica
from jobledger.wiring.options import ControllerOptions
from jobledger.wiring.roles import Role
from k8s_bridge.actors import ACTOR
from k8s_bridge.port import Ref
from k8s_bridge.selectors import Selector
from statemachine.errors import Missing, SpecInvalid
from statemachine.ids import JobUid
from statemachine.state import JobState
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.words import SECONDS, app_in_memory, config_map, elastic, gone, job, phase, until, written


async def test_a_submitted_job_runs_to_its_end() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job(run_seconds="0.05")), "me")
        manifest = await phase(app, "train", "Succeeded")
        assert manifest["metadata"]["annotations"][ACTOR] == "me"


async def test_nothing_is_created_if_one_of_the_manifests_cannot_be() -> None:
    async with app_in_memory() as app:
        bad = job("bad", replicas=0)
        with pytest.raises(Inadmissible, match="must be at least 1"):
            await app.submit(written(config_map("settings"), job("good"), bad), "me")
        assert await app.jobs() == []
        with pytest.raises(Missing):
            await app.cluster.get(Ref("v1", "ConfigMap", "default", "settings"))


async def test_every_problem_of_every_manifest_is_reported() -> None:
    async with app_in_memory() as app:
        with pytest.raises(Inadmissible) as caught:
            await app.submit(written(job("a", replicas=0), job("b", replicas=0)), "me")
        assert [finding.manifest.name for finding in caught.value.findings] == ["a", "b"]


async def test_a_manifest_that_is_there_twice_is_refused() -> None:
    async with app_in_memory() as app:
        with pytest.raises(Inadmissible, match="stands here a second time"):
            await app.submit(written(job(), job()), "me")


async def test_a_taken_name_is_refused_and_leaves_the_other_jobs_uncreated() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job()), "me")
        with pytest.raises(JobExists, match='"train" exists already'):
            await app.submit(written(job("new"), job()), "me")
        assert [stored["metadata"]["name"] for stored in await app.jobs()] == ["train"]


async def test_what_pods_refer_to_is_created_first_and_replaced_when_it_comes_again() -> None:
    async with app_in_memory() as app:
        ref = Ref("v1", "ConfigMap", "default", "settings")
        await app.submit(written(job("one"), config_map("settings", a="1", b="2")), "me")
        await app.submit(written(job("two"), config_map("settings", a="3")), "me")
        assert (await app.cluster.get(ref))["data"] == {"a": "3"}


async def test_a_job_that_only_the_controller_can_refuse_is_stored_and_fails() -> None:
    async with app_in_memory() as app:
        manifest = job()
        del manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"]
        await app.submit(written(manifest), "me")
        stored = await phase(app, "train", "Failed")
        assert stored["status"]["conditions"][-1]["reason"] == "InvalidSpec"


async def test_an_unknown_job_is_named_with_the_nearest() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job("digits")), "me")
        await phase(app, "digits", "Running")
        with pytest.raises(UnknownJob, match=r'no job "digitz" .* did you mean "digits"'):
            await app.job("default", "digitz")


async def test_a_deleted_job_is_gone_once_its_pods_are_and_its_history_is_not() -> None:
    async with app_in_memory() as app:
        (created,) = await app.submit(written(job()), "me")
        manifest = await phase(app, "train", "Running")
        await app.delete(manifest, "somebody")
        await gone(app, "train")
        with pytest.raises(UnknownJob, match="history train"):
            await app.job("default", "train")
        uid = created["metadata"]["uid"]
        assert phase_of(await app.job("default", "train", uid=uid)) == "Deleted"
        assert [manifest["metadata"]["uid"] for manifest in await app.jobs(gone=True)] == [uid]
        assert (await app.history(uid))[-1]["events"][-1]["type"] == "JobClosed"


async def test_the_history_says_who_deleted_a_job() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job()), "me")
        manifest = await phase(app, "train", "Running")
        await app.delete(manifest, "somebody")
        await gone(app, "train")
        events = [
            event for entry in await app.history(manifest["metadata"]["uid"]) for event in entry["events"]
        ]
        assert [event["actor"] for event in events if event["type"] == "JobDeleted"] == ["somebody"]


async def test_pods_of_a_deleted_job_can_be_hurried() -> None:
    async with app_in_memory() as app:
        manifest = job()
        meta = manifest["spec"]["replicaSpecs"][0]["template"]["metadata"]
        meta["annotations"]["sim.jobledger.dev/stop-seconds"] = "600"
        await app.submit(written(manifest), "me")
        stored = await phase(app, "train", "Running")
        await app.delete(stored, "me", grace=0)
        await gone(app, "train")


async def test_a_process_that_deletes_no_pods_gives_them_no_grace_period_and_deletes_nothing() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job()), "me")
        manifest = await phase(app, "train", "Running")
        app.controller.options = ControllerOptions(roles=frozenset({Role.FRONT}))
        with pytest.raises(NotPossible, match="--grace-period"):
            await app.delete(manifest, "me", grace=0)
        assert "deletionTimestamp" not in (await app.job("default", "train"))["metadata"]


async def test_a_job_is_paused_and_resumed() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job()), "me")
        await app.pause(await phase(app, "train", "Running"), True, "me")
        await app.pause(await phase(app, "train", "Paused"), False, "me")
        await phase(app, "train", "Running")


async def test_pausing_overrules_the_old_spelling_in_the_manifest() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job(runMode={"pause": {"enable": False}})), "me")
        await app.pause(await phase(app, "train", "Running"), True, "me")
        await phase(app, "train", "Paused")


async def test_an_elastic_job_is_scaled() -> None:
    async with app_in_memory() as app:
        await app.submit(written(elastic()), "me")
        await app.scale(await phase(app, "train", "Running"), 3, "me")
        async with asyncio.timeout(SECONDS):
            async for _, manifest in app.watch(name="train"):
                if manifest and manifest["status"]["aggregate"]["running"] == 3:
                    return


async def test_a_job_that_is_not_elastic_cannot_be_scaled() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job()), "me")
        with pytest.raises(
            SpecInvalid, match=r"^spec\.elastic is not enabled: the number of replicas stays 1$"
        ):
            await app.scale(await phase(app, "train", "Running"), 3, "me")


async def test_nothing_can_be_wished_of_a_job_that_has_ended() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job(run_seconds="0.05")), "me")
        manifest = await phase(app, "train", "Succeeded")
        for wish in (app.pause(manifest, True, "me"), app.scale(manifest, 2, "me")):
            with pytest.raises(NotPossible, match=r"it has ended \(Succeeded\)"):
                await wish


async def _log_of(app_logs: object) -> bytes:
    return b"".join([piece async for piece in app_logs])  # type: ignore[attr-defined]


async def test_logs_are_those_of_the_primary_unless_a_replica_is_named() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job(replicas=2)), "me")
        manifest = await phase(app, "train", "Running")
        pods = [replica["name"] for replica in manifest["status"]["tasks"][0]["replicas"]]
        assert isinstance(app.cluster, MemoryCluster)
        for number, pod in enumerate(pods):
            app.cluster.write_log("default", pod, b"I am %d\n" % number)
        assert await _log_of(await app.logs(manifest)) == b"I am 0\n"
        assert await _log_of(await app.logs(manifest, replica="worker-1")) == b"I am 1\n"
        assert await _log_of(await app.logs(manifest, replica=pods[1])) == b"I am 1\n"


async def test_previous_logs_are_those_before_the_restart() -> None:
    async with app_in_memory() as app:
        assert isinstance(app.cluster, MemoryCluster)
        await app.submit(written(job()), "me")
        manifest = await phase(app, "train", "Running")
        pod = manifest["status"]["tasks"][0]["replicas"][0]["name"]
        app.cluster.write_log("default", pod, b"before")
        app.cluster.end_pod("default", pod, 1)
        uid = manifest["metadata"]["uid"]

        async def restarted() -> bool:
            return len(await app.attempts(uid)) == 2

        await until(restarted)
        app.cluster.write_log("default", pod, b"after")
        assert await _log_of(await app.logs(manifest)) == b"after"
        assert await _log_of(await app.logs(manifest, previous=True)) == b"before"


async def test_unknown_replicas_attempts_and_containers_are_refused_with_what_there_is() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job()), "me")
        manifest = await phase(app, "train", "Running")
        with pytest.raises(UnknownReplica, match='no replica "worker-7", it has worker-0'):
            await app.logs(manifest, replica="worker-7")
        with pytest.raises(UnknownReplica, match="no previous attempt"):
            await app.logs(manifest, previous=True)
        with pytest.raises(UnknownReplica, match='container "x" is not one'):
            await app.logs(manifest, container="x")


async def test_a_watch_tells_what_is_there_then_every_change() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job("first")), "me")
        await phase(app, "first", "Running")
        async with asyncio.timeout(SECONDS):
            watch = app.watch()
            assert (await anext(watch))[0] == "ADDED"
            assert (await anext(watch))[0] == "SYNCED"
            await app.submit(written(job("second")), "me")
            type_, manifest = await anext(watch)
        assert (type_, manifest["metadata"]["name"]) == ("ADDED", "second")


async def test_a_watch_tells_of_selected_jobs_and_when_they_are_so_no_longer() -> None:
    uids: dict[str, JobUid] = {}
    async with app_in_memory() as app:
        for name, team in (("first", "a"), ("second", "b")):
            manifest = job(name)
            manifest["metadata"]["labels"] = {"team": team}
            await app.submit(written(manifest), "me")
            uids[name] = (await phase(app, name, "Running"))["metadata"]["uid"]
        async with asyncio.timeout(SECONDS):
            watch = app.watch(selector=Selector.of("team=a"))
            assert [(await anext(watch))[0] for _ in range(2)] == ["ADDED", "SYNCED"]
            changes = []
            for name, team in (("second", "c"), ("second", "a"), ("first", "b"), ("first", "a")):
                ref = Ref("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob", "default", name)
                await app.cluster.patch(ref, {"metadata": {"labels": {"team": team}}})

                async def is_logged(uid: JobUid = uids[name], team: str = team) -> bool:
                    state = app.state(uid)
                    return state is not None and state.labels == {"team": team}

                await until(is_logged)  # two changes at once may be one for a watch
                if team in ("a", "b"):
                    type_, item = await anext(watch)
                    changes.append((type_, item["metadata"]["name"]))
        assert changes == [("ADDED", "second"), ("DELETED", "first"), ("ADDED", "first")]


def test_a_job_that_is_being_deleted_keeps_the_labels_that_it_is_selected_by() -> None:
    state = JobState(JobUid("u"), labels={"team": "a"}, deleted=True)
    assert Selector.of("team=a").selects(manifest_of(state)["metadata"])


async def test_why_tells_of_a_restart() -> None:
    async with app_in_memory() as app:
        assert isinstance(app.cluster, MemoryCluster)
        await app.submit(written(job(replicas=2)), "me")
        manifest = await phase(app, "train", "Running")
        app.cluster.end_pod("default", manifest["status"]["tasks"][0]["replicas"][1]["name"], 3)
        uid = manifest["metadata"]["uid"]

        async def explained() -> bool:
            return "restart" in {incident["kind"] for incident in (await app.why(uid))["incidents"]}

        await until(explained)


async def test_a_working_controller_has_no_troubles() -> None:
    async with app_in_memory() as app:

        async def ready() -> bool:
            return not await app.troubles()

        await until(ready)


async def test_a_log_that_cannot_be_written_is_a_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    from statemachine.errors import LogUnavailable

    async def full(_reader: str, _position: int) -> None:
        raise LogUnavailable("no space is left")

    async with app_in_memory() as app:
        monkeypatch.setattr(app.controller.ledger.partitions.logs[0], "save_checkpoint", full)
        assert "the log cannot be written: no space is left" in await app.troubles()
