"""Every metric by name: type, labels, meaning. What collects, documents, charts and tests them reads this.

No label takes a value that users choose (names, namespaces, uids), so the code bounds the number of series; sinks
have the names that the operator gives them. Names follow Prometheus: base units, and counters end in `_total`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Type = Literal["gauge", "counter", "histogram"]

LONG: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 43_200, 86_400, 604_800)
"""Bucket bounds in seconds for what takes a training job its time: a second to a week."""

SHORT: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Bucket bounds in seconds for what the controller does itself."""

JOBS: Final = "Jobs"
CONTROLLER: Final = "Controller"
QUEUES: Final = "Work queues"
WATCHES: Final = "API server"
LOG: Final = "Log"
SINKS: Final = "Sinks of public events"
KAFKA: Final = "Kafka"


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A metric as operators know it. `bounds`: of a histogram's buckets, without infinity."""

    group: str
    name: str
    type: Type
    labels: tuple[str, ...]
    meaning: str
    bounds: tuple[float, ...] = ()

    @property
    def series(self) -> Sequence[str]:
        """The names that a query can use."""
        if self.type == "histogram":
            return [f"{self.name}_{part}" for part in ("bucket", "sum", "count")]
        return [self.name]


CATALOG: Final[dict[str, MetricFamily]] = {}
"""Every metric, by name."""


def _metric(
    group: str,
    name: str,
    labels: str,
    meaning: str,
    *,
    bounds: tuple[float, ...] = (),
) -> MetricFamily:
    type_: Type = "histogram" if bounds else "counter" if name.endswith("_total") else "gauge"
    name = f"jobledger_{name}"
    made = CATALOG[name] = MetricFamily(group, name, type_, tuple(labels.split()), meaning, bounds)
    return made


# ---- jobs: from the log, so that a restart of the controller changes nothing ------------------------------------

ALL_JOBS = _metric(JOBS, "jobs", "kind phase", "Job objects that exist, by phase.")
REPLICAS = _metric(JOBS, "replicas", "kind phase", "Pods of these jobs, created or asked for, by phase.")
ADMITTED = _metric(JOBS, "jobs_admitted_total", "kind", "Jobs seen for the first time.")
FINISHED = _metric(
    JOBS,
    "jobs_finished_total",
    "kind result cause",
    "Jobs that reached Succeeded or Failed (`result`). `cause` is the cause class of the failure; empty for a "
    "success, and for a spec that breaks a rule.",
)
DELETED = _metric(JOBS, "jobs_deleted_total", "kind", "Job objects that were deleted.")
TRANSITIONS = _metric(JOBS, "phase_transitions_total", "kind from to", "Changes of a job's phase.")
RESTARTS = _metric(
    JOBS,
    "restarts_total",
    "kind cause",
    "Restarts of replicas that were granted and paid for, by cause class.",
)
BACKOFFS = _metric(
    JOBS,
    "replica_backoffs_total",
    "kind",
    "Pods that were not made again at once, because others before them had ended or were lost in a row.",
)
DENIED = _metric(
    JOBS,
    "restarts_denied_total",
    "kind cause why",
    "Ended replicas that stay ended: by their restart policy, or because the budget is used up (`why`: policy, "
    "budget).",
)
FAILURES = _metric(
    JOBS,
    "replica_failures_total",
    "kind cause",
    "Pods that failed, or vanished without having ended, while nobody had asked for their end, by cause class.",
)
REFUSED = _metric(
    JOBS,
    "children_refused_total",
    "kind child retryable",
    "Children (`child`: their kind) that the API server refused; `retryable`: the same write may succeed later.",
)
START_SECONDS = _metric(
    JOBS, "job_start_seconds", "kind", "Time from a job's admission to its first Running.", bounds=LONG
)
DURATION_SECONDS = _metric(
    JOBS,
    "job_duration_seconds",
    "kind result",
    "Time from a job's first Running to its end, pauses included.",
    bounds=LONG,
)

# ---- controller -------------------------------------------------------------------------------------------------

BUILD = _metric(CONTROLLER, "build_info", "version python", "Always 1.")
LEADER = _metric(CONTROLLER, "leader", "", "1 while this process holds the Lease (or needs none), else 0.")
OBSERVATIONS = _metric(
    CONTROLLER,
    "observations_total",
    "type outcome",
    "Observations that were decided; `outcome`: entry, or nothing if it changed nothing.",
)
LATENCY = _metric(
    CONTROLLER,
    "observation_to_entry_seconds",
    "",
    "Time from noticing something to its entry being durable.",
    bounds=SHORT,
)
DEAD_LETTERS = _metric(
    CONTROLLER, "dead_letters", "", "Observations in the log's dead letters: unreadable, or undecidable."
)
QUARANTINED = _metric(CONTROLLER, "quarantined_jobs", "", "Jobs whose history cannot be folded.")
ORPHANS = _metric(
    CONTROLLER,
    "evidence_orphans",
    "",
    "Pods that the evidence finalizer holds and no job asks about, at the sweeper's last look.",
)
RELEASED = _metric(
    CONTROLLER,
    "evidence_orphans_released_total",
    "",
    "Such pods that the sweeper has let go since the start.",
)

BEATS = _metric(
    CONTROLLER, "loop_beats_total", "loop", "Pieces of work that a loop is done with, well or not, by loop."
)
BUSY = _metric(CONTROLLER, "loop_busy", "loop", "1 while a loop has work in hand, else 0.")

# ---- work queues ------------------------------------------------------------------------------------------------

DEPTH = _metric(QUEUES, "workqueue_depth", "name", "Jobs that wait for a visit.")
RETRIES = _metric(QUEUES, "workqueue_retries_total", "name", "Visits that failed and will be made again.")
VISIT_SECONDS = _metric(
    QUEUES, "workqueue_visit_seconds", "name", "How long visits take, failed ones too.", bounds=SHORT
)
LONGEST = _metric(
    QUEUES,
    "workqueue_longest_visit_seconds",
    "name",
    "Age of the oldest visit under way; 0 if there is none.",
)

# ---- API server -------------------------------------------------------------------------------------------------

REQUESTS = _metric(
    WATCHES,
    "api_requests_total",
    "method code",
    "Requests to the API server by method (WATCH for watches) and HTTP status; `none`: no answer.",
)
SYNCED = _metric(
    WATCHES, "watch_synced", "resource", "1 while everything of this kind has been listed, else 0."
)
SILENCE = _metric(
    WATCHES, "watch_silence_seconds", "resource", "Time since the watch brought anything, bookmarks included."
)
WATCH_RESTARTS = _metric(
    WATCHES,
    "watch_restarts_total",
    "resource",
    "Watches opened again; API servers end each after some minutes, so a few an hour are normal.",
)
LISTS = _metric(
    WATCHES,
    "watch_lists_total",
    "resource",
    "Lists of everything: at the start, and when a place was forgotten.",
)

# ---- log --------------------------------------------------------------------------------------------------------

POSITION = _metric(LOG, "log_position", "", "Position of the last entry that this process has folded.")
WRITABLE = _metric(LOG, "log_writable", "", "1 while the log takes entries, else 0.")
CLOCK = _metric(
    LOG,
    "clock_ahead_seconds",
    "",
    "By how much the clock of a process that decides is ahead of the brokers', or of the API server's; negative: "
    "behind. Beyond 5 either way it fires no timers. Nothing where there is no other clock.",
)
ENTRIES = _metric(LOG, "entries_total", "", "Entries in the log that readers accept.")
SKIPPED = _metric(
    LOG, "entries_skipped_total", "", "Records in the log that readers skip: duplicates, or another writer's."
)
UNCONFIRMED = _metric(
    QUEUES,
    "jobs_unconfirmed",
    "",
    "Jobs of the log for which this process makes nothing, as their objects are not in the cluster, or have another "
    "spec than the log: somebody may have sent an observation that no bridge has made.",
)
REFUSED_SNAPSHOTS = _metric(
    LOG,
    "snapshots_refused_total",
    "",
    "Saved states that this process did not use at its starts, as no holder of its key has saved them: somebody has "
    "changed them, the key is another one, or an older release has saved them. Their jobs were read from the log.",
)
LAG = _metric(
    LOG, "projector_lag_entries", "projector", "Entries that a stream projector has not worked through yet."
)
UNCOUNTED = _metric(
    LOG,
    "uncounted_entries",
    "",
    "Entries that the counters about jobs do not hold yet; after a start they are left out until they hold all.",
)

# ---- sinks of public events ---------------------------------------------------------------------------------------

SINK_LAG = _metric(
    SINKS,
    "sink_lag_entries",
    "sink",
    "Entries of the log that a sink of public events has not got through yet.",
)
SINK_AGE = _metric(
    SINKS,
    "sink_lag_seconds",
    "sink",
    "Age of the oldest entry that is being delivered to a sink; 0 while it has everything.",
)
SINK_EVENTS = _metric(
    SINKS, "sink_events_total", "sink type", "Events that a sink got, or was found not to take, by type."
)
SCRUBBED = _metric(
    SINKS,
    "events_scrubbed_total",
    "",
    "Those of `jobledger_sink_events_total`, of all sinks, with a text out of which something was taken that must "
    "not leave: what a spec hands to programs, or what looks like a secret.",
)
SINK_ATTEMPTS = _metric(
    SINKS,
    "sink_attempts_total",
    "sink outcome",
    "Attempts to deliver an event to a web hook, by outcome: delivered, refused, away, gone.",
)
SINK_FAILED = _metric(
    SINKS, "sink_failed", "sink", "Events that a sink did not get, and that nobody has retried or dropped."
)
SINK_DISABLED = _metric(SINKS, "sink_disabled", "sink", "1 while a sink is switched off, else 0.")

# ---- Kafka: the partitions of a ledger among processes; read off what consumers know, no broker is asked ---------

PARTITIONS = _metric(KAFKA, "partitions", "", "Partitions of the log.")
OWNED = _metric(
    KAFKA,
    "partitions_owned",
    "",
    "Partitions that this process decides; the sum over all processes is `jobledger_partitions`, but for moments.",
)
WAITING = _metric(
    KAFKA,
    "observations_waiting",
    "partition",
    "Observations of a partition that this process decides: they are in the topic and no decision on them is durable "
    "yet. Where the topic ends is at most some seconds old.",
)
UNREAD = _metric(
    KAFKA,
    "entries_unread",
    "partition",
    "Records of the log, marks of transactions included, that this process has not read yet though it follows the "
    "partition.",
)
TAKEOVERS = _metric(
    KAFKA, "partition_takeovers_total", "", "Partitions that this process has begun to decide."
)
TAKEN_OVER_AT = _metric(
    KAFKA, "last_takeover_timestamp_seconds", "", "When it did so last, in seconds since 1970."
)
BEGUN_ANEW = _metric(
    KAFKA,
    "worker_restarts_total",
    "error",
    "How often the worker had to begin anew, by error: OwnerLost (another process has taken a partition), "
    "LogUnavailable (brokers are away, or send nothing), Hole (observations were left out on their way).",
)
REPEATS = _metric(
    KAFKA,
    "observations_repeated_total",
    "",
    "Observations that came again, and were passed over by their place.",
)
LETTERS = _metric(
    KAFKA, "dead_letters_written_total", "", "Observations that this process has put into the dead letters."
)
