"""What `history` and `why` answer: the same data and the same text on a laptop, from a server and in a cluster."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from jobledger.lives.answer import LifeAnswer
from jobledger.lives.history import HistoryLine, HistoryReading, JobHistory
from jobledger.lives.point_in_time import Moment
from jobledger.lives.tables import columns
from jobledger.lives.wording import clock, events_words, fields, observation_words
from statemachine.errors import ConfigError
from statemachine.log.entry import Entry
from statemachine.log.sharing import spelled_out
from statemachine.observations import JobGone, JobObserved
from statemachine.redact import Redactor

NARROW: Final = 110
"""Columns of a terminal below which times are short, and the observation is cut."""

PLAIN: Final = 80
"""Width of an explanation where nobody looks: in a file or a pipe the same text must come out everywhere."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How an answer is wanted: as `text` of at most `width` columns (None: nobody looks), or as data."""

    text: bool = True
    width: int | None = None


def history_answer(life: JobHistory, form: AnswerForm, *, seq: str = "", full: bool = False) -> LifeAnswer:
    """The entries that `seq` picks: a line each, or with `full` all of their fields. No text where there are none.

    Raises:
        ConfigError: `seq` picks nothing.
    """
    first, last = span(seq)
    reading = life.read()
    answer = beside(life, reading)
    if not reading.lines:
        return answer if form.text else replace(answer, data=[])
    shown = [line for line in reading.lines if first <= line.record.seq <= last]
    if not shown:
        raise ConfigError(f"--seq {seq}: {life.job} has the entries 1 to {reading.last}")
    hide = _redactor(line.entry for line in reading.lines if line.entry is not None)
    if not form.text:
        return replace(answer, data=[plain(line, hide) for line in shown])
    if full:
        whole = (plain(line, hide) for line in shown)
        return replace(answer, text="\n\n".join("\n".join(fields(data)) for data in whole))
    text = "\n".join(table(shown, form.width))
    return replace(answer, text=hide.text(text))


def why_answer(life: JobHistory, form: AnswerForm, *, at: str = "") -> LifeAnswer:
    """Why the job is as it is, or was at the moment `at`. Neither data nor text where no entry can be read.

    Raises:
        ConfigError: `at` is no moment of the job's.
    """
    from projectors.explain import Chronicle, as_text, explanation

    chronicle = Chronicle()
    reading = life.read(chronicle.take, Moment.parse(at))
    answer = beside(life, reading)
    if not reading.entries:
        return answer
    answer = replace(answer, notes=(*answer.notes, *_deleted(chronicle.rest)))
    explained, hide = explanation(chronicle), _redactor(reading.entries)
    if not form.text:
        return replace(answer, data=hide.tree(explained.model_dump(mode="json")))
    text = as_text(explained, width=form.width or PLAIN).rstrip("\n")
    return replace(answer, text=hide.text(text))


def _redactor(entries: Iterable[Entry]) -> Redactor:
    """Knows all specs that the job had: what is secret in one may be quoted anywhere."""
    causes = (entry.cause for entry in entries)
    return Redactor(
        *{cause.generation: cause.spec for cause in causes if isinstance(cause, JobObserved)}.values()
    )


def beside(life: JobHistory, reading: HistoryReading) -> LifeAnswer:
    """What is said beside any answer about the job."""
    doubt = f"the history of {life.job} cannot be read to its end: {reading.doubt}" if reading.doubt else ""
    return LifeAnswer(notes=(f"jobledger: {life.note}",) if life.note else (), doubt=doubt)


def _deleted(rest: Sequence[Entry]) -> Iterator[str]:
    """A job deleted after its end is explained as before; that it is gone is said beside the answer."""
    from projectors.phrases.actors import by_whom

    if rest:
        cause = rest[0].cause
        by = by_whom(cause.actor, cause.actor_source) if isinstance(cause, JobGone) else ""
        yield f"(deleted since, at {rest[0].seen_at:%Y-%m-%d %H:%M:%S} UTC{by})"


# ---- entries -----------------------------------------------------------------------------------------------


def span(text: str) -> tuple[int, float]:
    """`3`, `3-7`, `3-`, `-7` or nothing as first and last number.

    Raises:
        ConfigError: it is none of them.
    """
    first, dash, last = text.strip().partition("-")
    numbers = [number for number in (first, last) if number]
    if not all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        raise ConfigError(f'--seq "{text}" names no entries: give a number, or a span such as 3-7')
    if not dash:
        return (int(first), int(first)) if first else (1, float("inf"))
    return int(first or 1), int(last) if last else float("inf")


def plain(line: HistoryLine, hide: Redactor) -> dict[str, Any]:
    """A record as plain data: the entry as it is written in the log, its place, its hash, the phase after it.

    A spec that cause and event share is in both.
    """
    place = {"position": line.record.position, "hash": line.hash}
    if line.entry is None:  # its bytes are not shown: what cannot be read cannot be redacted
        size = {"bytes": len(line.record.body)}
        return {**place, "job": line.record.job, "seq": line.record.seq, "fault": line.fault, **size}
    written: dict[str, Any] = hide.tree(spelled_out(json.loads(line.record.body)))
    return {**place, "phase": line.phase.value, **written}


def table(shown: Sequence[HistoryLine], width: int | None) -> Iterator[str]:
    """One line an entry; cut to `width`, or whole."""
    time = _short_time(shown) if width is not None and width < NARROW else None
    rows = [_row(moment, time) for moment in shown]
    for line in columns(("SEQ", "TIME", "PHASE", "SEEN", "DECIDED"), rows).splitlines():
        yield line if width is None else cut(line, width)


def _short_time(shown: Sequence[HistoryLine]) -> str:
    """The day only where there are several."""
    days = {moment.entry.seen_at.date() for moment in shown if moment.entry is not None}
    return "%H:%M:%S" if len(days) < 2 else "%m-%d %H:%M:%S"


def _row(line: HistoryLine, time: str | None) -> tuple[str, ...]:
    seq, entry, phase = str(line.record.seq), line.entry, line.phase.value
    if entry is None:
        return seq, "?", phase, "!", one_line(line.fault)
    at = clock(entry.seen_at) if time is None else entry.seen_at.strftime(time)
    observed, decided = one_line(str(observation_words(entry.cause))), one_line(events_words(entry.events))
    return seq, at, phase, observed if time is None else cut(observed, 22), decided


def cut(text: str, width: int) -> str:
    """`text` in at most `width` characters; a cut shows."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def one_line(text: str) -> str:
    """`text` without anything that a terminal could take for more than text."""
    return "".join(character if character.isprintable() else " " for character in text)
