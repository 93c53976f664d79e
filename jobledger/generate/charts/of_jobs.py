"""Charts of jobs: how many there are, why they restart and fail, and how long things take."""

from collections.abc import Sequence
from typing import Final

from jobledger.generate.charts.chart import OF_KIND, Chart, Query, one, per_hour, quantiles

ROWS: Final[dict[str, Sequence[Chart]]] = {
    "Jobs": (
        Chart(
            "Running",
            "short",
            one('sum(jobledger_jobs{kind=~"$kind",phase="Running"})', "jobs"),
            stat=True,
        ),
        Chart(
            "Waiting",
            "short",
            one('sum(jobledger_jobs{kind=~"$kind",phase=~"Pending|Resuming"})', "jobs"),
            stat=True,
        ),
        Chart(
            "Succeeded, last day",
            "short",
            one('sum(increase(jobledger_jobs_finished_total{kind=~"$kind",result="Succeeded"}[1d]))', "jobs"),
            stat=True,
        ),
        Chart(
            "Failed, last day",
            "short",
            one('sum(increase(jobledger_jobs_finished_total{kind=~"$kind",result="Failed"}[1d]))', "jobs"),
            stat=True,
        ),
        Chart(
            "Jobs by phase",
            "short",
            one(f"sum by (phase) (jobledger_jobs{OF_KIND})", "{{phase}}"),
            stacked=True,
        ),
        Chart(
            "Pods by phase",
            "short",
            one(f"sum by (phase) (jobledger_replicas{OF_KIND})", "{{phase}}"),
            stacked=True,
        ),
        Chart("Finished in the last hour", "short", per_hour("jobledger_jobs_finished_total", "result")),
        Chart(
            "Admitted and deleted in the last hour",
            "short",
            [
                Query(f"sum(increase(jobledger_jobs_admitted_total{OF_KIND}[1h]))", "admitted"),
                Query(f"sum(increase(jobledger_jobs_deleted_total{OF_KIND}[1h]))", "deleted"),
            ],
        ),
    ),
    "Restarts and causes": (
        Chart(
            "Pod failures in the last hour, by cause",
            "short",
            per_hour("jobledger_replica_failures_total", "cause"),
            stacked=True,
        ),
        Chart(
            "Restarts in the last hour, by cause",
            "short",
            per_hour("jobledger_restarts_total", "cause"),
            stacked=True,
        ),
        Chart(
            "Replicas that had to wait in the last hour, by kind",
            "short",
            per_hour("jobledger_replica_backoffs_total", "kind"),
            stacked=True,
            says="They had ended, or were lost, several times in a row.",
        ),
        Chart(
            "Why jobs failed in the last hour",
            "short",
            one(
                'sum by (cause) (increase(jobledger_jobs_finished_total{kind=~"$kind",result="Failed"}[1h]))',
                "{{cause}}",
            ),
            stacked=True,
            says="Without a cause: a spec that breaks a rule.",
        ),
        Chart(
            "Restarts denied in the last hour",
            "short",
            per_hour("jobledger_restarts_denied_total", "why"),
            stacked=True,
            says="By the restart policy, or because the budget is used up.",
        ),
        Chart(
            "Children refused by the API server in the last hour",
            "short",
            per_hour("jobledger_children_refused_total", "child, retryable"),
            stacked=True,
        ),
        Chart(
            "Phase transitions in the last hour",
            "short",
            per_hour("jobledger_phase_transitions_total", "from, to"),
        ),
    ),
    "Latency": (
        Chart("Admission to Running", "s", quantiles("jobledger_job_start_seconds", "kind", OF_KIND, "1h")),
        Chart("Running to the end", "s", quantiles("jobledger_job_duration_seconds", "kind", OF_KIND, "1d")),
        Chart(
            "Observation to entry",
            "s",
            quantiles("jobledger_observation_to_entry_seconds"),
            says="From noticing something until its entry is durable.",
        ),
        Chart("Visits", "s", quantiles("jobledger_workqueue_visit_seconds", "name")),
    ),
}
