"""The Grafana dashboard: `charts` in Grafana's form.

Source: Grafana's dashboard JSON model, schema version 38 (Grafana 10).
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from jobledger.generate.charts import ROWS
from jobledger.generate.charts.chart import Chart

_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS: Final = 24
_HEIGHT: Final = 8


def dashboard() -> str:
    """The dashboard as Grafana imports it."""
    model = {
        "title": "jobledger",
        "uid": "jobledger",
        "description": "Training jobs, why they restart, and how their controller is doing.",
        "tags": ["jobledger", "kubernetes"],
        "schemaVersion": 38,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_data_source(), _kind()]},
        "panels": list(_panels()),
    }
    return json.dumps(model, indent=2, ensure_ascii=False) + "\n"


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _kind() -> dict[str, Any]:
    return {
        "name": "kind",
        "label": "Kind",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": "label_values(jobledger_jobs, kind)", "refId": "kind"},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels() -> Iterator[dict[str, Any]]:
    """Rows, and below each its charts from left to right; ids in order of appearance."""
    number, top = 0, 0
    for title, charts in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": _COLUMNS, "h": 1},
            "panels": [],
        }
        top, left, height = top + 1, 0, 0
        for chart in charts:
            width, tall = (6, 4) if chart.stat else (12, _HEIGHT)
            if left + width > _COLUMNS:
                top, left = top + height, 0
            number += 1
            yield _panel(number, chart, {"x": left, "y": top, "w": width, "h": tall})
            left, height = left + width, tall
        top += height


def _panel(number: int, chart: Chart, place: dict[str, int]) -> dict[str, Any]:
    panel: dict[str, Any] = {
        "id": number,
        "type": "stat" if chart.stat else "timeseries",
        "title": chart.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _SOURCE, "expr": expr, "legendFormat": legend}
            for index, (expr, legend) in enumerate(chart.queries)
        ],
        "fieldConfig": {"defaults": {"unit": chart.unit, "min": 0}, "overrides": []},
    }
    if chart.says:
        panel["description"] = chart.says
    if chart.stat:
        panel["options"] = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
    else:
        stacking = {"mode": "normal" if chart.stacked else "none", "group": "A"}
        panel["fieldConfig"]["defaults"]["custom"] = {
            "fillOpacity": 30 if chart.stacked else 5,
            "stacking": stacking,
        }
        panel["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    return panel
