"""What debug mode and resuming do to a replica's start. Source: spec R10, R11."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from statemachine.kinds.t9k.parts import DebugMode, DebugReplica, ResumeSpec, RunMode
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.lookup import find, flag


@dataclass(frozen=True, slots=True)
class Override:
    """How a replica starts instead of as its template says; `args` None leaves the training's.

    `command` None: only the arguments are replaced. `bare`: probes and lifecycle hooks of the training
    container are left out as well.
    """

    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    skip_init: bool = False
    bare: bool = False


def override(mode: RunMode, type_: str, *, resumed: bool, debug_command: Sequence[str]) -> Override:
    """What holds for the replicas of `type_`; debug wins over resumeSpecs. Source: spec R10, R11."""
    debug = debugged(mode.debug, type_, debug_command)
    if debug is not None:
        return debug
    resume = _of_type(mode.pause.resume_specs, type_) if resumed else None
    if resume is None:
        return Override()
    if resume.command:
        args: tuple[str, ...] | None = tuple(resume.args or ())
        return Override(tuple(resume.command), args, skip_init=resume.skip_init_container)
    args = None if resume.args is None else tuple(resume.args)
    return Override(None, args, skip_init=resume.skip_init_container)


def debugged(mode: DebugMode, type_: str, command: Sequence[str]) -> Override | None:
    """What debug mode has the replicas of `type_` do, `command` unless the spec says otherwise; None: it is off."""
    if not mode.enabled:
        return None
    entry = _of_type(mode.replica_specs, type_)
    waiting = tuple((entry and entry.command) or command)
    return Override(waiting, (), skip_init=bool(entry and entry.skip_init_container), bare=True)


E_ = TypeVar("E_", DebugReplica, ResumeSpec)


def _of_type(entries: Sequence[E_] | None, type_: str) -> E_ | None:
    return next((entry for entry in entries or () if entry.type == type_), None)


def _resume_ignored(draft: Draft) -> Iterator[Notice]:
    if flag(draft.spec, "runMode.debug.enabled") and find(draft.spec, "runMode.pause.resumeSpecs"):
        yield Notice("ResumeSpecsIgnored", _IGNORED)


_IGNORED = "command, args and skipInitContainer of resumeSpecs are ignored in debug mode"

RESUME_IGNORED = Rule(
    "R10",
    Layer.WARNING,
    says="`runMode.pause.resumeSpecs` is not set in debug mode, which wins over it",
    text=_IGNORED,
    check=_resume_ignored,
    source="spec R10",
)


def overridden(container: Mapping[str, Any], how: Override) -> dict[str, Any]:
    """The training container with the override's command and arguments in place."""
    result = dict(container)
    if how.command is not None:
        result["command"] = list(how.command)
    if how.args is not None:
        result["args"] = list(how.args)
    if how.bare:
        for name in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"):
            result.pop(name, None)
    return result
