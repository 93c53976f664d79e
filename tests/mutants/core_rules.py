"""Mutants of the rules that all kinds share: who is asked, admission, back-off, causes, creation, ends."""

from typing import Final

from tests.mutants.model import Mutant

_FAST: Final = ("tests/scenarios",)


def _of(rule: str, name: str, old: str, new: str, equivalent: str = "") -> Mutant:
    return Mutant(f"{rule}-{name}", f"statemachine.rules.{rule}", old, new, _FAST, equivalent)


MUTANTS: Final = (
    _of(
        "asking",
        "nobody-is-asked-who-names-no-observation",
        "frozenset(observations) or ALL.observations",
        "frozenset(observations)",
    ),
    _of("asking", "rules-see-the-first-state", "            state = fold(state, said)\n", ""),
    _of("creation", "not-asked-about-refusals", "@answers(TimerFired, WriteRefused)", "@answers(TimerFired)"),
    _of(
        "admission",
        "older-generation-counts",
        "observation.generation > state.generation and",
        "observation.generation != state.generation and",
    ),
    _of("admission", "wishes-with-a-deletion-count", " and observation.terminating_since is None:", ":"),
    _of(
        "admission",
        "known-end-is-adopted-again",
        "or not observation.recorded.phase or state.is_final:",
        "or not observation.recorded.phase:",
    ),
    _of("admission", "adopted-jobs-share-a-service", " and job.recorded is None):\n", "):\n"),
    _of("admission", "all-share-a-service", "CLUSTER_DOMAIN in job.settings and ", ""),
    _of(
        "admission",
        "update-gives-a-service",
        "after = after.changed(service=before.service)",
        "after = after.changed()",
    ),
    _of(
        "admission",
        "end-adopted-now",
        "observation.recorded.completed_at or observation.at",
        "observation.at",
    ),
    _of(
        "admission",
        "old-labels-count",
        "if observation.labels != state.labels and not _is_older(observation, state):",
        "if observation.labels != state.labels:",
    ),
    _of(
        "admission",
        "a-newer-generation-may-be-an-older-version",
        "if observation.generation != state.generation:",
        "if observation.generation < state.generation:",
    ),
    _of(
        "admission",
        "labels-without-a-version-are-old",
        "if not 0 < observation.version <= state.labels_version:",
        "if observation.version > state.labels_version:",
    ),
    _of(
        "admission",
        "a-cluster-that-was-put-back-has-old-labels",
        "return now is None or then is None or now <= then",
        "return True",
    ),
    _of("admission", "invalid-update-is-announced-each-time", "if problems != state.ignored:", "if True:"),
    _of("admission", "frozen-field-is-announced-each-time", "if problem not in state.ignored:", "if True:"),
    _of(
        "admission",
        "finished-jobs-change-their-policy",
        "    if state.is_final:\n        for path",
        "    if False:\n        for path",
    ),
    _of(
        "admission",
        "deleted-twice",
        "state.phase is not Phase.NEW and not state.deleted:",
        "state.phase is not Phase.NEW:",
    ),
    _of(
        "admission",
        "terminating-is-announced-each-time",
        "observation.terminating_since is not None and not state.terminating",
        "observation.terminating_since is not None",
    ),
    _of("backoff", "third-waits-once-more", "before - 2, 60", "before - 1, 60"),
    _of("backoff", "second-does-not-wait", "if before < 2 or", "if before < 3 or"),
    _of(
        "backoff",
        "no-longest-wait",
        "min(pace.base * 2.0 ** min(before - 2, 60), pace.most)",
        "pace.base * 2.0 ** min(before - 2, 60)",
    ),
    _of("backoff", "row-ends-a-moment-late", "at - since >= timedelta", "at - since > timedelta"),
    _of("backoff", "row-never-ends", "        return 1\n", "        return replica.row\n"),
    _of(
        "backoff",
        "timer-outlives-the-activity",
        "(is_due(state, observation, BACKOFF) or not state.phase.is_active)",
        "is_due(state, observation, BACKOFF)",
    ),
    _of(
        "causes",
        "init-containers-do-not-count",
        "container.state is ContainerStatus.TERMINATED and container.exit_code",
        "container.state is ContainerStatus.TERMINATED and container.exit_code and not container.init",
    ),
    _of(
        "causes",
        "training-container-not-first",
        "(container.name != main or container.init, not container.init)",
        "(not container.init,)",
    ),
    _of("causes", "out-of-memory-is-an-exit", 'container.reason == "OOMKilled"', 'container.reason == "OOM"'),
    _of(
        "causes",
        "node-lost-is-a-disruption",
        "if observation.reason in _NODE_LOST or observation.disruption in _NODE_LOST:",
        "if observation.reason in _NODE_LOST:",
    ),
    _of("causes", "deleted-by-nobody", "if observation.deleting and not training_ended:", "if False:"),
    _of(
        "causes",
        "own-end-is-a-deletion",
        "if observation.deleting and not training_ended:",
        "if observation.deleting:",
    ),
    _of(
        "causes",
        "loss-is-never-a-deletion",
        "CauseClass.DELETED_BY_SOMEONE if replica.deleting else CauseClass.EVIDENCE_LOST",
        "CauseClass.EVIDENCE_LOST",
    ),
    _of("creation", "retry-doubles-at-once", "2 ** min(refusals - 1, 6)", "2 ** min(refusals, 6)"),
    _of(
        "creation",
        "deletion-refused-is-announced-each-time",
        "        if is_news(state, observation):\n            yield refused",
        "        if True:\n            yield refused",
    ),
    _of(
        "creation",
        "refusals-never-fall-silent",
        "return RETRY in state.timers or creations[-1:] == [_refused_as(observation)]",
        "return False",
    ),
    _of(
        "creation",
        "refusals-of-an-earlier-reason-stay-silent",
        "creations[-1:] == [_refused_as(observation)]",
        "_refused_as(observation) in creations",
    ),
    _of(
        "creation",
        "refusals-of-two-reasons-fill-the-log",
        "RETRY in state.timers or creations",
        "creations",
    ),
    _of(
        "creation",
        "refused-deletions-make-refused-creations-news",
        "if said.startswith(observation.verb)]",
        "]",
    ),
    _of("creation", "silent-one-early", "SAID_TIMES: Final = 7", "SAID_TIMES: Final = 6"),
    _of(
        "creation",
        "old-attempt-is-refused",
        "replica.attempt == observation.attempt and replica.awaits_pod",
        "replica.awaits_pod",
    ),
    _of("creation", "made-pod-is-refused", "and replica.awaits_pod", "and replica.has_pod"),
    _of(
        "creation",
        "running-job-fails-of-a-refusal",
        "if not observation.retryable and state.phase in STARTING:",
        "if not observation.retryable:",
    ),
    _of(
        "creation",
        "initialized-job-is-not-initialized",
        " and (\n        state.accepted < state.starts or observation.name_taken\n    ):",
        ":",
    ),
    _of(
        "creation",
        "name-is-retried-at-once",
        "delay = NAME_TAKEN_RETRY if observation.name_taken else retry_delay(count)",
        "delay = retry_delay(count)",
    ),
    _of(
        "creation",
        "old-pod-that-cannot-start-ends-the-job",
        "or replica.uid != observation.uid\n        or replica.leaving\n        or not replica.ended",
        "or replica.leaving\n        or not replica.ended",
    ),
    _of(
        "creation",
        "leaving-pods-count-as-made",
        "(replica.uid and not replica.leaving) or replica.started",
        "replica.uid or replica.started",
    ),
    _of(
        "creation",
        "retry-timer-outlives-acceptance",
        "    if RETRY in state.timers:\n        yield TimerCleared(timer=RETRY)\n\n\n"
        "@answers(phases=ACTIVE)\ndef requests",
        "\n\n@answers(phases=ACTIVE)\ndef requests",
    ),
    _of(
        "creation",
        "pods-of-a-job-that-is-being-deleted",
        "or state.deleted or state.terminating or _is_emptying(state)",
        "or state.deleted or _is_emptying(state)",
    ),
    _of(
        "creation",
        "elastic-pods-meet-old-ones",
        "or state.terminating or _is_emptying(state)",
        "or state.terminating",
    ),
    _of(
        "creation",
        "paused-pods-do-not-hold-up",
        'replica.leaving in ("scale", "pause")',
        'replica.leaving in ("scale",)',
    ),
    _of(
        "creation",
        "attempt-used-twice",
        "attempt=replica.attempt + 1, row",
        "attempt=max(1, replica.attempt), row",
    ),
    _of(
        "creation",
        "latest-wait-is-woken-for",
        "if waiting and state.timers.get(BACKOFF) != min(waiting):\n"
        "        yield TimerSet(timer=BACKOFF, due_at=min(waiting))",
        "if waiting and state.timers.get(BACKOFF) != max(waiting):\n"
        "        yield TimerSet(timer=BACKOFF, due_at=max(waiting))",
    ),
    _of(
        "creation",
        "old-refusal-of-a-board-counts",
        "if known and known.uid and not known.outdated:\n        return",
        "if False:\n        return",
    ),
    _of(
        "ending",
        "leaving-primary-succeeds",
        "ReplicaPhase.SUCCEEDED and not primary.leaving",
        "ReplicaPhase.SUCCEEDED",
        equivalent="a primary that succeeded ends the job at once, and one that leaves keeps the phase it had",
    ),
    _of("ending", "limit-is-not-named", "        if primary.exhausted:", "        if False:"),
    _of(
        "ending",
        "deadline-keeps-running-pods",
        "unfinished and (past_deadline or plan",
        "unfinished and (plan",
    ),
    _of("ending", "pods-not-made-yet-are-made", "elif not replica.uid:", "elif False:"),
    _of(
        "ending",
        "clean-up-twice",
        "if not state.is_final or state.cleaned or state.plan is None:",
        "if not state.is_final or state.plan is None:",
    ),
    _of(
        "ending",
        "launcher-is-cleaned",
        "plan.clean_up is CleanUpPolicy.WORKERS and replica.name != plan.primary",
        "plan.clean_up is CleanUpPolicy.WORKERS",
    ),
    _of(
        "ending",
        "spared-pods-go",
        "spared = not _goes_however_it_ends(state.plan, replica)",
        "spared = False",
    ),
    _of(
        "ending",
        "closed-before-the-pods-are-gone",
        "not state.closed and not any(replica.has_pod for replica in state.replicas.values())",
        "not state.closed",
    ),
)
