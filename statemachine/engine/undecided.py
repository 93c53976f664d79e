"""What becomes of a job about which something cannot be decided: it is seen to be so, and that is said once.

The observation is kept, whole, as a dead letter (design rule 10). Beside it stands an entry that needs none of the
rules that failed, so the job does not vanish: a new one is Failed, and one that lives goes on as it is, with an
Event that says so. The same is noticed again at every start and resync; that is neither kept nor said again.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from statemachine.events import Announced, ConditionsChanged, Event, JobAdmitted
from statemachine.ids import JobUid
from statemachine.kinds import kind_of
from statemachine.log.port import DeadLetter, EventLog
from statemachine.observations import JobObserved, Observation
from statemachine.phases import Phase, Trigger
from statemachine.rules import words
from statemachine.rules.entering import entered
from statemachine.state import JobState

REASON: Final = "Undecidable"
"""Reason of the condition, and of the Event."""

NO_POLICY: Final = 0
"""Policy of an entry that no rules have decided: nobody decides it again."""

_WHEN: Final = ("at", "happened_at", "written_at")


class Failure(NamedTuple):
    """An observation that could not be decided, and why."""

    seen: Observation
    error: Exception

    @property
    def text(self) -> str:
        """The error, as letters have it."""
        return f"{type(self.error).__name__}: {self.error}"

    def is_like(self, other: "Failure") -> bool:
        """The same went wrong with the same job."""
        return (self.seen.job, self.text) == (other.seen.job, other.text)


class Told:
    """Which failures the dead letters of a log tell of already; those that were sent once more are not among them."""

    def __init__(self, event_log: EventLog) -> None:
        self._log = event_log
        self._known: set[tuple[JobUid, str, str]] | None = None
        self._unsaid: set[tuple[JobUid, str]] = set()

    async def refresh(self, failures: Sequence[Failure]) -> bool:
        """What is known of these is so; False if that had to be looked up."""
        if self._known is not None and not any(map(self.knows, failures)):
            return True
        letters = await self._log.dead_letters()
        before, self._known = self._known, set(_keys(letters))
        return before == self._known

    def knows(self, failure: Failure) -> bool:
        """There is a letter of the same observation, whenever that was made, and error."""
        return (self._known is not None) and _key(failure) in self._known

    def knows_of(self, failure: Failure) -> bool:
        """There is a letter of the same job and error."""
        about = failure.seen.job, failure.text
        return any(each[:2] == about for each in self._known or ())

    def is_said(self, failure: Failure) -> bool:
        """The job's history tells of it, too, as far as letters can say."""
        return self.knows_of(failure) and (failure.seen.job, failure.text) not in self._unsaid

    def note(self, failure: Failure) -> None:
        """There is a letter of it now; the entries that belong to it are still to be appended."""
        if not self.knows_of(failure):
            self._unsaid.add((failure.seen.job, failure.text))
        if self._known is not None:
            self._known.add(_key(failure))

    def appended(self) -> None:
        """So are the entries."""
        self._unsaid.clear()


def _keys(letters: Iterable[DeadLetter]) -> Iterator[tuple[JobUid, str, str]]:
    for each in letters:
        if each.retried_at is None:
            yield each.job, each.error, _timeless(each.observation)


def _key(failure: Failure) -> tuple[JobUid, str, str]:
    return failure.seen.job, failure.text, _timeless(failure.seen.model_dump_json().encode())


def _timeless(observation: bytes) -> str:
    """What was seen, whenever that was."""
    try:
        raw: Any = json.loads(observation)
    except ValueError:
        return observation.decode("utf-8", "replace")
    if isinstance(raw, dict):
        raw = {name: value for name, value in raw.items() if name not in _WHEN}
    return json.dumps(raw, sort_keys=True)


def fallback(state: JobState, failure: Failure) -> tuple[Event, ...]:
    """What is written of a job about which something cannot be decided; empty where nothing can be said."""
    seen = failure.seen
    text = f"jobledger cannot decide about this job ({failure.text})"
    if state.phase is not Phase.NEW:
        said = f"{text}: what it noticed is among its dead letters, and the job goes on as it is"
        return () if state.closed or state.is_final else (_warning(said),)
    if not isinstance(seen, JobObserved) or seen.recorded is not None:
        return ()  # one whose pods may run: it is not to fail because of us
    kind = kind_of(seen.api_version, seen.kind)
    return (
        JobAdmitted(
            api_version=seen.api_version,
            kind=kind.names.kind,
            object_kind="" if seen.kind == kind.names.kind else seen.kind,
            namespace=seen.namespace,
            name=seen.name,
            generation=seen.generation,
            at=seen.at,
            spec=seen.spec,
            settings=seen.settings,
        ),
        entered(state, Trigger.FOUND_INVALID, "T3", seen),
        ConditionsChanged(at=seen.at, conditions=(words.true(words.FAILED, REASON, text),)),
        _warning(text),
    )


def _warning(text: str) -> Announced:
    return Announced(reason=REASON, message=text, level="Warning")
