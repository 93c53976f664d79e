"""The sockets that the API answers on."""

import asyncio
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from jobledger.web.rights import Anyone
from jobledger.web.server import serve, tcp_socket
from jobledger.web.streams import Closing, log_response
from statemachine.errors import ClusterUnavailable, ConfigError


def test_an_address_takes_callers_from_the_moment_it_is_announced() -> None:
    with (
        tcp_socket("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname(), timeout=5) as caller,
    ):
        assert caller.getpeername() == listener.getsockname()


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_two_colons_are_all_addresses_of_both_families() -> None:
    with tcp_socket("::", 0) as listener:
        port = listener.getsockname()[1]
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, port), timeout=5).close()


def test_an_address_that_is_taken_is_said() -> None:
    with tcp_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}"):
            tcp_socket("127.0.0.1", port)


async def test_a_log_whose_source_fails_breaks_off_and_does_not_seem_to_have_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"step 1\n"
        raise ClusterUnavailable("the API server does not answer")

    async def api(scope: Scope, receive: Receive, send: Send) -> None:
        await log_response(closing, pieces(), Anyone().still)(scope, receive, send)

    async def read() -> None:
        async with (
            httpx.AsyncClient(trust_env=False, timeout=30) as http,
            http.stream("GET", address) as answer,
        ):
            async for piece in answer.aiter_raw():
                heard.append(piece)

    closing, stop, heard = Closing(), asyncio.Event(), list[bytes]()
    with tcp_socket("127.0.0.1", 0) as listener:
        serving = asyncio.create_task(serve(api, [listener], closing, stop))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(httpx.RemoteProtocolError):
            await read()
        stop.set()
        await serving
    assert heard == [b"step 1\n"]
    assert "a log breaks off while it is read: the API server does not answer" in caplog.messages
    assert "Traceback" not in caplog.text
