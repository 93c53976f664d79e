"""What a receiver's answer means, and when the next attempt is. Pure: clock and chance are given.

Source: docs/events.md, "Web hooks".
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import Final

REFUSED_WAITS: Final = (5.0, 60.0)
"""Seconds before the second and the third attempt at an event that the receiver refuses; a fourth is not made."""

BROKER_WAITS: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between attempts while brokers are away; the last of them from then on."""

_AWAY_WAITS: Final = (5.0, 15.0, 60.0, 300.0, 600.0)
_JITTER: Final = 0.2
_LONGEST: Final = 3600.0
_BUSY: Final = frozenset({429, 503})
_REFUSING: Final = frozenset({400, 413, 415, 422})
_GONE: Final = 410


class Answer(Enum):
    """What an attempt came to."""

    DELIVERED = auto()
    REFUSED = auto()
    """This event, not others."""
    AWAY = auto()
    """The receiver takes nothing at present."""
    GONE = auto()
    """The receiver wants no more, ever."""


def broker_wait(failures: int) -> float:
    """Seconds until the next attempt after so many in a row (1 or more) at which no broker answered."""
    return BROKER_WAITS[min(failures, len(BROKER_WAITS)) - 1]


def answer(status: int) -> Answer:
    """What an HTTP status means."""
    if status // 100 == 2:
        return Answer.DELIVERED
    if status == _GONE:
        return Answer.GONE
    return Answer.REFUSED if status in _REFUSING else Answer.AWAY


def away_wait(attempts: int, chance: float) -> float:
    """Seconds to the next attempt behind `attempts` (≥ 1) in a row that came to nothing, give or take 20 %.

    `chance`: in [0, 1), so that many senders do not come back at one time.
    """
    base = _AWAY_WAITS[min(attempts, len(_AWAY_WAITS)) - 1]
    return base * (1 - _JITTER + 2 * _JITTER * chance)


def asked_wait(status: int, retry_after: str, now: datetime) -> float | None:
    """Seconds that the receiver asks for, one hour at most; None: it asks for nothing that can be read.

    `retry_after`: seconds, or an HTTP date. Only 429 and 503 ask.
    """
    if status not in _BUSY or not retry_after:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), _LONGEST)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max((until - now).total_seconds(), 0.0), _LONGEST)
