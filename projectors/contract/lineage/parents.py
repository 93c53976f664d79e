"""The run that a job belongs to, as an orchestrator names it in the environment of the training. Pure.

These are the only values of variables that leave (docs/events.md, "What never leaves"), and only in their own shape:
`<namespace>/<job>/<run id>`, the run id a UUID. Anything else is no parent.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from statemachine.ids import split_replica
from statemachine.kinds import kind_of
from statemachine.redact import Same
from statemachine.schema.lookup import items, text
from statemachine.state import JobState

PARENT: Final = "OPENLINEAGE_PARENT_ID"
ROOT: Final = "OPENLINEAGE_ROOT_PARENT_ID"

_LONGEST: Final = 512
_PARENT: Final = re.compile(
    r"(?P<namespace>[\w.:/+-]*[\w.:+-])/(?P<job>[\w.:+-]+)/"
    r"(?P<run>[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})"
)
"""Without @, % and what else addresses with credentials have."""


class ParentRun(NamedTuple):
    """A run of another job."""

    namespace: str
    job: str
    run: str


class Parents(NamedTuple):
    """The run that started this one, and the run at the top, where they are named."""

    parent: ParentRun | None = None
    root: ParentRun | None = None


def parent_run(value: str) -> ParentRun | None:
    """The run that a value names; None: it names none."""
    match = _PARENT.fullmatch(value) if len(value) <= _LONGEST else None
    return match and ParentRun(match["namespace"], match["job"], match["run"].lower())


def parents_of(state: JobState) -> Parents:
    """Those that a container that trains is given, the leading replica's first; none of a job without a plan.

    Kinds may make the leading replica of parts for which users write no variables.
    """
    if state.plan is None:
        return Parents()
    return _parents(Same(state.spec), state.api_version, state.kind, split_replica(state.plan.leading)[0])


@lru_cache(maxsize=1024)
def _parents(spec: Same, api_version: str, kind_name: str, type_: str) -> Parents:
    layout = kind_of(api_version, kind_name).layout
    for slot in sorted(layout.slots(spec.held), key=lambda slot: slot.type != type_):
        training = layout.training(slot)
        if training is not None and (parent := parent_run(_variable(training[1], PARENT))):
            return Parents(parent, parent_run(_variable(training[1], ROOT)))
    return Parents()


def _variable(container: Mapping[str, Any], name: str) -> str:
    """The literal value of the variable; of one that is there twice the last, as the kubelet has it."""
    values = [
        text(variable, "value") for _, variable in items(container, "env") if variable.get("name") == name
    ]
    return values[-1] if values else ""
