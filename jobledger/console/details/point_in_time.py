"""A job as it was at any moment, in the shape that the page shows. Pure.

Everything is folded from the entries up to that moment, as the controller folds them; nothing is stored for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobledger.console.details.lives import KeptLife
from jobledger.console.timeline.model import Mark
from jobledger.lives.point_in_time import Moment
from jobledger.lives.wording import fields, observation_words
from projectors.explain import Chronicle, Explanation, Language, explanation
from projectors.explain.diagnosis import actor, actor_source
from projectors.history.facts import counts, has_error, lost
from projectors.history.phrases import event_words
from projectors.phrases import in_words
from projectors.phrases.actors import known_as
from statemachine.budget import budget
from statemachine.errors import ConfigError
from statemachine.log.entry import Entry
from statemachine.log.life import LifeStep
from statemachine.observations import ActorSource
from statemachine.state import JobState, ReplicaState
from statemachine.status import status
from statemachine.wire import plain


@dataclass(frozen=True, slots=True)
class DescribedEntry:
    """An entry in words: what was observed, by whom, what was decided, and the phases before and after."""

    seq: int
    at: datetime
    delay: timedelta | None
    cause: str
    actor: str
    actor_source: ActorSource
    """How it is known who that is."""
    who: str
    """Both, in words."""
    events: tuple[str, ...]
    types: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class View:
    """The job after `count` of its entries; `follows` when no moment was asked for, so that it is the present."""

    count: int
    of: int
    entry: DescribedEntry
    state: JobState
    status: dict[str, Any]
    pods: tuple[ReplicaState, ...]
    why: Explanation
    marks: tuple[Mark, ...]
    follows: bool

    @property
    def lost(self) -> int:
        """Replicas that were dead or out of sight."""
        return lost(counts(self.state))

    @property
    def failing(self) -> bool:
        """The job had the badge "Error"."""
        return has_error(self.state)

    @property
    def left(self) -> int | None:
        """Restarts that were left; None without a limit."""
        return budget(self.state).left


def by_change(conditions: Iterable[Mapping[str, Any]], *, oldest: bool = False) -> list[Mapping[str, Any]]:
    """The conditions of a status, those that changed last first; the `oldest` first if that is wished."""
    return sorted(
        conditions, key=lambda condition: str(condition.get("lastTransitionTime", "")), reverse=not oldest
    )


def view(life: KeptLife, at: str, language: Language = "en") -> View:
    """The job at the moment `at`: the number of an entry, a time, a while ago such as `-5m`, or empty for now.

    What `why` says of it is in `language`.

    Raises:
        ConfigError: it is no moment of the job's life.
    """
    count = moment(life, at)
    if count == len(life):
        (last,), why = life.steps(count, count), life.explained(language)
    else:
        last, why = _then(life, count, language)
    return View(
        count=count,
        of=len(life),
        entry=_described(life.entries[count - 1], last, language),
        state=last.state,
        status=status(last.state),
        pods=tuple(replica for replica in last.state.replicas.values() if replica.has_pod),
        why=why,
        marks=tuple(mark for mark in life.timeline().marks if mark.when.seq == count),
        follows=not at.strip(),
    )


def _then(life: KeptLife, count: int, language: Language) -> tuple[LifeStep, Explanation]:
    """The step number `count`, and what was to be said behind it: one fold from the first entry on."""
    chronicle = Chronicle()
    for step in life.steps(1, count):
        chronicle.take(step)
    return step, explanation(chronicle, language)


def moment(life: KeptLife, at: str) -> int:
    """How many entries there were at the moment. Raises ConfigError: it is none."""
    try:
        return Moment.parse(at).count(life.entries, "the job")
    except ConfigError as error:
        raise ConfigError(str(error).replace("--at", "at")) from None


def described_entries(
    life: KeptLife, first: int, last: int, language: Language = "en"
) -> Sequence[DescribedEntry]:
    """The entries number `first` to `last`, in words."""
    entries = life.entries[first - 1 : last]
    return [
        _described(entry, step, language)
        for entry, step in zip(entries, life.steps(first, last), strict=True)
    ]


def _described(entry: Entry, step: LifeStep, language: Language) -> DescribedEntry:
    delay = entry.seen_at - entry.happened_at if entry.happened_at else None
    return DescribedEntry(
        seq=entry.seq,
        at=entry.seen_at,
        delay=delay if delay and delay > timedelta(seconds=1) else None,
        cause=in_words(observation_words(entry.cause), language),
        actor=actor(entry),
        actor_source=actor_source(entry),
        who=in_words(known_as(actor(entry), actor_source(entry)), language),
        events=tuple(in_words(event_words(event), language) for event in entry.events),
        types=tuple(event.type for event in entry.events),
        before=step.before.phase.value,
        after=step.state.phase.value,
    )


def whole(entry: Entry) -> str:
    """All fields of an entry as indented lines, secrets taken out."""
    from statemachine.redact import redacted

    return "\n".join(fields(redacted(plain(entry))))
