"""The history view: every job that ever was and every entry of its life, as SQL tables in a database.

`HistoryProjector` makes the tables follow the log; `History` asks them, also from another process beside the one
that writes. They are in SQLite (`sqlite`) or in PostgreSQL (`postgres`). Everything in them can be made again from
the log.
"""

from projectors.history.database import Database
from projectors.history.listing import ERROR, JobFilter, Listed, ListPage, Sort
from projectors.history.projector import HistoryProjector
from projectors.history.queries import EntryRow, History, JobRow
from projectors.history.sqlite import SqliteDatabase

__all__ = [
    "ERROR",
    "Database",
    "EntryRow",
    "History",
    "HistoryProjector",
    "JobFilter",
    "JobRow",
    "ListPage",
    "Listed",
    "Sort",
    "SqliteDatabase",
]
