"""mpirun on one machine, where every pod is processes: what it has to be asked for there."""

from collections.abc import Mapping, Sequence
from typing import Final

from statemachine.kinds.mpijob.launch import PROGRAM
from statemachine.programs import OneHost, Program

_INCLUDE: Final = "btl_tcp_if_include"
_EXCLUDE: Final = "btl_tcp_if_exclude"
_LOOPBACK: Final = "127.0.0.0/8"


def _variables(argv: Sequence[str], env: Mapping[str, str], _here: OneHost) -> Mapping[str, str]:
    """Daemons and processes talk over the loopback interface, which Open MPI leaves out of its own accord.

    What the user says of interfaces is left alone: as an argument it wins, and the two parameters exclude each other.
    All workers share the processors, which mpirun does not know: processes that wait for others leave theirs to them.
    """
    if argv[0].rpartition("/")[2] != PROGRAM:
        return {}
    ours = {"OMPI_MCA_oob_tcp_if_include": _LOOPBACK, "OMPI_MCA_mpi_yield_when_idle": "1"}
    if _EXCLUDE not in argv and f"OMPI_MCA_{_EXCLUDE}" not in env:
        ours[f"OMPI_MCA_{_INCLUDE}"] = _LOOPBACK
    return {name: value for name, value in ours.items() if name not in env}


MPIRUN: Final = Program(
    PROGRAM, variables=_variables, install="install Open MPI (on Debian: apt-get install openmpi-bin)"
)
