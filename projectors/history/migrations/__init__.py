"""The schema of the history in PostgreSQL, revision by revision, as Alembic has them."""
