"""The history view: every job that ever was and every entry of its life, as SQL tables beside the log.

`HistoryProjector` makes the tables follow the log; `History` asks them, also from another process beside the one
that writes. Everything in it can be made again from the log.
"""

from projectors.history.projector import HistoryProjector
from projectors.history.queries import EntryRow, History, JobRow

__all__ = ["EntryRow", "History", "HistoryProjector", "JobRow"]
