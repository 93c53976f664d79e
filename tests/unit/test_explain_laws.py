"""Laws of explaining, over any history that the rules can write."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from projectors.explain import Chronicle, as_text, explain
from projectors.verify import Verification
from statemachine.events import Event, JobAdmitted, SpecChanged
from statemachine.log.life import steps_of
from statemachine.log.port import Record
from tests.support.arbitrary import EVENTS
from tests.support.logs import JOB, admitted, chain, placed
from tests.support.scenario import START, Story, replica_type, workers

Act = Callable[[Story], object]

REPLICAS = st.sampled_from(["worker-0", "worker-1", "worker-2", "helper-0"])
PHASES = st.sampled_from(["Pending", "Running", "Running", "Succeeded", "Failed", "Unknown"])
REASONS = st.sampled_from(["", "Evicted", "NodeLost"])


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    policy = draw(st.sampled_from(["Never", "OnFailure", "Always", "ExitCode"]))
    run: dict[str, Any] = {"backoffLimit": draw(st.integers(0, 2))}
    run["cleanUpPolicy"] = draw(st.sampled_from(["None", "All", "Unfinished"]))
    if draw(st.booleans()):
        run["activeDeadlineSeconds"] = draw(st.integers(1, 60))
    paused = {"pause": {"enabled": draw(st.booleans())}}
    helper = replica_type("helper", 1, restartPolicy=policy)
    return workers(draw(st.integers(0, 3)), helper, policy=policy, runPolicy=run, runMode=paused)


def _later(act: Act, seconds: int) -> Act:
    return lambda story: act(story.at(story.clock + seconds))


def _pod(replica: str, phase: str, code: int, reason: str, *, deleting: bool, ago: int | None) -> Act:
    def act(story: Story) -> None:
        happened = None if ago is None else START + timedelta(seconds=story.clock - ago)
        story.pod(
            replica, phase, exit_code=code, reason=reason, deleting=deleting, happened_at=happened, node="n-1"
        )

    return act


def _timer(name: str) -> Act:
    return lambda story: story.timer(name) if name in story.state.timers else None


def _refused(replica: str, status: int, kind: str) -> Act:
    def act(story: Story) -> None:
        attempt = story.replica(replica).attempt
        story.refused(kind, status, "no quota", replica=replica if kind == "Pod" else "", attempt=attempt)

    return act


ACTS: st.SearchStrategy[Act] = st.one_of(
    st.builds(
        _pod,
        REPLICAS,
        PHASES,
        st.sampled_from([0, 1, 137, 143]),
        REASONS,
        deleting=st.booleans(),
        ago=st.none() | st.integers(0, 9),
    ),
    REPLICAS.map(lambda replica: lambda story: story.gone(replica)),
    REPLICAS.map(lambda replica: lambda story: story.unreadable(replica)),
    st.builds(
        _refused,
        REPLICAS,
        st.sampled_from([403, 409, 500, 422]),
        st.sampled_from(["Pod", "Service", "TensorBoard"]),
    ),
    st.sampled_from(["retry", "deadline", "unreadable"]).map(_timer),
    st.just(lambda story: story.pause()),
    st.just(lambda story: story.resume()),
    st.integers(0, 5).map(lambda limit: lambda story: story.edit(runPolicy={"backoffLimit": limit})),
    st.just(lambda story: story.edit(replicaSpecs=[])),
    st.just(lambda story: story.all_pods("Running") if story.state.plan and not story.state.closed else None),
    st.just(lambda story: story.delete()),
)
TIMED = st.builds(_later, ACTS, st.integers(-3, 30))


@st.composite
def stories(draw: st.DrawFn) -> Story:
    story = Story(draw(specs())).submit()
    for act in draw(st.lists(TIMED, max_size=25)):
        act(story)
    return story


@settings(max_examples=200)
@given(stories())
def test_every_history_can_be_explained_at_every_entry(story: Story) -> None:
    steps = story.steps
    for length in range(1, len(steps) + 1):
        why = explain(steps[:length])
        text = as_text(why)
        assert why.answer
        assert all(line.isprintable() for line in text.splitlines())
    assert why.phase == story.phase
    assert (why.root_cause is not None) == (story.phase == "Failed")


@settings(max_examples=100)
@given(stories())
def test_what_was_explained_stays_explained(story: Story) -> None:
    """Later entries add incidents and consequences; they take nothing away and change no sentence."""
    earlier: list[str] = []
    steps = story.steps
    for length in range(1, len(steps) + 1):
        incidents = explain(steps[:length]).incidents
        assert [incident.says for incident in incidents][: len(earlier)] == earlier
        assert all(step.seq >= incident.seq for incident in incidents for step in incident.led_to)
        earlier = [incident.says for incident in incidents]


@settings(max_examples=100)
@given(stories())
def test_every_restart_failure_loss_and_pause_in_the_log_is_an_incident(story: Story) -> None:
    wanted = {
        "RestartScheduled": "restart",
        "ReplicaLost": "loss",
        "RestartDenied": "failure",
        "JobDeleted": "deletion",
    }
    kinds = [incident.kind for incident in explain(story.steps).incidents]
    rest = Chronicle(story.steps).rest
    life = story.entries[: len(story.entries) - len(rest)]
    for event, kind in wanted.items():
        happened = sum(entry_event.type == event for entry in life for entry_event in entry.events)
        assert kinds.count(kind) >= happened  # type: ignore[arg-type]  # a StrEnum equals its text


@settings(max_examples=50)
@given(stories())
def test_every_history_verifies(story: Story) -> None:
    verification = Verification()
    for number, body in enumerate(story.bodies, 1):
        verification.take(Record(number, story.uid, number, body))
    (verdict,) = verification.verdicts()
    assert verdict.difference is None
    assert verdict.decided_again == len(story.bodies)


PLANLESS = EVENTS.filter(lambda event: not isinstance(event, JobAdmitted | SpecChanged))
"""No plan of 2**70 replicas: no kind makes such a one, and folding it would take for ever."""


@settings(max_examples=150)
@given(st.lists(PLANLESS, max_size=6))
def test_whatever_a_reader_accepts_can_be_explained(events: list[Event]) -> None:
    """Histories of other releases may hold any order of events: only what cannot be folded is refused."""
    records = placed(chain(admitted(), *((event,) for event in events)))
    assert as_text(explain(step for _, step in steps_of(JOB, records)))
