"""An explanation as text for a terminal: the answer, then the root cause, then the incidents in order.

Times are UTC and the caller gives the width, so equal explanations give equal text.
"""

import textwrap
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from projectors.explain.model import Evidence, Explanation, Incident, Nature, Step, StepKind, Wait
from projectors.explain.wording import budget_says, instant, listed, pieces, span

_LATE: Final = timedelta(seconds=2)
"""An incident observed this much later than it happened is shown with both times."""

_MARK: Final = {Nature.ABNORMAL: "!", Nature.ASKED_FOR: "*", Nature.EXPECTED: " "}


def as_text(explanation: Explanation, *, width: int = 80) -> str:
    """The explanation in lines of at most `width` characters, unless a word is longer."""
    return "\n".join(_lines(explanation, max(40, width))) + "\n"


def _lines(explanation: Explanation, width: int) -> Iterator[str]:
    stands = f"{explanation.phase} since {instant(explanation.since)}"
    if explanation.deleted_at:
        stands = f"deleted {instant(explanation.deleted_at)}, was {explanation.phase}"
    yield from _wrapped(
        f"{explanation.job.namespace}/{explanation.job.name}  {explanation.job.kind}  {stands}", width
    )
    yield ""
    yield from _wrapped(explanation.answer, width)
    if explanation.root_cause:
        root = explanation.root_cause
        yield from ("", f"Root cause (entry {root.seq}, {instant(root.at)})")
        yield from _wrapped(root.says, width, "  ")
        if root.cause:
            yield from _evidence(root.cause, width, "  ")
    if explanation.waits_for:
        yield from ("", "Waits for")
        for wait in explanation.waits_for:
            yield from _wait(wait, width)
    if explanation.incidents:
        yield from ("", "What happened (! abnormal, * asked for)")
        shown: set[tuple[int, str]] = set()
        for incident in explanation.incidents:
            yield from _incident(incident, width, shown)
    yield ""
    yield from _wrapped(_foot(explanation), width)


def _foot(explanation: Explanation) -> str:
    entries = pieces(explanation.entries, "entry").replace("entrys", "entries")
    source = f"from {entries} of the log; uid {explanation.job.uid}"
    if explanation.restarts is None:
        return source
    of = "without limit" if explanation.restarts.limit is None else f"of {explanation.restarts.limit}"
    return f"restarts used: {explanation.restarts.spent} {of}; {source}"


def _wrapped(text: str, width: int, indent: str = "", *, first: str | None = None) -> list[str]:
    """`text` in lines. It may come from a cluster: line breaks and unprintable characters become spaces."""
    clean = "".join(character if character.isprintable() else " " for character in text)
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


def _incident(incident: Incident, width: int, shown: set[tuple[int, str]]) -> Iterator[str]:
    """The lines of an incident. The evidence of a pod in an entry is shown once; `shown` keeps which was."""
    indent = " " * 4
    times = f" ({incident.times} times in a row)" if incident.times > 1 else ""
    late = incident.happened_at is not None and abs(incident.at - incident.happened_at) >= _LATE
    happened = f", happened {instant(incident.happened_at)}" if late and incident.happened_at else ""
    yield f"{_MARK[incident.nature]} #{incident.seq}  {instant(incident.at)}{happened}{times}"
    yield from _wrapped(incident.says, width, indent)
    if (
        incident.cause
        and incident.nature is Nature.ABNORMAL
        and (incident.seq, incident.cause.pod_uid) not in shown
    ):
        shown.add((incident.seq, incident.cause.pod_uid))
        yield from _evidence(incident.cause, width, indent)
    if incident.budget and incident.budget.before != incident.budget.after:
        says = budget_says(incident.budget.before, incident.budget.after, incident.budget.limit)
        yield from _wrapped(str(says), width, indent)
    for text in _steps(incident.led_to):
        yield from _wrapped(text, width, indent + "   ", first=indent + "-> ")
    if incident.over_at and incident.nature is Nature.ABNORMAL:
        yield f"{indent}made good after {span(incident.over_at - incident.at)}"


def _evidence(cause: Evidence, width: int, indent: str) -> Iterator[str]:
    facts = {
        "pod": cause.pod_uid,
        "node": cause.node,
        "container": cause.container,
        "exit code": "" if cause.exit_code is None else str(cause.exit_code),
        "reason": cause.reason,
    }
    detail = ", ".join(f"{name} {value}" for name, value in facts.items() if value)
    yield from _wrapped(f"cause: {cause.cause_class}" + (f" ({detail})" if detail else ""), width, indent)
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
    """A line for all steps of one kind in a row: which pods, in which entries."""
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
