"""The bridge: what it passes on, what it keeps to itself, and how it comes back."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from k8s_bridge.attended import EVERYTHING, Attended
from k8s_bridge.context import Known, LogContext, NoLog, NoSignals, Signals
from k8s_bridge.port import EVIDENCE, Change, Cluster, Ref, Sight, Synced, Verb
from k8s_bridge.timestamps import stamp
from k8s_bridge.watchers import Bridge
from statemachine.backoff import backoff
from statemachine.errors import ClusterUnavailable, Expired, Refused
from statemachine.ids import ATTEMPT, JobUid, PodUid, ReplicaName, short_hash
from statemachine.observations import (
    JobGone,
    JobObserved,
    Observation,
    PodGone,
    PodObserved,
    PodUnreadable,
)
from tests.support.bridges import Kept, LogOf
from tests.support.memory_cluster import MemoryCluster
from tests.unit.bridge.words import AT, job, pod, until

J1, P1, W0 = JobUid("j-1"), PodUid("p-1"), ReplicaName("worker-0")
JOB = job(uid="j-1")
ANOTHER = job(uid="j-2")
_NAMES = f"mnist-{short_hash(J1)}"
POD = pod(JOB, name=f"{_NAMES}-{W0}") | {"status": {"phase": "Running"}}
POD["metadata"]["uid"] = "p-1"
RUNNING = POD["status"]

Script = Sequence[Change | Synced | Exception]


Looked = list[dict[str, Any] | Exception | None]


class Scripted:
    """A cluster whose watches report what a test gives them; the last one then stays silent. So do its looks."""

    def __init__(self, *watches: Script, looks: Looked | None = None) -> None:
        self.watches, self.opened = list(watches), 0
        self._looks: Looked = [None] if looks is None else looks

    async def look(self, ref: Ref, uid: str) -> Sight:
        assert (ref.name, uid) == (POD["metadata"]["name"], P1)
        answer = self._looks.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Sight(answer, AT)

    async def watch(self) -> AsyncIterator[Change | Synced]:
        script = self.watches[self.opened]
        self.opened += 1
        for item in script:
            if isinstance(item, Exception):
                raise item
            yield item
        if self.opened == len(self.watches):
            await asyncio.Event().wait()


def place(_: PodGone) -> Ref:
    """Where the pod is, as the log has it."""
    return Ref.of(POD)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k8s_bridge.looking.AGAIN", 0.0)


def added(raw: dict[str, Any]) -> Change:
    return Change(Verb.ADDED, raw, AT)


@asynccontextmanager
async def following(
    *watches: Script,
    log: LogContext | None = None,
    signals: Signals | None = None,
    attended: Attended = EVERYTHING,
    silence: float | None = None,
    looks: Looked | None = None,
) -> AsyncIterator[tuple[list[Observation], list[float], Bridge]]:
    """What was observed and how long was waited, once the last watch has reported everything."""
    observations: list[Observation] = []
    waits: list[float] = []

    async def sink(observation: Observation) -> None:
        observations.append(observation)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    cluster = Scripted(*watches, looks=looks)
    bridge = Bridge(
        cast(Cluster, cluster),
        sink,
        log or NoLog(),
        signals or NoSignals(),
        silence,
        sleep,
        lambda: 0.0,
        attended,
    )
    task = asyncio.create_task(bridge.run())
    await until(lambda: cluster.opened == len(watches) and (bridge.progress.synced or not watches[-1]))
    try:
        yield observations, waits, bridge
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


KNOWN: Known = {J1: {(W0, 1): P1}}
GONE = [
    JobGone(job=J1, at=AT),
    PodGone(job=J1, at=AT, replica=W0, attempt=1, uid=P1),
]


async def test_what_exists_is_passed_on() -> None:
    async with following([added(JOB), added(POD), Synced(AT)]) as (observations, _, _):
        assert [type(observation) for observation in observations] == [JobObserved, PodObserved]


async def test_a_repeat_is_not_passed_on() -> None:
    written = {"resourceVersion": "90000", "managedFields": [{"time": "2024-01-09T15:00:59Z"}]}
    status_only = {**JOB, "metadata": {**JOB["metadata"], **written}, "status": {"phase": "Running"}}
    async with following([added(JOB), added(status_only), Synced(AT)]) as (observations, _, bridge):
        assert len(observations) == 1
        assert bridge.progress.skipped == 1


def workload(queue: str, uid: str = "w-1") -> dict[str, Any]:
    """The Workload that Kueue makes for the job."""
    meta = {**POD["metadata"], "name": f"pytorchtrainingjob-{uid}", "uid": uid}
    spec = {"queueName": queue}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": meta, "spec": spec}


async def test_a_workload_that_is_shown_before_its_job_is_reported_behind_it() -> None:
    early = (added(workload("a")), added(workload("b")), Synced(AT))
    async with following([*early, added(JOB), added(ANOTHER)]) as (observations, _, _):
        await until(lambda: "j-2" in [observation.job for observation in observations])
        assert [observation.job for observation in observations] == ["j-1", "j-1", "j-2"]
        assert getattr(observations[1], "queue", None) == "b"


async def test_a_workload_that_went_before_its_job_was_shown_is_nobody_s() -> None:
    early = (added(workload("a")), Change(Verb.DELETED, workload("a"), AT), Synced(AT))
    async with following([*early, added(JOB), added(ANOTHER)]) as (observations, _, _):
        await until(lambda: "j-2" in [observation.job for observation in observations])
        assert [observation.job for observation in observations] == ["j-1", "j-2"]


async def test_a_relevant_change_is_passed_on() -> None:
    changed = {**JOB, "spec": {"other": 1}}
    async with following([added(JOB), added(changed), Synced(AT)]) as (observations, _, _):
        assert len(observations) == 2


async def test_a_job_is_reported_with_its_version_and_when_that_was_written() -> None:
    times = [{"time": "2024-01-09T15:00:07Z"}, {"time": "2024-01-09T15:00:02Z"}]
    numbered, other = (
        {
            **JOB,
            "metadata": {**JOB["metadata"], "uid": uid, "resourceVersion": version, "managedFields": times},
        }
        for uid, version in (("j-1", "4711"), ("j-2", "opaque"))
    )
    async with following([added(numbered), added(other), Synced(AT)]) as (observations, _, _):
        jobs = [observation for observation in observations if isinstance(observation, JobObserved)]
        assert [job.version for job in jobs] == [4711, 0]
        assert {job.written_at for job in jobs} == {datetime(2024, 1, 9, 15, 0, 7, tzinfo=UTC)}


async def test_other_labels_are_news_and_their_order_is_not() -> None:
    some, turned = (
        {**JOB, "metadata": {**JOB["metadata"], "labels": wanted}}
        for wanted in ({"a": "1", "b": "2"}, {"b": "2", "a": "1"})
    )
    async with following([added(JOB), added(some), added(turned), Synced(AT)]) as (observations, _, bridge):
        assert [getattr(observation, "labels", None) for observation in observations] == [
            {},
            {"a": "1", "b": "2"},
        ]
        assert bridge.progress.skipped == 1


async def test_what_the_log_knows_and_nobody_lists_is_gone_jobs_first() -> None:
    async with following([Synced(AT)], log=LogOf(KNOWN)) as (observations, _, _):
        assert observations == GONE


async def test_what_the_log_knows_and_is_listed_is_passed_on() -> None:
    async with following([added(JOB), added(POD), Synced(AT)], log=LogOf(KNOWN)) as (observations, _, _):
        assert [type(observation) for observation in observations] == [JobObserved, PodObserved]


async def test_a_pod_that_was_never_observed_does_not_vanish() -> None:
    known: Known = {J1: {(W0, 1): PodUid("")}}
    async with following([added(JOB), Synced(AT)], log=LogOf(known)) as (observations, _, _):
        assert [type(observation) for observation in observations] == [JobObserved]


async def test_what_vanished_between_two_watches_is_gone() -> None:
    first: Script = [added(JOB), added(POD), Synced(AT), Expired("old")]
    async with following(first, [Synced(AT)]) as (observations, _, _):
        assert observations[2:] == GONE


async def test_what_changed_between_two_watches_is_passed_on_and_nothing_else() -> None:
    ended = {**POD, "status": {"phase": "Failed"}}
    first: Script = [added(JOB), added(POD), Synced(AT), Expired("old")]
    async with following(first, [added(JOB), added(ended), Synced(AT)]) as (observations, _, _):
        assert [type(observation) for observation in observations] == [JobObserved, PodObserved, PodObserved]


async def test_what_was_observed_to_go_does_not_vanish_again() -> None:
    gone = Change(Verb.DELETED, POD, AT)
    first: Script = [added(POD), Synced(AT), gone, Expired("old")]
    async with following(first, [Synced(AT)]) as (observations, _, _):
        assert [type(observation) for observation in observations] == [PodObserved, PodGone]


async def test_a_job_that_is_deleted_slowly_is_gone_when_it_is() -> None:
    marked = job(uid="j-1", deletionTimestamp="2024-01-09T15:24:26Z")
    script: Script = [added(JOB), Synced(AT), added(marked), Change(Verb.DELETED, marked, AT)]
    async with following(script) as (observations, _, _):
        await until(lambda: len(observations) == 3)
        assert [type(observation) for observation in observations] == [JobObserved, JobObserved, JobGone]


async def test_waits_double_until_a_watch_is_synced() -> None:
    lost: Script = [ClusterUnavailable("away")]
    synced: Script = [Synced(AT), Expired("old")]
    async with following(lost, lost, lost, synced, [Synced(AT)]) as (_, waits, bridge):
        assert waits == [0.1, 0.2, 0.4, 0.1]
        assert bridge.progress.starts == 5


async def test_the_servers_wish_to_wait_longer_is_obeyed() -> None:
    async with following([ClusterUnavailable("busy", retry_after=7.0)], [Synced(AT)]) as (_, waits, _):
        assert waits == [7.0]


async def test_a_silent_watch_is_opened_again() -> None:
    class Silent(Scripted):
        async def watch(self) -> AsyncIterator[Change | Synced]:
            self.opened += 1
            await asyncio.Event().wait()
            yield Synced(AT)

    async def sink(_: Observation) -> None:
        raise AssertionError

    cluster = Silent([])
    bridge = Bridge(cast(Cluster, cluster), sink, silence=0.01, chance=lambda: 0.0)
    task = asyncio.create_task(bridge.run())
    await until(lambda: cluster.opened >= 2)
    task.cancel()


async def test_a_watch_that_shows_life_is_waited_for_and_opened_again_when_it_shows_none() -> None:
    class Quiet(Scripted):
        asked, alive = 0, True

        async def watch(self) -> AsyncIterator[Change | Synced]:
            self.opened += 1
            await asyncio.Event().wait()
            yield Synced(AT)

        def signs_of_life(self) -> object:
            self.asked += 1
            return self.asked if self.alive else None

    async def sink(_: Observation) -> None:
        raise AssertionError

    cluster = Quiet([])
    bridge = Bridge(cast(Cluster, cluster), sink, silence=0.01, chance=lambda: 0.0)
    task = asyncio.create_task(bridge.run())
    await until(lambda: cluster.asked >= 5)
    assert cluster.opened == 1
    cluster.alive = False
    await until(lambda: cluster.opened >= 2)
    assert bridge.progress.error == "the watch was silent for 0.01 s"
    task.cancel()


async def test_a_bridge_that_is_stopped_as_its_watch_ends_leaves_no_error_that_nobody_asked_for() -> None:
    ending, errors = asyncio.Event(), list[str]()
    running: list[asyncio.Task[None]] = []

    class Ending(Scripted):
        async def watch(self) -> AsyncIterator[Change | Synced]:
            self.opened += 1
            await ending.wait()
            if running[0].cancel():
                raise Expired("too old")
            yield Synced(AT)

    async def sink(_: Observation) -> None:
        raise AssertionError

    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["message"]))
    cluster = Ending([])
    bridge = Bridge(cast(Cluster, cluster), sink, silence=60.0)
    running.append(asyncio.create_task(bridge.run()))
    await until(lambda: cluster.opened == 1)
    ending.set()
    await asyncio.wait(running)
    assert running.pop().cancelled()  # what holds it holds what it was cancelled in
    gc.collect()
    assert not errors


async def test_an_error_of_the_sink_ends_the_bridge() -> None:
    async def sink(_: Observation) -> None:
        raise TimeoutError("the sink's own")

    bridge = Bridge(cast(Cluster, Scripted([added(JOB)])), sink)
    with pytest.raises(TimeoutError, match="the sink's own"):
        await bridge.run()


async def test_a_bridge_follows_a_real_cluster_through_dropped_watches() -> None:
    cluster, observations = MemoryCluster(), list[Observation]()

    async def sink(observation: Observation) -> None:
        observations.append(observation)

    bridge = Bridge(cluster, sink, chance=lambda: 0.0)
    task = asyncio.create_task(bridge.run())
    owner = await cluster.create(job())
    await until(lambda: bridge.progress.synced)
    cluster.drop_watches()
    name = f"mnist-{short_hash(owner['metadata']['uid'])}-{W0}"
    await cluster.create(pod(owner, name=name, run_seconds="0", start_seconds="0"))
    await until(lambda: any(getattr(observation, "phase", "") == "Succeeded" for observation in observations))
    task.cancel()
    await cluster.close()


def test_backoff_doubles_up_to_its_most() -> None:
    waits = [backoff(attempt, first=1.0, most=10.0, chance=lambda: 0.0) for attempt in (1, 2, 3, 4, 5, 500)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


def test_backoff_is_spread_by_chance() -> None:
    chances: Iterator[float] = iter((0.0, 0.999))
    few, many = (backoff(3, first=1.0, chance=lambda: next(chances)) for _ in range(2))
    assert few == 2.0
    assert 3.9 < many < 4.0


def written(second: int, phase: str, at: datetime = AT) -> Change:
    """The pod as the API server had it from that second on, observed at `at`."""
    managers = [{"manager": "kubelet", "operation": "Update", "time": f"2024-01-09T15:00:{second:02}Z"}]
    meta = {**POD["metadata"], "managedFields": managers}
    return Change(Verb.MODIFIED, {**POD, "metadata": meta, "status": {"phase": phase}}, at)


async def test_a_late_report_of_an_older_version_does_not_hide_that_the_pod_is_so_again() -> None:
    reports: Script = [
        added(JOB),
        written(9, "Lost in space"),
        written(8, "Running"),
        written(40, "Running"),
        Synced(AT),
    ]
    async with following(reports) as (observations, _, bridge):
        assert [type(observation) for observation in observations[1:]] == [
            PodUnreadable,
            PodObserved,
            PodObserved,
        ]
        assert bridge.progress.skipped == 0


async def test_a_late_report_within_the_same_second_does_not_hide_that_the_pod_is_so_again() -> None:
    """Seed 475: the version before arrives a second time, behind the one that cannot be read."""
    reports: Script = [
        added(JOB),
        written(9, "Lost in space", AT + timedelta(seconds=0.8)),
        written(9, "Running", AT + timedelta(seconds=0.7)),
        written(40, "Running", AT + timedelta(seconds=30)),
        Synced(AT),
    ]
    async with following(reports) as (observations, _, bridge):
        assert [type(report) for report in observations[1:]] == [PodUnreadable, PodObserved, PodObserved]
        assert bridge.progress.skipped == 0


async def test_a_report_under_a_clock_that_was_put_back_is_passed_on_again_though_it_may_be_the_last() -> (
    None
):
    """Whether `Running` or `Pending` is the later of the second cannot be known."""
    back = AT - timedelta(seconds=30)
    reports: Script = [
        added(JOB),
        written(9, "Pending"),
        written(9, "Running", back),
        written(9, "Pending", back + timedelta(seconds=1)),
        written(40, "Pending", back + timedelta(seconds=31)),
        written(41, "Pending", back + timedelta(seconds=32)),
        Synced(AT),
    ]
    async with following(reports) as (observations, _, bridge):
        phases = [report.phase for report in observations if isinstance(report, PodObserved)]
        assert phases == ["Pending", "Running", "Pending", "Pending"]
        assert bridge.progress.skipped == 1


async def test_a_pod_stays_the_replica_that_it_was_first_observed_as() -> None:
    """Labels and annotations can be edited."""
    labels = {**POD["metadata"]["labels"], "replica-index": "7"}
    edited = {**POD, "metadata": {**POD["metadata"], "labels": labels}, "status": {"phase": "Failed"}}
    async with following([added(JOB), added(POD), added(edited), Synced(AT)]) as (observations, _, _):
        pods = [observation for observation in observations if isinstance(observation, PodObserved)]
        assert [(observation.replica, observation.phase) for observation in pods] == [
            (W0, "Running"),
            (W0, "Failed"),
        ]


async def test_a_pod_stays_the_attempt_that_it_was_first_observed_as() -> None:
    edited = {
        **POD,
        "metadata": {**POD["metadata"], "annotations": {ATTEMPT: "5"}},
        "status": {"phase": "Failed"},
    }
    async with following([added(JOB), added(POD), added(edited), Synced(AT)]) as (observations, _, _):
        pods = [observation for observation in observations if isinstance(observation, PodObserved)]
        assert [(observation.attempt, observation.phase) for observation in pods] == [
            (1, "Running"),
            (1, "Failed"),
        ]


async def test_jobs_that_are_not_attended_are_not_spoken_of() -> None:
    attended = Attended(namespaces=("elsewhere",))
    async with following([added(JOB), Synced(AT)], attended=attended) as (observations, _, _):
        assert observations == []


@pytest.mark.parametrize(
    ("known", "listing", "says"),
    [
        ("", True, True),
        ("", False, True),
        ("PyTorchTrainingJob", True, True),
        ("PyTorchTrainingJob", False, False),
    ],
)
async def test_the_status_of_a_job_is_reported_where_the_log_may_have_lost_it(
    known: str, listing: bool, says: bool
) -> None:
    ended = {**JOB, "status": {"phase": "Succeeded"}}
    script: Script = [added(ended), Synced(AT)] if listing else [Synced(AT), added(ended)]
    async with following(script, log=LogOf(kind_of=lambda _: known)) as (observations, _, _):
        await until(lambda: bool(observations))
        (observation,) = observations
        assert isinstance(observation, JobObserved)
        assert (observation.recorded is not None) is says


async def test_a_pod_that_lost_its_controller_is_not_gone_but_looked_at() -> None:
    """It may be taken back."""
    signals = Kept()
    stripped = {**POD, "metadata": {**POD["metadata"], "ownerReferences": []}}
    script: Script = [added(JOB), added(POD), added(stripped), Synced(AT)]
    async with following(script, signals=signals) as (observations, _, _):
        assert [observation for observation in observations if isinstance(observation, PodGone)] == []
        assert signals.jobs == [J1]


def over(*finalizers: str, **labels: str) -> dict[str, Any]:
    """The pod after the last step of its node; with the labels of its replica, but for `labels`."""
    meta = {**POD["metadata"], "deletionTimestamp": stamp(AT), "deletionGracePeriodSeconds": 0}
    meta["labels"] = {**meta["labels"], **labels}
    return {**POD, "metadata": {**meta, "finalizers": list(finalizers)}}


@pytest.mark.parametrize(
    ("form", "verb", "is_signalled"),
    [
        (over(EVIDENCE), Verb.MODIFIED, True),
        (over("example.com/other"), Verb.MODIFIED, False),
        (over(), Verb.DELETED, False),
        ({**POD, "metadata": {**POD["metadata"], "finalizers": [EVIDENCE]}}, Verb.MODIFIED, False),
    ],
    ids=["held", "held by others", "gone", "alive"],
)
async def test_a_visit_is_asked_for_at_once_where_a_pod_that_is_held_goes_and_not_where_its_report_will_do(
    form: dict[str, Any], verb: Verb, is_signalled: bool
) -> None:
    signals = Kept()
    script: Script = [added(JOB), added(POD), Synced(AT), Change(verb, form, AT)]
    async with following(script, signals=signals) as (_, _, bridge):
        await until(lambda: bridge.progress.changes == 3)
        assert signals.jobs == ([J1] if is_signalled else [])


def child(kind: str, **more: Any) -> dict[str, Any]:
    """An object of the job that is no pod."""
    meta = POD["metadata"]
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {**meta, "name": "child", "uid": "c-1", "finalizers": []},
        **more,
    }


@pytest.mark.parametrize(
    ("form", "verb", "is_signalled"),
    [
        (child("ConfigMap", data={"hostfile": "nobody"}), Verb.MODIFIED, True),
        (child("Service", status={"loadBalancer": {}}), Verb.MODIFIED, True),
        (child("Service", status={"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}), Verb.MODIFIED, False),
        (child("ConfigMap"), Verb.ADDED, False),
        (child("ConfigMap"), Verb.DELETED, True),
    ],
    ids=["changed", "changed, with an empty status", "reported on", "new", "gone"],
)
async def test_a_visit_is_asked_for_where_somebody_changes_what_a_child_says(
    form: dict[str, Any], verb: Verb, is_signalled: bool
) -> None:
    signals = Kept()
    script: Script = [added(JOB), Synced(AT), Change(verb, form, AT)]
    async with following(script, signals=signals) as (_, _, bridge):
        await until(lambda: bridge.progress.changes == 2)
        assert signals.jobs == ([J1] if is_signalled else [])


async def test_that_a_pod_is_gone_which_is_no_replica_is_signalled_as_nothing_is_reported_of_it() -> None:
    """It may have had the name of one."""
    signals = Kept()
    form = over(**dict.fromkeys(POD["metadata"]["labels"], "other"))
    script: Script = [added(JOB), added(form), Synced(AT), Change(Verb.DELETED, form, AT)]
    async with following(script, signals=signals) as (observations, _, bridge):
        await until(lambda: bridge.progress.changes == 3)
        assert (len(observations), signals.jobs) == (1, [J1])


def bare(**more: Any) -> dict[str, Any]:
    """The pod without labels and owner."""
    meta = {key: value for key, value in POD["metadata"].items() if key not in ("labels", "ownerReferences")}
    return {**POD, "metadata": meta, **more}


ENDED = {
    "phase": "Failed",
    "containerStatuses": [{"name": "pytorch", "state": {"terminated": {"exitCode": 7}}}],
}


async def test_a_pod_that_is_known_stays_its_replica_without_labels_and_owner() -> None:
    async with following([added(JOB), added(POD), added(bare(status=ENDED)), Synced(AT)]) as (
        observations,
        _,
        _,
    ):
        end = observations[-1]
        assert isinstance(end, PodObserved)
        assert (end.job, end.replica, end.containers[0].exit_code) == (J1, W0, 7)


async def test_the_end_of_a_pod_that_was_stripped_is_reported_when_it_goes() -> None:
    last = bare(status=ENDED)
    last["metadata"] = {**last["metadata"], "deletionTimestamp": "2024-01-09T15:00:00Z"}
    script: Script = [added(JOB), added(POD), Synced(AT), Change(Verb.DELETED, last, AT)]
    async with following(script) as (observations, _, _):
        await until(lambda: isinstance(observations[-1], PodGone))
        assert [type(observation) for observation in observations] == [
            JobObserved,
            PodObserved,
            PodObserved,
            PodGone,
        ]


async def test_a_pod_that_a_watch_by_labels_shows_no_more_is_looked_at_until_it_ends() -> None:
    looks: Looked = [bare(status=RUNNING), ClusterUnavailable("away"), bare(status=ENDED), None]
    script: Script = [added(JOB), added(POD), Synced(AT), Change(Verb.DELETED, POD, AT)]
    signals = Kept()
    async with following(script, looks=looks, log=LogOf(place_of=place), signals=signals) as (
        observations,
        _,
        _,
    ):
        await until(lambda: isinstance(observations[-1], PodGone))
        phases = [observation.phase for observation in observations if isinstance(observation, PodObserved)]
        assert phases == ["Running", "Failed"]
        assert len([observation for observation in observations if isinstance(observation, PodGone)]) == 1
        assert set(signals.jobs) == {J1}


async def test_a_pod_that_the_log_knows_and_no_list_shows_is_looked_at_before_it_is_gone() -> None:
    script: Script = [added(JOB), Synced(AT)]
    looks: Looked = [Refused(403, "Forbidden", "no"), bare(status=ENDED), None]
    async with following(script, looks=looks, log=LogOf(KNOWN, place_of=place)) as (observations, _, bridge):
        assert bridge.progress.synced  # it is not waited for
        await until(lambda: isinstance(observations[-1], PodGone))
        _, end, gone = observations
        assert isinstance(end, PodObserved)
        assert (end.uid, end.attempt, end.phase) == (P1, 1, "Failed")
        assert isinstance(gone, PodGone)


async def test_a_pod_whose_labels_were_edited_before_its_first_report_is_reported_when_they_are_back() -> (
    None
):
    """A first report as another replica's would hold for good."""
    edited = {
        **POD,
        "metadata": {**POD["metadata"], "labels": {**POD["metadata"]["labels"], "replica-index": "1"}},
    }
    signals, log = Kept(), LogOf(pod_name=lambda _, replica: f"{_NAMES}-{replica}")
    script: Script = [added(JOB), added(edited), Change(Verb.MODIFIED, POD, AT), Synced(AT)]
    async with following(script, log=log, signals=signals) as (observations, _, _):
        assert [
            observation.replica for observation in observations if isinstance(observation, PodObserved)
        ] == [W0]
        assert signals.jobs == [J1]


async def test_the_name_of_a_pod_is_compared_with_its_replica_s_until_the_log_has_its_job() -> None:
    asked: list[ReplicaName] = []

    def pod_name(_: JobUid, replica: ReplicaName) -> str:
        asked.append(replica)
        return f"{_NAMES}-{replica}"

    again = [Change(Verb.MODIFIED, POD, AT)] * 5
    script: Script = [added(JOB), added(POD), *again, Synced(AT)]
    async with following(script, log=LogOf(pod_name=pod_name)):
        assert asked == [W0] * 6  # the log does not have the job
    asked.clear()
    log = LogOf(pod_name=pod_name, kind_of=lambda _: "PyTorchTrainingJob")
    async with following(script, log=log):
        assert asked == [W0] * 2


async def test_the_end_of_a_pod_whose_labels_were_edited_before_its_first_report_is_not_another_s() -> None:
    edited = {
        **POD,
        "metadata": {**POD["metadata"], "labels": {**POD["metadata"]["labels"], "replica-index": "1"}},
    }
    log = LogOf(pod_name=lambda _, replica: f"{_NAMES}-{replica}")
    async with following([added(JOB), Synced(AT), Change(Verb.DELETED, edited, AT)], log=log) as (
        observations,
        _,
        _,
    ):
        assert [type(observation) for observation in observations] == [JobObserved]


async def test_a_pod_that_no_list_shows_is_looked_at_although_the_log_does_not_have_it_yet() -> None:
    """Its labels were taken away, the watch began anew, and what was reported of it is on its way to the log."""
    first: Script = [added(JOB), added(POD), Synced(AT), Expired("410")]
    looks: Looked = [bare(status=ENDED), None]
    async with following(first, [added(JOB), Synced(AT)], looks=looks, log=LogOf()) as (heard, _, _):
        await until(lambda: isinstance(heard[-1], PodGone))
        phases = [observation.phase for observation in heard if isinstance(observation, PodObserved)]
        assert phases == ["Running", "Failed"]


async def test_a_pod_whose_labels_were_edited_before_the_log_had_it_is_looked_at_when_the_log_has() -> None:
    labels = {**POD["metadata"]["labels"], "replica-index": "1"}
    edited = {**POD, "metadata": {**POD["metadata"], "labels": labels}}
    log = LogOf(place_of=place, pod_name=lambda _, replica: f"{_NAMES}-{replica}")
    script: Script = [added(JOB), added(edited), Synced(AT)]
    looks: Looked = [{**edited, "status": ENDED}]
    async with following(script, looks=looks, log=log, silence=600.0) as (heard, _, bridge):
        assert [type(observation) for observation in heard] == [JobObserved]
        log.jobs = KNOWN
        (pod,) = bridge.missing().values()
        assert isinstance(pod, PodGone)
        bridge.look_for(pod)
        assert bridge.missing() == {}
        await until(lambda: len(heard) > 1)
        (end,) = heard[1:]
        assert isinstance(end, PodObserved)
        assert (end.uid, end.replica, end.attempt, end.phase) == (P1, W0, 1, "Failed")


async def test_a_pod_that_has_its_labels_again_is_left_to_the_watches() -> None:
    looks: Looked = [POD]
    script: Script = [added(JOB), Synced(AT)]
    async with following(script, looks=looks, log=LogOf(KNOWN, place_of=place)) as (observations, _, bridge):
        await until(lambda: isinstance(observations[-1], PodObserved))
        assert not bridge._looks


async def test_a_pod_out_of_sight_that_the_log_counts_no_more_is_not_looked_at_for_ever() -> None:
    asked = iter([place])
    looks: Looked = [bare(status=RUNNING), bare(status=RUNNING)]

    def place_of(gone: PodGone) -> Ref | None:
        answer = next(asked, None)
        return answer(gone) if answer else None

    async with following(
        [added(JOB), Synced(AT)], looks=looks, log=LogOf(KNOWN, place_of=place_of)
    ) as followed:
        observations, _, bridge = followed
        await until(lambda: not bridge._looks and not looks)
        assert PodGone not in {type(observation) for observation in observations}


@pytest.mark.parametrize(
    "last",
    [
        {"metadata": {"deletionTimestamp": "2024-01-09T15:00:00Z", "deletionGracePeriodSeconds": 0}},
        {"metadata": {"deletionTimestamp": "2024-01-09T15:00:00Z"}, "status": ENDED},
    ],
)
async def test_a_pod_that_was_observed_to_go_is_not_looked_at(last: dict[str, Any]) -> None:
    gone = {**POD, **last, "metadata": {**POD["metadata"], **last["metadata"]}}
    script: Script = [added(JOB), added(POD), Synced(AT), Change(Verb.DELETED, gone, AT)]
    looks: Looked = [bare(status=RUNNING)]
    async with following(script, looks=looks, log=LogOf(place_of=place)) as (observations, _, _):
        await until(lambda: isinstance(observations[-1], PodGone))
        assert len(looks) == 1


async def test_a_pod_that_went_with_its_job_is_not_looked_at() -> None:
    looks: Looked = [bare(status=RUNNING)]
    async with following([Synced(AT)], looks=looks, log=LogOf(KNOWN, place_of=place)) as (observations, _, _):
        assert [type(observation) for observation in observations] == [JobGone, PodGone]
        assert len(looks) == 1


async def test_a_pod_that_somebody_else_controls_now_is_gone() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "x", "controller": True}
    taken = {**POD, "metadata": {**POD["metadata"], "ownerReferences": [owner]}}
    async with following([added(JOB), added(POD), added(taken), Synced(AT)]) as (observations, _, _):
        assert [observation.uid for observation in observations if isinstance(observation, PodGone)] == [P1]
