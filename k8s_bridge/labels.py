"""The valid labels of a raw object. Pure.

An API server stores no others; a local store, or a damaged object, may hold any value.
"""

from collections.abc import Mapping
from typing import Any

from k8s_bridge.selectors import KEY, VALUE
from statemachine.observations import MOST_LABELS


def labels(meta: Mapping[str, Any]) -> dict[str, str]:
    """The labels in an object's metadata, by key; the first `MOST_LABELS` of them.

    They are sorted, so that the same labels give the same bytes.
    """
    raw = meta.get("labels")
    if not isinstance(raw, Mapping):
        return {}
    pairs = sorted((key, value) for key, value in raw.items() if _is_label(key, value))
    return dict(pairs[:MOST_LABELS])


def _is_label(key: object, value: object) -> bool:
    return (
        isinstance(key, str)
        and isinstance(value, str)
        and KEY.fullmatch(key) is not None
        and VALUE.fullmatch(value) is not None
    )
