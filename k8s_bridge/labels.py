"""The labels of a raw object, as far as they are labels. Pure.

An API server stores no others; the store of one machine, and a damaged object, may hold anything.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from statemachine.observations import MOST_LABELS

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_KEY: Final = re.compile(rf"(?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_NAME}")
_VALUE: Final = re.compile(rf"(?:{_NAME})?")
"""Source: Kubernetes, Labels and Selectors, "Syntax and character set"."""


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
        and _KEY.fullmatch(key) is not None
        and _VALUE.fullmatch(value) is not None
    )
