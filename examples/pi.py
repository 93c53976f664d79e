"""An MPI program that needs Python and Open MPI alone: pi, each process having computed its part of the sum.

Usage: mpirun -n 4 python3 pi.py [STEPS] [ROUNDS]. Real programs rather use mpi4py; here Open MPI's library is called
directly, so that nothing else has to be installed.
"""

import ctypes
import os
import sys

mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)


def handle(name: str) -> ctypes.c_void_p:
    """A communicator, a type or an operation, as MPI's C functions take it."""
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, f"ompi_mpi_{name}")))


def number(of: str) -> int:
    """What MPI_Comm_rank or MPI_Comm_size says."""
    value = ctypes.c_int()
    mpi[f"MPI_Comm_{of}"](handle("comm_world"), ctypes.byref(value))
    return value.value


def summed(part: float) -> float:
    """The sum of the parts of all processes, which meet here."""
    mine, total = ctypes.c_double(part), ctypes.c_double()
    mpi.MPI_Allreduce(
        ctypes.byref(mine), ctypes.byref(total), 1, handle("double"), handle("op_sum"), handle("comm_world")
    )
    return total.value


steps, rounds = (*map(int, sys.argv[1:]), *(100_000, 3)[len(sys.argv) - 1 :])
mpi.MPI_Init(None, None)
rank, size = number("rank"), number("size")
print(f"process {rank} of {size} on {os.environ.get('HOSTNAME', 'this machine')}", flush=True)
for count in range(1, rounds + 1):
    width = 1 / (steps * count)
    part = sum(4 / (1 + (width * (step + 0.5)) ** 2) for step in range(rank, steps * count, size))
    pi = summed(part * width)
    if rank == 0:
        print(f"round {count}: pi = {pi:.12f}", flush=True)
mpi.MPI_Finalize()
