"""Observations that cannot be decided: what becomes of their jobs.

The observation is kept, whole, as a dead letter (design rule 10). Beside it the owner appends an entry that needs
none of the rules that failed, so the job does not vanish: a new job is Failed, and an existing one goes on as it is,
with an Event about the failure. Every start and resync brings the same observation again: it is neither kept nor
announced twice.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from statemachine.errors import EntryUnreadable
from statemachine.events import Announced, ConditionsChanged, Event, JobAdmitted
from statemachine.ids import JobUid
from statemachine.kinds import kind_of
from statemachine.log.codec import decode_observation, encode_observation
from statemachine.log.port import DeadLetter, EventLog
from statemachine.observations import JobObserved, Observation
from statemachine.phases import Phase, Trigger
from statemachine.rules import words
from statemachine.rules.entering import entered
from statemachine.state import JobState

REASON: Final = "Undecidable"
"""Reason of the condition, and of the Event."""

NO_POLICY: Final = 0
"""Policy of an entry that no rules have decided: it is never decided again."""

_WHEN: Final = ("at", "happened_at", "written_at")


class Failure(NamedTuple):
    """An observation that could not be decided, and why."""

    observation: Observation
    error: Exception

    @property
    def text(self) -> str:
        """The error as in dead letters."""
        return f"{type(self.error).__name__}: {self.error}"

    def is_like(self, other: "Failure") -> bool:
        """Both are the same error for the same job."""
        return (self.observation.job, self.text) == (other.observation.job, other.text)


class KnownFailures:
    """The failures in the dead letters of a log, without those that were sent again."""

    def __init__(self, event_log: EventLog) -> None:
        self._log = event_log
        self._known: set[tuple[JobUid, str, str]] | None = None
        self._unsaid: set[tuple[JobUid, str]] = set()

    async def refresh(self, failures: Sequence[Failure]) -> bool:
        """Brings the known failures up to date for these; False if that changed them."""
        if self._known is not None and not any(map(self.knows, failures)):
            return True
        letters = await self._log.dead_letters()
        before, self._known = self._known, set(_keys(letters))
        return before == self._known

    def knows(self, failure: Failure) -> bool:
        """There is a letter with the same error and observation, apart from its time."""
        return (self._known is not None) and _key(failure) in self._known

    def knows_of(self, failure: Failure) -> bool:
        """There is a letter with the same job and error."""
        about = failure.observation.job, failure.text
        return any(key[:2] == about for key in self._known or ())

    def is_said(self, failure: Failure) -> bool:
        """There is a letter, and the job's history has the failure, too."""
        return self.knows_of(failure) and (failure.observation.job, failure.text) not in self._unsaid

    def note(self, failure: Failure) -> None:
        """Notes a new letter, whose entries are still to be appended."""
        if not self.knows_of(failure):
            self._unsaid.add((failure.observation.job, failure.text))
        if self._known is not None:
            self._known.add(_key(failure))

    def appended(self) -> None:
        """Notes that the entries of all letters were appended."""
        self._unsaid.clear()


def _keys(letters: Iterable[DeadLetter]) -> Iterator[tuple[JobUid, str, str]]:
    for letter in letters:
        if letter.retried_at is None:
            yield letter.job, letter.error, _timeless(_as_written_now(letter.observation))


def _key(failure: Failure) -> tuple[JobUid, str, str]:
    return failure.observation.job, failure.text, _timeless(encode_observation(failure.observation))


def _as_written_now(observation: bytes) -> bytes:
    """The observation of a letter in the form of this release; an earlier one wrote defaults, too."""
    try:
        return encode_observation(decode_observation(observation))
    except EntryUnreadable:
        return observation


def _timeless(observation: bytes) -> str:
    """The observation without its times."""
    try:
        raw: Any = json.loads(observation)
    except ValueError:
        return observation.decode("utf-8", "replace")
    if isinstance(raw, dict):
        raw = {name: value for name, value in raw.items() if name not in _WHEN}
    return json.dumps(raw, sort_keys=True)


def fallback(state: JobState, failure: Failure) -> tuple[Event, ...]:
    """The events of a job with an observation that cannot be decided; empty if none are possible."""
    observation = failure.observation
    text = f"jobledger cannot decide about this job ({failure.text})"
    if state.phase is not Phase.NEW:
        message = f"{text}: the observation is among its dead letters, and the job goes on as it is"
        return () if state.closed or state.is_final else (_warning(message),)
    if not isinstance(observation, JobObserved) or observation.recorded is not None:
        return ()  # the job's pods may run: it must not fail because of a fault of ours
    kind = kind_of(observation.api_version, observation.kind)
    return (
        JobAdmitted(
            api_version=observation.api_version,
            kind=kind.names.kind,
            object_kind="" if observation.kind == kind.names.kind else observation.kind,
            namespace=observation.namespace,
            name=observation.name,
            generation=observation.generation,
            at=observation.at,
            spec=observation.spec,
            settings=observation.settings,
        ),
        entered(state, Trigger.FOUND_INVALID, "T3", observation),
        ConditionsChanged(at=observation.at, conditions=(words.true(words.FAILED, REASON, text),)),
        _warning(text),
    )


def _warning(text: str) -> Announced:
    return Announced(reason=REASON, message=text, level="Warning")
