"""A stream that is open lasts as long as the rights of its listener."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import Request

from jobledger.program.errors import NoRight, Unauthenticated
from jobledger.web.rights import AccessRight, Still, still_may
from jobledger.web.streams import PATIENCE, RECHECK, Closing, log_response, watch_response
from statemachine.errors import ClusterUnavailable
from tests.support.simulated import run_simulated

WATCH = AccessRight("watch", "batch.tensorstack.dev", "pytorchtrainingjobs", "team")


class Caller:
    """Somebody whose rights, and whose token, can be taken back."""

    def __init__(self) -> None:
        self.allowed, self.known, self.answers, self.asked = True, True, True, 0

    def signature(self, said: str) -> str:
        return "ada"

    async def may(self, right: AccessRight) -> bool:
        self.asked += 1
        if not self.answers:
            raise ClusterUnavailable("the API server does not answer")
        return self.allowed

    async def still(self) -> None:
        if not self.known:
            raise Unauthenticated("the token is not valid here")

    def __str__(self) -> str:
        return '"ada"'


async def silence() -> AsyncIterator[Any]:
    await asyncio.Event().wait()
    yield None


async def chatter() -> AsyncIterator[Any]:
    while True:
        yield "MODIFIED", {}
        await asyncio.sleep(0)


def request(accept: str = "") -> Request:
    return Request({"type": "http", "headers": [(b"accept", accept.encode())]})


def lines(source: AsyncIterator[Any], still: Still, accept: str = "") -> AsyncIterator[Any]:
    """What a watch sends."""
    return aiter(watch_response(source, Closing(recheck=0.0), request(accept), still).body_iterator)


@pytest.mark.parametrize("source", [silence, chatter])
async def test_a_watch_ends_with_the_problem_once_its_right_is_taken_away(source: Any) -> None:
    caller = Caller()
    caller.allowed = False
    sent = [json.loads(line) async for line in lines(source(), still_may(caller, WATCH))]
    assert sent[-1]["type"] == "ERROR"
    assert (sent[-1]["object"]["status"], sent[-1]["object"]["code"]) == (403, "no-right")
    assert '"ada" has no right to watch' in sent[-1]["object"]["detail"]


async def test_a_watch_ends_once_its_token_is_taken_back() -> None:
    caller = Caller()
    caller.known = False
    sent = [line async for line in lines(silence(), still_may(caller, WATCH), "text/event-stream")]
    assert sent[-1].startswith("event: error\ndata: ")
    assert json.loads(sent[-1].partition("data: ")[2])["object"]["status"] == 401


async def test_a_watch_goes_on_while_its_right_lasts_and_while_nobody_can_say() -> None:
    caller = Caller()
    stream = lines(chatter(), still_may(caller, WATCH))
    while caller.asked < 3:
        assert json.loads(await anext(stream))["type"] == "MODIFIED"
    caller.answers = False
    while caller.asked < 6:
        assert json.loads(await anext(stream))["type"] == "MODIFIED"
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_log_says_why_it_ends_before_it_breaks_off() -> None:
    caller = Caller()
    caller.allowed = False
    response = log_response(Closing(recheck=0.0), silence(), still_may(caller, WATCH))
    sent = aiter(response.body_iterator)
    assert b'is not sent any further: "ada" has no right' in bytes(await anext(sent))  # type: ignore[arg-type]
    with pytest.raises(NoRight):
        await anext(sent)


def test_a_stream_ends_when_nobody_could_say_for_a_minute_whether_it_may_go_on() -> None:
    async def unanswered() -> None:
        raise ClusterUnavailable("no answer")

    async def silent() -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""

    async def listen() -> None:
        async with asyncio.timeout(600):
            async for _ in Closing().until(silent(), still=unanswered):
                pass

    async def main() -> None:
        began = asyncio.get_running_loop().time()
        with pytest.raises(ClusterUnavailable):
            await listen()
        assert PATIENCE < asyncio.get_running_loop().time() - began < PATIENCE + 2 * RECHECK + 1

    run_simulated(main(), 1)
