"""Times as Kubernetes objects carry them."""

from datetime import UTC, datetime


def stamp(at: datetime) -> str:
    """`at` as RFC 3339 in UTC, with microseconds: a local pod may start and end within one second."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
