"""Commands that our sentences suggest, as the user has to type them: for the same store, log and server."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

CARRIED: Final = ("--store", "--log", "--server")
"""Options that say which ledger is meant."""

_COMMAND: Final = re.compile(r"`jobledger (?P<verb>[a-z-]+)(?P<rest>[^`|]*)`")

_given: ContextVar[Mapping[str, str]] = ContextVar("options of the command line", default={})  # noqa: B039


@contextmanager
def of(arguments: Sequence[str]) -> Iterator[None]:
    """Inside, sentences repeat what this command line said."""
    token = _given.set(dict(_carried(arguments)))
    try:
        yield
    finally:
        _given.reset(token)


def repeating(sentence: str) -> str:
    """The sentence, with those options at every command in it that has them and does not say them already."""
    return _COMMAND.sub(_completed, sentence) if _given.get() else sentence


def _carried(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, word in enumerate(arguments):
        if word == "--":
            return
        name, equals, value = word.partition("=")
        if name in CARRIED:
            yield name, value if equals else "".join(arguments[number + 1 : number + 2])


def _completed(command: re.Match[str]) -> str:
    verb, rest = command["verb"], command["rest"]
    said = rest.split()
    has = _options(verb, said)
    more = [
        f" {name} {shlex.quote(value)}"
        for name, value in _given.get().items()
        if name in has and not any(word == name or word.startswith(f"{name}=") for word in said)
    ]
    return f"`jobledger {verb}{rest}{''.join(more)}`"


def _options(verb: str, said: Sequence[str]) -> set[str]:
    """The options of the verb, or of the verb in it that is said. Its module is imported: that takes a moment."""
    import typer

    from jobledger.cli import GROUPS, build

    if not any(verb in verbs for verbs in GROUPS.values()):
        return set()
    command: Any = typer.main.get_command(build(verb))
    for word in (verb, *said):
        command = getattr(command, "commands", {word: command}).get(word)
    return {option for param in command.params for option in param.opts} if command else set()
