"""Deadlines, delays and clocks: what has to hold although controllers restart and nodes vanish."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

from statemachine.engine.skew import ClockCheck
from statemachine.engine.timers import Timers
from statemachine.ids import JobUid
from statemachine.kinds.pytorchjob import ending
from statemachine.log import codec
from statemachine.observations import TimerFired
from statemachine.phases import Phase
from statemachine.rules import creation, timers
from statemachine.rules.backoff import BACKOFF
from statemachine.rules.timers import DEADLINE, later
from statemachine.state import JobState, changed
from tests.museum.exhibit import exhibit, given, swap
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import START, UID, Story, workers
from tests.support.simulated import LoopClock, on_simulated_time


def losing(times: int, reports: int = 0) -> Story:
    """A job whose second worker was lost so many times in a row; its pod is reported so often in between."""
    story = (
        Story(workers(2, policy="OnFailure", runPolicy={"backoffLimit": 99}))
        .submit()
        .at(5)
        .all_pods("Running")
    )
    for _ in range(times):
        story.at(story.clock + 1).gone("worker-1")
        if BACKOFF in story.state.timers:
            story.timer(BACKOFF)
        for _ in range(reports):
            story.pod("worker-0", "Running", ready=True)
        story.pod("worker-1", "Running")
    return story


def without_delays(state: JobState) -> bytes:
    """What is saved of a job whose delays are only in the memory of the controller."""
    replicas = {name: changed(kept, held_until=None, row=0) for name, kept in state.replicas.items()}
    return RIGHT_ENCODING(changed(state, replicas=replicas, timers={}))


RIGHT_ENCODING = codec.encode_state


@exhibit(
    "kubernetes/kubernetes#114650",
    "Only the controller's work queue knew how long the next pod had to wait: a restart ended the delay.",
    wrong=(swap(codec, "encode_state", without_delays),),
)
def test_kubernetes_kubernetes_114650_a_delay_survives_a_restart_of_the_controller() -> None:
    story = losing(5)
    story.at(story.clock + 1).gone("worker-1")
    given(BACKOFF in story.state.timers, "the next pod has to wait")
    story.state = codec.decode_state(codec.encode_state(story.state))
    story.at(story.clock + 1).label(after="the restart")
    assert story.pods == ["worker-0.1"]
    assert story.timer(BACKOFF).pods == ["worker-0.1", "worker-1.7"]


@exhibit(
    "kubernetes/kubernetes#114391",
    "Every change of a pod, such as its finalizer's going, began the row of delays anew: pods followed at once.",
    wrong=(swap(creation, "pods_before", lambda *_: 1),),
)
def test_kubernetes_kubernetes_114391_delays_grow_whatever_is_reported_in_between() -> None:
    waits = []
    for times in range(5):
        story = losing(times, reports=3)
        story.at(story.clock + 1).gone("worker-1")
        due_at = story.state.timers.get(BACKOFF)
        waits.append((due_at - story.now).total_seconds() if due_at else 0)
    assert waits == [0, 10, 20, 40, 80]


def since_creation(state: JobState) -> datetime | None:
    seconds = state.running_plan.active_deadline_seconds
    if seconds is None or state.created_at is None or not state.phase.is_active:
        return None
    return later(state.created_at, seconds)


@exhibit(
    "argoproj/argo-workflows#5796",
    "The deadline was counted from the first start, so a workflow that was started again had passed it at once.",
    wrong=(swap(timers, "_deadline", since_creation),),
)
def test_argoproj_argo_workflows_5796_a_deadline_begins_anew_with_the_next_start() -> None:
    story = Story(workers(1, runPolicy={"activeDeadlineSeconds": 60})).submit().at(1).all_pods("Running")
    story.at(50).pause().gone("worker-0").at(1000).resume()
    assert story.state.timers[DEADLINE] == START + timedelta(seconds=1060)


def while_in_sight(state: JobState) -> datetime | None:
    return None if state.phase is Phase.UNKNOWN else RIGHT_DEADLINE(state)


RIGHT_DEADLINE = timers._deadline


@exhibit(
    "argoproj/argo-workflows#1832",
    "When its node had failed, a pod was taken to run on for ever, and not even the deadline ended the workflow.",
    wrong=(swap(timers, "_deadline", while_in_sight),),
)
def test_argoproj_argo_workflows_1832_a_deadline_passes_for_a_job_that_is_out_of_sight() -> None:
    story = Story(workers(1, runPolicy={"activeDeadlineSeconds": 60})).submit().at(1).all_pods("Running")
    given(story.at(9).pod("worker-0", "Unknown").phase is Phase.UNKNOWN, "the node is lost")
    assert DEADLINE in story.state.timers
    assert story.timer(DEADLINE).phase is Phase.FAILED


@exhibit(
    "kubeflow/trainer#1533",
    "Nothing woke the controller when a finished job's time to live was over; it went hours later, by chance.",
    wrong=(swap(ending, "_expires_at", lambda _: None),),
)
def test_kubeflow_trainer_1533_the_time_to_live_has_a_timer() -> None:
    spec = training(workers=0, ttlSecondsAfterFinished=60)
    story = TorchStory(spec).submit().at(5).up().at(10).pod("master-0", "Succeeded")
    assert story.state.timers.get("expiry") == START + timedelta(seconds=70)
    assert story.timer("expiry").state.expired


async def fired(check: ClockCheck | None, *due: float, wait: float = 60) -> list[TimerFired]:
    """What fires within `wait` seconds, of timers that are due so many seconds after the start."""
    heard: list[TimerFired] = []

    async def sink(firing: TimerFired) -> None:
        heard.append(firing)

    clock = Timers(LoopClock(START), sink, check)
    clock.sync(UID, {f"t{number}": START + timedelta(seconds=at) for number, at in enumerate(due)}, {})
    running = asyncio.create_task(clock.run())
    await asyncio.sleep(wait)
    running.cancel()
    await asyncio.wait([running])
    return heard


def future_only(
    self: Timers, job: JobUid, wanted: Mapping[str, datetime], before: Mapping[str, datetime]
) -> None:
    now = self._clock.now()
    RIGHT_SYNC(self, job, {name: due_at for name, due_at in wanted.items() if due_at > now}, before)


RIGHT_SYNC = Timers.sync


@exhibit(
    "temporalio/temporal#425",
    "A node that had joined made timers that were due before the point up to which timers had been read already.",
    wrong=(swap(Timers, "sync", future_only),),
)
@on_simulated_time
async def test_temporalio_temporal_425_a_timer_that_is_due_already_fires() -> None:
    assert [firing.timer for firing in await fired(None, -3600, 5)] == ["t0", "t1"]


async def always(_: Timers) -> bool:
    return True


@exhibit(
    "temporalio/features#616",
    "A worker whose clock was not the server's judged start times and timeouts by it, and nobody was warned.",
    wrong=(swap(Timers, "_is_right", always),),
)
@on_simulated_time
async def test_temporalio_features_616_a_clock_that_is_off_fires_nothing() -> None:
    check = ClockCheck(LoopClock(START))
    check.note(check.begin(), START - timedelta(minutes=10))
    assert await fired(check, 5) == []
    assert "600 s ahead" in check.trouble


@exhibit(
    "kubeflow/trainer#1306",
    "A pod whose name was still taken by a terminating one was not tried again before an expectation expired.",
    wrong=(swap(creation, "NAME_TAKEN_RETRY", timedelta(minutes=5)),),
)
def test_kubeflow_trainer_1306_a_name_that_is_taken_is_tried_again_soon() -> None:
    story = Story(workers(1)).submit().refused(status_=409, name_taken=True, replica="worker-0", attempt=1)
    given(story.phase is Phase.PENDING, "the job waits")
    assert story.state.timers["retry"] - story.now <= timedelta(seconds=10)
    assert story.timer("retry").pod("worker-0", "Running").phase is Phase.RUNNING


def in_32_bits(begin: datetime, seconds: int) -> datetime:
    return begin + timedelta(seconds=seconds % 2**31)


@exhibit(
    "temporalio/temporal#1071",
    "With timeouts that mean never, the moments at which retries expire were computed wrong.",
    wrong=(swap(timers, "later", in_32_bits),),
)
def test_temporalio_temporal_1071_a_deadline_that_means_never_is_far_away() -> None:
    story = Story(workers(1, runPolicy={"activeDeadlineSeconds": 2**31})).submit()
    assert story.state.timers[DEADLINE] - START > timedelta(days=365 * 50)
