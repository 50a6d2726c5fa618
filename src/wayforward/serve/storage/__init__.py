"""The database: its tables, and sessions on SQLite or PostgreSQL."""

from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import Base

__all__ = ["Base", "Database"]
