"""The labels of the jobs that exist, to filter by. The view begins anew, so that every job gets its own."""

from alembic import op

revision = "0003"
down_revision = "0002"

_STATEMENTS = (
    # a table of their own: in the index of the list they could outgrow what an index can hold, and a value is found
    # exactly as it is written, which LIKE does not promise on every database
    """CREATE TABLE history_labels (
        uid text NOT NULL, key text NOT NULL, value text NOT NULL, PRIMARY KEY (uid, key))""",
    # for its planner, which begins with the labels where few jobs have them
    "CREATE INDEX history_labels_by_label ON history_labels (key, value, uid)",
    "TRUNCATE history_entries, history_jobs, history_listing",
    "DELETE FROM history_positions",
)


def upgrade() -> None:
    """The table is there, and the view at the beginning of every partition."""
    for statement in _STATEMENTS:
        op.execute(statement)
