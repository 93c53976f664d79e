"""Mutants of the rules that all kinds share: drivers, phases, pauses, pods, queues, restarts, sight, timers."""

from typing import Final

from tests.mutants.model import Mutant

_FAST: Final = ("tests/scenarios", "tests/unit/test_restarts_in_place.py")


def _of(rule: str, name: str, old: str, new: str, equivalent: str = "") -> Mutant:
    return Mutant(f"{rule}-{name}", f"statemachine.rules.{rule}", old, new, _FAST, equivalent)


MUTANTS: Final = (
    _of(
        "driver",
        "workers-need-not-be-ready",
        "worker.phase is ReplicaPhase.RUNNING and worker.ready and staying",
        "worker.phase is ReplicaPhase.RUNNING and staying",
    ),
    _of(
        "driver",
        "deleted-workers-are-ready",
        "staying = not worker.leaving and not worker.deleting",
        "staying = not worker.leaving",
    ),
    _of(
        "driver",
        "leaving-workers-are-ready",
        "staying = not worker.leaving and not worker.deleting",
        "staying = not worker.deleting",
    ),
    _of(
        "driver",
        "leaving-driver-counts",
        "return driver.has_pod and not driver.leaving",
        "return driver.has_pod",
    ),
    _of("driver", "one-ready-worker-is-enough", "return not all(_waits", "return not any(_waits"),
    _of(
        "driver",
        "driver-serves-itself",
        "return bool(driver_of(state)) and replica.name != driver_of(state)",
        "return bool(driver_of(state))",
    ),
    _of("lifecycle", "one-too-many-to-be-up", "len(up) >= plan.min_running", "len(up) > plan.min_running"),
    _of("lifecycle", "up-without-primary", "return plan.primary in up and", "return"),
    _of(
        "lifecycle",
        "leaving-replicas-are-up",
        "if replica.phase is ReplicaPhase.RUNNING and not replica.leaving\n",
        "if replica.phase is ReplicaPhase.RUNNING\n",
    ),
    _of(
        "lifecycle",
        "resumed-job-is-pending-again",
        "Trigger.STATUS_KNOWN_RESUMING if state.resumed else Trigger.STATUS_KNOWN_PENDING",
        "Trigger.STATUS_KNOWN_PENDING",
    ),
    _of(
        "lifecycle",
        "recovered-beside-a-lost-one",
        "any(replica.hurt for replica in state.members)",
        "any(replica.hurt and not replica.lost_for_good for replica in state.members)",
    ),
    _of(
        "pause",
        "paused-before-deletions",
        "replica.has_pod and not (replica.deleting or replica.ended)",
        "replica.has_pod and replica.phase is None",
    ),
    _of(
        "pause", "retry-outlives-a-pause", "for timer in (RETRY, UNREADABLE):", "for timer in (UNREADABLE,):"
    ),
    _of(
        "pause", "unreadable-outlives-a-pause", "for timer in (RETRY, UNREADABLE):", "for timer in (RETRY,):"
    ),
    _of(
        "pause",
        "rescaled-while-paused",
        "if not after.anew_on_scale or after.paused or",
        "if not after.anew_on_scale or",
    ),
    _of(
        "pause",
        "restarting-replica-does-not-begin-anew",
        'replica.leaving in ("", "restart")',
        'replica.leaving == ""',
    ),
    _of(
        "pause",
        "lowest-replica-leaves-first",
        "for replica in reversed(list(state.replicas.values())):",
        "for replica in list(state.replicas.values()):",
    ),
    _of(
        "pause",
        "paused-replicas-leave-twice",
        'replica.leaving == "scale" or (replica.leaving and not state.phase.is_active)',
        'replica.leaving == "scale"',
    ),
    _of(
        "pods",
        "reports-of-ended-pods-count",
        "if replica and not replica.ended and _is_current",
        "if replica and _is_current",
    ),
    _of(
        "pods",
        "any-name-is-adopted",
        "    if observation.pod != kind.pod_name(state, replica.name):\n        return\n",
        "",
    ),
    _of(
        "pods",
        "adopted-in-a-pause-stays",
        "    if state.phase is Phase.PAUSED:\n        cause",
        "    if False:\n        cause",
    ),
    _of(
        "pods",
        "any-uid-is-current",
        "return observation.uid == replica.uid and not _is_older",
        "return not _is_older",
    ),
    _of("pods", "any-attempt-is-current", "return observation.attempt == replica.attempt\n", "return True\n"),
    _of("pods", "late-unknown-counts", "and not _is_older_than_unknown(replica, observation)", ""),
    _of(
        "pods",
        "late-start-of-a-pod-that-is-back-counts",
        "may_move = replica.phase is not ReplicaPhase.RUNNING or",
        "may_move = replica.phase is ReplicaPhase.UNKNOWN or",
    ),
    _of(
        "pods",
        "late-unknown-of-a-pod-that-is-up-counts",
        "is not ReplicaPhase.RUNNING or observation.phase is PodPhase.UNKNOWN",
        "is not ReplicaPhase.RUNNING",
    ),
    _of("pods", "never-observed-is-gone", "bool(observation.uid or replica.leaving)", "True"),
    _of(
        "pods",
        "old-pod-takes-the-new-one-along",
        "    if replica.uid:\n        return observation.uid == replica.uid\n    return observation",
        "    return observation",
    ),
    _of(
        "pods",
        "ready-is-taken-back",
        "observation.deleting or replica.deleting, observation.ready or replica.ready",
        "observation.deleting or replica.deleting, observation.ready",
    ),
    _of(
        "pods",
        "deletion-is-taken-back",
        "observation.deleting or replica.deleting, observation.ready",
        "observation.deleting, observation.ready",
    ),
    _of(
        "pods",
        "deleted-first-fails",
        "observation.phase is PodPhase.SUCCEEDED and not only_serves",
        "not only_serves",
    ),
    _of(
        "pods",
        "sshd-succeeds",
        "PodPhase.SUCCEEDED and not only_serves(state, replica)",
        "PodPhase.SUCCEEDED",
    ),
    _of(
        "pods",
        "own-end-after-a-known-deletion",
        "in observation.own_ends and not replica.deleting",
        "in observation.own_ends",
    ),
    _of("pods", "containers-go-back", "_progress(container) >= _progress(old)", "True"),
    _of(
        "pods",
        "restarts-in-place-are-late-news",
        "return container.restarts, _PROGRESS[container.state]",
        "return 0, _PROGRESS[container.state]",
    ),
    _of(
        "pods",
        "leaving-pod-is-lost",
        "if replica.leaving or replica.phase in _ENDED:",
        "if replica.phase in _ENDED:",
    ),
    _of("pods", "ended-pod-is-lost", "if replica.leaving or replica.phase in _ENDED:", "if replica.leaving:"),
    _of("queue", "numbers-are-news", '_NUMBERS.sub("", known.message)', "known.message"),
    _of("queue", "gone-of-another-workload", "known.uid != observation.gone_uid or", ""),
    _of(
        "queue",
        "eviction-is-announced-twice",
        "known is not None and known.evicted_at == evicted.changed_at",
        "False",
    ),
    _of("queue", "late-report-is-news", "not times or max(times) < known.evicted_at", "not times"),
    _of("queue", "late-first-report-is-news", "not times or max(times) <", "bool(times) and max(times) <"),
    _of("queue", "the-same-moment-is-late", "max(times) < known", "max(times) <= known"),
    _of("queue", "late-report-of-another-workload", "observation.uid != known.uid or known", "known"),
    _of(
        "queue",
        "admitted-without-quota",
        "if _is_true(admitted) and _is_true(reserved):",
        "if _is_true(admitted):",
    ),
    _of(
        "restart",
        "restarts-while-terminating",
        "if asked and not budget.is_spent and not state.terminating:",
        "if asked and not budget.is_spent:",
    ),
    _of(
        "restart",
        "starts-anew-while-terminating",
        "if budget.is_spent or state.terminating:",
        "if budget.is_spent:",
    ),
    _of("restart", "terminating-is-exhausted", "exhausted=asked and budget.is_spent", "exhausted=asked"),
    _of(
        "restart",
        "exhausted-without-asking",
        "exhausted=asked and budget.is_spent",
        "exhausted=budget.is_spent",
    ),
    _of("restart", "judged-twice", "or replica.judged or replica.leaving:", "or replica.leaving:"),
    _of(
        "restart",
        "primary-never-succeeds",
        "case ReplicaPhase.SUCCEEDED if replica.name != state.running_plan.primary:",
        "case ReplicaPhase.SUCCEEDED:",
    ),
    _of(
        "restart",
        "no-exit-code-is-permanent",
        "cause.exit_code is None or kind.is_retryable",
        "cause.exit_code is not None and kind.is_retryable",
    ),
    _of("restart", "budget-after-is-before", "None if left is None else left - 1", "left"),
    _of(
        "sight",
        "same-time-is-later",
        "return observation.at > noticed_at",
        "return observation.at >= noticed_at",
    ),
    _of(
        "sight",
        "our-clock-decides",
        "return observation.written_at > written_at",
        "return observation.at > noticed_at",
    ),
    _of("sight", "same-second-is-earlier", " or observation.written_at == written_at", ""),
    _of(
        "pods",
        "every-start-comes-back",
        "(observation.at, observation.written_at) if was_unknown else (None, None)",
        "(observation.at, observation.written_at)",
    ),
    _of(
        "timers",
        "moved-timer-is-due",
        "and state.timers.get(timer) == observation.due_at",
        "and timer in state.timers",
    ),
    _of("timers", "early-timer-is-due", "        and observation.at >= observation.due_at\n", ""),
    _of(
        "timers",
        "longest-is-no-bound",
        "min(seconds, LONGEST // timedelta(seconds=1))",
        "min(seconds, 2 * LONGEST // timedelta(seconds=1))",
    ),
    _of("timers", "unreadable-begins-again", "            and UNREADABLE not in state.timers\n", ""),
    _of("timers", "repeated-loss-counts", "            and _is_another_loss(state, observation)\n", ""),
    _of(
        "timers",
        "unknown-pods-are-readable",
        "observation.phase is not PodPhase.UNKNOWN and _is_news(state, observation)",
        "_is_news(state, observation)",
    ),
    _of("timers", "ended-primary-is-lost", "primary.uid and not primary.leaving and", "primary.uid and"),
    _of("timers", "leaving-primary-is-lost", "not primary.leaving and not", "not primary.ended and not"),
    _of("timers", "unknown-primary-is-lost-again", " and not _is_lost_since(state, primary)", ""),
    _of("timers", "late-unknown-hides-a-loss", "or unknown is None or unknown >= unread", "or True"),
    _of(
        "timers",
        "late-report-is-news",
        "due_at is not None and is_later(observation, due_at - UNREADABLE_FOR, state.unread_written)",
        "due_at is not None",
    ),
    _of(
        "timers",
        "deadline-of-deleted-jobs",
        "or state.deleted or state.started_at is None",
        "or state.started_at is None",
    ),
    _of("timers", "deadline-is-set-again-and-again", "elif state.timers.get(DEADLINE) != wished:", "else:"),
)
