"""The tables: jobs, their entries, and how far the view is in each partition of the log."""

from alembic import op

revision = "0001"
down_revision = None

_TABLES = (
    """CREATE TABLE history_jobs (
        uid text PRIMARY KEY, api_version text NOT NULL, kind text NOT NULL, namespace text NOT NULL,
        name text NOT NULL, phase text NOT NULL, created_at timestamptz, started_at timestamptz,
        completed_at timestamptz, deleted boolean NOT NULL, restarts bigint NOT NULL, replicas bigint NOT NULL,
        last_seq bigint NOT NULL, updated_at timestamptz NOT NULL, began_at timestamptz NOT NULL,
        partition integer NOT NULL, first_position bigint NOT NULL,
        UNIQUE (began_at, partition, first_position))""",
    # every list is newest first, and its next page begins behind a row: so the order is at the end of each index
    "CREATE INDEX history_jobs_by_name ON history_jobs (name, namespace, began_at, partition, first_position)",
    "CREATE INDEX history_jobs_by_namespace ON history_jobs (namespace, began_at, partition, first_position)",
    "CREATE INDEX history_jobs_by_kind ON history_jobs (kind, began_at, partition, first_position)",
    "CREATE INDEX history_jobs_by_phase ON history_jobs (phase, began_at, partition, first_position)",
    "CREATE INDEX history_jobs_by_both ON history_jobs (namespace, phase, began_at, partition, first_position)",
    """CREATE TABLE history_entries (
        partition integer NOT NULL, position bigint NOT NULL, job text NOT NULL, seq bigint NOT NULL,
        seen_at timestamptz NOT NULL, happened_at timestamptz, actor text NOT NULL, cause_type text NOT NULL,
        phase_after text NOT NULL, events text[] NOT NULL, summary text NOT NULL,
        PRIMARY KEY (partition, position), UNIQUE (job, seq))""",
    """CREATE TABLE history_positions (
        partition integer PRIMARY KEY, position bigint NOT NULL, latest timestamptz NOT NULL)""",
)


def upgrade() -> None:
    """The tables are there, and empty."""
    for statement in _TABLES:
        op.execute(statement)
