"""What was measured, and what it is held against."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, NamedTuple

RAW: Final = "bare client"
OURS: Final = "jobledger"
PEER: Final = "training-operator"


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement: of `who`, with so many jobs at once (0: one after another on an idle system)."""

    who: str
    jobs: int
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
    Row("cpu", "processor time of the controller, s"),
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

IDLE: Final = (*STEPS, Row("others", "share of the machine that others had, %"))


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure of ours is at least or at most `factor` times `who`'s, or just `factor` where there is no `who`."""

    key: str
    text: str
    bound: Literal["least", "most"]
    factor: float
    who: str = ""
    idle: bool = False


GOALS: Final = (
    Goal("children_per_second", "creating children, of the bare client's rate", "least", 0.8, RAW),
    Goal("pods_exist", "all pods exist, of the peer's time", "most", 0.5, PEER),
    Goal("cpu", "processor time, of the peer's", "most", 1.5, PEER),
    Goal("memory", "peak memory, MiB", "most", 200),
    Goal("writes_per_phase", "status writes a phase change", "most", 2),
    *(
        Goal(step.key, f"{step.text.rpartition(',')[0]}: of the peer's median", "most", 1, PEER, idle=True)
        for step in STEPS
    ),
)


DISTURBED: Final = 10.0
"""Share of the machine, in per cent, from which on others spoil what takes time."""

_TIMED: Final = frozenset({"children_per_second", "pods_exist", "cpu", *(step.key for step in STEPS)})

Found = Mapping[tuple[str, int], Mapping[str, float | None]]
"""Figures by program and number of jobs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal beside what was reached; `value` is None where one of the two figures is missing.

    `others` is the share of the machine that others had, in the worse of the two measurements.
    """

    goal: Goal
    jobs: int
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
            "jobs": self.jobs,
            "value": self.value,
            "met": self.met,
            "doubtful": self.doubtful,
        }


def verdicts(runs: list[Run]) -> list[Verdict]:
    """Every goal for every number of jobs that jobledger was measured with."""
    figures = {(run.who, run.jobs): run.figures for run in runs}
    return [
        Verdict(goal, jobs, _value(goal, jobs, figures), _others(goal, jobs, figures))
        for goal in GOALS
        for who, jobs in figures
        if who == OURS and (jobs == 0) == goal.idle
    ]


def _others(goal: Goal, jobs: int, figures: Found) -> float:
    return max(figures.get((who, jobs), {}).get("others") or 0.0 for who in (OURS, goal.who))


def _value(goal: Goal, jobs: int, figures: Found) -> float | None:
    ours = figures[OURS, jobs].get(goal.key)
    if not goal.who or ours is None:
        return ours
    theirs = figures.get((goal.who, jobs), {}).get(goal.key)
    return ours / theirs if theirs else None
