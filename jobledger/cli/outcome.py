"""How a run ended, in words, and where to look next."""

from collections.abc import Iterator

from jobledger.cli.common import plural
from jobledger.cli.screen import Shown, elapsed
from statemachine.budget import budget
from statemachine.phases import Phase
from statemachine.state import JobState


def story(state: JobState, shown: Shown, stopped: str) -> Iterator[str]:
    """What became of a job, and of a failed one the last lines of whoever failed."""
    replicas = plural(state.plan.scale, "replica") if state.plan else "no replica"
    scale = f"{replicas}, {plural(budget(state).used, 'restart')}"
    match state.phase:
        case Phase.SUCCEEDED:
            yield f"{state.name} succeeded after {elapsed(state)}: {scale}."
        case Phase.FAILED:
            yield f"{state.name} failed after {elapsed(state)}: {scale}."
            yield from _reasons(state)
            yield from _last_lines(state, shown)
        case _ if state.closed:
            yield f"{state.name} was stopped ({stopped or 'deleted'}); nothing of it runs any more."
        case phase:
            yield f"{state.name} is {phase} and goes on; the next `jobledger run` or `serve` on this store adopts it."
    left = [each.name for each in state.replicas.values() if each.has_pod and not each.ended]
    if state.is_final and left:
        yield f"  still running: {', '.join(left)}, for the job's clean-up policy leaves them alone; to end them,"
        yield f"  start `jobledger serve`, then `jobledger delete {state.name}`"


def _reasons(state: JobState) -> Iterator[str]:
    for type_ in ("Failed", "ReplicaFailure"):
        found = state.condition(type_)
        if found is not None and found.status == "True":
            yield f"  {found.message}"


def _last_lines(state: JobState, shown: Shown) -> Iterator[str]:
    failed = [each.name for each in state.replicas.values() if each.phase.value == "Failed"]
    for name in failed[:1]:
        tail = shown.tails.get((state.uid, name))
        if tail and tail.recent:
            yield f"  Last lines of {name}:"
            yield from (f"    {line}" for line in tail.recent)


def where_to_look(state: JobState, default_namespace: str, store_flag: str) -> Iterator[str]:
    """Commands that tell more, ready to be pasted."""
    flags = store_flag if state.namespace == default_namespace else f" -n {state.namespace}{store_flag}"
    yield ""
    yield f"  what happened   jobledger history {state.name}{flags}"
    yield f"  why             jobledger why {state.name}{flags}"
    yield f"  what it wrote   jobledger logs {state.name}{flags}"
