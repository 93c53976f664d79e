"""Instants as statuses carry them."""

from datetime import datetime


def rfc3339(at: datetime) -> str:
    """An instant as Kubernetes writes it: UTC, whole seconds. Source: metav1.Time."""
    return at.isoformat(timespec="seconds")[:19] + "Z"
