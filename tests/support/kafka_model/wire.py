"""The way from a client to the brokers and back: it takes time, and requests and answers get lost, or come late.

A client gets its `Link` by the server that it is given: processes of a simulation have server names of their own, and
behind all of them are the same brokers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeVar

from aiokafka.errors import (
    ConcurrentTransactions,
    KafkaConnectionError,
    KafkaError,
    RequestTimedOutError,
)

from tests.support.kafka_model.brokers import Brokers

T = TypeVar("T")

REQUEST: Final = 5.0
"""Seconds after which a client gives up to wait for an answer: what the product sets."""

BACKOFF: Final = 0.1
"""Seconds until a client asks again. Source: aiokafka, retry_backoff_ms."""

RETRIED: Final = (KafkaConnectionError, RequestTimedOutError, ConcurrentTransactions)
"""After these a client asks again by itself, for ever."""

_LATE: Final = 12.0
"""Most seconds that a late request is late: more than a session, and than the product waits for most."""


@dataclass
class Odds:
    """How likely each fault of a request is; `slow`: mean seconds that it takes, each way.

    `refused`: brokers do not take the connection. `lost`: it never arrives. `unanswered`: it arrives, and its answer
    does not. `late`: it arrives after the client has given up.
    """

    refused: float = 0.0
    lost: float = 0.0
    unanswered: float = 0.0
    late: float = 0.0
    slow: float = 0.001

    def calm(self) -> None:
        """From now on nothing is lost."""
        self.refused = self.lost = self.unanswered = self.late = 0.0


@dataclass
class Link:
    """What one process has of the way to the brokers."""

    brokers: Brokers
    name: str = ""
    odds: Odds = field(default_factory=Odds)
    is_cut: bool = False
    """Nothing gets through any more, at once: the process is dead."""
    is_down: bool = False
    """Nothing gets through at the moment."""
    moment: Callable[[bool], None] = field(default=lambda _: None)
    """Called whenever a request is sent, and when it was done and is not answered yet: where a process may end.

    It gets whether the request is one of a producer.
    """


_LINKS: dict[str, Link] = {}


def linked(server: str, link: Link) -> None:
    """Clients that are given `server` use the link."""
    _LINKS[server] = link


def unlinked() -> None:
    """No server is known any more."""
    _LINKS.clear()


class Wire:
    """The connections of one client. Its errors are those of aiokafka."""

    def __init__(self, servers: Sequence[str] | str, *, produces: bool = False) -> None:
        first = servers if isinstance(servers, str) else servers[0]
        if first not in _LINKS:
            raise KafkaConnectionError(f"nobody listens at {first}")
        self.link, self._produces = _LINKS[first], produces
        self.brokers = self.link.brokers
        self.hosts: Sequence[tuple[str, int, int]] = ()
        """None: a client that asks what is wrong with them asks nobody."""
        self._security_protocol = "PLAINTEXT"

    async def close(self) -> None:
        """Nothing is open any more."""

    async def request(self, work: Callable[[], T]) -> T:
        """What brokers answer, or their error.

        Raises:
            KafkaConnectionError: they do not take the connection.
            RequestTimedOutError: no answer came; it is not known whether it was done.
        """
        brokers, odds, link = self.brokers, self.link.odds, self.link
        if link.is_cut:
            raise KafkaConnectionError("this process is dead")
        chance = brokers.chance
        link.moment(self._produces)
        if brokers.is_away or link.is_down or chance.random() < odds.refused:
            await asyncio.sleep(0.01)
            raise KafkaConnectionError("connection refused")
        drawn = chance.random()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def arrive(*, answered: bool) -> None:
            if brokers.is_away:
                return
            reply = _done(work)
            link.moment(self._produces)
            if answered:
                brokers.soon(_flight(chance.random(), odds), lambda: _settle(answer, reply))

        if drawn < odds.late:
            brokers.soon(REQUEST + chance.uniform(0.0, _LATE), lambda: arrive(answered=False))
        elif drawn >= odds.late + odds.lost:
            answered = drawn >= odds.late + odds.lost + odds.unanswered
            brokers.soon(_flight(chance.random(), odds), lambda: arrive(answered=answered))
        over = loop.call_later(REQUEST, _expire, answer)  # costs less than `asyncio.timeout`
        try:
            return await answer
        finally:
            over.cancel()

    async def answered(self, work: Callable[[], T], unanswered: Callable[[], None] = lambda: None) -> T:
        """What brokers answer to a request that is made again until they do; calls `unanswered` if no answer came."""
        while True:
            try:
                return await self.request(work)
            except RETRIED as error:
                if not isinstance(error, ConcurrentTransactions):
                    unanswered()
                await asyncio.sleep(BACKOFF)

    async def long(self, work: Callable[[], "asyncio.Future[T]"]) -> T:
        """What brokers answer in the end to a request that they hold back. Raises as `request`."""
        held = await self.request(work)
        inner: Awaitable[T] = asyncio.shield(held)
        return await inner


def _expire(answer: "asyncio.Future[T]") -> None:
    if not answer.done():
        answer.set_exception(RequestTimedOutError())


def _flight(drawn: float, odds: Odds) -> float:
    return odds.slow * (0.5 + drawn)


def _done(work: Callable[[], T]) -> Callable[[], T]:
    try:
        result = work()
    except KafkaError as error:
        return _raising(error)
    return lambda: result


def _raising(error: KafkaError) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


def _settle(answer: "asyncio.Future[T]", reply: Callable[[], T]) -> None:
    if answer.done():
        return
    try:
        answer.set_result(reply())
    except KafkaError as error:
        answer.set_exception(error)
