"""Which panels a job has, and what is asked for each, in PromQL. Pure.

The metrics are those of the kubelet's cAdvisor, and for NVIDIA's devices of the DCGM exporter. Source: spec
console.md, section 4; which metrics is our own choice.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

Unit = Literal["cores", "bytes", "bytes/s", "count"]

POINTS: Final = 240
"""Points of a line at most: about one every four pixels."""

STEP: Final = 15
"""Seconds between two points at least; steps are multiples of it, so that readers ask for the same points."""

_RATE: Final = 180
"""Seconds that a rate is taken over at least: two scrapes have to be in it, and many scrape once a minute."""

RANGES: Final[dict[str, timedelta | None]] = {
    "all": None,
    "6h": timedelta(hours=6),
    "1h": timedelta(hours=1),
    "15m": timedelta(minutes=15),
}
"""The spans that can be chosen, as the address says them: the last of the job's time, or all of it."""

_CONTAINER: Final = 'container!="",container!="POD"'

_NVIDIA: Final = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that is measured: `expression` with the selector at `%s` and the span of a rate at `%w`."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Panel:
    """What is shown together; `resource` is what the specs request and limit of it, if they can."""

    name: str
    unit: Unit
    metrics: tuple[Metric, ...]
    resource: str = ""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From when to when, in seconds since 1970, and how many seconds lie between two points."""

    start: int
    end: int
    step: int


def _rate(metric: str, more: str = "") -> str:
    return f"sum by (pod) (rate({metric}{{%s{more}}}[%w]))"


_USUAL: Final = (
    Panel(
        "cpu",
        "cores",
        (Metric("usage", _rate("container_cpu_usage_seconds_total", f",{_CONTAINER}")),),
        resource="cpu",
    ),
    Panel(
        "memory",
        "bytes",
        (Metric("usage", f"sum by (pod) (container_memory_working_set_bytes{{%s,{_CONTAINER}}})"),),
        resource="memory",
    ),
)

_TRAFFIC: Final = (
    Panel(
        "network",
        "bytes/s",
        (
            Metric("receive", _rate("container_network_receive_bytes_total")),
            Metric("send", _rate("container_network_transmit_bytes_total")),
        ),
    ),
    Panel(
        "storage",
        "bytes/s",
        (
            Metric("read", _rate("container_fs_reads_bytes_total", f",{_CONTAINER}")),
            Metric("write", _rate("container_fs_writes_bytes_total", f",{_CONTAINER}")),
        ),
    ),
)

# where the exporter's own labels lost against those of its pod they are called exported_…
_DCGM: Final = (
    "sum by (pod) (DCGM_FI_DEV_GPU_UTIL{%s}) / 100 or "
    'sum by (pod) (label_replace(DCGM_FI_DEV_GPU_UTIL{%e}, "pod", "$1", "exported_pod", "(.*)")) / 100'
)


def panels(resources: Sequence[str]) -> Sequence[Panel]:
    """The panels of a job whose pods ask for these resources: those that all have, and one for each device."""
    devices = sorted({*resources} - {"cpu", "memory", "ephemeral-storage"})
    return [*_USUAL, *map(_device, devices), *_TRAFFIC]


def _device(resource: str) -> Panel:
    """Usage is how many devices' worth of work is done: the sum of their utilisations."""
    known = resource.startswith(_NVIDIA)
    return Panel(resource, "count", (Metric("usage", _DCGM),) if known else (), resource=resource)


def expression(metric: Metric, namespace: str, pods: Sequence[str], step: int) -> str:
    """The query for these pods."""
    window = f"{max(_RATE, 2 * step)}s"
    text = metric.expression.replace("%w", window)
    text = text.replace("%e", selector(namespace, pods, "exported_"))
    return text.replace("%s", selector(namespace, pods))


def selector(namespace: str, pods: Sequence[str], prefix: str = "") -> str:
    """Matchers for the pods, and perhaps others whose names begin like theirs: thousands of names fit no query."""
    if len(pods) == 1:
        named = f"{prefix}pod={quoted(pods[0])}"
    else:
        named = f"{prefix}pod=~{quoted(re.escape(_prefix(pods)) + '.*')}"
    return f"{prefix}namespace={quoted(namespace)},{named}"


def _prefix(names: Sequence[str]) -> str:
    """What all names begin with."""
    first, last = min(names), max(names)  # whatever lies between them begins like both
    differs = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differs, len(first))]


def quoted(text: str) -> str:
    """A string of PromQL."""
    for special, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        text = text.replace(special, escaped)
    return f'"{text}"'


def span(begin: datetime, end: datetime, chosen: str) -> TimeRange:
    """The part of the job's time that is meant, on a grid on which all readers' points lie; never of no length.

    It ends at the last point that is not behind the end: a rate over time to come would be too low.
    """
    length = RANGES.get(chosen)
    first, last = begin.timestamp(), max(end, begin).timestamp()
    if length is not None:
        first = max(first, last - length.total_seconds())
    step = max(1, math.ceil((last - first) / POINTS / STEP)) * STEP
    stop = math.floor(last / step) * step
    return TimeRange(min(math.floor(first / step) * step, stop - step), stop, step)
