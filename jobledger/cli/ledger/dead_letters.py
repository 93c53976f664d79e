"""`jobledger dead-letters`: observations that could not be read or decided, kept whole, and sent again if wished."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.lives.wording import clock
from jobledger.program.exit_codes import FAILED, OK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobledger.settings.model import Settings
    from statemachine.log.port import DeadLetter

dead_letters = typer.Typer(
    no_args_is_help=True,
    help="List what could not be read or decided, show one of it whole, or let it be decided once more.\n\n"
    "Nothing of it is lost, and nothing waits for it: the job went on with the next observation.",
)

_Raw = Annotated[
    bool,
    typer.Option("--raw", help="The observation as it is, escaped, with any secret that is in it."),
]


@dead_letters.command("list")
def list_(
    *,
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """List what could not be decided: when, of which job, what it was, whether it was retried, and what was wrong."""
    letters = _letters(common.settings(store=store, verbose=verbose), log)
    if output is not common.Output.TABLE:
        common.dump([_plain(letter) for letter in letters], output)
    elif not letters:
        common.say("no dead letters: every observation could be decided")
    else:
        heads = ("ID", "TIME", "JOB", "OBSERVATION", "RETRIED", "ERROR")
        common.say(common.columns(heads, [_row(letter) for letter in letters]))


@dead_letters.command()
def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Its ID, as `list` shows it.")],
    *,
    raw: _Raw = False,
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Show a dead letter whole. Values that look like secrets are left out of the observation."""
    (letter,) = _chosen(_letters(common.settings(store=store, verbose=verbose), log), [id_])
    fields = _plain(letter) | ({"observation": _escaped(letter.observation)} if raw else {})
    if output is not common.Output.TABLE:
        common.dump(fields, output, verbatim=raw)
        return
    observation = fields.pop("observation")
    width = max(map(len, fields))
    for name, value in fields.items():
        common.say(f"{name:<{width}}  {_line(str(value or '-'))}")
    common.say()
    if raw:
        typer.echo(observation)  # with any secret in it, as was asked for
    else:
        common.say(
            observation
            if isinstance(observation, str)
            else json.dumps(observation, indent=2, ensure_ascii=False)
        )


@dead_letters.command()
def retry(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Their IDs, as `list` shows them.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All that were not retried yet.")] = False,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Send dead letters to the engine once more: what kept them from being decided may be fixed by now.

    They are decided as late arrivals, by a controller that runs now or by the next one. A letter stays in the list
    and says when it was retried; what again cannot be decided becomes another letter. One that cannot be read as an
    observation is not sent, as it would only come back: exit code 1.
    """
    if every == bool(ids):
        raise typer.BadParameter("give IDs, or --all", param_hint="ID")
    settings = common.settings(store=store, verbose=verbose)
    letters = _letters(settings, log)
    wanted = (
        [letter for letter in letters if letter.retried_at is None] if every else _chosen(letters, ids or [])
    )
    if not wanted:
        common.say("nothing to retry")
        return
    import asyncio

    raise typer.Exit(asyncio.run(_retried(settings, log, wanted)))


async def _retried(settings: "Settings", url: str | None, letters: "Sequence[DeadLetter]") -> int:
    from datetime import UTC, datetime

    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.ledger import ledger_of
    from jobledger.wiring.roles import Role
    from statemachine.errors import EntryUnreadable
    from statemachine.log.retrying import retry

    code = OK
    where = log_of(url, settings) if url else settings.store
    async with ledger_of(where, frozenset({Role.FRONT})) as ledger:
        for letter in letters:
            try:
                observation = await retry(letter, ledger.partitions, ledger.way, datetime.now(UTC))
            except EntryUnreadable as error:
                common.warn(
                    f"jobledger: dead letter {letter.name} is not sent, it would only come back: {error}"
                )
                code = FAILED
            else:
                common.say(f"retried {letter.name}: {observation.type} of job {observation.job}")
    return code


def _letters(settings: "Settings", url: str | None) -> "Sequence[DeadLetter]":
    return histories.reading(settings, lambda read: read.dead_letters(), url)


def _chosen(letters: "Sequence[DeadLetter]", names: "Sequence[str]") -> "list[DeadLetter]":
    """The letters of these names, oldest first. Raises ConfigError."""
    from statemachine.errors import ConfigError

    there = {letter.name for letter in letters}
    if unknown := [name for name in names if name not in there]:
        raise ConfigError(f"there is no dead letter {unknown[0]}; `jobledger dead-letters list` shows them")
    return [letter for letter in letters if letter.name in names]


def _observation(letter: "DeadLetter") -> Any:
    """The observation as plain data without secrets; its size if it is no JSON, which nobody can redact."""
    from statemachine.redact import redacted

    try:
        return redacted(json.loads(letter.observation))
    except (ValueError, RecursionError):
        return (
            f"{len(letter.observation)} bytes that are no JSON; `jobledger dead-letters show --raw` has them"
        )


def _escaped(data: bytes) -> str:
    """The bytes as ASCII on one line, those that are none by their hexadecimal codes."""
    return data.decode("latin-1").encode("unicode_escape").decode()


def _plain(letter: "DeadLetter") -> dict[str, Any]:
    return {
        "id": letter.name,
        "at": clock(letter.at),
        "job": letter.job,
        "error": letter.error,
        "retried": clock(letter.retried_at) if letter.retried_at else None,
        "observation": _observation(letter),
    }


def _row(letter: "DeadLetter") -> tuple[str, ...]:
    observation = _observation(letter)
    type_ = str(observation.get("type", "?")) if isinstance(observation, dict) else "?"
    retried = clock(letter.retried_at) if letter.retried_at else "-"
    return letter.name, clock(letter.at), letter.job, type_, retried, _line(letter.error)


def _line(text: str) -> str:
    """On one line, whatever is in it."""
    return "".join(character if character.isprintable() else " " for character in text)
