"""The phases of a job and the table of what moves them (spec R5), held by a `transitions` Machine.

The table is data; the Machine is built from it without a model, callbacks or automatic transitions. `decide`
asks `step` before it says `PhaseEntered`; replay does not need it. `docs/phases.md` is drawn from the same
table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from transitions import Machine

from statemachine.errors import InvariantBroken


class Phase(StrEnum):
    """`status.phase`, and `New` for a job that has not been decided on yet."""

    NEW = "New"
    PENDING = "Pending"
    RUNNING = "Running"
    PAUSED = "Paused"
    RESUMING = "Resuming"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"

    @property
    def is_final(self) -> bool:
        """No transition leaves this phase (T19)."""
        return self in FINAL

    @property
    def is_active(self) -> bool:
        """Replicas should exist: neither paused nor ended."""
        return self in ACTIVE


FINAL: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED})
ACTIVE: Final = frozenset({Phase.PENDING, Phase.RUNNING, Phase.RESUMING, Phase.UNKNOWN})


class Trigger(StrEnum):
    """What can move a phase, in the words of the domain."""

    ADMITTED = "admitted"
    ADMITTED_PAUSED = "admitted_paused"
    FOUND_INVALID = "found_invalid"
    FOUND_SUCCEEDED = "found_succeeded"
    FOUND_FAILED = "found_failed"
    CHILDREN_ACCEPTED = "children_accepted"
    CHILD_REFUSED = "child_refused"
    CHILD_REFUSED_FOR_GOOD = "child_refused_for_good"
    REPLICAS_UP = "replicas_up"
    SUCCESS_MET = "success_met"
    FAILURE_MET = "failure_met"
    DEADLINE_PASSED = "deadline_passed"
    RESTART_GRANTED = "restart_granted"
    RESTART_DENIED = "restart_denied"
    REPLICAS_RECOVERED = "replicas_recovered"
    PAUSE_WISHED = "pause_wished"
    PAUSE_ENDED = "pause_ended"
    STATUS_LOST = "status_lost"
    STATUS_KNOWN_UP = "status_known_up"
    STATUS_KNOWN_PENDING = "status_known_pending"
    STATUS_KNOWN_RESUMING = "status_known_resuming"
    REPLICA_VANISHED = "replica_vanished"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of spec R5: `rule` moves a job from any of `sources` to `target`; None keeps the phase."""

    rule: str
    trigger: Trigger
    sources: tuple[Phase, ...]
    target: Phase | None
    says: str


_NEW = (Phase.NEW,)
STARTING = (Phase.PENDING, Phase.RESUMING)
"""Of a job whose replicas are not up yet."""

_ACTIVE = (Phase.PENDING, Phase.RUNNING, Phase.RESUMING, Phase.UNKNOWN)
_UNFINISHED = (*_NEW, *_ACTIVE, Phase.PAUSED)
_KNOWN = (Phase.PENDING, Phase.RUNNING, Phase.RESUMING)

TABLE: Final = (
    Transition("T1", Trigger.ADMITTED, _NEW, Phase.PENDING, "job seen, pause off"),
    Transition("T2", Trigger.ADMITTED_PAUSED, _NEW, Phase.PAUSED, "job seen, pause on"),
    Transition("T3", Trigger.FOUND_INVALID, _NEW, Phase.FAILED, "job seen, invalid"),
    # Adoption: the log was lost, or begins with a job that another controller has run.
    Transition("adopted", Trigger.FOUND_SUCCEEDED, _UNFINISHED, Phase.SUCCEEDED, "its status says Succeeded"),
    Transition("adopted", Trigger.FOUND_FAILED, _UNFINISHED, Phase.FAILED, "its status says Failed"),
    # T4, T5 also of jobs that run: an elastic one may while some pods are still refused.
    Transition("T4", Trigger.CHILDREN_ACCEPTED, _ACTIVE, None, "every planned child accepted"),
    Transition("T5", Trigger.CHILD_REFUSED, _ACTIVE, None, "a child refused, for now"),
    Transition("T6", Trigger.CHILD_REFUSED_FOR_GOOD, _ACTIVE, Phase.FAILED, "a child refused for good"),
    Transition("T7", Trigger.REPLICAS_UP, STARTING, Phase.RUNNING, "replicas up"),
    Transition("T8", Trigger.SUCCESS_MET, _ACTIVE, Phase.SUCCEEDED, "success rule met"),
    Transition("T9", Trigger.FAILURE_MET, _ACTIVE, Phase.FAILED, "failure rule met"),
    Transition("T10", Trigger.DEADLINE_PASSED, _ACTIVE, Phase.FAILED, "deadline passed"),
    Transition("T11", Trigger.RESTART_GRANTED, _ACTIVE, None, "replica failed, restart granted"),
    Transition("T12", Trigger.RESTART_DENIED, _ACTIVE, None, "non-primary replica failed, no restart"),
    Transition("T13", Trigger.REPLICAS_RECOVERED, (Phase.RUNNING,), None, "restarted replicas run again"),
    Transition("T14", Trigger.PAUSE_WISHED, _ACTIVE, Phase.PAUSED, "pause on"),
    Transition("T15", Trigger.PAUSE_ENDED, (Phase.PAUSED,), Phase.RESUMING, "pause off"),
    Transition("T16", Trigger.STATUS_LOST, _KNOWN, Phase.UNKNOWN, "primary's status lost"),
    Transition("T17", Trigger.STATUS_KNOWN_UP, (Phase.UNKNOWN,), Phase.RUNNING, "known again, up"),
    Transition("T17", Trigger.STATUS_KNOWN_PENDING, (Phase.UNKNOWN,), Phase.PENDING, "known again, not up"),
    Transition("T17", Trigger.STATUS_KNOWN_RESUMING, (Phase.UNKNOWN,), Phase.RESUMING, "known again, not up"),
    Transition("T18", Trigger.REPLICA_VANISHED, _ACTIVE, None, "a pod vanished without having ended"),
)
"""Spec R5, row by row. T19 (final phases have no exit) is the absence of rows that leave them."""


def machine() -> Machine:
    """A Machine that holds `TABLE`; the rows that keep the phase are its internal transitions."""
    return Machine(
        model=None,
        states=[phase.value for phase in Phase],
        initial=Phase.NEW.value,
        auto_transitions=False,
        transitions=[
            {
                "trigger": row.trigger.value,
                "source": [source.value for source in row.sources],
                "dest": None if row.target is None else row.target.value,
            }
            for row in TABLE
        ],
    )


def _targets(held: Machine) -> Mapping[tuple[Phase, Trigger], Phase]:
    """What the Machine says for every (phase, trigger) that it allows, looked up once."""
    return {
        (phase, trigger): Phase(transitions[0].dest) if transitions[0].dest else phase
        for trigger in Trigger
        for phase in Phase
        if (transitions := held.get_transitions(trigger.value, phase.value))
    }


MACHINE: Final = machine()
_TARGET: Final = _targets(MACHINE)


def allows(phase: Phase, trigger: Trigger) -> bool:
    """The Machine knows a transition for `trigger` out of `phase`."""
    return (phase, trigger) in _TARGET


def step(phase: Phase, trigger: Trigger) -> Phase:
    """The phase that `trigger` leads to from `phase`.

    Raises:
        InvariantBroken: the Machine knows no such transition; a rule asked for something the spec forbids.
    """
    try:
        return _TARGET[phase, trigger]
    except KeyError:
        raise InvariantBroken(f"no transition {trigger} from phase {phase}") from None
