"""`docs/phases.md`: the phases of a job and the life of a replica, drawn from the tables that the product runs on."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from jobledger.generate.kind_pages import NOTE, table
from statemachine import phases, replicas
from statemachine.phases import Phase
from statemachine.replicas import (
    ENDED,
    HAS_POD,
    OPEN,
    REPORTS,
    Pod,
    Progress,
    Report,
    Row,
    Stage,
    Steps,
    Wish,
)


def phases_page() -> str:
    """The whole page."""
    rows = [
        [row.rule, ", ".join(row.sources), row.says, row.target or "same", f"`{row.trigger}`"]
        for row in phases.TABLE
    ]
    return "\n".join([
        "# Phases",
        "",
        f"{NOTE} Sources: `statemachine/phases.py`, `statemachine/replicas.py`.",
        "",
        *_diagram(_arrows()),
        "",
        *table(["rule", "from", "when", "to", "trigger"], rows),
        "",
        "T19: no row leaves Succeeded or Failed; they are final.",
        "",
        *_replicas(),
    ])  # fmt: skip


def _diagram(arrows: Iterable[str]) -> list[str]:
    return ["```mermaid", "stateDiagram-v2", *arrows, "```"]


def _arrows() -> Iterator[str]:
    """One arrow for every pair of phases, with the rules that lead from one to the other."""
    rules: dict[tuple[Phase, Phase], list[str]] = {}
    for row in phases.TABLE:
        for source in row.sources if row.target else ():
            rules.setdefault((source, Phase(row.target or source)), []).append(row.rule)
    for (source, target), names in rules.items():
        yield f"    {'[*]' if source is Phase.NEW else source} --> {target}: {', '.join(dict.fromkeys(names))}"
    for phase in Phase:
        if phase.is_final:
            yield f"    {phase} --> [*]"


# ---- replicas ---------------------------------------------------------------------------------------------------


def _replicas() -> list[str]:
    moves = [[f"`{row.move}`", row.says, *_effects(row)] for row in replicas.TABLE]
    reports = [[report, *(_move(report, pod) for pod in OPEN)] for report in Report]
    return [
        "# Replicas",
        "",
        "A replica has three stages, and each move changes them side by side: what its **pod** is, what is "
        "**wished** of it, and how far it has come since its job was started or resumed (**progress**). A pod that "
        "is settled is not restarted.",
        "",
        "Where a cell says nothing, every stage stays as it is; a stage that a cell names without an arrow stays, "
        "too. Other stages than a cell names never meet the move.",
        "",
        *_diagram(_pods()),
        "",
        f"Wishes: {', '.join(Wish)}. Progress: {', '.join(Progress)}.",
        "",
        *table(["move", "what happens", "pod", "wish", "progress"], moves),
        "",
        "What a report on the current pod is news of, by what the pod is. Where nothing stands, it is late or old "
        "news; a pod that is to go neither starts nor becomes Unknown.",
        "",
        *table(["report", *OPEN], reports),
        "",
    ]  # fmt: skip


_GROUPS: Final = (
    (HAS_POD, "any with a pod"),
    (ENDED, "any that ended"),
    ((Pod.CREATING, *OPEN), "any that has not ended"),
)


def _move(report: Report, pod: Pod) -> str:
    move = REPORTS[report].get(pod)
    return f"`{move}`" if move else ""


def _effects(row: Row) -> Iterator[str]:
    yield _effect(row.pod, Pod)
    yield _effect(row.wish, Wish)
    yield _effect(row.progress, Progress)


def _effect(steps: Steps[Stage], stages: Iterable[Stage]) -> str:
    """The steps in words; what stays is named where not every stage may be met."""
    whole = set(steps) == set(stages)
    sources: dict[Stage, list[Stage]] = {}
    for source, target in steps.items():
        sources.setdefault(target, []).append(source)
    if whole and len(sources) == 1:
        return f"any → {next(iter(sources))}"
    stay = [stage for stage, target in steps.items() if stage is target]
    moved = {target: [name for name in names if name is not target] for target, names in sources.items()}
    changes = [f"{_listed(names)} → {target}" for target, names in moved.items() if names]
    return "; ".join(changes + ([_listed(stay)] if stay and not whole else []))


def _listed(stages: Sequence[str]) -> str:
    for group, words in _GROUPS:
        if set(stages) == set(group):
            return words
    return " / ".join(stages)


def _pods() -> Iterator[str]:
    """One arrow for every pair of stages of a pod, with the moves that lead from one to the other."""
    moves: dict[tuple[Pod, Pod], list[str]] = {}
    for row in replicas.TABLE:
        for source, target in row.pod.items():
            if source is not target and len(row.pod) < len(Pod):
                moves.setdefault((source, target), []).append(row.move)
    for pod in Pod:
        yield f'    state "{pod}" as {pod.name}'
    yield f"    [*] --> {Pod.NONE.name}"
    for (source, target), names in moves.items():
        yield f"    {source.name} --> {target.name}: {', '.join(names)}"
