"""Causes, rules, times and numbers in words, for people on call. Needs no state."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from projectors.explain.model import Evidence
from projectors.phrases import Phrase, Said, Several, phrase
from projectors.phrases.exits import exit_code
from statemachine.events import Cause, CauseClass
from statemachine.observations import CANNOT_START
from statemachine.phases import TABLE

_DULL: Final = frozenset({"", "Error", "Completed"})
"""Reasons of a terminated container that add nothing to its exit code."""

_RULES: Final = {
    **{row.rule: row.says for row in reversed(TABLE)},
    "T5": "a write that was refused for now is tried again, later and later",
    "T6": "a write that is refused for good ends a job that is starting, and a pod that can never be started any job",
    "R3": "an object of another owner is never overwritten",
    "R4": "a replica's outcome is that of its pod",
    "R5": "a pod that is being deleted neither fails nor succeeds",
    "R8 Never": "restart policy Never: no replica of this type is restarted",
    "R8 OnFailure": "restart policy OnFailure: any failure is restarted while there is budget",
    "R8 ExitCode": "restart policy ExitCode: only retryable exit codes, and failures without one, are restarted",
    "R8 Always": "restart policy Always: every end is restarted while there is budget",
    "R9": "the clean-up policy is applied once, when the job has ended",
    "R11": "a paused job has no pods",
    "R12": "another scale deletes the replicas beyond it, highest index first; some kinds start all anew",
}
"""Rule ids as causes name them → the rule in words."""


def rule_says(rule: str) -> str:
    """The rule in a sentence; empty for an unknown one."""
    return _RULES.get(rule, "")


def evidence(cause: Cause) -> Evidence:
    """The cause as an explanation shows it."""
    return Evidence(
        cause_class=cause.kind,
        rule=cause.rule,
        rule_says=rule_says(cause.rule),
        pod_uid=cause.pod_uid,
        node=cause.node,
        container=cause.container,
        exit_code=cause.exit_code,
        reason=cause.reason,
        message=cause.message,
    )


def why_ended(cause: Cause) -> Said:
    """Why a pod ended or a write failed, as the second half of a sentence about it."""
    container = (
        phrase('container "{name}"', name=cause.container) if cause.container else phrase("its container")
    )
    on = phrase(" on node {node}", node=cause.node) if cause.node else ""
    detail = _detail(cause)
    match cause.kind:
        case CauseClass.OUT_OF_MEMORY:
            code = "" if cause.exit_code is None else phrase(", exit code {code}", code=cause.exit_code)
            return phrase(
                "{container} was killed for exceeding its memory limit (OOMKilled{code}){on}",
                container=container,
                code=code,
                on=on,
            )
        case CauseClass.APPLICATION_EXIT:
            code = phrase("an unknown exit code") if cause.exit_code is None else exit_code(cause.exit_code)
            reason = "" if cause.reason in _DULL else phrase(", reason {reason}", reason=cause.reason)
            return phrase(
                "{container} ended with {code}{reason}{on}",
                container=container,
                code=code,
                reason=reason,
                on=on,
            )
        case CauseClass.DISRUPTED:
            return phrase("its pod was preempted or evicted{on}{detail}", on=on, detail=detail)
        case CauseClass.NODE_LOST:
            node = phrase("node {node}", node=cause.node) if cause.node else phrase("its node")
            return phrase("{node} was lost{detail}", node=node, detail=detail)
        case CauseClass.DELETED_BY_SOMEONE:
            return phrase("its pod{on} was deleted, and not by jobledger{detail}", on=on, detail=detail)
        case CauseClass.DELETED_BY_US:
            return phrase("jobledger deleted its pod{on}", on=on)
        case CauseClass.REFUSED_BY_API:
            if cause.reason == CANNOT_START:
                return phrase("this machine cannot start it: {message}", message=cause.message)
            return phrase(
                "the API server refused it{why}: {message}", why=_in(cause.reason), message=cause.message
            )
        case CauseClass.DEADLINE:
            return cause.message or phrase("the deadline passed")
        case CauseClass.EVIDENCE_LOST:
            return phrase(
                "its pod{on} is gone, and nothing that was seen tells why{detail}", on=on, detail=detail
            )


def refused_for_good(cause: Cause) -> Said:
    """The same as `why_ended`, for a job that a refusal ended."""
    if cause.kind is not CauseClass.REFUSED_BY_API:
        return why_ended(cause)
    if cause.reason == CANNOT_START:
        return phrase("one of its pods can never be started here: {message}", message=cause.message)
    return phrase(
        "the API server refused one of its objects for good{why}: {message}",
        why=_in(cause.reason),
        message=cause.message,
    )


def _in(detail: Said) -> Said:
    """` (detail)`; empty without one."""
    return phrase(" ({what})", what=detail) if detail else ""


def _detail(cause: Cause) -> Said:
    code = "" if cause.exit_code is None else exit_code(cause.exit_code)
    parts = Several((code, cause.reason, cause.message), "clauses")
    return _in(parts) if str(parts) else ""


def budget_says(before: int | None, after: int | None, limit: int | None) -> Phrase:
    """The number of restarts left before and after."""
    if limit is None:
        return phrase("restarts are not limited")
    if before == after:
        return phrase("{after} of {limit} restarts left", after=str(after), limit=limit)
    return phrase(
        "restarts left: {before}, now {after} (limit {limit})",
        before=str(before),
        after=str(after),
        limit=limit,
    )


def instant(at: datetime) -> str:
    """`2024-01-09 15:00:20 UTC`."""
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")


def span(time: timedelta) -> str:
    """`45 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`; a clock that was set back gives `0 s`."""
    seconds = max(0, round(time.total_seconds()))
    for unit, name, smaller, small_name in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= unit:
            rest = seconds % unit // smaller
            return f"{seconds // unit} {name}" + (f" {rest} {small_name}" if rest else "")
    return f"{seconds} s"


def listed(names: Sequence[str], most: int = 4) -> Said:
    """`a, b and c`; of many names the first few, and the number of the others."""
    if len(names) > most:
        first = Several(tuple(names[: most - 1]), "names")
        return phrase("{names} and {count} more", names=first, count=len(names) - most + 1)
    if len(names) < 2:
        return "".join(names)
    return phrase("{names} and {last}", names=Several(tuple(names[:-1]), "names"), last=names[-1])


def replicas(number: int) -> Phrase:
    """`1 replica`, `2 replicas`."""
    return phrase("1 replica") if number == 1 else phrase("{count} replicas", count=number)


def pieces(number: int, thing: str) -> str:
    """`1 pod`, `2 pods`: for terminals, whose text is English."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
