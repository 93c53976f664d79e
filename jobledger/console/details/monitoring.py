"""Resource monitoring: what a job's pods use over time, beside what its specs request and limit.

Without a source of metrics there are the requests and limits, and a notice. A panel is a piece of its own, so that it
can be asked for alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from jobledger.console.details.lives import Lives
from jobledger.console.details.render import render
from jobledger.console.details.subject import JOB, Job, Subject
from jobledger.console.frame import Console
from jobledger.console.monitoring import chart
from jobledger.console.monitoring.panels import By, MeasuredJob, Monitor, ShownPanel, life, measured
from jobledger.console.monitoring.queries import RANGES, Panel, TimeRange, span
from jobledger.console.monitoring.source import MetricsSource
from jobledger.console.words import Language, language_of, say
from jobledger.program.errors import NoRight
from jobledger.web.rights import AccessRight, Caller, caller_of, demand
from projectors.history.facts import resources

Asking = Annotated[Caller, Depends(caller_of)]
Ranges = Literal["all", "6h", "1h", "15m"]


@dataclass(frozen=True, slots=True)
class MonitoringQuery:
    """What the address says: the last of the job's time, or all of it; sums by type, or pod by pod."""

    range: Ranges = "all"
    by: By = "type"


def _asked(*, range_: Annotated[Ranges, Query(alias="range")] = "all", by: By = "type") -> MonitoringQuery:
    return MonitoringQuery(range_, by)


Wanted = Annotated[MonitoringQuery, Depends(_asked)]


@dataclass(frozen=True, slots=True)
class Measuring:
    """What there is to measure of one job, and when."""

    monitor: Monitor
    of: MeasuredJob
    span: TimeRange
    by: By

    async def all(self) -> Sequence[ShownPanel]:
        """Every panel."""
        return await self.monitor.all(self.of, self.span, self.by)

    async def one(self, panel: Panel) -> ShownPanel:
        """One of them."""
        return await self.monitor.shown(self.of, panel, self.span, self.by)


class Measurer:
    """Measures jobs, if a source is configured."""

    def __init__(self, console: Console, lives: Lives) -> None:
        self._lives = lives
        url = console.options.metrics
        self._monitor = Monitor(MetricsSource(url)) if url else None

    async def of(self, subject: Subject, caller: Caller, asked: MonitoringQuery) -> Measuring | None:
        """None where there is no source, or the job has had no time yet.

        Raises:
            NoRight: the caller may not list pods, and so learns nothing of them.
        """
        state = subject.state
        if self._monitor is None or state is None:
            return None
        await demand(caller, AccessRight("list", "", "pods", subject.namespace))
        kept = await self._lives.of(subject.uid)
        entries, count = kept.entries, len(kept)
        while state.closed and count > 1:  # what is left of a job that is gone knows no pods any more
            count -= 1
            state = kept.state(count)
        observed = [entries[0].seen_at, entries[-1].seen_at] if entries else []
        lived = life(subject.state or state, observed, datetime.now(UTC))
        if lived is None:
            return None
        return Measuring(self._monitor, measured(state), span(*lived, asked.range), asked.by)

    @property
    def is_configured(self) -> bool:
        """There is a source."""
        return self._monitor is not None


def add(router: APIRouter, console: Console, lives: Lives) -> None:
    """The routes."""
    measurer = Measurer(console, lives)

    @router.get(JOB + "/monitoring")
    async def monitoring(request: Request, subject: Job, caller: Asking, asked: Wanted) -> Response:
        """All panels; without a source what the specs request and allow."""
        note, measuring = "", None
        try:
            measuring = await measurer.of(subject, caller, asked)
        except NoRight as error:  # what the specs say they may see
            note = str(error)
        if measuring is None:
            requests, limits = resources(subject.state) if subject.state else ({}, {})
            names = sorted({*requests, *limits})
            rows = [(name, requests.get(name), limits.get(name)) for name in names]
            if not measurer.is_configured:
                note = say(language_of(request), "monitoring.none")
            return render(request, "specs.html", subject, tab="monitoring", rows=rows, note=note)
        return render(
            request,
            "monitoring.html",
            subject,
            tab="monitoring",
            asked=asked,
            ranges=RANGES,
            panels=await measuring.all(),
            **_words(request),
        )

    @router.get(JOB + "/monitoring/panel")
    async def one_panel(
        request: Request,
        subject: Job,
        caller: Asking,
        asked: Wanted,
        panel: Annotated[str, Query(max_length=300)],
    ) -> Response:
        """One panel, as its own button asks for it."""
        measuring = await measurer.of(subject, caller, asked)
        meant = (
            next((candidate for candidate in measuring.of.panels if candidate.name == panel), None)
            if measuring
            else None
        )
        if measuring is None or meant is None:
            raise HTTPException(404, f'there is no panel "{panel:.80}"')
        shown = await measuring.one(meant)
        return render(
            request, "panel.html", subject, tab="monitoring", asked=asked, shown=shown, **_words(request)
        )


def _words(request: Request) -> dict[str, object]:
    """What the templates of panels need beside their data."""
    language = language_of(request)
    titled = partial(title, language)
    return {
        "title": titled,
        "metric": partial(_metric, language),
        "failed": partial(failed, language),
        "value": chart.value,
        "colour": chart.colour,
        "draw": lambda shown: chart.chart(shown, titled(shown.panel), partial(_metric, language)),
    }


_TITLES: Final = {"cpu": "details.cpu", "memory": "details.memory"}


def title(language: Language, panel: Panel) -> str:
    """What the panel is called: the device's own name, if it is one."""
    if panel.name in ("network", "storage"):
        return say(language, f"monitoring.{panel.name}")
    return say(language, _TITLES[panel.name]) if panel.name in _TITLES else panel.name


def _metric(language: Language, name: str) -> str:
    return say(language, f"monitoring.{name}")


def failed(language: Language, shown: ShownPanel) -> str:
    """Why a panel has no lines, in one sentence; empty if nothing went wrong."""
    failure = shown.failure
    return say(language, failure.key, **failure.values) if failure else ""
