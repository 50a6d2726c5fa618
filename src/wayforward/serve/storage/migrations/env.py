"""Runs migrations on the connection that `Database.migrate` hands over."""

from alembic import context

from wayforward.serve.storage.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    compare_type=True,
)
context.run_migrations()
