"""An entry's public events → the RunEvents that lineage systems get of it. Pure.

Whether a run has started or ended follows from the job's state before each event, never from what was sent: a
publisher that begins anywhere says the same.
"""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

from pydantic_core import to_json

from projectors.contract import of_parts
from projectors.contract.lineage import facets
from projectors.contract.lineage.parents import Parents, parents_of
from projectors.contract.page import SOURCE, PublicEvent, index_of
from projectors.contract.stream import PublishedEntry
from statemachine.events import Event
from statemachine.phases import Phase
from statemachine.state import JobState

NAME_LABEL: Final = "jobledger.dev/lineage-name"
"""Label of the job object: how lineage calls the job, in the place of kind and name."""

RUN_KEY: Final = "runkey"
"""Attribute of a RunEvent: the key that runs of one family share in Kafka."""

_SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"


class RunState(StrEnum):
    """What becomes of a run. Source: OpenLineage, "The Run Cycle"."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"
    OTHER = "OTHER"
    """More about a run that has not started."""


_ENDS: Final = {Phase.SUCCEEDED: RunState.COMPLETE, Phase.FAILED: RunState.FAIL}


def run_events(published: PublishedEntry) -> Sequence[PublicEvent]:
    """The RunEvents of an entry, in order: exactly one START a run, at most one end, and nothing behind it.

    Each has the attributes of the public event that it is made of, and `RUN_KEY`; its data is the RunEvent.
    """
    sources = {index_of(event): event for event in published.events}
    return [
        _run_event(published, sources[index], reached)
        for index, event in enumerate(published.entry.events)
        for reached in _reached(published.states[index], event)
    ]


def _reached(state: JobState, event: Event) -> Iterator[RunState]:
    """What becomes of the run of a job in `state` by the event."""
    if state.is_final or state.deleted:
        return
    goes_on = RunState.RUNNING if state.has_run else RunState.OTHER
    match event.type:
        case "JobAdmitted" if event.plan is not None:
            yield RunState.OTHER
        case "RestartScheduled":
            yield goes_on
        case "PhaseEntered" if event.phase in _ENDS:
            yield from _ended(state, _ENDS[event.phase])
        case "PhaseEntered" if event.phase is Phase.RUNNING:
            yield RunState.RUNNING if state.has_run else RunState.START
        case "PhaseEntered" if event.phase in {Phase.PAUSED, Phase.RESUMING}:
            yield goes_on
        case "JobDeleted":
            yield from _ended(state, RunState.ABORT)
        case _:
            return


def _ended(state: JobState, end: RunState) -> Iterator[RunState]:
    if not state.has_run:
        yield RunState.START
    yield end


def _run_event(published: PublishedEntry, source: PublicEvent, reached: RunState) -> PublicEvent:
    data, state = json.loads(source.data), published.state
    named = parents_of(state)
    namespace, name = _namespace(source), job_name(state)
    event: dict[str, Any] = {
        "eventType": reached.value,
        "eventTime": source.attributes["time"],
        "producer": facets.PRODUCER,
        "schemaURL": _SCHEMA,
        "run": {"runId": state.uid, "facets": dict(_run_facets(published, reached, data, named))},
        "job": {"namespace": namespace, "name": name, "facets": {"jobType": facets.job_type()}},
        "inputs": [],
        "outputs": [],
    }
    attributes = {**source.attributes, RUN_KEY: _run_key(named, namespace, name)}
    return source._replace(attributes=attributes, data=to_json(event))


def _namespace(source: PublicEvent) -> str:
    """The ledger and the namespace of the job, both from the attribute `source` of its events."""
    return "kubernetes://" + str(source.attributes["source"]).removeprefix(SOURCE).rsplit("/", 2)[0]


def job_name(state: JobState) -> str:
    """How lineage calls the job; its runs are the job objects of that name, one after the other."""
    return state.labels.get(NAME_LABEL) or f"{state.kind}.{state.name}"


def _run_key(named: Parents, namespace: str, name: str) -> str:
    """As the reference client makes it: a family of runs stays in one partition."""
    top = named.root or named.parent
    return f"run:{top.namespace}/{top.job}" if top else f"run:{namespace}/{name}"


def _run_facets(
    published: PublishedEntry, reached: RunState, data: dict[str, Any], named: Parents
) -> Iterator[tuple[str, facets.Facet]]:
    if (parent := facets.parent(named)) is not None:
        yield "parent", parent
    yield "processing_engine", facets.processing_engine(published.entry.policy)
    if labels := data["job"].get("labels"):
        yield "tags", facets.tags(labels)
    if reached is RunState.FAIL:
        yield "errorMessage", facets.error_message(_why(published, data))
    state, entry = published.state, data["entry"]
    job = facets.own(
        "jobledger_job", kind=state.kind, uid=state.uid, seq=entry["seq"], entry_hash=entry["hash"]
    )
    yield "jobledger_job", job
    budget, is_restart = of_parts.budget(state), "replica" in data
    causes = [{"replica": data["replica"]["name"], "cause": data["cause"]}] if is_restart else ()
    yield (
        "jobledger_restarts",
        facets.own("jobledger_restarts", spent=budget.spent, limit=budget.limit, causes=causes),
    )


def _why(published: PublishedEntry, data: dict[str, Any]) -> Sequence[str]:
    """The reason of a failure, and its cause, or what is wrong with the spec."""
    cause = data["cause"]
    if cause is None:
        created = json.loads(published.events[0].data)
        return [data["reason"], *(problem["message"] for problem in created.get("problems", ()))]
    code = cause["exitCode"]
    return [
        data["reason"],
        cause["class"],
        "" if code is None else f"exit code {code}",
        cause["reason"],
        cause["message"],
    ]
