"""Instants as objects of Kubernetes carry them."""

from datetime import UTC, datetime


def rfc3339(at: datetime) -> str:
    """An instant as Kubernetes writes it: UTC, whole seconds. Source: metav1.Time."""
    return at.isoformat(timespec="seconds")[:19] + "Z"


def instant(value: object) -> datetime | None:
    """An RFC 3339 time in UTC; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
        return at.astimezone(UTC) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None
