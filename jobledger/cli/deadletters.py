"""`jobledger dead-letters`: observations that could not be read or decided, kept whole."""

import json
from typing import TYPE_CHECKING, Any

from jobledger.cli import common, histories
from jobledger.telling.words import clock

if TYPE_CHECKING:
    from statemachine.log.port import DeadLetter


def deadletters(
    *,
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """List what could not be decided: when, of which job, what it was, and why.

    Nothing here is lost, and nothing waits for it: the job went on with the next observation.
    """
    settings = common.settings(store=store, verbose=verbose)
    letters = histories.reading(settings, lambda read: read.dead_letters(), log)
    if output is not common.Output.TABLE:
        common.dump([_plain(each) for each in letters], output)
    elif not letters:
        common.say("no dead letters: every observation could be decided")
    else:
        rows = [_row(each) for each in letters]
        common.say(common.columns(("ID", "TIME", "JOB", "OBSERVATION", "ERROR"), rows))


def _seen(letter: "DeadLetter") -> Any:
    """The observation as plain data without secrets; its size if it is no JSON, which nobody can redact."""
    from jobledger.redact import redacted

    try:
        return redacted(json.loads(letter.observation))
    except (ValueError, RecursionError):
        return f"{len(letter.observation)} bytes that are no JSON"


def _plain(letter: "DeadLetter") -> dict[str, Any]:
    return {
        "id": letter.id,
        "at": clock(letter.at),
        "job": letter.job,
        "error": letter.error,
        "observation": _seen(letter),
    }


def _row(letter: "DeadLetter") -> tuple[str, ...]:
    seen = _seen(letter)
    type_ = str(seen.get("type", "?")) if isinstance(seen, dict) else "?"
    error = "".join(each if each.isprintable() else " " for each in letter.error)
    return str(letter.id), clock(letter.at), letter.job, type_, error
