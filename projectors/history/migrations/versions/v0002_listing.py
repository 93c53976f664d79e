"""The list of the console: a row for each job that exists. The view begins anew, so that every job gets one."""

from alembic import op

revision = "0002"
down_revision = "0001"

_STATEMENTS = (
    """CREATE TABLE history_listing (
        uid text PRIMARY KEY, namespace text NOT NULL, api_version text NOT NULL, kind text NOT NULL,
        name text NOT NULL, phase text NOT NULL, is_error boolean NOT NULL, created_at timestamptz NOT NULL,
        scheduler text NOT NULL, queue text NOT NULL, resources text NOT NULL, shown text NOT NULL)""",
    # one index holds all that a list is filtered and sorted by: what is shown is read for a page only
    """CREATE INDEX history_listing_all ON history_listing
        (created_at, uid, namespace, kind, name, phase, is_error, scheduler, queue, resources)""",
    "TRUNCATE history_entries, history_jobs",
    "DELETE FROM history_positions",
)


def upgrade() -> None:
    """The table is there, and the view at the beginning of every partition."""
    for statement in _STATEMENTS:
        op.execute(statement)
