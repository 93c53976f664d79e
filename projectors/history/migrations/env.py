"""What Alembic runs: the revisions, on the connection and in the transaction that it was given."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
)
context.run_migrations()
