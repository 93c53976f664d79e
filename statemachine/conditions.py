"""Event → the list of conditions after it: their order, and when each last changed."""

from statemachine.events import ConditionsChanged
from statemachine.state import ConditionState


def changed(conditions: tuple[ConditionState, ...], event: ConditionsChanged) -> tuple[ConditionState, ...]:
    """The list in order of first appearance; a time moves only with the status. Source: spec R6."""
    if event.last:
        return _newest_last(conditions, event)
    merged = {condition.type: condition for condition in conditions if condition.type not in event.removed}
    for condition in event.conditions:
        before = merged.get(condition.type)
        since = before.changed_at if before and before.status == condition.status else event.at
        updated = event.at if event.first else None
        merged[condition.type] = ConditionState(
            condition.type, condition.status, condition.reason, condition.message, since, updated
        )
    if event.first:
        new = {condition.type: merged[condition.type] for condition in event.conditions}
        merged = new | {name: condition for name, condition in merged.items() if name not in new}
    return tuple(merged.values())


def _newest_last(
    conditions: tuple[ConditionState, ...], event: ConditionsChanged
) -> tuple[ConditionState, ...]:
    """The list with what has changed at its end."""
    before = {condition.type: condition for condition in conditions}
    newest = {condition.type for condition in event.conditions}
    kept = [
        condition._replace(status="False") if condition.type in event.ended else condition
        for condition in conditions
        if condition.type not in event.removed and condition.type not in newest
    ]
    for condition in event.conditions:
        old = before.get(condition.type)
        since = old.changed_at if old and old.status == condition.status else event.at
        kept.append(
            ConditionState(
                condition.type, condition.status, condition.reason, condition.message, since, event.at
            )
        )
    return tuple(kept)
