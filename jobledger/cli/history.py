"""`jobledger history`: every entry of a job, from the first on."""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

import typer

from jobledger.cli import common, histories
from jobledger.cli.entry_words import clock, events_words, fields, seen_words
from jobledger.redact import redacted
from statemachine.errors import ConfigError


def history(
    job: histories.Job,
    *,
    seq: Annotated[
        str, typer.Option("--seq", metavar="N|N-M", help="Only entry N, or N to M; either may be left out.")
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="All fields of every entry.")] = False,
    namespace: common.Namespace = None,
    uid: histories.Uid = "",
    kind: common.Kind = "",
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    verbose: common.Verbose = 0,
) -> None:
    """List everything that the log holds of a job: when, what was noticed, what was decided, the phase after.

    Works without a server, and for jobs that are long deleted. Times are UTC. Values of environment variables
    that look like secrets are shown as <redacted>.
    """
    settings = common.settings(store=store, namespace=namespace, verbose=verbose)
    first, last = span(seq)
    told = histories.reading(
        settings.store,
        lambda log: histories.find(log, job, namespace=settings.namespace, uid=uid, kind=kind),
    )
    shown = [each for each in told.told if first <= each.record.seq <= last]
    if not shown:
        raise ConfigError(f"--seq {seq}: {told.job} has the entries 1 to {told.job.seq}")
    if output is not common.Output.TABLE:
        common.dump([plain(each) for each in shown], output)
    elif full:
        common.say("\n\n".join("\n".join(fields(plain(each))) for each in shown))
    else:
        for line in table(shown):
            common.say(line)
    raise typer.Exit(histories.doubtful(told))


def span(text: str) -> tuple[int, float]:
    """`3`, `3-7`, `3-`, `-7` or nothing as first and last number.

    Raises:
        ConfigError: it is none of them.
    """
    first, dash, last = text.strip().partition("-")
    numbers = [each for each in (first, last) if each]
    if not all(each.isascii() and each.isdigit() and len(each) < 10 for each in numbers):
        raise ConfigError(f'--seq "{text}" names no entries: give a number, or a span such as 3-7')
    if not dash:
        return (int(first), int(first)) if first else (1, float("inf"))
    return int(first or 1), int(last) if last else float("inf")


def plain(told: histories.Told) -> dict[str, Any]:
    """A record as plain data: the entry as it is written in the log, its place, its hash, the phase after it."""
    place = {"position": told.record.position, "hash": told.hash}
    if told.entry is None:  # its bytes are not shown: what cannot be read cannot be redacted
        size = {"bytes": len(told.record.body)}
        return {**place, "job": told.record.job, "seq": told.record.seq, "fault": told.fault, **size}
    written: dict[str, Any] = redacted(json.loads(told.record.body))
    return {**place, "phase": told.state.phase.value, **written}


NARROW: Final = 110
"""Columns of a terminal below which times are short, and what was noticed is cut."""


def table(shown: Sequence[histories.Told]) -> Iterator[str]:
    """One line an entry; on a terminal cut to its width, elsewhere whole."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    time = _short_time(shown) if width is not None and width < NARROW else None
    rows = [_row(each, time) for each in shown]
    for line in common.columns(("SEQ", "TIME", "PHASE", "SEEN", "DECIDED"), rows).splitlines():
        yield line if width is None else cut(line, width)


def _short_time(shown: Sequence[histories.Told]) -> str:
    """The day only where there are several."""
    days = {each.entry.seen_at.date() for each in shown if each.entry is not None}
    return "%H:%M:%S" if len(days) < 2 else "%m-%d %H:%M:%S"


def _row(told: histories.Told, time: str | None) -> tuple[str, ...]:
    seq, entry, phase = str(told.record.seq), told.entry, told.state.phase.value
    if entry is None:
        return seq, "?", phase, "!", one_line(told.fault)
    at = clock(entry.seen_at) if time is None else entry.seen_at.strftime(time)
    seen, decided = one_line(seen_words(entry.cause)), one_line(events_words(entry.events))
    return seq, at, phase, seen if time is None else cut(seen, 22), decided


def cut(text: str, width: int) -> str:
    """`text` in at most `width` characters; a cut shows."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def one_line(text: str) -> str:
    """`text` without anything that a terminal could take for more than text."""
    return "".join(each if each.isprintable() else " " for each in text)
