"""What mpirun is asked for on one machine."""

import pytest

from statemachine.kinds.mpijob.here import MPIRUN
from statemachine.programs import OneHost

HERE = OneHost("127.0.0.1", {}, "walk-launcher")
BETWEEN_PROCESSES, BETWEEN_DAEMONS = "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"


@pytest.mark.parametrize("program", ["mpirun", "/opt/ompi/bin/mpirun"])
def test_everything_stays_on_the_loopback_interface(program: str) -> None:
    variables = MPIRUN.variables([program, "./walk"], {}, HERE)
    assert (variables[BETWEEN_PROCESSES], variables[BETWEEN_DAEMONS]) == ("127.0.0.0/8", "127.0.0.0/8")
    assert variables["OMPI_MCA_mpi_yield_when_idle"] == "1"


def test_other_programs_get_nothing() -> None:
    assert MPIRUN.variables(["/usr/sbin/sshd", "mpirun"], {}, HERE) == {}


def test_the_user_s_interfaces_stay() -> None:
    variables = MPIRUN.variables(["mpirun"], {BETWEEN_DAEMONS: "eth0"}, HERE)
    assert BETWEEN_DAEMONS not in variables
    excluded = ["mpirun", "--mca", "btl_tcp_if_exclude", "eth1"]
    assert BETWEEN_PROCESSES not in MPIRUN.variables(excluded, {}, HERE)
    assert BETWEEN_PROCESSES not in MPIRUN.variables(["mpirun"], {"OMPI_MCA_btl_tcp_if_exclude": "a"}, HERE)
