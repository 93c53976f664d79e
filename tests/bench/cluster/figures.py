"""What was measured, and what it is held against."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

RAW: Final = "bare client"
OURS: Final = "jobledger"
PEER: Final = "training-operator"


class Sort(StrEnum):
    """What is measured."""

    MANY = "many"
    """Many jobs at once; the size is their number."""
    IDLE = "idle"
    """One job after another on an idle system."""
    WIDE = "wide"
    """One job of many replicas; the size is their number."""
    GROWN = "grown"
    """A controller that starts beside many jobs; the size is the number of those that live."""

    def heading(self, size: int) -> str:
        """Over the rows of the table."""
        match self:
            case Sort.MANY:
                return f"{size:,} jobs at once"
            case Sort.IDLE:
                return "one job, idle system: median (p99)"
            case Sort.WIDE:
                return f"one job of {size:,} replicas"
            case Sort.GROWN:
                return f"a start beside {size:,} live jobs"


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement of `who`. The `size` is what its sort says."""

    who: str
    sort: Sort
    size: int
    figures: Mapping[str, float | None]
    """None: it did not happen in time."""
    requests: Mapping[str, float] = field(default_factory=dict)
    """A job, by verb and resource."""
    notes: tuple[str, ...] = ()

    def data(self) -> Mapping[str, Any]:
        """For the JSON file."""
        return asdict(self)


class Row(NamedTuple):
    """A figure of the table."""

    key: str
    text: str


SCALE: Final = (
    Row("children_per_second", "pods and Services created, a second"),
    Row("pods_exist", "all pods exist, s"),
    Row("pods_running", "all pods Running, s"),
    Row("jobs_running", "all jobs Running, s"),
    Row("ending_took", "ending the pods took, s"),
    Row("jobs_succeeded", "all jobs Succeeded after that began, s"),
    Row("cpu", "processor time of the controller, or of the bare client, s"),
    Row("plane_cpu", "processor time of the control plane, s"),
    Row("memory", "peak memory of the controller, MiB"),
    Row("writes", "writes of the controller, a job"),
    Row("writes_per_phase", "status writes, a phase change"),
    Row("others", "share of the machine that others had, %"),
)

STEPS: Final = (
    Row("apply_to_pods", "apply → 4 pods, ms"),
    Row("failed_to_replaced", "pod failed with 137 → its replacement, ms"),
    Row("master_to_succeeded", "master Succeeded → job Succeeded, ms"),
    Row("pause_to_gone", "pause → no pods, ms"),
)
"""Each has a median and, as `<key>_p99`, a 99th percentile."""

_OTHERS: Final = Row("others", "share of the machine that others had, %")

_WIDE: Final = (
    Row("pods_exist", "all pods exist, s"),
    Row("pods_running", "all pods Running, s"),
    Row("jobs_running", "the job is Running, s"),
    Row("failed_to_replaced", "pod failed with 137 → its replacement, ms: median (p99)"),
    Row("jobs_succeeded", "the job Succeeded after the ends began, s"),
    Row("cpu", "processor time of the controller, s"),
    Row("plane_cpu", "processor time of the control plane, s"),
    Row("memory", "peak memory of the controller, MiB"),
    _OTHERS,
)

_GROWN: Final = (
    Row("written", "the cluster and the log were made, s"),
    Row("start_to_decision", "start → first decision is durable, s"),
    Row("start_to_effect", "start → the pods of that job, s"),
    Row("start_to_rest", "start → every job was visited, s"),
    Row("cpu", "processor time of the controller until then, s"),
    Row("requests", "requests of the controller until then"),
    Row("memory", "peak memory of the controller, MiB"),
    Row("decision", "observation → durable entry, mean of the steps below, ms"),
    *STEPS,
    _OTHERS,
)

ROWS: Final = {
    Sort.MANY: SCALE,
    Sort.IDLE: (*STEPS, _OTHERS),
    Sort.WIDE: _WIDE,
    Sort.GROWN: _GROWN,
}


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure of ours is at least or at most `factor` times `who`'s, or just `factor` where there is no `who`.

    `sizes`: the only ones at which it is judged; without, it is at each.
    """

    key: str
    text: str
    bound: Literal["least", "most"]
    factor: float
    who: str = ""
    sort: Sort = Sort.MANY
    sizes: tuple[int, ...] = ()


GOALS: Final = (
    Goal("children_per_second", "creating children, of the bare client's rate", "least", 0.8, RAW),
    Goal("pods_exist", "all pods exist, of the peer's time", "most", 0.6, PEER, sizes=(300,)),
    Goal("pods_exist", "all pods exist, of the peer's time", "most", 0.5, PEER, sizes=(1000,)),
    Goal("jobs_succeeded", "ends → all Succeeded, of the peer's time", "most", 0.6, PEER, sizes=(300, 1000)),
    Goal("cpu", "processor time, of the peer's", "most", 0.4, PEER),
    Goal("memory", "peak memory, MiB", "most", 140, sizes=(1000,)),
    Goal("writes_per_phase", "status writes a phase change", "most", 2),
    *(
        Goal(step.key, f"{step.text.rpartition(',')[0]}: of the peer's median", "most", 0.8, PEER, Sort.IDLE)
        for step in STEPS
    ),
    Goal("pods_running", "all replicas Running, of the bare client's time", "most", 2, RAW, Sort.WIDE),
    Goal("failed_to_replaced", "failed replica → its replacement, ms", "most", 100, sort=Sort.WIDE),
    Goal("start_to_decision", "start → first decision, s", "most", 20, sort=Sort.GROWN),
    Goal("memory", "peak memory beside many jobs, MiB", "most", 600, sort=Sort.GROWN),
)


DISTURBED: Final = 10.0
"""Share of the machine, in per cent, from which on others spoil what takes time."""

_TIMED: Final = frozenset(
    {
        "children_per_second",
        "pods_exist",
        "pods_running",
        "jobs_succeeded",
        "start_to_decision",
        "cpu",
        *(step.key for step in STEPS),
    }
)

Measured = Mapping[tuple[str, Sort, int], Mapping[str, float | None]]
"""Figures by program, sort and size."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal beside what was reached; `value` is None where one of the two figures is missing.

    `others` is the share of the machine that others had, in the worse of the two measurements.
    """

    goal: Goal
    size: int
    value: float | None
    others: float

    @property
    def doubtful(self) -> bool:
        """Others had so much of the machine that times say little."""
        return self.others > DISTURBED and self.goal.key in _TIMED

    @property
    def met(self) -> bool | None:
        """None: not known."""
        if self.value is None:
            return None
        return (
            self.value >= self.goal.factor if self.goal.bound == "least" else self.value <= self.goal.factor
        )

    def data(self) -> Mapping[str, Any]:
        """For the JSON file."""
        return {
            **asdict(self.goal),
            "size": self.size,
            "value": self.value,
            "met": self.met,
            "doubtful": self.doubtful,
        }


def verdicts(runs: list[Run]) -> list[Verdict]:
    """Every goal for every size that jobledger, as one process, was measured with, and at which it is judged."""
    figures = {(run.who, run.sort, run.size): run.figures for run in runs}
    return [
        Verdict(goal, size, _value(goal, size, figures), _others(goal, size, figures))
        for goal in GOALS
        for who, sort, size in figures
        if who == OURS and sort is goal.sort and (not goal.sizes or size in goal.sizes)
    ]


def _others(goal: Goal, size: int, figures: Measured) -> float:
    return max(figures.get((who, goal.sort, size), {}).get("others") or 0.0 for who in (OURS, goal.who))


def _value(goal: Goal, size: int, figures: Measured) -> float | None:
    ours = figures[OURS, goal.sort, size].get(goal.key)
    if not goal.who or ours is None:
        return ours
    theirs = figures.get((goal.who, goal.sort, size), {}).get(goal.key)
    return ours / theirs if theirs else None
