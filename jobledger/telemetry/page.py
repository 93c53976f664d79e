"""`GET /metrics`: what Prometheus reads."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Final

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector

from jobledger.telemetry.catalog import MetricFamily
from jobledger.telemetry.collect import Collector, Samples
from jobledger.telemetry.histogram import Spread
from jobledger.telemetry.measured import Measured
from jobledger.telemetry.tally import Tally
from statemachine.errors import LogError
from statemachine.log.port import EventLog

log = logging.getLogger(__name__)

_PATIENCE: Final = 5.0
"""Seconds that a scrape waits for the log to be counted; Prometheus waits ten, unless it is set to another time."""

_OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0"
"""What a client that reads OpenMetrics gets, whatever else it may have said."""

_FAMILIES: Final[dict[str, Callable[..., Metric]]] = {
    "gauge": GaugeMetricFamily,
    "counter": CounterMetricFamily,
    "histogram": HistogramMetricFamily,
}


class MetricsPage:
    """The metrics of a controller as text; without one, those of a process that waits for its turn."""

    def __init__(self, measured: Measured | None) -> None:
        self._of = measured
        self._tally = Tally()
        self._collector = Collector(measured, self._tally)
        self._counting: asyncio.Task[None] | None = None
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client: the families as they are now."""
        for about, samples in self._collector.samples():
            yield _family(about, samples)

    def describe(self) -> list[Metric]:
        """See prometheus_client: nothing is collected for being registered."""
        return []

    async def text(self, accept: str) -> tuple[bytes, str]:
        """The page and its content type: OpenMetrics for clients that `accept` it, else Prometheus' own."""
        await self._refresh()
        encode, content_type = choose_encoder(_OPEN_METRICS if "openmetrics-text" in accept else "")
        return encode(self.registry), content_type

    async def _refresh(self) -> None:
        """What takes asking the log is as it is now, as far as that can be had in time.

        The log is counted by one task, which outlives the scrape that began it: a long log takes several.
        """
        if self._of is None or not self._of.tells:
            return
        if self._counting is None or self._counting.done():
            self._counting = asyncio.create_task(
                self._count(self._of, *self._of.ledger.partitions.logs), name="metrics"
            )
        await asyncio.wait({self._counting}, timeout=_PATIENCE)

    async def _count(self, of: Measured, *logs: EventLog) -> None:
        await of.settled()
        try:
            self._collector.dead_letters = sum([await log.dead_letter_count() for log in logs])
            await self._tally.advance(*logs)
        except LogError as error:
            fields = {"action": "metrics", "error": str(error)}
            log.warning("the log cannot be counted now, metrics are of the last time it could", extra=fields)


def mount(api: FastAPI, measured: Measured | None) -> None:
    """`api` answers `GET /metrics`: about the controller, or (None) that it waits for its turn."""
    page = MetricsPage(measured)

    @api.get("/metrics", include_in_schema=False)
    async def metrics(request: Request) -> Response:
        """What Prometheus reads."""
        text, content_type = await page.text(request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})


def _family(about: MetricFamily, samples: Samples) -> Metric:
    family = _FAMILIES[about.type](about.name, about.meaning, labels=about.labels)
    for labels, value in samples:
        if isinstance(value, Spread):
            family.add_metric(labels, value.cumulative(), value.sum)  # type: ignore[attr-defined]
        else:
            family.add_metric(labels, float(value))  # type: ignore[attr-defined]
    return family
