"""Alembic's entry point: migrate the schema that the connection's search path names."""

import os

import psycopg
from alembic import context
from sqlalchemy import Connection, create_engine, pool


def _migrate(connection: Connection) -> None:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()


def _database_url() -> str:
    given: str | None = context.config.attributes.get("database_url")
    return given or os.environ["DATABASE_URL"]


engine = create_engine(
    "postgresql+psycopg://",
    creator=lambda: psycopg.connect(_database_url()),
    poolclass=pool.NullPool,
)
with engine.connect() as open_connection:
    _migrate(open_connection)
