"""The Grafana dashboard, as data: rows of charts, each a title, a unit and queries with the names of their lines.

Source: Grafana's dashboard JSON model, schema version 38 (Grafana 10).
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS: Final = 24
_HEIGHT: Final = 8


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


def _each(expr: str, legend: str) -> list[Query]:
    return [Query(expr, legend)]


def _rate(name: str, by: str, where: str = "") -> list[Query]:
    """Per second, by a label."""
    return _each(f"sum by ({by}) (rate({name}{where}[$__rate_interval]))", _legend(by))


def _per_hour(name: str, by: str) -> list[Query]:
    """In the last hour, of the chosen kinds, by a label."""
    return _each(f'sum by ({by}) (increase({name}{{kind=~"$kind"}}[1h]))', _legend(by))


def _legend(by: str) -> str:
    return " · ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))


def _quantiles(name: str, by: str = "", where: str = "", window: str = "$__rate_interval") -> list[Query]:
    """Median and 99th percentile of a histogram."""
    labels = f"le, {by}" if by else "le"
    spread = f"sum by ({labels}) (rate({name}_bucket{where}[{window}]))"
    named = f"{_legend(by)} " if by else ""
    return [
        Query(f"histogram_quantile(0.5, {spread})", f"{named}median"),
        Query(f"histogram_quantile(0.99, {spread})", f"{named}p99"),
    ]


_OF_KIND: Final = '{kind=~"$kind"}'

ROWS: Final[dict[str, Sequence[Chart]]] = {
    "Jobs": (
        Chart(
            "Running",
            "short",
            _each('sum(jobledger_jobs{kind=~"$kind",phase="Running"})', "jobs"),
            stat=True,
        ),
        Chart(
            "Waiting",
            "short",
            _each('sum(jobledger_jobs{kind=~"$kind",phase=~"Pending|Resuming"})', "jobs"),
            stat=True,
        ),
        Chart(
            "Succeeded, last day",
            "short",
            _each(
                'sum(increase(jobledger_jobs_finished_total{kind=~"$kind",result="Succeeded"}[1d]))', "jobs"
            ),
            stat=True,
        ),
        Chart(
            "Failed, last day",
            "short",
            _each('sum(increase(jobledger_jobs_finished_total{kind=~"$kind",result="Failed"}[1d]))', "jobs"),
            stat=True,
        ),
        Chart(
            "Jobs by phase",
            "short",
            _each(f"sum by (phase) (jobledger_jobs{_OF_KIND})", "{{phase}}"),
            stacked=True,
        ),
        Chart(
            "Pods by phase",
            "short",
            _each(f"sum by (phase) (jobledger_replicas{_OF_KIND})", "{{phase}}"),
            stacked=True,
        ),
        Chart("Finished in the last hour", "short", _per_hour("jobledger_jobs_finished_total", "result")),
        Chart(
            "Admitted and deleted in the last hour",
            "short",
            [
                Query(f"sum(increase(jobledger_jobs_admitted_total{_OF_KIND}[1h]))", "admitted"),
                Query(f"sum(increase(jobledger_jobs_deleted_total{_OF_KIND}[1h]))", "deleted"),
            ],
        ),
    ),
    "Restarts and causes": (
        Chart(
            "Pod failures in the last hour, by cause",
            "short",
            _per_hour("jobledger_replica_failures_total", "cause"),
            stacked=True,
        ),
        Chart(
            "Restarts in the last hour, by cause",
            "short",
            _per_hour("jobledger_restarts_total", "cause"),
            stacked=True,
        ),
        Chart(
            "Replicas that had to wait in the last hour, by kind",
            "short",
            _per_hour("jobledger_replica_backoffs_total", "kind"),
            stacked=True,
            says="They had ended, or were lost, several times in a row.",
        ),
        Chart(
            "Why jobs failed in the last hour",
            "short",
            _each(
                'sum by (cause) (increase(jobledger_jobs_finished_total{kind=~"$kind",result="Failed"}[1h]))',
                "{{cause}}",
            ),
            stacked=True,
            says="Without a cause: a spec that breaks a rule.",
        ),
        Chart(
            "Restarts denied in the last hour",
            "short",
            _per_hour("jobledger_restarts_denied_total", "why"),
            stacked=True,
            says="By the restart policy, or because the budget is used up.",
        ),
        Chart(
            "Children refused by the API server in the last hour",
            "short",
            _per_hour("jobledger_children_refused_total", "child, retryable"),
            stacked=True,
        ),
        Chart(
            "Phase transitions in the last hour",
            "short",
            _per_hour("jobledger_phase_transitions_total", "from, to"),
        ),
    ),
    "Latency": (
        Chart("Admission to Running", "s", _quantiles("jobledger_job_start_seconds", "kind", _OF_KIND, "1h")),
        Chart(
            "Running to the end", "s", _quantiles("jobledger_job_duration_seconds", "kind", _OF_KIND, "1d")
        ),
        Chart(
            "Observation to entry",
            "s",
            _quantiles("jobledger_observation_to_entry_seconds"),
            says="From noticing something until its entry is durable.",
        ),
        Chart("Visits", "s", _quantiles("jobledger_workqueue_visit_seconds", "name")),
    ),
    "Work queues": (
        Chart("Jobs that wait", "short", _each("sum by (name) (jobledger_workqueue_depth)", "{{name}}")),
        Chart("Visits", "ops", _rate("jobledger_workqueue_visit_seconds_count", "name")),
        Chart("Failed visits", "ops", _rate("jobledger_workqueue_retries_total", "name")),
        Chart(
            "Longest visit under way",
            "s",
            _each("max by (name) (jobledger_workqueue_longest_visit_seconds)", "{{name}}"),
        ),
    ),
    "API server": (
        Chart("Requests by method", "reqps", _rate("jobledger_api_requests_total", "method"), stacked=True),
        Chart(
            "Answers that are no success",
            "reqps",
            _rate("jobledger_api_requests_total", "method, code", '{code!~"2.."}'),
            stacked=True,
        ),
        Chart(
            "Silence of watches",
            "s",
            _each("max by (resource) (jobledger_watch_silence_seconds)", "{{resource}}"),
            says="Bookmarks come about every minute.",
        ),
        Chart(
            "Lists and watches begun in the last hour",
            "short",
            [
                Query("sum by (resource) (increase(jobledger_watch_lists_total[1h]))", "{{resource}} lists"),
                Query(
                    "sum by (resource) (increase(jobledger_watch_restarts_total[1h]))", "{{resource}} watches"
                ),
            ],
        ),
        Chart(
            "Everything listed",
            "bool_yes_no",
            _each("min by (resource) (jobledger_watch_synced)", "{{resource}}"),
        ),
        Chart(
            "Pods held by an orphaned finalizer",
            "short",
            [
                Query("max(jobledger_evidence_orphans)", "held"),
                Query(
                    "sum(increase(jobledger_evidence_orphans_released_total[1h]))", "let go in the last hour"
                ),
            ],
        ),
    ),
    "Log": (
        Chart("Entries", "ops", _each("sum(rate(jobledger_entries_total[$__rate_interval]))", "entries")),
        Chart("Observations", "ops", _rate("jobledger_observations_total", "type, outcome"), stacked=True),
        Chart(
            "Projectors behind the log",
            "short",
            _each("max by (projector) (jobledger_projector_lag_entries)", "{{projector}}"),
        ),
        Chart(
            "Position",
            "short",
            [
                Query("max(jobledger_log_position)", "log"),
                Query("max(jobledger_log_position) - max(jobledger_uncounted_entries)", "counted"),
            ],
        ),
        Chart(
            "What should be 0",
            "short",
            [
                Query("max(jobledger_dead_letters)", "dead letters"),
                Query("max(jobledger_quarantined_jobs)", "jobs in quarantine"),
                Query("max(jobledger_entries_skipped_total)", "entries skipped"),
                Query("sum(jobledger_snapshots_refused_total)", "snapshots refused"),
                Query("sum(jobledger_jobs_unconfirmed)", "jobs unconfirmed"),
            ],
        ),
        Chart("Log takes entries", "bool_yes_no", _each("min(jobledger_log_writable)", "writable")),
        Chart(
            "Clocks of those that decide",
            "s",
            _each("max by (instance) (jobledger_clock_ahead_seconds)", "{{instance}}"),
            says="Ahead of the brokers', or the API server's. Beyond 5 s either way no timers are fired.",
        ),
    ),
    "Sinks of public events": (
        Chart(
            "Entries that sinks have not got",
            "short",
            _each("sum by (sink) (jobledger_sink_lag_entries)", "{{sink}}"),
        ),
        Chart(
            "Age of what is being delivered",
            "s",
            _each("max by (sink) (jobledger_sink_lag_seconds)", "{{sink}}"),
        ),
        Chart("Events a second", "short", _rate("jobledger_sink_events_total", "sink")),
        Chart("Attempts a second", "short", _rate("jobledger_sink_attempts_total", "outcome")),
        Chart(
            "What should be 0",
            "short",
            [
                Query("max by (sink) (jobledger_sink_failed)", "{{sink}}: failures"),
                Query("max by (sink) (jobledger_sink_disabled)", "{{sink}}: off"),
            ],
        ),
    ),
    "Kafka": (
        Chart(
            "Observations that wait",
            "short",
            _each("sum by (partition) (jobledger_observations_waiting)", "{{partition}}"),
            stacked=True,
            says="By partition: they are in the topic, and no decision on them is durable yet.",
        ),
        Chart(
            "Records that a process has not read",
            "short",
            _each("max by (instance) (jobledger_entries_unread)", "{{instance}}"),
            says="Of the partition that is worst, in each process that follows the log.",
        ),
        Chart(
            "Partitions decided",
            "short",
            [
                Query("sum(jobledger_partitions_owned)", "decided"),
                Query("max(jobledger_partitions)", "there are"),
                Query("sum by (instance) (jobledger_partitions_owned)", "{{instance}}"),
            ],
        ),
        Chart(
            "Take-overs and new beginnings in the last hour",
            "short",
            [
                Query(
                    "sum by (instance) (increase(jobledger_partition_takeovers_total[1h]))", "{{instance}}"
                ),
                Query("sum by (error) (increase(jobledger_worker_restarts_total[1h]))", "{{error}}"),
            ],
        ),
        Chart(
            "Last take-over",
            "dateTimeAsIso",
            _each("1000 * max by (instance) (jobledger_last_takeover_timestamp_seconds)", "{{instance}}"),
        ),
        Chart(
            "Observations that came again, and dead letters, in the last hour",
            "short",
            [
                Query("sum(increase(jobledger_observations_repeated_total[1h]))", "came again"),
                Query("sum(increase(jobledger_dead_letters_written_total[1h]))", "dead letters"),
            ],
        ),
    ),
    "Controller": (
        Chart("Leaders", "short", _each("sum(jobledger_leader)", "processes that hold the Lease")),
        Chart(
            "Processes by version",
            "short",
            _each("count by (version, python) (jobledger_build_info)", "{{version}}, Python {{python}}"),
        ),
        Chart(
            "Processor",
            "short",
            _each(
                "rate(process_cpu_seconds_total[$__rate_interval]) * on (instance) group_left () "
                "jobledger_build_info",
                "{{instance}}",
            ),
            says="Seconds of processor time a second.",
        ),
        Chart(
            "Memory",
            "bytes",
            _each(
                "process_resident_memory_bytes * on (instance) group_left () jobledger_build_info",
                "{{instance}}",
            ),
        ),
        Chart("Work of the loops", "ops", _rate("jobledger_loop_beats_total", "loop")),
        Chart("Loops with work in hand", "short", _each("max by (loop) (jobledger_loop_busy)", "{{loop}}")),
    ),
}


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
