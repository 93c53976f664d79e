"""All jobs of a history, as tests compare them."""

from typing import Final

from projectors.history import History, JobRow

_UIDS: Final = "SELECT uid FROM history_jobs ORDER BY began_at DESC, partition DESC, first_position DESC"


async def jobs_of(history: History) -> list[JobRow]:
    """Every job that is or was, the newest first."""
    uids = [str(uid) for (uid,) in await history._database.fetch(_UIDS)]
    rows = [await history.find_job(uid) for uid in uids]
    return [row for row in rows if row is not None]
