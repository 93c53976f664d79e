"""A bridge whose log is behind: pods wait until it has their jobs, as only then their labels can be checked."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import pytest

from k8s_bridge.attended import EVERYTHING, Attended
from k8s_bridge.port import Change, Cluster, Manifest, Ref, Sight, Synced, Verb
from k8s_bridge.watchers import Bridge
from statemachine.errors import Expired
from statemachine.ids import JobUid, ReplicaName
from statemachine.observations import JobGone, JobObserved, Observation, PodGone, PodObserved
from tests.support.bridges import Kept, LogOf
from tests.support.simulated import on_simulated_time
from tests.unit.bridge.words import AT, job, pod, until

HOUR = 3600.0
"""Simulated seconds in which whatever is going to happen happens."""

J1, J2 = JobUid("j-1"), JobUid("j-2")
JOB = job(uid=J1)
KUBEFLOW: Manifest = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "other", "namespace": "demo", "uid": J2},
    "spec": {},
}

GONE = job("gone", uid="j-3")


def pod_of(owner: Manifest, index: int = 0, *, shown_as: str = "", **more: Any) -> Manifest:
    """The running pod `worker-<index>` of the job; its label says `shown_as`, if somebody edited that."""
    manifest = pod(owner, name=f"{owner['metadata']['name']}-worker-{index}", replica=("worker", index))
    manifest["metadata"]["uid"] = f"p-{owner['metadata']['uid']}-{index}"
    if shown_as:
        manifest["metadata"]["labels"]["replica-index"] = shown_as
    return {**manifest, "status": {"phase": "Running"}, **more}


class LateLog:
    """What a log says that gets each job when the test says so; pods have the names of `pod_of`."""

    def __init__(self) -> None:
        self.names: dict[JobUid, str] = {}

    def context(self) -> LogOf:
        """The log as a bridge asks it."""
        return LogOf(
            kind_of=lambda uid: "PyTorchTrainingJob" if uid in self.names else "",
            awaits=lambda uid: uid not in self.names,
            pod_name=lambda uid, replica: f"{self.names[uid]}-{replica}" if uid in self.names else "",
        )


class Watched:
    """A cluster whose watches show what a test puts into `items`; `there` is what looks show, by uid."""

    def __init__(self) -> None:
        self.items: asyncio.Queue[Change | Synced | Exception] = asyncio.Queue()
        self.there: dict[str, Manifest] = {}
        self.opened, self.looks = 0, 0

    async def watch(self) -> AsyncIterator[Change | Synced]:
        self.opened += 1
        while True:
            item = await self.items.get()
            if isinstance(item, Exception):
                raise item
            yield item

    async def look(self, _: Ref, uid: str) -> Sight:
        self.looks += 1
        return Sight(self.there.get(uid), AT)


class Story:
    """A bridge that follows a `cluster`, with a log that is behind."""

    def __init__(self, cluster: Watched, log: LateLog, attended: Attended) -> None:
        self.cluster, self.log, self.signals = cluster, log, Kept()
        self.reports: list[Observation] = []
        self.bridge = Bridge(
            cast(Cluster, cluster),
            self._sink,
            log.context(),
            self.signals,
            sleep=self._sleep,
            chance=lambda: 0.0,
            attended=attended,
        )
        self._put = 0

    async def _sink(self, observation: Observation) -> None:
        self.reports.append(observation)

    async def _sleep(self, _: float) -> None:
        await asyncio.sleep(0)

    async def show(self, *items: Manifest | Change | Synced | Exception) -> None:
        """The watch shows these (an object: as added), and the bridge has taken the changes among them."""
        for item in items:
            shown = item if isinstance(item, Change | Synced | Exception) else Change(Verb.ADDED, item, AT)
            self._put += isinstance(shown, Change)
            self.cluster.items.put_nowait(shown)
        await until(lambda: self.cluster.items.empty() and self.bridge.progress.changes == self._put)

    async def reads(self, *jobs: Manifest) -> None:
        """The log is read up to the first entries of these jobs, and the bridge has taken that in."""
        for manifest in jobs:
            self.log.names[JobUid(manifest["metadata"]["uid"])] = manifest["metadata"]["name"]
        self.bridge.log_grew()
        await until(lambda: self.log.names.keys().isdisjoint(self.bridge._early.jobs))
        await asyncio.sleep(0)

    def pods(self) -> list[tuple[str, str]]:
        """What was reported of pods: the replica, and the phase or that it is gone."""
        return [
            (report.replica, report.phase if isinstance(report, PodObserved) else "gone")
            for report in self.reports
            if isinstance(report, PodObserved | PodGone)
        ]


@asynccontextmanager
async def behind(
    attended: Attended = EVERYTHING, cluster: Watched | None = None, log: LateLog | None = None
) -> AsyncIterator[Story]:
    """A bridge that watches, and whose log has no job yet."""
    story = Story(cluster or Watched(), log or LateLog(), attended)
    task = asyncio.create_task(story.bridge.run())
    try:
        yield story
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@on_simulated_time
async def test_a_pod_is_reported_when_the_log_has_its_job_and_nothing_more_is_shown() -> None:
    async with behind() as story:
        await story.show(JOB, pod_of(JOB), Synced(AT))
        assert [type(report) for report in story.reports] == [JobObserved]
        await story.reads(JOB)
        assert story.pods() == [("worker-0", "Running")]


@on_simulated_time
async def test_a_pod_whose_labels_were_edited_is_no_other_replica_and_reported_when_they_are_back() -> None:
    async with behind() as story:
        await story.show(JOB, pod_of(JOB, shown_as="1"), pod_of(JOB, 1), Synced(AT))
        await story.reads(JOB)
        assert story.pods() == [("worker-1", "Running")]
        assert story.signals.jobs == [J1]  # its projector puts the labels back
        await story.show(Change(Verb.MODIFIED, pod_of(JOB), AT))
        assert story.pods() == [("worker-1", "Running"), ("worker-0", "Running")]


@pytest.mark.parametrize("edited", ["1", "another"])
@on_simulated_time
async def test_a_pod_whose_labels_are_back_before_the_log_has_its_job_is_reported_though_no_change_follows(
    edited: str,
) -> None:
    async with behind() as story:
        await story.show(
            JOB, pod_of(JOB, shown_as=edited), Synced(AT), Change(Verb.MODIFIED, pod_of(JOB), AT)
        )
        await story.reads(JOB)
        assert story.pods() == [("worker-0", "Running")]


@on_simulated_time
async def test_the_end_of_a_pod_that_is_gone_before_the_log_has_its_job_is_not_lost() -> None:
    last = pod_of(JOB, status={"phase": "Failed"})
    last["metadata"]["deletionTimestamp"] = "2024-01-09T15:00:00Z"
    async with behind() as story:
        await story.show(JOB, pod_of(JOB), Synced(AT), Change(Verb.DELETED, last, AT))
        await story.reads(JOB)
        assert story.pods() == [("worker-0", "Failed"), ("worker-0", "gone")]


@on_simulated_time
async def test_pods_of_a_job_that_is_deleted_before_the_log_has_it_do_not_wait_for_ever() -> None:
    gone = pod_of(JOB, 1)
    async with behind() as story:
        await story.show(JOB, pod_of(JOB), gone, Synced(AT), Change(Verb.DELETED, JOB, AT))
        await story.show(Change(Verb.DELETED, gone, AT))
        assert len(story.bridge._early) == 0
        await story.reads(JOB)
        assert [type(report) for report in story.reports] == [JobObserved, JobGone]


@on_simulated_time
async def test_pods_that_vanish_with_their_job_between_two_watches_do_not_wait_for_ever() -> None:
    async with behind() as story:
        await story.show(JOB, pod_of(JOB), Synced(AT), Expired("old"), Synced(AT))
        await until(lambda: len(story.bridge._early) == 0)
        assert [type(report) for report in story.reports] == [JobObserved, JobGone]
        assert story.cluster.looks == 0


@on_simulated_time
async def test_a_pod_that_vanishes_between_two_watches_is_looked_at_and_its_end_is_not_lost() -> None:
    ended = pod_of(JOB, 1, status={"phase": "Failed"})
    async with behind() as story:
        await story.show(JOB, pod_of(JOB), ended, Synced(AT))
        story.cluster.there[pod_of(JOB)["metadata"]["uid"]] = pod_of(JOB)  # a list was late
        await story.show(Expired("old"), JOB, Synced(AT))
        await until(lambda: story.cluster.looks == 2 and not story.bridge._looks)
        await story.reads(JOB)
        assert sorted(story.pods()) == [("worker-0", "Running"), ("worker-1", "Failed"), ("worker-1", "gone")]


@on_simulated_time
async def test_a_pod_that_loses_its_owner_before_the_log_has_its_job_stays_its_replica() -> None:
    """It may be taken back."""
    stripped = pod_of(JOB)
    del stripped["metadata"]["ownerReferences"]
    async with behind() as story:
        await story.show(JOB, pod_of(JOB), Synced(AT), Change(Verb.MODIFIED, stripped, AT))
        await story.reads(JOB)
        assert story.pods() == [("worker-0", "Running")]
        await story.show(Change(Verb.MODIFIED, {**stripped, "status": {"phase": "Failed"}}, AT))
        assert story.pods() == [("worker-0", "Running"), ("worker-0", "Failed")]


@on_simulated_time
async def test_each_job_s_pods_wait_for_that_job_whatever_its_kind() -> None:
    async with behind() as story:
        await story.show(JOB, KUBEFLOW, pod_of(JOB), pod_of(KUBEFLOW, 3), pod_of(JOB, 1), Synced(AT))
        await story.reads(KUBEFLOW)
        assert story.pods() == [("worker-3", "Running")]
        await story.reads(JOB)
        assert story.pods() == [("worker-3", "Running"), ("worker-0", "Running"), ("worker-1", "Running")]


@pytest.mark.parametrize(
    ("owner", "attended"),
    [
        (JOB, Attended(namespaces=("elsewhere",))),
        (KUBEFLOW, Attended(opted_in={})),
        ({**JOB, "kind": "NewTrainingJob"}, EVERYTHING),
    ],
    ids=["another namespace", "a kind that is not switched on", "a kind that is not known"],
)
@on_simulated_time
async def test_a_pod_of_a_job_that_the_log_never_gets_from_here_does_not_wait(
    owner: Manifest, attended: Attended
) -> None:
    async with behind(attended) as story:
        await story.show(pod_of(owner), Synced(AT))
        assert len(story.bridge._early) == 0
        assert story.pods() == [("worker-0", "Running")]


@on_simulated_time
async def test_a_pod_of_a_kind_that_cannot_be_listed_waits_until_the_pod_is_gone_or_the_log_has_the_job() -> (
    None
):
    withheld = Synced(AT, withheld=frozenset({"PyTorchTrainingJob"}))
    async with behind() as story:
        await story.show(pod_of(JOB), pod_of(JOB, 1), withheld)
        await story.show(Change(Verb.DELETED, pod_of(JOB, 1), AT))
        assert len(story.bridge._early) == 1
        await story.show(JOB)
        await story.reads(JOB)
        assert story.pods() == [("worker-0", "Running")]


@on_simulated_time
async def test_pods_beyond_the_most_that_wait_are_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k8s_bridge.early.MOST", 2)
    pods: Sequence[Manifest] = [pod_of(JOB, index) for index in range(4)]
    async with behind() as story:
        await story.show(JOB, KUBEFLOW, GONE, pod_of(KUBEFLOW), *pods, pod_of(GONE), Synced(AT))
        await story.reads(KUBEFLOW)
        await asyncio.sleep(HOUR)
        assert story.cluster.opened == 1  # none of its pods was left out
        await story.show(Change(Verb.DELETED, GONE, AT))
        await story.reads(GONE)
        await asyncio.sleep(HOUR)
        assert story.cluster.opened == 1  # none of its pods exists any more
        await story.reads(JOB)
        await until(lambda: story.cluster.opened == 2)
        await story.show(JOB, KUBEFLOW, pod_of(KUBEFLOW), *pods, Synced(AT))
        assert sorted(story.pods()) == [
            (ReplicaName(f"worker-{index}"), "Running") for index in (0, 0, 1, 2, 3)
        ]
        assert story.cluster.opened == 2


@on_simulated_time
async def test_a_bridge_that_starts_anew_while_pods_wait_reports_them_once() -> None:
    cluster, log = Watched(), LateLog()
    async with behind(cluster=cluster, log=log) as story:
        await story.show(JOB, pod_of(JOB, shown_as="1"), Synced(AT))
        assert len(story.bridge._early) == 1
    async with behind(cluster=cluster, log=log) as story:
        await story.show(JOB, pod_of(JOB), Synced(AT))
        assert story.pods() == []
        await story.reads(JOB)
        assert story.pods() == [("worker-0", "Running")]


@on_simulated_time
async def test_what_is_read_before_a_pod_is_shown_makes_nothing_wait() -> None:
    async with behind() as story:
        await story.reads(JOB)
        await story.show(JOB, pod_of(JOB), Synced(AT))
        assert len(story.bridge._early) == 0
        assert story.pods() == [("worker-0", "Running")]
