"""The command line of the launcher, and what its options say. Source: mpijob.md, sections 3 and 4."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from statemachine.kinds.t9k.hostfile import HOSTFILE_PATH

PROGRAM: Final = "mpirun"

HOST_OPTIONS: Final = ("--hostfile", "-hostfile", "--machinefile", "-machinefile", "-H", "-host", "--host")
"""Options that say on which hosts processes run: the controller's hostfile does. Source: MP5."""

_PER_WORKER: Final = ("-N", "--N", "-npernode", "--npernode")
_MAPPED: Final = ("-map-by", "--map-by")
_PER_NODE: Final = re.compile(r"ppr:([0-9]+):node(:.*)?")

_ALWAYS: Final = ("PATH", "LD_LIBRARY_PATH")
"""Variables that the processes on the workers get from the launcher in any case."""


def mpirun(home: str | None) -> str:
    """The program, by its full path where Open MPI has a home."""
    return f"{home.rstrip('/')}/bin/{PROGRAM}" if home else PROGRAM


def launch_args(
    home: str | None,
    mca: Mapping[str, str],
    variables: Sequence[str],
    extra: Sequence[str],
    program: Sequence[str],
) -> list[str]:
    """The arguments of mpirun: where, with which parameters and `variables`, `extra` options, the MPI program.

    A variable that an option of the user's exports is left to that option, which may give it a value.
    """
    theirs = {value.partition("=")[0] for option, value in _pairs(extra) if option == "-x"}
    exported = [name for name in dict.fromkeys([*variables, *_ALWAYS]) if name not in theirs]
    return [
        *(["--prefix", home] if home else []),
        *("--hostfile", HOSTFILE_PATH),
        *(word for key in sorted(mca) for word in ("--mca", key, mca[key])),
        *(word for name in exported for word in ("-x", name)),
        *extra,
        *program,
    ]


def processes_asked(extra: Sequence[str]) -> int | None:
    """Processes on each worker as the options of mpirun say it; None if they do not."""
    return next(_numbers(extra), None)


def _numbers(extra: Sequence[str]) -> Iterator[int]:
    for option, value in _pairs(extra):
        mapped = _PER_NODE.fullmatch(value) if option in _MAPPED else None
        number = mapped[1] if mapped else value if option in _PER_WORKER else ""
        if number.isascii() and number.isdecimal() and int(number) > 0:
            yield int(number)


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every word with the one that follows it."""
    return pairwise(words)
