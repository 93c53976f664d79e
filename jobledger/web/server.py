"""The API on its sockets: a unix socket next to the store, and 127.0.0.1 if that is asked for."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from jobledger.web.streams import Closing
from statemachine.errors import ConfigError, StoreUnusable

_GRACE: Final = 5
"""Seconds that requests in hand have when the server ends; streams end at once."""

LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


_KEPT_ALIVE: Final = 95
"""Seconds that a silent connection is kept. API servers keep theirs to us for 90: were we the first to close one,
a request could be on its way in it."""

_HEADERS: Final = 64 << 10
"""Bytes of all headers of a request. Tokens that name every group of their user are large."""


def listen_address(text: str, *, guarded: bool = False) -> tuple[str, int]:
    """Host and port of `127.0.0.1:PORT`; of any address if a guard asks everybody for their rights.

    Raises:
        ConfigError: it is none, or everybody who reaches it could do everything.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f'--listen needs HOST:PORT, such as 127.0.0.1:8080, not "{text}"')
    if not guarded and host not in LOCAL:
        raise ConfigError(
            f'--listen {text}: "{host}" is not this machine alone, and a client that reaches the server can run '
            f"programs as you; use {LOCAL[0]}:{port}"
        )
    return host.strip("[]"), int(port)


def unix_socket(path: Path) -> socket.socket:
    """A socket at `path` that only this user can use; one that a dead server left is replaced.

    The store's lock is held, so no living server of the same store can own it.

    Raises:
        StoreUnusable: there can be none.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        if path.parent.name == f"jobledger-{os.getuid()}":
            _private_folder(path.parent)
        path.unlink(missing_ok=True)
        listening.bind(str(path))
    except OSError as error:
        listening.close()
        raise StoreUnusable(f"the socket {path} cannot be made ({error.strerror}); see --store") from error
    finally:
        os.umask(mask)
    return listening


def _private_folder(path: Path) -> None:
    """The folder is ours alone, also in a temporary directory that everybody shares. Raises OSError."""
    os.umask(0o077)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    about = path.lstat()
    if about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise PermissionError(1, f"{path} belongs to somebody else")
    os.umask(0o177)


def tcp_socket(host: str, port: int) -> socket.socket:
    """A listening address of this machine; `::` is both of its families. Raises ConfigError when it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if host == "::":
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind((host, port))
        listening.listen()  # who knows the address may come
    except OSError as error:
        listening.close()
        reason = error.strerror
        raise ConfigError(f"cannot listen on {host}:{port} ({reason}); choose another port") from error
    return listening


class _Server(uvicorn.Server):
    """Leaves signals to the command."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


async def serve(
    api: ASGIApp, sockets: Sequence[socket.socket], closing: Closing, stop: asyncio.Event
) -> None:
    """The API answers on `sockets` until `stop` is set; then what is in hand is finished."""
    config = uvicorn.Config(
        api,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=_KEPT_ALIVE,
        h11_max_incomplete_event_size=_HEADERS,
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve(list(sockets)), name="http")
        try:
            await stop.wait()
        finally:
            closing.close()
            server.should_exit = True
