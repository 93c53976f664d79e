"""Charts of the controller: its queues, the API server, the log, sinks, Kafka, and its processes."""

from collections.abc import Sequence
from typing import Final

from jobledger.generate.charts.chart import Chart, Query, one, rate

ROWS: Final[dict[str, Sequence[Chart]]] = {
    "Work queues": (
        Chart("Jobs that wait", "short", one("sum by (name) (jobledger_workqueue_depth)", "{{name}}")),
        Chart("Visits", "ops", rate("jobledger_workqueue_visit_seconds_count", "name")),
        Chart("Failed visits", "ops", rate("jobledger_workqueue_retries_total", "name")),
        Chart(
            "Longest visit under way",
            "s",
            one("max by (name) (jobledger_workqueue_longest_visit_seconds)", "{{name}}"),
        ),
    ),
    "API server": (
        Chart("Requests by method", "reqps", rate("jobledger_api_requests_total", "method"), stacked=True),
        Chart(
            "Answers that are no success",
            "reqps",
            rate("jobledger_api_requests_total", "method, code", '{code!~"2.."}'),
            stacked=True,
        ),
        Chart(
            "Silence of watches",
            "s",
            one("max by (resource) (jobledger_watch_silence_seconds)", "{{resource}}"),
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
            one("min by (resource) (jobledger_watch_synced)", "{{resource}}"),
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
        Chart("Entries", "ops", one("sum(rate(jobledger_entries_total[$__rate_interval]))", "entries")),
        Chart("Observations", "ops", rate("jobledger_observations_total", "type, outcome"), stacked=True),
        Chart(
            "Projectors behind the log",
            "short",
            one("max by (projector) (jobledger_projector_lag_entries)", "{{projector}}"),
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
        Chart("Log takes entries", "bool_yes_no", one("min(jobledger_log_writable)", "writable")),
        Chart(
            "Clocks of those that decide",
            "s",
            one("max by (instance) (jobledger_clock_ahead_seconds)", "{{instance}}"),
            says="Ahead of the brokers', or the API server's. Beyond 5 s either way no timers are fired.",
        ),
    ),
    "Sinks of public events": (
        Chart(
            "Entries that sinks have not got",
            "short",
            one("sum by (sink) (jobledger_sink_lag_entries)", "{{sink}}"),
        ),
        Chart(
            "Age of what is being delivered",
            "s",
            one("max by (sink) (jobledger_sink_lag_seconds)", "{{sink}}"),
        ),
        Chart(
            "Events a second",
            "short",
            [
                *rate("jobledger_sink_events_total", "sink"),
                Query("sum(rate(jobledger_events_scrubbed_total[$__rate_interval]))", "scrubbed"),
            ],
        ),
        Chart("Attempts a second", "short", rate("jobledger_sink_attempts_total", "outcome")),
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
            one("sum by (partition) (jobledger_observations_waiting)", "{{partition}}"),
            stacked=True,
            says="By partition: they are in the topic, and no decision on them is durable yet.",
        ),
        Chart(
            "Records that a process has not read",
            "short",
            one("max by (instance) (jobledger_entries_unread)", "{{instance}}"),
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
            one("1000 * max by (instance) (jobledger_last_takeover_timestamp_seconds)", "{{instance}}"),
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
        Chart("Leaders", "short", one("sum(jobledger_leader)", "processes that hold the Lease")),
        Chart(
            "Processes by version",
            "short",
            one("count by (version, python) (jobledger_build_info)", "{{version}}, Python {{python}}"),
        ),
        Chart(
            "Processor",
            "short",
            one(
                "rate(process_cpu_seconds_total[$__rate_interval]) * on (instance) group_left () "
                "jobledger_build_info",
                "{{instance}}",
            ),
            says="Seconds of processor time a second.",
        ),
        Chart(
            "Memory",
            "bytes",
            one(
                "process_resident_memory_bytes * on (instance) group_left () jobledger_build_info",
                "{{instance}}",
            ),
        ),
        Chart("Work of the loops", "ops", rate("jobledger_loop_beats_total", "loop")),
        Chart("Loops with work in hand", "short", one("max by (loop) (jobledger_loop_busy)", "{{loop}}")),
    ),
}
