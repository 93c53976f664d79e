"""Setting the conditions of a PyTorchJob, and telling of them.

A condition is written only if its status or reason differ; it then goes to the end of the list, so that the column
`State` shows it. Running and Restarting take each other's place; the end of a job makes Running False and leaves it
where it stands; after Failed nothing is written any more. Source: kubeflow-pytorchjob.md, section 4.
"""

from collections.abc import Iterator
from typing import Final, Literal

from statemachine.events import Announced, Condition, ConditionsChanged, Event
from statemachine.kinds.pytorchjob import words
from statemachine.observations import Observation
from statemachine.rules.words import false, true
from statemachine.state import JobState

_REPLACES: Final = {words.RUNNING: words.RESTARTING, words.RESTARTING: words.RUNNING}
_ENDS: Final = frozenset({words.SUCCEEDED, words.FAILED})

Level = Literal["Normal", "Warning"]


def hold(
    state: JobState,
    observation: Observation,
    type_: str,
    message: str,
    *,
    reason: str = "",
    level: Level | None = None,
) -> Iterator[Event]:
    """The condition is True; with a `level` that is announced, too, if it is new. `reason` is made of its type."""
    yield from _set(state, observation, true(type_, reason or words.reason(type_), message), level)


def end(
    state: JobState,
    observation: Observation,
    type_: str,
    message: str,
    *,
    reason: str,
    level: Level | None = None,
) -> Iterator[Event]:
    """The condition is False."""
    yield from _set(state, observation, false(type_, reason, message), level)


def _set(
    state: JobState, observation: Observation, wished: Condition, level: Level | None
) -> Iterator[Event]:
    failed, known = state.condition(words.FAILED), state.condition(wished.type)
    if failed is not None and failed.status == "True":
        return
    if known is not None and (known.status, known.reason) == (wished.status, wished.reason):
        return
    there = {condition.type for condition in state.conditions}
    replaced = _REPLACES.get(wished.type, "")
    yield ConditionsChanged(
        at=observation.at,
        conditions=(wished,),
        removed=(replaced,) if replaced in there else (),
        ended=(words.RUNNING,) if wished.type in _ENDS and words.RUNNING in there else (),
        last=True,
    )
    if level is not None:
        yield Announced(reason=wished.reason, message=wished.message, level=level)
