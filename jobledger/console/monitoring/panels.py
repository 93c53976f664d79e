"""Panels with their lines: what was measured of a job's pods, summed by type or pod by pod."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

from jobledger.console.monitoring.queries import Panel, TimeRange, expression, panels
from jobledger.console.monitoring.source import MetricsSource, Series, SourceFailed
from jobledger.web.cache import Cache
from projectors.history.facts import resources
from statemachine.ids import split_replica
from statemachine.kinds import kind_of
from statemachine.state import JobState

LINES: Final = 20
"""Lines of a panel at most: those with the highest values."""

_FRESH: Final = 10.0
"""Seconds for which an answer is good. New points come more seldom."""

_KEPT: Final = 256

By = Literal["type", "pod"]
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Line:
    """A line: of a type or a pod, and of one of the panel's metrics."""

    name: str
    metric: str
    points: Points

    @property
    def last(self) -> float:
        """The newest value."""
        return self.points[-1][1]

    @property
    def most(self) -> float:
        """The highest value."""
        return max(value for _, value in self.points)


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a panel, `of` so many that there are."""

    lines: Sequence[Line]
    of: int


@dataclass(frozen=True, slots=True)
class ShownPanel:
    """A panel: request and limit (None: there is none), its lines, and what kept them from being had."""

    panel: Panel
    request: float | None
    limit: float | None
    span: TimeRange
    lines: Sequence[Line] = ()
    of: int = 0
    failure: SourceFailed | None = None


@dataclass(frozen=True, slots=True)
class MeasuredJob:
    """What is to be measured of a job: its pods by name with their types, and what its specs ask for."""

    namespace: str
    uid: str
    pods: Mapping[str, str]
    asked: Mapping[str, Decimal]
    allowed: Mapping[str, Decimal]
    equal_pods: int
    """Over how many equal pods requests and limits are spread; 0 where pods of several types share them."""

    @property
    def panels(self) -> Sequence[Panel]:
        """The job's panels."""
        return panels([*self.asked, *self.allowed])


def measured(state: JobState) -> MeasuredJob:
    """What is to be measured of the job."""
    kind = kind_of(state.api_version, state.kind)
    asked, allowed = resources(state)
    main = state.plan.training_types if state.plan else ()
    pods = {kind.pod_name(state, name): split_replica(name)[0] for name in state.replicas}
    return MeasuredJob(
        state.namespace, state.uid, pods, asked, allowed, main[0].scale if len(main) == 1 else 0
    )


class Monitor:
    """Asks the source, once for all who look at the same."""

    def __init__(self, source: MetricsSource) -> None:
        self._source = source
        self._kept: Cache[tuple[str, str, str, By, TimeRange, int], Lines] = Cache(lambda _: _FRESH, _KEPT)

    async def all(self, of: MeasuredJob, span: TimeRange, by: By) -> Sequence[ShownPanel]:
        """Every panel."""
        return await asyncio.gather(*(self.shown(of, panel, span, by) for panel in of.panels))

    async def shown(self, of: MeasuredJob, panel: Panel, span: TimeRange, by: By) -> ShownPanel:
        """The panel; where the source fails it says so, and what the specs ask for stands there all the same."""
        request, limit = (_bound(of, panel, amounts, by) for amounts in (of.asked, of.allowed))
        key = (of.uid, of.namespace, panel.name, by, span, len(of.pods))
        try:
            lines = await self._kept.get(key, lambda: self._lines(of, panel, span, by))
        except SourceFailed as failure:
            return ShownPanel(panel, request, limit, span, failure=failure)
        return ShownPanel(panel, request, limit, span, lines.lines, lines.of)

    async def _lines(self, of: MeasuredJob, panel: Panel, span: TimeRange, by: By) -> Lines:
        if not of.pods:
            return Lines((), 0)
        names = sorted(of.pods)
        lines: list[Line] = []
        for metric in panel.metrics:
            query = expression(metric, of.namespace, names, span.step)
            series = [of_pod for of_pod in await self._source.range(query, span) if of_pod.pod in of.pods]
            lines += [Line(name, metric.name, points) for name, points in _grouped(of, series, by) if points]
        highest = sorted(lines, key=lambda line: -line.most)[:LINES]
        return Lines([line for line in lines if line in highest], len(lines))


def _grouped(of: MeasuredJob, series: Sequence[Series], by: By) -> Sequence[tuple[str, Points]]:
    """The points of each pod, or the sums of those of each type, in the order of names."""
    if by == "pod":
        return sorted((of_pod.pod, of_pod.points) for of_pod in series)
    sums: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for of_pod in series:
        total = sums[of.pods[of_pod.pod]]
        for at, value in of_pod.points:
            total[at] += value  # type: ignore[assignment]
    return [(name, sorted(total.items())) for name, total in sorted(sums.items())]


def _bound(of: MeasuredJob, panel: Panel, section: Mapping[str, Decimal], by: By) -> float | None:
    """What the specs say of the panel's resource: for all pods, or for one where they are equal."""
    value = section.get(panel.resource)
    if value is None:
        return None
    if by == "type":
        return float(value)
    return float(value / of.equal_pods) if of.equal_pods else None


def life(state: JobState, observed: Sequence[datetime], now: datetime) -> tuple[datetime, datetime] | None:
    """From the start of the job to its end, or to now; None without a beginning. `observed`: times of its entries."""
    begin = state.started_at or state.created_at or next(iter(observed), None)
    if begin is None:
        return None
    end = state.completed_at or (observed[-1] if state.closed and observed else now)
    return begin, max(begin, end)
