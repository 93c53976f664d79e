"""Kubernetes Events as API servers have them ↔ as the port has them. Pure."""

from datetime import UTC, datetime
from typing import Final

from k8s_bridge.apiserver.api import FIELD_MANAGER
from k8s_bridge.port import Happening, JobEvent, Manifest, Ref
from k8s_bridge.timestamps import stamp

_MESSAGE: Final = 1024
"""Most characters of an Event's message. API servers take more; Kubernetes' API reference asks for about so many."""


def written(event: JobEvent) -> Manifest:
    """A core/v1 Event: the kind that `kubectl describe` shows."""
    at, about = stamp(event.at), event.about
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event.name, "namespace": about.namespace},
        "involvedObject": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": event.uid,
        },
        "reason": event.reason,
        "message": event.message[:_MESSAGE],
        "type": event.level,
        "count": 1,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "source": {"component": FIELD_MANAGER},
        "reportingComponent": FIELD_MANAGER,
    }


def ours(raw: Manifest) -> JobEvent:
    """An Event that jobledger has written."""
    about = raw["involvedObject"]
    ref = Ref(about["apiVersion"], about["kind"], raw["metadata"]["namespace"], about["name"])
    at = datetime.fromisoformat(raw["lastTimestamp"]).astimezone(UTC)
    name, level = raw["metadata"]["name"], raw.get("type", "Normal")
    return JobEvent(ref, about["uid"], name, raw["reason"], raw["message"], level, at)


def happening(raw: Manifest) -> Happening:
    """An Event of either API: newer ones have an `eventTime` and a series in place of two times and a count."""
    about, meta, series = raw["involvedObject"], raw["metadata"], raw.get("series") or {}
    began = raw.get("firstTimestamp") or raw.get("eventTime") or meta["creationTimestamp"]
    last = series.get("lastObservedTime") or raw.get("lastTimestamp") or began
    return Happening(
        Ref(about.get("apiVersion", "v1"), about.get("kind", ""), meta["namespace"], about.get("name", "")),
        about.get("uid", ""),
        raw.get("reason", ""),
        raw.get("message", ""),
        raw.get("type", "Normal"),
        datetime.fromisoformat(began).astimezone(UTC),
        datetime.fromisoformat(last).astimezone(UTC),
        series.get("count") or raw.get("count") or 1,
        raw.get("reportingComponent") or (raw.get("source") or {}).get("component", ""),
    )
