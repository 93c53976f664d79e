"""A GET within limits: a real server answers, in ways that the limits are for."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from projectors.http_get import AnswerLarge, AnswerLate, GetFailed, GetLimits, HttpAnswer, get

PATIENT = GetLimits(seconds=60.0, most_bytes=100)

Respond = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
"""The head of a request, and where the response to it is written."""


@asynccontextmanager
async def server(respond: Respond) -> AsyncIterator[str]:
    """The address of a server that responds so; each of its connections serves one request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await respond(await reader.readuntil(b"\r\n\r\n"), writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone away, as some tests want it
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"


def answering(body: bytes, status: str = "200 OK", *headers: str) -> Respond:
    """A server that gives every request this answer."""

    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    return respond


@pytest.mark.parametrize(
    ("status", "is_ok"), [("200 OK", True), ("204 No Content", False), ("503 Busy", False)]
)
async def test_status_and_body_are_those_of_the_server(status: str, is_ok: bool) -> None:
    body = b"" if status.startswith("204") else b"\xffwhat it says"
    async with server(answering(body, status)) as address:
        answer = await get(address, PATIENT)
    assert answer == HttpAnswer(int(status[:3]), body)
    assert answer.is_ok is is_ok


async def test_path_and_query_are_sent_and_nothing_compressed_is_asked_for() -> None:
    heads: list[bytes] = []

    async def respond(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head.lower())
        await answering(b"")(head, writer)

    async with server(respond) as address:
        await get(f"{address}/a/b", PATIENT, {"query": 'up{pod="a"}&x', "step": "15"})
        await get(f"{address}/a?step=15", PATIENT)
    first, second = heads
    assert first.startswith(b"get /a/b?query=up%7bpod%3d%22a%22%7d%26x&step=15 http/1.1\r\n")
    assert second.startswith(b"get /a?step=15 http/1.1\r\n")
    assert b"\r\naccept-encoding: identity\r\n" in first


async def test_a_compressed_body_is_not_unpacked() -> None:
    packed = gzip.compress(bytes(1 << 20))[:100]
    async with server(answering(packed, "200 OK", "Content-Encoding: gzip")) as address:
        assert (await get(address, PATIENT)).body == packed


async def test_a_redirect_is_an_answer() -> None:
    async with (
        server(answering(b"secret")) as inside,
        server(answering(b"", "302 Found", f"Location: {inside}")) as address,
    ):
        assert await get(address, PATIENT) == HttpAnswer(302, b"")


async def test_a_body_of_as_many_bytes_as_allowed_is_read_and_one_of_more_is_not() -> None:
    async with server(answering(bytes(100))) as address:
        assert len((await get(address, PATIENT)).body) == 100
    async with server(answering(bytes(101))) as address:
        with pytest.raises(AnswerLarge, match="the answer has more than 100 bytes"):
            await get(address, PATIENT)


async def test_a_body_without_an_end_is_given_up_at_the_limit_of_bytes() -> None:
    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"more and more")
            await writer.drain()

    async with server(respond) as address:
        with pytest.raises(AnswerLarge):
            await get(address, PATIENT)


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["no head", "no body"])
async def test_a_server_that_is_silent_is_given_up(head: bytes) -> None:
    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        await is_over.wait()

    is_over = asyncio.Event()
    async with server(respond) as address:
        with pytest.raises(AnswerLate, match=r"no answer within 0\.05 s"):
            await get(address, GetLimits(0.05, 100))
        is_over.set()


async def test_the_limit_of_time_is_one_of_the_whole_answer() -> None:
    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.001)

    async with server(respond) as address:
        with pytest.raises(AnswerLate):
            await get(address, GetLimits(0.1, 1 << 30))


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_no_proxy_of_the_environment_is_asked(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with server(answering(b"of a proxy")) as proxy, server(answering(b"of the server")) as address:
        monkeypatch.setenv(variable, proxy)
        assert (await get(address, PATIENT)).body == b"of the server"


@pytest.mark.parametrize(
    "url", ["http://no such host", "http://127.0.0.1:99999", "ftp://127.0.0.1", "nothing"]
)
async def test_a_url_that_cannot_be_asked_is_a_failure_with_a_reason(url: str) -> None:
    with pytest.raises(GetFailed) as error:
        await get(url, PATIENT)
    assert str(error.value)


async def test_a_server_that_is_down_is_a_failure() -> None:
    async with server(answering(b"")) as address:
        pass
    with pytest.raises(GetFailed):
        await get(address, PATIENT)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_server_that_speaks_something_else_is_a_failure(scheme: str) -> None:
    def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        with pytest.raises(GetFailed) as error:
            await get(f"{scheme}://127.0.0.1:{port}", PATIENT)
    assert not isinstance(error.value, AnswerLate)
