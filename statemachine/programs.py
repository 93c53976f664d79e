"""Programs of launch lines, as far as a run on one machine has to know them."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class OneHost(NamedTuple):
    """A machine on which all pods are processes: its address, its ports by those of each Service, and who asks."""

    address: str
    services: Mapping[str, Mapping[int, int]]
    pod: str


def _no_variables(_argv: Sequence[str], _env: Mapping[str, str], _here: OneHost) -> Mapping[str, str]:
    return {}


class Program(NamedTuple):
    """A program of launch lines, for runs on one machine.

    `module`: the Python module that it is, where the PATH has no such program. `variables`: those that it needs
    there, by its arguments and the variables that it has. `home_files`: names of files beside the directory of SSH
    keys that it reads. `install`: what users of a machine without it are advised to do; empty: nothing is said.
    """

    name: str
    module: str = ""
    variables: Callable[[Sequence[str], Mapping[str, str], OneHost], Mapping[str, str]] = _no_variables
    home_files: tuple[str, ...] = ()
    install: str = ""
