"""Reading a status back: what a job object says of a life that the log does not know, no matter who wrote it.

Nothing here trusts the shape of a status; what cannot be read is not said.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from statemachine.observations import RecordedCondition
from statemachine.schema.lookup import find, items, number, text
from statemachine.timestamps import instant


def conditions(status: Mapping[str, Any]) -> Iterator[RecordedCondition]:
    """The conditions that have a type and a time, in their order. Source: spec R6."""
    for _, item in items(status, "conditions"):
        changed_at, type_ = time_at(item, "lastTransitionTime"), text(item, "type")
        if type_ and changed_at is not None:
            yield RecordedCondition(
                type=type_,
                status=text(item, "status"),
                reason=text(item, "reason"),
                message=text(item, "message"),
                changed_at=changed_at,
                updated_at=time_at(item, "lastUpdateTime"),
            )


def time_at(tree: object, path: str) -> datetime | None:
    """The time at `path`, in UTC; None if there is none."""
    return instant(find(tree, path))


def count_at(tree: object, path: str) -> int | None:
    """The number ≥ 0 at `path`, None if there is none."""
    value = number(tree, path)
    return value if value is not None and value >= 0 else None
