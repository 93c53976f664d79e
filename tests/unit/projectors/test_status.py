"""The status projector: a write for every change, and what is done about other people's statuses."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from itertools import groupby
from typing import Any, cast

import pytest

from k8s_bridge.port import Cluster, Ref
from projectors import status
from projectors.leisure import Rush
from projectors.status import MOST_KEPT, Status
from projectors.workqueue import WorkQueue
from statemachine.errors import ClusterUnavailable, Missing, Refused
from statemachine.evolve import fold
from statemachine.ids import JobUid, Seq
from statemachine.redact import redacted
from statemachine.state import JobState
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import UID, Story, workers
from tests.support.seeds import seeds
from tests.support.simulated import run_simulated

FOREIGN = {"phase": "Succeeded", "written": "by a user"}


class One:
    """The states of a log with one job."""

    def __init__(self, story: Story) -> None:
        self.story = story

    def state(self, _: JobUid) -> JobState | None:
        return self.story.state

    def seq(self, _: JobUid) -> Seq:
        return Seq(len(self.story.entries))

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> None:
        return None

    async def fresh(self, _: JobUid) -> None:
        raise AssertionError


class Written:
    """A cluster's only job: its status, and all that was written to it. What is shown is announced a moment later."""

    def __init__(self) -> None:
        self.status: Mapping[str, Any] = {}
        self.writes: list[Mapping[str, Any]] = []
        self.tell: Callable[[Mapping[str, Any]], None] = lambda _: None
        self.seqs: list[int] = []
        self.errors: list[Exception] = []
        self.takes_writes = True

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        assert (ref.namespace, ref.name, uid) == ("demo", "mnist", UID)
        self.seqs.append(seq)
        await asyncio.sleep(0.01)
        if self.errors:
            raise self.errors.pop(0)
        self.writes.append(status)
        if self.takes_writes:
            self.show(status)

    def show(self, status: Mapping[str, Any]) -> None:
        """The object has this status, as the watch says a moment later."""
        self.status = status
        asyncio.get_running_loop().call_later(0.02, self.tell, status)


class Life:
    """The projector and its queue, on simulated time."""

    def __init__(self, story: Story | None = None) -> None:
        self.story = story or Story(workers(2)).submit()
        self.cluster = Written()
        self._noted, self._state = 0, JobState(uid=UID)
        self.rush = Rush()
        self.projector = Status(One(self.story), cast(Cluster, self.cluster), self.rush)
        self.queue = WorkQueue("status", self.projector.visit, 1, random.Random(1))
        self.cluster.tell = self.shown

    def shown(self, status: Mapping[str, Any]) -> None:
        if (delay := self.projector.shown(UID, status)) is not None:
            self.queue.add_after(UID, delay)

    def entry(self) -> None:
        """Whatever the story has got since: every entry is announced, and the job is visited."""
        for entry in self.story.entries[self._noted :]:
            before, self._state = self._state, fold(self._state, entry.events)
            self.projector.changed(UID, entry.seq, before, self._state)
        self._noted = len(self.story.entries)
        self.queue.add(UID)

    async def within(self, seconds: float, holds: Callable[[], bool]) -> float:
        """Seconds until `holds`, at most those given."""
        began = asyncio.get_running_loop().time()
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - on simulated time
                await asyncio.sleep(0.05)
        return asyncio.get_running_loop().time() - began


def lived(what: Callable[[Life], Coroutine[Any, Any, None]], story: Story | None = None) -> None:
    async def main() -> None:
        life = Life(story)
        task = asyncio.create_task(life.queue.run())
        await what(life)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_simulated(main(), seed=1)


def test_a_status_is_written_once_however_often_it_is_looked_at() -> None:
    async def what(life: Life) -> None:
        for _ in range(5):
            life.entry()
            await asyncio.sleep(60)
        assert life.cluster.writes == [life.story.status]

    lived(what)


def test_a_condition_is_searched_for_secrets_once_though_every_status_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[str] = []

    def noted(condition: dict[str, str], *beside: Any) -> Any:
        searched.append(condition["message"])
        return redacted(condition, *beside)

    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(60)
        life.story.all_pods("Running")
        life.entry()
        await asyncio.sleep(60)
        assert len(life.cluster.writes) == 2
        assert [condition["message"] for condition in life.cluster.status["conditions"]] == searched

    monkeypatch.setattr(status, "redacted", noted)
    status._quoting_nothing.cache_clear()
    lived(what, Story(workers(1)).submit())


def test_a_status_that_is_there_already_is_not_written() -> None:
    async def what(life: Life) -> None:
        life.shown(life.story.status)
        life.entry()
        await asyncio.sleep(60)
        assert life.cluster.writes == []

    lived(what)


def test_a_status_that_somebody_else_wrote_is_set_right_soon() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(1)
        life.cluster.show(FOREIGN)
        took = await life.within(6, lambda: life.cluster.status == life.story.status)
        assert took > 4  # before that it may have been a late report
        await asyncio.sleep(600)
        assert len(life.cluster.writes) == 2

    lived(what)


def test_each_time_anew() -> None:
    async def what(life: Life) -> None:
        life.entry()
        for _ in range(10):
            await asyncio.sleep(1)
            life.cluster.show(FOREIGN)
            await life.within(6, lambda: life.cluster.status == life.story.status)

    lived(what)


def test_a_late_report_of_an_older_status_is_no_reason_to_write() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(1)
        first = life.story.status
        life.story.all_pods("Running")
        life.entry()
        life.shown(first)
        await asyncio.sleep(0.1)
        life.shown(life.story.status)
        await asyncio.sleep(60)
        assert len(life.cluster.writes) == 2

    lived(what)


def test_a_status_that_cannot_be_set_right_is_not_tried_for_ever() -> None:
    async def what(life: Life) -> None:
        life.cluster.takes_writes = False
        life.entry()
        for _ in range(1000):
            await asyncio.sleep(5)
            life.shown(FOREIGN)
        assert 2 <= len(life.cluster.writes) <= 4

    lived(what)


def states(life: Life) -> list[str]:
    """What the column `State` of `kubectl get` has shown: the newest condition of the statuses that were written."""
    newest = (write["conditions"][-1]["type"] for write in life.cluster.writes)
    return [state for state, _ in groupby(newest)]


def restarted() -> TorchStory:
    """A job that runs, and whose Worker fails and runs again, before anybody has shown any of it."""
    story = TorchStory(training(), name="mnist").submit().up()
    story.at(20).pod("worker-0", "Failed", exit_code=137)
    return story.at(21).gone("worker-0").at(22).pod("worker-0", "Running")


def test_a_restart_that_is_over_before_the_visit_is_shown_all_the_same() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(60)
        assert states(life) == ["Created", "Running", "Restarting", "Running"]
        assert life.cluster.seqs == sorted(life.cluster.seqs)
        assert life.cluster.status == life.story.status

    lived(what, restarted())


def test_no_change_is_lost_or_shown_twice_when_writes_fail() -> None:
    async def what(life: Life) -> None:
        life.cluster.errors = [ClusterUnavailable("no answer"), ClusterUnavailable("no answer")]
        life.entry()
        await asyncio.sleep(60)
        assert states(life) == ["Created", "Running", "Restarting", "Running"]

    lived(what, restarted())


def test_a_change_that_the_cluster_refuses_does_not_hold_up_the_next() -> None:
    async def what(life: Life) -> None:
        life.cluster.errors = [Refused(422, "Invalid", "no such status")]
        life.entry()
        await asyncio.sleep(60)
        assert states(life) == ["Running", "Restarting", "Running"]

    lived(what, restarted())


def test_after_a_long_time_without_a_cluster_only_the_last_changes_are_written() -> None:
    async def what(life: Life) -> None:
        life.cluster.errors = [ClusterUnavailable("no answer")] * 1000
        for _ in range(50):
            life.story.pause().gone("worker-0").gone("worker-1").resume().all_pods("Running")
            life.entry()
            await asyncio.sleep(0.1)
        life.cluster.errors.clear()
        await asyncio.sleep(600)
        assert len(life.cluster.writes) <= MOST_KEPT + 1
        assert life.cluster.status == life.story.status
        shown = [phase for phase, _ in groupby(write["phase"] for write in life.cluster.writes)]
        assert shown[-4:] == ["Running", "Paused", "Resuming", "Running"]

    lived(what)


def test_counts_that_change_alone_take_one_write() -> None:
    async def what(life: Life) -> None:
        life.story.pod("worker-0", "Pending").pod("worker-1", "Pending")
        life.entry()
        await asyncio.sleep(60)
        assert [write["phase"] for write in life.cluster.writes] == ["Pending", "Pending"]

    lived(what)


def test_counts_let_more_urgent_writes_pass_for_five_seconds_and_no_longer() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(60)
        life.story.pod("worker-0", "Pending")
        life.entry()

        def written() -> bool:
            life.rush.write()
            return life.cluster.writes[-1] == life.story.status

        assert 5 <= await life.within(60, written) < 5.2

    lived(what)


def phases(life: Life) -> list[str]:
    return [status["phase"] for status in life.cluster.writes]


def test_a_status_lets_pods_of_its_job_pass_a_quarter_of_a_second_and_no_longer() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(0.2)
        assert phases(life) == []
        await asyncio.sleep(0.1)
        assert phases(life) == ["Pending"]
        life.story.pod("worker-0", "Failed", exit_code=1)
        life.entry()
        await asyncio.sleep(0.05)
        assert len(life.cluster.writes) == 2, "it waits for a pod longer than that"

    lived(what)


def test_a_status_is_written_as_soon_as_all_pods_are_observed_or_gone() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(0.1)
        life.story.all_pods("Running")
        life.entry()
        await asyncio.sleep(0.05)
        assert phases(life) == ["Pending", "Running"], "each change is shown all the same"
        life.story.pause()
        life.entry()
        await asyncio.sleep(0.2)
        assert phases(life)[2:] == []
        life.story.gone("worker-0").gone("worker-1")
        life.entry()
        await asyncio.sleep(0.05)
        assert {*phases(life)[2:]} == {"Paused"}

    lived(what)


def test_the_end_of_a_job_waits_for_no_pod() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(0.1)
        life.story.pod("worker-0", "Failed", exit_code=1)
        other = life.story.replica("worker-1")
        assert other.has_pod
        assert not other.uid
        life.entry()
        await asyncio.sleep(0.05)
        assert phases(life)[-1] == "Failed"

    lived(what, Story(workers(2, policy="Never")).submit())


def test_what_another_process_may_have_written_meanwhile_is_not_written_again() -> None:
    async def what(life: Life) -> None:
        life.entry()
        life.projector.begin_anew()
        await asyncio.sleep(60)
        assert life.cluster.writes == [life.story.status]

    lived(what, restarted())


def test_an_entry_that_is_read_a_second_time_is_not_shown_again() -> None:
    async def what(life: Life) -> None:
        for _ in range(2):
            life.entry()
            await asyncio.sleep(60)
            life._noted, life._state = 0, JobState(uid=UID)
        assert states(life) == ["Created", "Running", "Restarting", "Running"]

    lived(what, restarted())


def test_a_write_that_failed_does_not_pass_over_what_comes_after_it() -> None:
    """A visit may know a state whose entries have not been announced one by one yet."""

    async def what(life: Life) -> None:
        life.cluster.errors = [ClusterUnavailable("no answer")]
        life.queue.add(UID)
        await asyncio.sleep(0.015)
        life.entry()
        await asyncio.sleep(60)
        assert states(life) == ["Created", "Running", "Restarting", "Running"]

    lived(what, restarted())


def test_a_visit_for_another_reason_does_not_take_a_late_report_for_a_foreign_status() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(1)
        life.shown(FOREIGN)
        life.queue.add(UID)
        await asyncio.sleep(1)
        life.shown(life.story.status)
        await asyncio.sleep(60)
        assert len(life.cluster.writes) == 1

    lived(what)


def test_a_write_that_failed_is_done_again() -> None:
    async def what(life: Life) -> None:
        life.cluster.errors = [ClusterUnavailable("no answer")] * 3
        life.entry()
        await life.within(10, lambda: life.cluster.status == life.story.status)

    lived(what)


def test_a_job_that_is_not_there_is_looked_for_again() -> None:
    """An API server that has not finished starting says so of every job."""

    async def what(life: Life) -> None:
        life.cluster.errors = [Missing("404 page not found")]
        life.entry()
        await life.within(40, lambda: life.cluster.status == life.story.status)

    lived(what)


def test_a_job_that_is_gone_has_no_status_and_is_forgotten() -> None:
    async def what(life: Life) -> None:
        life.entry()
        await asyncio.sleep(1)
        life.story.delete()
        life.shown(FOREIGN)
        life.entry()
        await asyncio.sleep(600)
        assert len(life.cluster.writes) == 1
        kept = [
            life.projector._written,
            life.projector._shown,
            life.projector._strayed,
            life.projector._rewrites,
            life.projector._changes,
            life.projector._seqs,
        ]
        assert kept == [{}] * 6

    lived(what)


@pytest.mark.parametrize("seed", seeds(50))
def test_whatever_happens_the_status_is_right_in_the_end(seed: int) -> None:
    """Entries, foreign writes and failures at any moment: at rest the cluster shows the log's status."""

    async def what(life: Life) -> None:
        chance = random.Random(seed)
        for _ in range(40):
            match chance.randrange(4):
                case 0:
                    life.cluster.show(FOREIGN)
                case 1:
                    life.story.all_pods(chance.choice(["Pending", "Running"]))
                    life.entry()
                case 2:
                    life.cluster.errors.append(ClusterUnavailable("no answer"))
                case _:
                    life.entry()
            await asyncio.sleep(chance.choice([0, 0.005, 0.015, 0.1, 3]))
        life.entry()
        await asyncio.sleep(600)
        assert life.cluster.status == life.story.status

    lived(what)
