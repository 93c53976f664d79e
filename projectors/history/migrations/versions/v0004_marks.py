"""The marks of labels in the index of the list. The view begins anew, so that every job gets its own."""

from alembic import op

revision = "0004"
down_revision = "0003"

_STATEMENTS = (
    "TRUNCATE history_entries, history_jobs, history_labels, history_listing",
    "DELETE FROM history_positions",
    "ALTER TABLE history_listing ADD COLUMN labels text NOT NULL",
    # a filter by labels that many jobs have reads the index alone, as every other filter does
    "DROP INDEX history_listing_all",
    """CREATE INDEX history_listing_all ON history_listing
        (created_at, uid, namespace, kind, name, phase, is_error, scheduler, queue, resources, labels)""",
)


def upgrade() -> None:
    """The marks are there, and the view at the beginning of every partition."""
    for statement in _STATEMENTS:
        op.execute(statement)
