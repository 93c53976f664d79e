"""A chart: its title, its unit, and queries with the names of their lines."""

from collections.abc import Sequence
from typing import Final, NamedTuple

OF_KIND: Final = '{kind=~"$kind"}'
"""Of the kinds that are chosen on the dashboard."""


class Query(NamedTuple):
    """A PromQL expression, and how its lines are called."""

    expr: str
    legend: str


class Chart(NamedTuple):
    """A panel. `unit` is Grafana's name of it; `stacked`: its lines add up to something."""

    title: str
    unit: str
    queries: Sequence[Query]
    stacked: bool = False
    stat: bool = False
    says: str = ""


def one(expr: str, legend: str) -> list[Query]:
    """A single expression."""
    return [Query(expr, legend)]


def rate(name: str, by: str, where: str = "") -> list[Query]:
    """Per second, by a label."""
    return one(f"sum by ({by}) (rate({name}{where}[$__rate_interval]))", _legend(by))


def per_hour(name: str, by: str) -> list[Query]:
    """In the last hour, of the chosen kinds, by a label."""
    return one(f'sum by ({by}) (increase({name}{{kind=~"$kind"}}[1h]))', _legend(by))


def _legend(by: str) -> str:
    return " · ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))


def quantiles(name: str, by: str = "", where: str = "", window: str = "$__rate_interval") -> list[Query]:
    """Median and 99th percentile of a histogram."""
    labels = f"le, {by}" if by else "le"
    spread = f"sum by ({labels}) (rate({name}_bucket{where}[{window}]))"
    named = f"{_legend(by)} " if by else ""
    return [
        Query(f"histogram_quantile(0.5, {spread})", f"{named}median"),
        Query(f"histogram_quantile(0.99, {spread})", f"{named}p99"),
    ]
