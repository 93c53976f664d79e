"""What the tests of metrics say: a controller in memory, and its page as Prometheus reads it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from jobledger.service.app import App
from jobledger.telemetry.page import MetricsPage
from jobledger.wiring import running
from k8s_bridge.admission import admit
from statemachine.engine.clock import WallClock
from statemachine.log.port import EventLog
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.unit.api.words import until

Sample = tuple[str, frozenset[tuple[str, str]]]


@asynccontextmanager
async def controlling(
    log: EventLog | None = None, cluster: MemoryCluster | None = None, **more: Any
) -> AsyncIterator[App]:
    """A running controller over a log and a cluster in memory; both live on."""
    controller = controller_of(log or MemoryLog(), cluster or MemoryCluster(admit=admit), WallClock(), **more)
    app = App(controller)
    async with running(controller):
        yield app


async def deleted(app: App, name: str, *, closed: bool = True) -> None:
    """The job is deleted, and (if `closed`) nothing is left of it."""
    job = await app.job("default", name)
    await app.delete(job, "alice")
    uid = job["metadata"]["uid"]

    async def is_so() -> bool:
        state = app.state(uid)
        return state is not None and (state.closed if closed else state.deleted)

    await until(is_so)


async def read(page: MetricsPage) -> list[Metric]:
    """The page, read back."""
    text, _ = await page.text("")
    return list(text_string_to_metric_families(text.decode()))


async def samples(page: MetricsPage) -> dict[Sample, float]:
    """Name and labels → value."""
    return dict(_samples(await read(page)))


def _samples(metrics: list[Metric]) -> Iterator[tuple[Sample, float]]:
    for family in metrics:
        for sample in family.samples:
            yield (sample.name, frozenset(sample.labels.items())), sample.value


def value(values: dict[Sample, float], name: str, /, **labels: str) -> float | None:
    """One value of the page; None if it is not there."""
    return values.get((f"jobledger_{name}", frozenset(labels.items())))
