"""What a test process and its fork server send each other.

The test process sends one byte for each program over the socket that both share, and with it four file descriptors: a
connection of that program alone, and its standard input, output and error. Over the connection go a Request to the
child, a Started or an OSError from the child, and in the end an Ended from the server.
"""

from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple, TypeAlias

FIXED: Final = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_")
"""How variables begin that an interpreter, or the libraries under it, read once when they start."""

ADOPTED: Final = frozenset({"PYTHONPATH"})
"""Variables with such a name that the child follows all the same."""


class Request(NamedTuple):
    """The program of a module, as `python -m` starts it."""

    module: str
    arguments: list[str]
    environment: dict[str, str]
    folder: str
    new_session: bool


class Started(NamedTuple):
    """The program is about to run; from now on signals do to it what they do to any."""

    pid: int


class Ended(NamedTuple):
    """The program has ended; the number of the signal that killed it is negative."""

    code: int


Fixed: TypeAlias = dict[str, str | None]
"""The variables that a fork server has read already, with what it has read; None: not set."""

Line: TypeAlias = "Connection[Any, Any]"
"""The connection of one program."""
