"""Mutants of what decides and folds, of the phases and of what follows from a state."""

from typing import Final

from tests.mutants.model import Mutant

_FAST: Final = ("tests/scenarios",)


def _decide(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"decide-{name}", "statemachine.decide", old, new, _FAST)


def _evolve(name: str, old: str, new: str, equivalent: str = "") -> Mutant:
    return Mutant(f"evolve-{name}", "statemachine.evolve", old, new, _FAST, equivalent)


def _conditions(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"conditions-{name}", "statemachine.conditions", old, new, _FAST)


def _state(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"state-{name}", "statemachine.state", old, new, _FAST)


def _phases(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"phases-{name}", "statemachine.phases", old, new, _FAST)


def _desired(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"desired-{name}", "statemachine.desired", old, new, _FAST)


MUTANTS: Final = (
    _evolve("labels-have-no-version", '"labels_version": event.version', '"labels_version": 0'),
    _evolve("labels-have-no-time", '"labels_written": event.written_at', '"labels_written": None'),
    _decide("closed-jobs", "if state.closed or (", "if ("),
    _decide(
        "pods-before-their-job",
        "state.phase is Phase.NEW and not isinstance(observation, JobObserved)",
        "False",
    ),
    Mutant(
        "evolve-state-before-changed-too",
        "statemachine.evolve",
        "replicas = dict(now.replicas)",
        "replicas = now.replicas",
        ("tests/unit/test_replicas.py",),
    ),
    _evolve("row-not-counted", "event.attempt, event.row + 1)", "event.attempt, event.row)"),
    _evolve("ended-by-others-leaves", "Move.ENDED if replica.leaving else Move.TAKEN", "Move.ENDED"),
    _evolve(
        "refusals-go-on-after-a-pod-was-made",
        '_with(created) | {"refusals": 0} | _taken(state, "create")',
        "created",
    ),
    _evolve(
        "refusals-end-with-any-report",
        "if replica.uid or not state.refused:",
        "if not state.refused:",
    ),
    _evolve(
        "accepted-deletion-is-still-refused",
        'return _with(updated) | _taken(state, "delete") if event.deleting else updated',
        "return updated",
    ),
    _evolve(
        "unread-write-forgotten",
        '"unread_written": event.written_at or state.unread_written',
        '"unread_written": event.written_at',
    ),
    _evolve("every-timer-cleared", "if name != event.timer}}", "if name == event.timer}}"),
    _evolve(
        "refusals-counted-from-the-last-start",
        '{"accepted": event.start, "refusals": 0}',
        '{"accepted": event.start}',
    ),
    _evolve(
        "held-group-forgotten",
        "held_at=event.at if event.holds else known.held_at if known else None",
        "held_at=event.at if event.holds else None",
    ),
    _evolve(
        "adopted-pods-of-a-job-that-has-ended-stay", '({"cleaned": False} if state.is_final else {})', "{}"
    ),
    _evolve(
        "deleted-jobs-keep-timers",
        '{"deleted": True, "replicas": _all_leave(state), "timers": {}}',
        '{"deleted": True, "replicas": _all_leave(state)}',
    ),
    _evolve("other-scale-keeps-the-row", "if event.plan.scale != state.running_plan.scale:", "if False:"),
    _evolve("new-replicas-are-not-wanted", "replicas[name] = replicas[name].moved(Move.JOINED)", "pass"),
    _evolve("restart-not-counted", "state.restarts.get(type_, 0) + 1}", "state.restarts.get(type_, 0)}"),
    _evolve(
        "pause-keeps-refusals",
        '"accepted": state.starts, "refusals": 0, "replicas"',
        '"accepted": state.starts, "replicas"',
    ),
    _evolve(
        "resume-keeps-the-start",
        'return {"started_at": event.at, "starts": state.starts + 1,',
        'return {"starts": state.starts + 1,',
    ),
    _evolve("end-keeps-timers", '{"completed_at": event.at, "timers": {}, ', '{"completed_at": event.at, '),
    _evolve(
        "resumed-replicas-keep-their-row",
        "changed(replica.moved(_BEGUN), row=0, held_until=None)",
        "replica.moved(_BEGUN)",
    ),
    _conditions(
        "time-moves",
        "since = before.changed_at if before and before.status == condition.status else event.at",
        "since = event.at",
    ),
    _conditions(
        "time-stays",
        "since = old.changed_at if old and old.status == condition.status else event.at",
        "since = old.changed_at if old else event.at",
    ),
    _conditions(
        "first-is-last",
        "merged = new | {name: condition for name, condition in merged.items() if name not in new}",
        "merged = merged | new",
    ),
    _state("leaving-replicas-are-members", "self.plan.scale if self.plan else 0", "len(self.replicas)"),
    _state("resumed-at-once", "return self.starts > 1", "return self.starts > 0"),
    _state(
        "driver-is-deleted-while-it-waits",
        "return ReplicaPhase.CREATING if is_driver else replica.phase",
        "return replica.phase",
    ),
    _phases(
        "paused-jobs-are-active", "ACTIVE: Final = frozenset({", "ACTIVE: Final = frozenset({Phase.PAUSED, "
    ),
    _phases("unknown-jobs-are-not-active", "Phase.RESUMING, Phase.UNKNOWN})", "Phase.RESUMING})"),
    _phases(
        "no-deadline-in-unknown",
        'Transition("T10", Trigger.DEADLINE_PASSED, _ACTIVE,',
        'Transition("T10", Trigger.DEADLINE_PASSED, _KNOWN,',
    ),
    _phases(
        "no-pause-in-unknown",
        'Transition("T14", Trigger.PAUSE_WISHED, _ACTIVE,',
        'Transition("T14", Trigger.PAUSE_WISHED, _KNOWN,',
    ),
    _phases(
        "no-restart-in-unknown",
        'Transition("T11", Trigger.RESTART_GRANTED, _ACTIVE,',
        'Transition("T11", Trigger.RESTART_GRANTED, _KNOWN,',
    ),
    _phases(
        "no-failure-in-unknown",
        'Transition("T9", Trigger.FAILURE_MET, _ACTIVE,',
        'Transition("T9", Trigger.FAILURE_MET, _KNOWN,',
    ),
    _phases(
        "nothing-vanishes-in-unknown",
        'Transition("T18", Trigger.REPLICA_VANISHED, _ACTIVE,',
        'Transition("T18", Trigger.REPLICA_VANISHED, _KNOWN,',
    ),
    _phases(
        "never-up-from-resuming", "STARTING = (Phase.PENDING, Phase.RESUMING)", "STARTING = (Phase.PENDING,)"
    ),
    _phases(
        "ended-logs-not-learnt-while-paused",
        "_UNFINISHED = (*_NEW, *_ACTIVE, Phase.PAUSED)",
        "_UNFINISHED = (*_NEW, *_ACTIVE)",
    ),
    _desired("children-of-deleted-jobs", "if state.deleted or state.plan is None:", "if state.plan is None:"),
    _desired("withdrawn-pods-are-made", "if replica.has_pod and not replica.leaving:", "if replica.has_pod:"),
    _desired("kind-is-not-asked", "elif kind.keeps(state, child):", "else:"),
)
