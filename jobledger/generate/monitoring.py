"""What is made of the catalog and the alert rules: `docs/metrics.md`, and rules for the Prometheus operator."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from jobledger.generate.kind_pages import NOTE, table
from jobledger.telemetry.catalog import CATALOG, MetricFamily

RULES: Final = "deploy/monitoring/alerts.yaml"
INTRO: Final = "docs/_metrics.intro.md"


def metrics_page(root: Path) -> str:
    """How to read the metrics, hand-written in the checkout at `root`, then every metric in tables."""
    intro = (root / INTRO).read_text(encoding="utf-8").strip()
    lines = ["# Metrics", "", f"<!-- {NOTE} The introduction is in {Path(INTRO).name}. -->", "", intro, ""]
    for group in dict.fromkeys(family.group for family in CATALOG.values()):
        lines += [f"## {group}", "", *table(["name", "type", "labels", "meaning"], _rows(group)), ""]
    return "\n".join(lines)


def _rows(group: str) -> Iterator[list[str]]:
    for family in CATALOG.values():
        if family.group == group:
            labels = ", ".join(f"`{label}`" for label in family.labels) or "–"
            yield [f"`{family.name}`", family.type, labels, _meaning(family)]


def _meaning(about: MetricFamily) -> str:
    if not about.bounds:
        return about.meaning
    return f"{about.meaning} Buckets: up to {_span(about.bounds[0])} … {_span(about.bounds[-1])}."


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds * 1000:g} ms"


def prometheus_rule(root: Path) -> str:
    """The alert rules of the checkout at `root` as the operator's resource."""
    rules: dict[str, Any] = yaml.safe_load((root / RULES).read_text(encoding="utf-8"))
    resource = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "jobledger", "labels": {"app.kubernetes.io/name": "jobledger"}},
        "spec": rules,
    }
    body = yaml.safe_dump(resource, sort_keys=False, width=110, allow_unicode=True)
    return f"# {NOTE} Source: {RULES}.\n{body}"
