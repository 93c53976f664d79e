"""Which of two reports on a pod is the later one, where it goes to and fro: into Unknown and back (spec T16, T17)."""

from datetime import datetime

from statemachine.observations import PodObserved


def is_later(observation: PodObserved, noticed_at: datetime, written_at: datetime | None) -> bool:
    """`observation` tells of a later time than a report that was observed and written then.

    The API server's clock decides, for ours may have been put back in between. Ours does within a second of it, and
    where it says no times.
    """
    if written_at is None or observation.written_at is None or observation.written_at == written_at:
        return observation.at > noticed_at
    return observation.written_at > written_at
