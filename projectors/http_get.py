"""A GET of a server that is not ours, within limits of time and bytes: of a user's program, of a source of metrics.

A URL comes in; status and body go out as the server sent them, and what they mean is the caller's. Such a server
may be slow, endless or hostile: no redirect is followed, no compressed body asked for or unpacked, and no proxy of
the environment used, because what lies inside a cluster is not to be asked of a proxy outside of it.

Source: ADR 0049.
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import NamedTuple

from statemachine.addresses import port_of
from statemachine.errors import ConfigError, JobledgerError


class GetLimits(NamedTuple):
    """How long a whole answer may take, in seconds, and how many bytes its body may have."""

    seconds: float
    most_bytes: int


class HttpAnswer(NamedTuple):
    """What a server answered."""

    status: int
    body: bytes

    @property
    def is_ok(self) -> bool:
        """The status is 200: the body is what was asked for."""
        return self.status == HTTPStatus.OK


class GetFailed(JobledgerError):
    """There is no answer: the message says in words of the network why not."""

    retryable = True


class AnswerLate(GetFailed):
    """There is no whole answer within the limit of time."""


class AnswerLarge(GetFailed):
    """The body has more bytes than the limit."""


async def get(url: str, limits: GetLimits, query: Mapping[str, str] | None = None) -> HttpAnswer:
    """The answer to a GET of `url` with `query`, whatever its status. Raises GetFailed, AnswerLate, AnswerLarge."""
    import httpx  # loads rich for its own command line: only where there is a server to ask

    body = bytearray()
    try:
        port_of(httpx.URL(url).netloc.decode(errors="replace"), "the address")
        async with (
            asyncio.timeout(limits.seconds),
            httpx.AsyncClient(trust_env=False, verify=_trusted(), timeout=limits.seconds) as client,
            client.stream("GET", url, params=query, headers={"Accept-Encoding": "identity"}) as answer,
        ):
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > limits.most_bytes:
                    raise AnswerLarge(f"the answer has more than {limits.most_bytes} bytes")
            return HttpAnswer(answer.status_code, bytes(body))
    except (TimeoutError, httpx.TimeoutException):
        raise AnswerLate(f"no answer within {limits.seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ConfigError) as error:
        raise GetFailed(str(error) or type(error).__name__) from error


@cache
def _trusted() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than most answers."""
    return ssl.create_default_context()
