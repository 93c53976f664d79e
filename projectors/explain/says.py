"""Causes and rules in the words of somebody who has to be told at night. Pure text, no state."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from projectors.explain.model import Evidence
from statemachine.events import Cause, CauseClass
from statemachine.phases import TABLE

_SIGNALS: Final = {1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL"}
_SIGNALS_TOO: Final = {10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU"}
_NAMED: Final = {128 + number: f"SIG{name}" for number, name in {**_SIGNALS, **_SIGNALS_TOO}.items()}

_DULL: Final = frozenset({"", "Error", "Completed"})
"""Reasons of a terminated container that say nothing beyond its exit code."""

_RULES: Final = {
    **{row.rule: row.says for row in reversed(TABLE)},
    "T5": "a write that was refused for now is tried again, later and later",
    "T6": "a write that is refused for good ends a job that is starting",
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
"""Rule ids as causes name them → what the rule says."""


def sentence(text: str) -> str:
    """`text` with an end, which the messages of API servers often lack."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def rule_says(rule: str) -> str:
    """The rule in a sentence; empty for one that is not known here."""
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


def exit_code(code: int) -> str:
    """`exit code 139 (SIGSEGV)`: the signal is arithmetic, not a guess at who sent it."""
    return f"exit code {code}" + (f" ({_NAMED[code]})" if code in _NAMED else "")


def why_ended(cause: Cause) -> str:
    """Why a pod ended or a write failed, as the second half of a sentence about it."""
    container = f'container "{cause.container}"' if cause.container else "its container"
    on = f" on node {cause.node}" if cause.node else ""
    match cause.kind:
        case CauseClass.OUT_OF_MEMORY:
            code = f", exit code {cause.exit_code}" if cause.exit_code is not None else ""
            return f"{container} was killed for exceeding its memory limit (OOMKilled{code}){on}"
        case CauseClass.APPLICATION_EXIT:
            code = exit_code(cause.exit_code) if cause.exit_code is not None else "an unknown exit code"
            reason = "" if cause.reason in _DULL else f", reason {cause.reason}"
            return f"{container} ended with {code}{reason}{on}"
        case CauseClass.DISRUPTED:
            return f"its pod was preempted or evicted{on}{_detail(cause)}"
        case CauseClass.NODE_LOST:
            return f"{f'node {cause.node}' if cause.node else 'its node'} was lost{_detail(cause)}"
        case CauseClass.DELETED_BY_SOMEONE:
            return f"its pod{on} was deleted, and not by jobledger{_detail(cause)}"
        case CauseClass.DELETED_BY_US:
            return f"jobledger deleted its pod{on}"
        case CauseClass.REFUSED_BY_API:
            return f"the API server refused it{f' ({cause.reason})' if cause.reason else ''}: {cause.message}"
        case CauseClass.DEADLINE:
            return cause.message or "the deadline passed"
        case CauseClass.EVIDENCE_LOST:
            return f"its pod{on} is gone, and nothing that was seen tells why{_detail(cause)}"


def _detail(cause: Cause) -> str:
    parts = [each for each in (cause.reason, cause.message) if each]
    code = [exit_code(cause.exit_code)] if cause.exit_code is not None else []
    return f" ({'; '.join([*code, *parts])})" if code or parts else ""


def budget_says(before: int | None, after: int | None, limit: int | None) -> str:
    """How many restarts were left before and after."""
    if limit is None:
        return "restarts are not limited"
    if before == after:
        return f"{after} of {limit} restarts left"
    return f"restarts left: {before}, now {after} (limit {limit})"


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


def listed(names: Sequence[str], most: int = 4) -> str:
    """`a, b and c`; of many the first few, and how many more."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def counted(number: int, thing: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
