"""An explanation as text for a terminal: the answer first, then the root cause, then what happened, in order.

Times are UTC and the width is given, so that equal explanations give equal text.
"""

import textwrap
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from projectors.explain.model import Evidence, Explanation, Incident, Nature, Step, StepKind, Wait
from projectors.explain.says import budget_says, instant, listed, pieces, span

_LATE: Final = timedelta(seconds=2)
"""From then on it matters that something was noticed later than it happened."""

_MARK: Final = {Nature.ABNORMAL: "!", Nature.ASKED_FOR: "*", Nature.EXPECTED: " "}


def as_text(explanation: Explanation, *, width: int = 80) -> str:
    """The whole explanation in lines of at most `width` characters, where no single word is longer."""
    return "\n".join(_lines(explanation, max(40, width))) + "\n"


def _lines(it: Explanation, width: int) -> Iterator[str]:
    stands = f"{it.phase} since {instant(it.since)}"
    if it.deleted_at:
        stands = f"deleted {instant(it.deleted_at)}, was {it.phase}"
    yield from _wrapped(f"{it.job.namespace}/{it.job.name}  {it.job.kind}  {stands}", width)
    yield ""
    yield from _wrapped(it.answer, width)
    if it.root_cause:
        root = it.root_cause
        yield from ("", f"Root cause (entry {root.seq}, {instant(root.at)})")
        yield from _wrapped(root.says, width, "  ")
        if root.cause:
            yield from _evidence(root.cause, width, "  ")
    if it.waits_for:
        yield from ("", "Waits for")
        for wait in it.waits_for:
            yield from _wait(wait, width)
    if it.incidents:
        yield from ("", "What happened (! abnormal, * asked for)")
        told: set[tuple[int, str]] = set()
        for incident in it.incidents:
            yield from _incident(incident, width, told)
    yield ""
    yield from _wrapped(_foot(it), width)


def _foot(it: Explanation) -> str:
    told = (
        f"told from {pieces(it.entries, 'entry').replace('entrys', 'entries')} of the log; uid {it.job.uid}"
    )
    if it.restarts is None:
        return told
    of = "without limit" if it.restarts.limit is None else f"of {it.restarts.limit}"
    return f"restarts used: {it.restarts.spent} {of}; {told}"


def _wrapped(text: str, width: int, indent: str = "", *, first: str | None = None) -> list[str]:
    """Line breaks in `text`, which may come from a cluster, become spaces; so does anything unprintable."""
    clean = "".join(each if each.isprintable() else " " for each in text)
    start = indent if first is None else first
    return textwrap.wrap(
        clean, width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    ) or [start.rstrip()]


def _wait(wait: Wait, width: int) -> Iterator[str]:
    yield from _wrapped(wait.says, width, "    ", first="  - ")
    if wait.message:
        yield from _wrapped(wait.message, width, "    ")
    due = f"; due {instant(wait.next_try_at)}" if wait.next_try_at else ""
    yield from _wrapped(f"since {instant(wait.since)}{due}", width, "    ")


def _incident(it: Incident, width: int, told: set[tuple[int, str]]) -> Iterator[str]:
    """An incident. The evidence of one pod in one entry is shown once; `told` keeps which was."""
    indent = " " * 4
    times = f" ({it.times} times in a row)" if it.times > 1 else ""
    late = it.happened_at is not None and abs(it.at - it.happened_at) >= _LATE
    happened = f", happened {instant(it.happened_at)}" if late and it.happened_at else ""
    yield f"{_MARK[it.nature]} #{it.seq}  {instant(it.at)}{happened}{times}"
    yield from _wrapped(it.says, width, indent)
    if it.cause and it.nature is Nature.ABNORMAL and (it.seq, it.cause.pod_uid) not in told:
        told.add((it.seq, it.cause.pod_uid))
        yield from _evidence(it.cause, width, indent)
    if it.budget and it.budget.before != it.budget.after:
        says = budget_says(it.budget.before, it.budget.after, it.budget.limit)
        yield from _wrapped(str(says), width, indent)
    for text in _steps(it.led_to):
        yield from _wrapped(text, width, indent + "   ", first=indent + "-> ")
    if it.over_at and it.nature is Nature.ABNORMAL:
        yield f"{indent}made good after {span(it.over_at - it.at)}"


def _evidence(cause: Evidence, width: int, indent: str) -> Iterator[str]:
    known = {
        "pod": cause.pod_uid,
        "node": cause.node,
        "container": cause.container,
        "exit code": "" if cause.exit_code is None else str(cause.exit_code),
        "reason": cause.reason,
    }
    found = ", ".join(f"{name} {value}" for name, value in known.items() if value)
    yield from _wrapped(f"cause: {cause.cause_class}" + (f" ({found})" if found else ""), width, indent)
    if cause.message:
        yield from _wrapped(f"message: {cause.message}", width, indent)
    says = f": {cause.rule_says}" if cause.rule_says else ""
    yield from _wrapped(f"rule {cause.rule}{says}", width, indent)


_DID: Final = {
    StepKind.DISMISSED: "to be deleted",
    StepKind.GONE: "gone",
    StepKind.REQUESTED: "asked for",
    StepKind.RUNNING: "running",
}


def _steps(steps: tuple[Step, ...]) -> Iterator[str]:
    """A line for all steps of one sort in a row: which pods, in which entries."""
    run: list[Step] = []
    for step in steps:
        if run and (step.what is not run[-1].what or step.what is StepKind.PHASE):
            yield _step(run)
            run = []
        run.append(step)
    if run:
        yield _step(run)


def _step(run: list[Step]) -> str:
    first, last = run[0], run[-1]
    where = f"#{first.seq}" if first.seq == last.seq else f"#{first.seq}–#{last.seq}"
    if first.what is StepKind.PHASE:
        return f"{where} phase {first.phase}"
    names = list(dict.fromkeys(name for step in run for name in step.replicas))
    attempt = f" (attempt {first.attempt})" if len(names) == 1 and first.attempt else ""
    pods = "pod" if len(names) == 1 else f"{len(names)} pods"
    return f"{where} {pods} {_DID[first.what]}: {listed(names)}{attempt}"
