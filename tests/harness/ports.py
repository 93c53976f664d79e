"""Ports of 127.0.0.1 for servers, below what Linux gives by itself: nobody gets one between a look and its use."""

import random
import socket
from collections.abc import Sequence
from typing import Final

_ROWS: Final = range(20_000, 32_000, 4)


def free_port() -> int:
    """A port that nobody has, for TCP and UDP, and that is in no row of `free_row`."""
    return _first_free([3])


def free_row() -> int:
    """The first of three ports in a row that nobody has; a server that comes back may have its own again."""
    return _first_free(range(3))


def _first_free(offsets: Sequence[int]) -> int:
    rows = random.SystemRandom().sample(_ROWS, len(_ROWS))
    return next(row + offsets[0] for row in rows if all(_is_free(row + offset) for offset in offsets))


def _is_free(port: int) -> bool:
    return all(_can_bind(port, transport) for transport in (socket.SOCK_STREAM, socket.SOCK_DGRAM))


def _can_bind(port: int, transport: socket.SocketKind) -> bool:
    with socket.socket(socket.AF_INET, transport) as probe:
        if transport is socket.SOCK_STREAM:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
