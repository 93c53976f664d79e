"""The labels of a raw object, as far as they are labels. Pure.

An API server stores no others; the store of one machine, and a damaged object, may hold anything.
"""

from collections.abc import Mapping
from typing import Any

from k8s_bridge.selectors import KEY, VALUE
from statemachine.observations import MOST_LABELS


def labels(meta: Mapping[str, Any]) -> dict[str, str]:
    """The labels in an object's metadata, by key; the first `MOST_LABELS` of them.

    In order, so that the same labels give the same bytes whoever wrote them down.
    """
    raw = meta.get("labels")
    if not isinstance(raw, Mapping):
        return {}
    found = sorted((key, value) for key, value in raw.items() if _is_label(key, value))
    return dict(found[:MOST_LABELS])


def _is_label(key: object, value: object) -> bool:
    return (
        isinstance(key, str)
        and isinstance(value, str)
        and KEY.fullmatch(key) is not None
        and VALUE.fullmatch(value) is not None
    )
