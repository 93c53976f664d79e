"""RunEvents of recorded lives and of stories."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from projectors.contract.lineage.runs import run_events
from projectors.contract.publication import Publication
from projectors.contract.stream import Publisher
from statemachine.log.port import Record
from statemachine.phases import Phase
from statemachine.state import JobState
from tests.contract.lives import PUBLICATION, Life
from tests.support.scenario import Story


def of_records(records: Iterable[Record], publication: Publication = PUBLICATION) -> list[dict[str, Any]]:
    publisher = Publisher(publication)
    taken = [published for record in records if (published := publisher.take(record)) is not None]
    return [json.loads(event.data) for published in taken for event in run_events(published)]


def of_story(story: Story) -> list[dict[str, Any]]:
    return of_records(Record(seq, story.uid, seq, body) for seq, body in enumerate(story.bodies, 1))


class Emitted(NamedTuple):
    """The RunEvents of a life, and the state of its run by the log alone."""

    runs: list[dict[str, Any]]
    reached: str | None


def of_life(life: Life) -> Emitted:
    """Simulated jobs have short uids, the same in each archive; each gets a UUID of its own here."""
    uid = str(uuid5(NAMESPACE_URL, life.name))
    publisher = Publisher(PUBLICATION)
    taken = [published for record in life.records if (published := publisher.take(record)) is not None]
    runs = [json.loads(event.data) for published in taken for event in run_events(published)]
    for run in runs:
        assert run["run"]["runId"] == life.records[0].job
        run["run"]["runId"] = uid
    return Emitted(runs, _reached([state for published in taken for state in published.states]))


def _reached(states_: Sequence[JobState]) -> str | None:
    """A job that is deleted before its end is aborted, however its pods end."""
    end = next((state for state in states_ if state.is_final or state.deleted), None)
    if end is None:
        return "RUNNING" if any(state.phase is Phase.RUNNING for state in states_) else None
    return {Phase.SUCCEEDED: "COMPLETE", Phase.FAILED: "FAIL"}.get(end.phase, "ABORT")


def states(runs: Sequence[dict[str, Any]]) -> list[str]:
    return [run["eventType"] for run in runs]


def facet(runs: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [run["run"]["facets"][name] for run in runs if name in run["run"]["facets"]]
