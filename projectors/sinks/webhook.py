"""Web hooks: every public event is one signed POST, in order per job, again until the receiver has it.

Entries of a partition come in; a request per event goes out. A receiver that is away makes the delivery wait; an
event that it refuses is reported as a SinkFailure. Log lines name the sink and what went wrong, never its address,
which may hold a secret.

Source: CloudEvents HTTP web hook, Standard Webhooks 1.0, ADR 0037.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

import httpx

from projectors.contract.envelope import structured
from projectors.contract.page import PublicEvent, instant
from projectors.sinks.port import Batch
from projectors.sinks.schedule import REFUSED_WAITS, Answer, answer, asked_wait, away_wait
from projectors.sinks.signing import Keys
from projectors.sinks.tls import connection_failure, trusted_issuers
from statemachine.addresses import port_of
from statemachine.errors import ConfigError
from statemachine.log.positions import SinkFailure

_TIMEOUT: Final = 20.0
_BODY_TIMEOUT: Final = 1.0
_MOST_BODY: Final = 65536
_GONE: Final = "the receiver answered 410: it wants no more events"

log = logging.getLogger(__name__)


class SinkDisabled(ConfigError):
    """The receiver asked for no more events, ever."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where events go. `give_up_after`: an event that could not be delivered for so long becomes a failure."""

    name: str
    url: str
    keys: tuple[Path, ...]
    insecure: bool = False
    """HTTP without TLS to another machine is allowed."""
    concurrency: int = 8
    """Jobs with a request under way at a time."""
    give_up_after: timedelta | None = None
    origin: str = ""
    """As whom the receiver is asked for leave before the first delivery; empty: it is not asked."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Clock, sleep and chance, so that days pass at once in a simulation."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


class Message(NamedTuple):
    """A request's headers and body."""

    headers: dict[str, str]
    body: bytes


Failed = Callable[[SinkFailure], Awaitable[None]]
"""Is called with an event that is not sent again."""

Compose = Callable[[PublicEvent, datetime], Message]
"""An event, and when the attempt is made → what is sent."""


class _Result(NamedTuple):
    """What one attempt came to, in words without the address, and the wait that the receiver asks for."""

    answer: Answer
    words: str
    wait: float | None = None


class WebHook:
    """A sink that posts to `receiver`, and calls `failed` with every event that is not sent again.

    `compose` makes the requests, by default signed ones. `attempted` is called with what each attempt came to:
    delivered, refused, away or gone.

    Raises ConfigError for an address or keys that cannot be used.
    """

    def __init__(
        self,
        receiver: Receiver,
        failed: Failed,
        *,
        compose: Compose | None = None,
        attempted: Callable[[str], None] = lambda _: None,
        moments: Moments | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        is_local = _checked(receiver)
        self._receiver, self._failed, self._compose = receiver, failed, compose or _signed(receiver)
        self._attempted = attempted
        self._moments = moments or Moments()
        self._is_gone, self._is_allowed = False, not receiver.origin
        self._client = httpx.AsyncClient(
            timeout=_TIMEOUT,
            follow_redirects=False,
            trust_env=not is_local,
            verify=trusted_issuers() if transport is None else True,
            transport=transport,
        )

    @property
    def name(self) -> str:
        """What users call it."""
        return self._receiver.name

    async def close(self) -> None:
        """No connection is open."""
        await self._client.aclose()

    async def deliver(self, batch: Batch) -> None:
        """Every event is delivered, or reported as a failure.

        Events of a job go one behind the other; those of `concurrency` jobs at a time. Raises SinkDisabled.
        """
        await self._await_leave()
        self._is_gone = False  # somebody may have switched the sink on again
        jobs: dict[str, list[PublicEvent]] = {}
        for event in batch.events:
            jobs.setdefault(str(event.attributes["partitionkey"]), []).append(event)
        places = asyncio.Semaphore(self._receiver.concurrency)
        try:
            async with asyncio.TaskGroup() as group:
                for of_job in jobs.values():
                    group.create_task(self._job(of_job, places))
        except* SinkDisabled as disabled:
            raise SinkDisabled(_GONE) from disabled

    async def _job(self, events: Sequence[PublicEvent], places: asyncio.Semaphore) -> None:
        async with places:
            for event in events:
                if (failure := await self._event(event)) is not None:
                    await self._failed(failure)

    async def attempt(self, event: PublicEvent) -> str:
        """Posts the event once. Empty if the receiver took it, else why not, in words without the address."""
        if not self._is_allowed and (refused := await self._ask_leave()).answer is not Answer.DELIVERED:
            return refused.words
        result = await self._attempt(event, self._moments.now())
        return "" if result.answer is Answer.DELIVERED else result.words

    # ---- leave to deliver ----------------------------------------------------------------------------------

    async def _await_leave(self) -> None:
        """The receiver allows deliveries, however late it says so. Raises SinkDisabled."""
        failures = 0
        while not self._is_allowed:
            result = await self._ask_leave()
            if result.answer is Answer.GONE:
                raise SinkDisabled(_GONE)
            if result.answer is Answer.DELIVERED:
                return
            failures += 1
            wait = away_wait(failures, self._moments.chance()) if result.wait is None else result.wait
            fields = {"action": "deliver", "sink": self.name, "error": result.words, "seconds": round(wait)}
            log.log(
                logging.WARNING if failures == 1 else logging.INFO,
                "a receiver gives no leave to deliver yet",
                extra=fields,
            )
            await self._moments.sleep(wait)

    async def _ask_leave(self) -> _Result:
        """Asks once. Source: CloudEvents, HTTP 1.1 Web Hooks, 4, Abuse Protection."""
        origin = self._receiver.origin
        result, allowed = await self._request(
            "OPTIONS", b"", {"webhook-request-origin": origin}, self._moments.now()
        )
        self._is_allowed = result.answer is Answer.DELIVERED and allowed in {"*", origin}
        if result.answer is Answer.DELIVERED and not self._is_allowed:
            return _Result(Answer.AWAY, f"the receiver does not allow events of {origin}")
        return result

    # ---- attempts ------------------------------------------------------------------------------------------

    async def _event(self, event: PublicEvent) -> SinkFailure | None:
        """The event is settled: None, or why not."""
        id_ = str(event.attributes["id"])
        first = last = self._moments.now()
        attempts = refusals = unanswered = 0
        while not self._is_gone:
            result = await self._attempt(event, last)
            attempts += 1
            self._attempted(result.answer.name.lower())
            match result.answer:
                case Answer.DELIVERED:
                    return None
                case Answer.GONE:
                    self._is_gone = True
                    break
                case Answer.REFUSED:
                    refusals, unanswered = refusals + 1, 0
                    is_over = refusals > len(REFUSED_WAITS)
                    wait = 0.0 if is_over else REFUSED_WAITS[refusals - 1]
                case Answer.AWAY:
                    unanswered += 1
                    is_over = self._gives_up(first, last)
                    wait = (
                        away_wait(unanswered, self._moments.chance()) if result.wait is None else result.wait
                    )
            if is_over:
                return SinkFailure(id_, result.words, attempts, instant(first), instant(last))
            log.log(
                logging.WARNING if unanswered == 1 else logging.INFO,
                "an event is not delivered yet",
                extra={
                    "action": "deliver",
                    "sink": self.name,
                    "event": id_,
                    "error": result.words,
                    "seconds": round(wait),
                },
            )
            await self._moments.sleep(wait)
            last = self._moments.now()
        raise SinkDisabled(_GONE)

    def _gives_up(self, first: datetime, last: datetime) -> bool:
        longest = self._receiver.give_up_after
        return longest is not None and last - first >= longest

    async def _attempt(self, event: PublicEvent, at: datetime) -> _Result:
        headers, body = self._compose(event, at)
        return (await self._request("POST", body, headers, at))[0]

    async def _request(
        self, method: str, body: bytes, headers: Mapping[str, str], at: datetime
    ) -> tuple[_Result, str]:
        """What an HTTP request came to, and whose events its answer allows."""
        try:
            async with (
                asyncio.timeout(_TIMEOUT),
                self._client.stream(method, self._receiver.url, content=body, headers=headers) as response,
            ):
                await _drain(response)
                status = response.status_code
                asked = asked_wait(status, response.headers.get("retry-after", ""), at)
                allowed = response.headers.get("webhook-allowed-origin", "").strip()
                return _Result(answer(status), f"the receiver answered {status}", asked), allowed
        except TimeoutError:
            return _Result(Answer.AWAY, f"no answer within {_TIMEOUT:g} s"), ""
        except (httpx.TransportError, OSError) as error:
            return _Result(Answer.AWAY, connection_failure(error)), ""


def _signed(receiver: Receiver) -> Compose:
    """Structured CloudEvents, signed by all keys of the receiver. Raises ConfigError."""
    if not receiver.keys:
        raise ConfigError(f"the web hook {receiver.name} has no key: name a file with one")
    keys = Keys(receiver.keys)

    def compose(event: PublicEvent, at: datetime) -> Message:
        id_, body, timestamp = str(event.attributes["id"]), structured(event), int(at.timestamp())
        headers = {
            "content-type": "application/cloudevents+json",
            "webhook-id": id_,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": keys.signature(id_, timestamp, body),
        }
        return Message(headers, body)

    return compose


async def _drain(response: httpx.Response) -> None:
    """A short body is read, which leaves the connection usable; what it says, and how it ends, means nothing."""
    size = 0
    try:
        async with asyncio.timeout(_BODY_TIMEOUT):
            async for part in response.aiter_raw():
                size += len(part)
                if size > _MOST_BODY:
                    return
    except (TimeoutError, httpx.TransportError):
        return


def _checked(receiver: Receiver) -> bool:
    """Whether the receiver is on this machine. Raises ConfigError; never quotes the address."""
    try:
        url = httpx.URL(receiver.url)
    except (httpx.InvalidURL, TypeError):
        raise ConfigError(f"the web hook {receiver.name} has an address that is no URL") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"the web hook {receiver.name} needs an address that begins with https://")
    port_of(url.netloc.decode(errors="replace"), f"the address of the web hook {receiver.name}")
    if url.userinfo:
        raise ConfigError(
            f"the web hook {receiver.name} has a user or password in its address: leave them out"
        )
    is_local = _is_loopback(url.host)
    if url.scheme == "http" and not is_local and not receiver.insecure:
        raise ConfigError(
            f"the web hook {receiver.name} goes to {url.host} without TLS: use https://, or allow it by `insecure`"
        )
    return is_local


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
