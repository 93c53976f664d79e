"""Work queues, statuses and queues of jobs: what is tried again, and what may not be lost on the way."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from k8s_bridge.port import Cluster, Ref
from projectors.status import Status
from projectors.workqueue import WorkQueue
from statemachine import evolve
from statemachine.errors import ClusterUnavailable, JobledgerError
from statemachine.events import QueueChanged, SpecChanged
from statemachine.ids import JobUid, Seq
from statemachine.observations import WorkloadCondition, WorkloadObserved
from statemachine.phases import Phase
from statemachine.rules import driver, queue
from statemachine.state import JobState, ReplicaPhase
from tests.museum.exhibit import exhibit, given, swap
from tests.museum.scene import OneJob
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import UID, Story, merged, workers
from tests.support.simulated import on_simulated_time
from tests.unit.kinds.colossal import KIND, spec

A = JobUid("a")


async def worked(visit: Callable[[JobUid], Awaitable[float | None]], *times: float) -> WorkQueue:
    """A queue after an hour, to which a job was added so many seconds after the start."""
    work = WorkQueue("museum", visit, workers=2, jitter=random.Random(1))
    running = asyncio.create_task(work.run())
    for seconds in times:
        asyncio.get_running_loop().call_later(seconds, work.add, A)
    await asyncio.sleep(3600)
    running.cancel()
    await asyncio.wait([running])
    return work


def up_to_15(self: WorkQueue, key: JobUid, error: JobledgerError | None) -> None:
    if self._failures.get(key, 0) < 15:
        RIGHT_FAILURE(self, key, error)


RIGHT_FAILURE = WorkQueue._failed


@exhibit(
    "volcano-sh/volcano#1029",
    "After fifteen tries a job was dropped out of the queue; it stayed Pending, and only a log said why.",
    wrong=(swap(WorkQueue, "_failed", up_to_15),),
)
@on_simulated_time
async def test_volcano_sh_volcano_1029_a_job_is_tried_until_it_works() -> None:
    visits = 0

    async def visit(_: JobUid) -> None:
        nonlocal visits
        visits += 1
        if visits < 20:
            raise ClusterUnavailable("no")

    await worked(visit, 0)
    assert visits == 20


def unless_busy(self: WorkQueue, key: JobUid) -> None:
    if key not in self._busy:
        RIGHT_ADDITION(self, key)


RIGHT_ADDITION = WorkQueue.add


@exhibit(
    "nolar/kopf#698",
    "Changes that followed one another quickly were taken together, and the last one was not always handled.",
    wrong=(swap(WorkQueue, "add", unless_busy),),
)
@on_simulated_time
async def test_nolar_kopf_698_what_changes_during_a_visit_is_visited() -> None:
    state, handled = 0, -1

    async def visit(_: JobUid) -> None:
        nonlocal handled
        begun_with = state
        await asyncio.sleep(1)
        handled = begun_with

    def change() -> None:
        nonlocal state
        state += 1

    asyncio.get_running_loop().call_later(0.4, change)
    await worked(visit, 0, 0.5)
    assert handled == state


def one_wish(self: WorkQueue, key: JobUid, delay: float) -> None:
    if key not in self._later:
        RIGHT_DELAY(self, key, delay)


RIGHT_DELAY = WorkQueue.add_after


@exhibit(
    "kubernetes/kubernetes#97101",
    "A job waited in the queue for a later moment, so the earlier one at which its deadline passed went by.",
    wrong=(swap(WorkQueue, "add_after", one_wish),),
)
@on_simulated_time
async def test_kubernetes_kubernetes_97101_the_earlier_of_two_wishes_counts() -> None:
    moments: list[float] = []

    async def visit(_: JobUid) -> None:
        moments.append(asyncio.get_running_loop().time())

    work = WorkQueue("museum", visit, workers=1, jitter=random.Random(1))
    running = asyncio.create_task(work.run())
    work.add_after(A, 600)
    work.add_after(A, 10)
    await asyncio.sleep(60)
    running.cancel()
    await asyncio.wait([running])
    assert moments == [10]


class OneStatus:
    """A cluster with one job object, whose first status is not taken."""

    def __init__(self) -> None:
        self.refusals = 1
        self.status: Mapping[str, Any] = {}

    async def patch_status(self, _ref: Ref, _uid: str, status: Mapping[str, Any], _seq: int) -> None:
        """The job object has the status, or the API server is busy."""
        if self.refusals:
            self.refusals -= 1
            raise ClusterUnavailable("try again")
        self.status = status


async def swallowed(
    self: Status, job: JobUid, state: JobState, wished: dict[str, Any], seq: Seq
) -> float | None:
    try:
        return await RIGHT_WRITE(self, job, state, wished, seq)
    except ClusterUnavailable:
        return None


RIGHT_WRITE = Status._write


@exhibit(
    "kubernetes-sigs/jobset#1194",
    "When the update of a status had failed, nothing made the controller try it again.",
    wrong=(swap(Status, "_write", swallowed),),
)
@on_simulated_time
async def test_kubernetes_sigs_jobset_1194_a_status_that_was_not_taken_is_written_again() -> None:
    story, cluster = Story(workers(1)).submit(), OneStatus()
    status = Status(OneJob(story), cast(Cluster, cluster))
    work = WorkQueue("status", status.visit, workers=1, jitter=random.Random(1))
    running = asyncio.create_task(work.run())
    work.add(UID)
    await asyncio.sleep(60)
    running.cancel()
    await asyncio.wait([running])
    assert cluster.status == story.status


# ---- Kueue, and pods after a pause ---------------------------------------------------------------------------------


def unless_admitted(known: object, report: WorkloadObserved) -> object:
    is_admitted = any(said.type == "Admitted" and said.status == "True" for said in report.conditions)
    return None if is_admitted else RIGHT_EVICTION(known, report)  # type: ignore[arg-type]


RIGHT_EVICTION = queue._eviction


@exhibit(
    "kubernetes-sigs/kueue#14811",
    "A Workload was Admitted, QuotaReserved and Evicted at once; a reader of one of them missed the eviction.",
    wrong=(swap(queue, "_eviction", unless_admitted),),
)
def test_kubernetes_sigs_kueue_14811_an_eviction_is_recorded_although_it_is_admitted_still() -> None:
    story = TorchStory(training(suspend=True))
    story.labels = {"kueue.x-k8s.io/queue-name": "team-a"}
    story.submit().at(20)
    conditions = tuple(
        WorkloadCondition(type=type_, status="True", reason=reason, changed_at=story.now)
        for type_, reason in (
            ("QuotaReserved", "QuotaReserved"),
            ("Admitted", "Admitted"),
            ("Evicted", "PodsReadyTimeout"),
        )
    )
    story.see(WorkloadObserved(job=story.uid, at=story.now, name="w", uid="w-1", conditions=conditions))
    (event,) = story.last
    assert isinstance(event, QueueChanged)
    assert event.eviction is not None
    assert event.evicted


def with_the_old(state: JobState, event: SpecChanged) -> evolve.Changes:
    return RIGHT_CHANGE(state, event.changed(spec=merged(dict(state.spec), event.spec)))


RIGHT_CHANGE = evolve._spec_changed


@exhibit(
    "kubernetes-sigs/jobset#1294",
    "On resuming, node selectors were merged into the earlier ones, so pods asked for the nodes of two flavors.",
    wrong=(swap(evolve, "_spec_changed", with_the_old),),
)
def test_kubernetes_sigs_jobset_1294_pods_are_made_of_the_template_as_it_is() -> None:
    wish = training(workers=0, suspend=True)
    template = wish["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    template["nodeSelector"] = {"flavor": "a"}
    story = TorchStory(wish).submit().suspend(on=False).up().suspend().all_gone()
    given(story.phase is Phase.PAUSED, "the job is suspended")
    selector = {"flavor": None, "zone": "b"}
    story.edit(pytorchReplicaSpecs={"Master": {"template": {"spec": {"nodeSelector": selector}}}})
    story.suspend(on=False)
    assert story.children["Pod/retry-master-0"]["spec"]["nodeSelector"] == {"zone": "b"}


@exhibit(
    "kubernetes-sigs/jobset#1021",
    "After a preemption the pods that followed were placed by a leader that was still terminating.",
    wrong=(swap(driver, "_waits", lambda worker: worker.phase is ReplicaPhase.RUNNING and worker.ready),),
)
def test_kubernetes_sigs_jobset_1021_a_pod_that_is_going_is_not_counted_on() -> None:
    story = Story(spec(), name="gpt", kind=KIND).submit().ready("worker-0")
    story.pod("worker-0", "Running", ready=True, deleting=True).ready("worker-1")
    assert story.pods == ["worker-0.1", "worker-1.1"]
    story.gone("worker-0").ready("worker-0")
    assert story.pods == ["worker-0.2", "worker-1.1", "launcher-0.1"]


def beside_the_queue(self: WorkQueue, key: JobUid) -> None:
    self._later.pop(key, None)
    BESIDE.append(asyncio.ensure_future(self._visit_one(key)))


BESIDE: list[asyncio.Future[None]] = []


@exhibit(
    "volcano-sh/volcano#5690",
    "A delayed action was run by its timer, beside the queue's worker that was handling the same job.",
    wrong=(swap(WorkQueue, "_due", beside_the_queue),),
)
@on_simulated_time
async def test_volcano_sh_volcano_5690_a_delayed_visit_waits_for_the_one_in_hand() -> None:
    at_once, most = 0, 0

    async def visit(_: JobUid) -> float | None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(20)
        at_once -= 1
        return 10 if most == 1 else None

    await worked(visit, 0, 25)
    assert most == 1


@exhibit(
    "kubeflow/mpi-operator#868",
    "That all workers are ready held of no workers, too: after a pause the launcher started before any of them.",
    wrong=(swap(driver, "_waits", lambda worker: worker.ready or not worker.has_pod),),
)
def test_kubeflow_mpi_operator_868_a_launcher_waits_for_workers_that_do_not_exist_yet() -> None:
    story = (
        Story(spec(), name="gpt", kind=KIND)
        .submit()
        .ready("worker-0", "worker-1")
        .pod("launcher-0", "Running")
    )
    story.pause().gone("launcher-0").gone("worker-0").gone("worker-1").resume()
    assert story.pods == ["worker-0.2", "worker-1.2"]
