"""Bodies that are too large or too slow are refused before they are read."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx

from jobledger.api import create
from jobledger.web.limits import BODY_LIMIT, Limits
from tests.support.simulated import on_simulated_time
from tests.unit.api.words import app_in_memory

CHUNKED = {"type": "http", "headers": [(b"transfer-encoding", b"chunked")]}


async def _pieces(size: int, seconds: float = 0.0) -> AsyncIterator[bytes]:
    for _ in range(size):
        await asyncio.sleep(seconds)
        yield b" " * (1 << 20)


async def _post(path: str, **request: Any) -> httpx.Response:
    async with app_in_memory() as app:
        transport = httpx.ASGITransport(create(app), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post(path, **request)


async def test_a_body_that_says_that_it_is_too_large_is_refused_unread() -> None:
    for path in ("/v1/jobs", "/v1/jobs/default/train/scale"):
        headers = {"Content-Length": str(BODY_LIMIT + 1)}
        response = await _post(path, content=_pieces(1), headers=headers)
        assert (response.status_code, response.json()["detail"]) == (413, "the body is larger than 6 MiB")


@on_simulated_time
async def test_a_body_that_does_not_say_how_large_it_is_is_cut_off() -> None:
    async def echo(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            taken.append(1)

    taken: list[int] = []
    response = await _raised(Limits(echo), _pieces(20))
    assert (response, len(taken)) == (413, 6)


@on_simulated_time
async def test_a_body_that_comes_too_slowly_is_given_up() -> None:
    async def echo(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass

    assert await _raised(Limits(echo, seconds=0.2), _pieces(20, seconds=0.1)) == 408


@on_simulated_time
async def test_who_has_sent_everything_may_wait_for_as_long_as_they_like() -> None:
    async def waits(scope: Any, receive: Any, send: Any) -> None:
        assert not (await receive())["more_body"]
        assert (await receive())["type"] == "http.disconnect"
        done.append(1)

    async def receive() -> Any:
        if not asked:
            asked.append(1)
            return {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.sleep(0.2)
        return {"type": "http.disconnect"}

    asked: list[int] = []
    done: list[int] = []
    await Limits(waits, seconds=0.05)(CHUNKED, receive, _nowhere)
    assert done


async def test_a_connection_on_which_a_body_is_still_coming_is_closed_with_the_answer() -> None:
    large = await _post("/v1/jobs", content=_pieces(5))
    assert (large.status_code, large.headers.get("connection")) == (422, "close")
    small = await _post("/v1/jobs", content=b"[]")
    assert "connection" not in small.headers
    none = await _post("/v1/jobs/default/train/pause")
    assert (none.status_code, "connection" in none.headers) == (404, False)


async def _nowhere(_message: Any) -> None:
    pass


async def _raised(app: Limits, pieces: AsyncIterator[bytes]) -> int:
    """The status of the HTTPException that reading the body ends with."""
    from starlette.exceptions import HTTPException

    async def receive() -> Any:
        piece = await anext(pieces, b"")
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    try:
        await app(CHUNKED, receive, _nowhere)
    except HTTPException as error:
        return error.status_code
    return 0
