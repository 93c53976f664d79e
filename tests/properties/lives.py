"""Lives of jobs of any kind: a spec, and what is observed of the job, in whatever order.

A kind of the registry has lives as soon as it has an example; `tests.properties.of_kinds` makes them richer.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.observations import ChildObserved, Container, ContainerStatus
from statemachine.spec import Launch, Plan
from tests.support.examples import job_of
from tests.support.scenario import Story
from tests.support.seeds import FRESH

NAME = "gpt"

PHASES = st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"])

Step = tuple[Any, ...]

_EXAMPLES: Final = 80 if FRESH else 50
"""Lives for each law of a kind."""

_ALWAYS = (
    st.tuples(st.sampled_from(["delete", "resync", "ready", "up", "all_gone"])),
    st.tuples(st.just("paused"), st.booleans()),
    st.tuples(st.just("label"), st.sampled_from([{}, {"team": "a"}, {"team": "b", "tier": ""}])),
    st.tuples(st.just("timer"), st.sampled_from(["deadline", "retry", "unreadable", "expiry"])),
    st.tuples(st.just("refused"), st.sampled_from([403, 409, 422, 503])),
    st.tuples(st.just("group"), st.sampled_from(["Pending", "Inqueue", "Running"])),
)
"""What may happen to any job."""


FAILURES: Sequence[Step] = (
    ("all_gone",),
    ("up",),
    ("ends", 0, 137),
    ("all_gone",),
    ("up",),
    ("ends", 1, 137),
) * 2
"""What few lives come to by themselves: pods fail, those that are dismissed go, others are made and fail."""


@dataclass(frozen=True)
class Life:
    """A job, and what happens to it."""

    kind: Kind
    spec: dict[str, Any]
    settings: dict[str, str]
    steps: Sequence[Step]

    def submitted(self) -> Story:
        """The story at its beginning."""
        names = self.kind.names
        spec = copy.deepcopy(self.spec)
        return Story(spec, name=NAME, kind=names.kind, api=names.api_version, settings=self.settings).submit()

    def happening_to(self, story: Story) -> Iterator[Step]:
        """Each step, when it has happened in the story."""
        for number, step in enumerate(self.steps):
            _perform(self.kind, story.at(max(story.clock, number * 7.0)), step)
            yield step

    def lived(self) -> Story:
        """The story at its end."""
        story = self.submitted()
        for _ in self.happening_to(story):
            pass
        return story


@st.composite
def lives(draw: st.DrawFn, kind: Kind) -> Life:
    """Lives of the kind's jobs."""
    own = _own(kind)
    spec = draw(_specs(kind))
    replica = st.sampled_from(_replicas(plan_of(kind, spec)))
    of_replicas = (
        st.tuples(
            st.just("pod"),
            replica,
            PHASES,
            st.sampled_from([0, 1, 137, 143]),
            st.booleans(),
            st.booleans(),
        ),
        st.tuples(st.just("again"), replica, st.integers(0, 4)),
        st.tuples(st.just("gone"), replica),
        st.tuples(st.just("late"), replica, PHASES, st.integers(1, 3)),
        st.tuples(st.just("unreadable"), replica),
    )
    edits = st.tuples(st.just("edit"), getattr(own, "EDITS", st.just({})))
    steps = draw(st.lists(st.one_of(*of_replicas, *_ALWAYS, edits), max_size=25))
    configured: dict[str, str] = getattr(own, "settings", lambda _: {})(spec)
    return Life(kind, spec, configured, steps)


def written(kind: Kind) -> st.SearchStrategy[dict[str, Any]]:
    """Specs of the kind with nothing wrong in them, as users may write them."""
    strategy: Callable[[], st.SearchStrategy[dict[str, Any]]] | None = getattr(_own(kind), "written", None)
    return strategy() if strategy else _specs(kind)


def _specs(kind: Kind) -> st.SearchStrategy[dict[str, Any]]:
    strategy: Callable[[], st.SearchStrategy[dict[str, Any]]] | None = getattr(_own(kind), "specs", None)
    return strategy() if strategy else st.just(job_of(kind).raw["spec"])


def _own(kind: Kind) -> ModuleType | None:
    name = f"tests.properties.of_kinds.{kind.names.singular}"
    return import_module(name) if find_spec(name) else None


def plan_of(kind: Kind, spec: dict[str, Any]) -> Plan:
    """What the kind makes of a spec with nothing wrong in it."""
    admission = kind.admit(NAME, spec)
    assert admission.plan is not None, admission.problems
    return admission.plan


def _replicas(plan: Plan) -> list[str]:
    """The names of the replicas, and of one beyond the scale."""
    names = list(map(str, plan.replicas()))
    type_, _, index = names[-1].rpartition("-")
    return [*names, f"{type_}-{int(index) + 1}"]


def _perform(kind: Kind, story: Story, step: Step) -> None:
    alive = [
        name for name, replica in story.state.replicas.items() if replica.has_pod and not replica.leaving
    ]
    match step:
        case ("pod", name, phase, code, deleting, ready):
            more = {"deleting": deleting, "ready": ready and phase == "Running"}
            story.pod(name, phase, exit_code=code or None, **more)
        case ("again", name, times):
            story.pod(name, "Running", containers=_containers(story.training(name), times))
        case ("gone", name):
            story.gone(name)
        case ("late", name, phase, attempt):
            story.see(story.pod_seen(name, phase, uid=f"{name}.{attempt}", attempt=attempt))
        case ("ready",):
            story.ready(*alive)
        case ("up",):
            for name in alive:
                story.pod(name, "Running")
        case ("ends", number, code):
            if alive:
                name = alive[number % len(alive)]
                story.pod(name, "Running")
                story.pod(name, "Failed" if code else "Succeeded", exit_code=code or None)
        case ("all_gone",):
            for name in [
                replica.name
                for replica in story.state.replicas.values()
                if replica.has_pod and replica.leaving
            ]:
                story.gone(name)
        case ("resync",):
            story.submit()
        case ("paused", on):
            if change := kind.pausing(on):
                story.edit(**change)
        case ("edit", change):
            story.edit(**change)
        case ("timer", name):
            if name in story.state.timers:
                story.timer(name)
        case ("refused", status):
            story.refused(status_=status)
        case ("label", labels):
            story.label(**labels)
        case ("group", phase):
            facts = {"phase": phase} if phase else {}
            story.see(
                ChildObserved(
                    job=story.uid,
                    at=story.now,
                    kind="PodGroup",
                    name=story.name,
                    uid="group-1",
                    facts=facts,
                )
            )
        case ("unreadable", name):
            story.unreadable(name)
        case ("delete",):
            story.delete()
        case _:
            raise AssertionError(step)


def _containers(name: str, times: int) -> tuple[Container, ...]:
    """Those of a pod that runs, of which one was started again so often, in place."""
    first = Container(name="init", state=ContainerStatus.TERMINATED, exit_code=0, init=True)
    return (first, Container(name=name, state=ContainerStatus.RUNNING, restarts=times))


# ---- laws --------------------------------------------------------------------------------------------------------


_STATUS_SCHEMAS: dict[str, dict[str, Any]] = {}
"""By kind: to make one, all models of a kind are asked for their schemas."""


def status_schema(kind: Kind) -> dict[str, Any]:
    """What the CRD says of the status of such jobs."""
    name = kind.names.kind
    if name not in _STATUS_SCHEMAS:
        version = kind.crd()["spec"]["versions"][0]
        _STATUS_SCHEMAS[name] = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    return _STATUS_SCHEMAS[name]


def has_status(kind: Kind, field: str) -> bool:
    """The status of such jobs has this field."""
    return field in status_schema(kind)["properties"]


T9K = [kind for kind in KINDS if has_status(kind, "aggregate")]
"""The kinds whose status counts replicas by phase (spec R7)."""

BUDGETED = [kind for kind in KINDS if has_status(kind, "backoffCount")]
"""The kinds whose replica types share a budget of restarts (spec R7, R8)."""

LAUNCHING = [kind for kind in KINDS if plan_of(kind, job_of(kind).raw["spec"]).launch is not Launch.NONE]
"""The kinds whose jobs are started by a launcher (spec R10)."""


def law(among: Sequence[Kind] = KINDS) -> Callable[[Callable[[Life], None]], Any]:
    """A test for each of these kinds that something holds, whatever happens to a job.

    Where examples are fixed, all laws of a kind are tried on the same lives: drawing one takes longer than living it.
    """

    def tested(holds: Callable[[Life], None]) -> Any:
        @settings(max_examples=_EXAMPLES, database=None)  # its key would be the same for all laws and kinds
        @given(data=st.data())
        def drawn(kind: Kind, data: st.DataObject) -> None:
            holds(data.draw(lives(kind)))

        @pytest.mark.parametrize("kind", among, ids=lambda kind: kind.names.kind)
        def test(kind: Kind) -> None:
            if not settings().derandomize:
                return drawn(kind)
            try:
                for life in _fixed(kind):
                    holds(life)
            except Exception:
                drawn(kind)  # if such a life breaks the law, too, it is made as short as possible
                raise

        test.__name__, test.__doc__ = holds.__name__, holds.__doc__
        return test

    return tested


_SAME: dict[str, list[Life]] = {}
"""Lives by kind, which are the same in every run."""


def _fixed(kind: Kind) -> Sequence[Life]:
    same = _SAME.setdefault(kind.names.kind, [])
    if not same:

        @settings(max_examples=_EXAMPLES, database=None)
        @given(life=lives(kind))
        def draw(life: Life) -> None:
            same.append(life)

        draw()
    return same
