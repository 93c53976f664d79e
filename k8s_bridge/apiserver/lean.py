"""Lines of watches → their data: of pods only what the bridge reads.

Most of a pod's JSON is of no use to us: half of it says which client wrote which field, and much of the rest is what
the API server fills in. What is not named here is skipped before objects are made of it.
"""

from contextlib import suppress
from typing import Any, Final, TypedDict

from msgspec import MsgspecError
from msgspec.json import Decoder
from pydantic_core import from_json

_CHANGES: Final = ("ADDED", "MODIFIED", "DELETED")


class _Written(TypedDict, total=False):
    time: Any


class _Metadata(TypedDict, total=False):
    name: Any
    namespace: Any
    uid: Any
    resourceVersion: Any
    labels: Any
    annotations: Any
    ownerReferences: Any
    finalizers: Any
    deletionTimestamp: Any
    deletionGracePeriodSeconds: Any
    managedFields: list[_Written]


class _Spec(TypedDict, total=False):
    nodeName: Any


class _Pod(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    metadata: _Metadata
    spec: _Spec
    status: Any


class _Line(TypedDict):
    type: str
    object: _Pod


_POD_LINES: Final = Decoder(_Line)


def data(line: bytes, kind: str) -> Any:
    """The data in a line of a watch of `kind`. Raises ValueError for what is no JSON."""
    if kind == "Pod":
        with suppress(MsgspecError):
            event = _POD_LINES.decode(line)
            if event["type"] in _CHANGES and not _is_quoted(event["object"].get("status")):
                return event
    return from_json(line, cache_strings="keys")


def _is_quoted(status: object) -> bool:
    """A message in the status may be observed, and quote the pod's spec: the secrets in that are taken out of it."""
    return not isinstance(status, dict) or bool(status.get("message")) or status.get("phase") == "Failed"
