"""No event's data is larger than 48 KiB: brokers and forwarding programs have limits of their own. Pure."""

import json
from typing import Any, Final

LIMIT: Final = 48 * 1024

_MAPS: Final = frozenset({"labels", "restarts"})


def fitted(raw: bytes) -> bytes:
    """The data as it is, or with its largest lists, maps and texts cut until it fits, and `truncated` set."""
    if len(raw) <= LIMIT:
        return raw
    data: dict[str, Any] = {**json.loads(raw), "truncated": True}
    while len(raw := json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()) > LIMIT:
        data = {
            name: _halved(name, value) if _is_largest(name, data) else value for name, value in data.items()
        }
    return raw


def _is_largest(name: str, data: dict[str, Any]) -> bool:
    return name == max(data, key=lambda field: (_size(data[field]), field))


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def _halved(name: str, value: Any) -> Any:
    """Half of a list, text or map; of an object its largest part is halved."""
    if isinstance(value, list | str):
        return value[: len(value) // 2]
    if not isinstance(value, dict) or not value:
        return value
    if name in _MAPS:
        return dict(list(value.items())[: len(value) // 2])
    return {key: _halved(key, inner) if _is_largest(key, value) else inner for key, inner in value.items()}
