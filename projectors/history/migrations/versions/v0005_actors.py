"""How it is known who is behind an entry. The view begins anew, so that every entry says it."""

from alembic import op

revision = "0005"
down_revision = "0004"

_STATEMENTS = (
    "TRUNCATE history_entries, history_jobs, history_labels, history_listing",
    "DELETE FROM history_positions",
    "ALTER TABLE history_entries ADD COLUMN actor_source text NOT NULL",
)


def upgrade() -> None:
    """The column is there, and the view at the beginning of every partition."""
    for statement in _STATEMENTS:
        op.execute(statement)
