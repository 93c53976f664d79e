"""Requests to an API server: JSON in, JSON out, every failure an error of our tree.

It knows HTTP and Kubernetes' `Status`, not jobs or pods. Its users are the adapter of the Cluster port, the
Lease, and the checks of other people's rights.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.connector import NEEDS_CLEANUP_CLOSED
from pydantic_core import from_json, to_json

from k8s_bridge.apiserver.access import Access, ApiServerChoice
from k8s_bridge.apiserver.flow import Gate
from statemachine.engine.skew import ClockCheck
from statemachine.errors import ClusterUnavailable, ConfigError, Conflict, Expired, Missing, Refused
from statemachine.redact import redacted_text

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"

FIELD_MANAGER: Final = "jobledger"

_TIMEOUT: Final = 30.0
"""Seconds for a whole request: webhooks may take 30 (Kubernetes' own limit), and then the response is a 500."""

_COMPLAINTS: Final = 5
"""How often a request is sent again after a 429 before its caller gets the error."""

_SECOND: Final = timedelta(seconds=1)

_CHUNK: Final = 1 << 18


class NotServed(Missing):
    """404 for a path: no such kind is installed, or the API server has not finished starting."""


class Api:
    """A session with one API server. `sent` counts requests by method and response."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.namespace = access.namespace
        self.gate = Gate()
        self.sent: Counter[tuple[str, str]] = Counter()
        self.check: ClockCheck | None = None
        """Compares our clock with the Date of every response, if set."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                ssl=access.tls(),
                keepalive_timeout=60,
                # on some versions of CPython an aborted request leaves a socket that waits for the TLS shutdown
                enable_cleanup_closed=NEEDS_CLEANUP_CLOSED,
            ),
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT),
            read_bufsize=_CHUNK,
            skip_auto_headers=("User-Agent", "Content-Type"),
        )
        # looked up once: aiohttp's `trust_env` looks for a proxy and reads ~/.netrc at every request
        self._proxy = access.proxy or _proxy_of(access.server)
        self._common = [("User-Agent", "jobledger")]

    @classmethod
    async def connect(cls, server: ApiServerChoice) -> Self:
        """A session with the API server `server`; it sends nothing yet. Raises ConfigError."""
        return cls(await Access.load(server))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections; idempotent."""
        await self._session.close()

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = JSON,
        accept: str = JSON,
        behind: bool = False,
    ) -> Any:
        """The server's response, as plain data. After a 429 it waits as long as the server asks, a few times.

        `behind` requests let the others pass while there are many.

        Raises:
            Missing, Conflict, Expired, Refused: the server refused (404, NotServed if the path names no object; 409,
                or a patch for another uid; 410; any other 4xx).
            ClusterUnavailable: 429 again and again, 5xx, no response; it is unknown whether anything was done.
        """
        data = None if body is None else to_json(body)
        for attempt in range(_COMPLAINTS + 1):
            async with self.gate.place(behind=behind):
                try:
                    answer = await self._send(method, path, query, data, content=content, accept=accept)
                except ClusterUnavailable as error:
                    if error.retry_after is None or attempt == _COMPLAINTS:
                        raise
                    self.gate.complained(error.retry_after)
                else:
                    self.gate.pleased()
                    return answer
        raise AssertionError

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        data: bytes | None,
        *,
        content: str,
        accept: str,
    ) -> Any:
        if self._session.closed:
            raise ClusterUnavailable("the session with the API server is closed")
        renewed = False
        while True:
            headers = [*self._common, *self.access.headers(), ("Accept", accept)]
            if data is not None:
                headers.append(("Content-Type", content))
            begun = self.check.begin() if self.check is not None else None
            try:
                async with self._session.request(
                    method, self._url(path), params=query, data=data, headers=headers, **self._route()
                ) as answer:
                    if self.check is not None and begun is not None and (date := date_of(answer.headers)):
                        self.check.note(begun, date, _SECOND)
                    body = await answer.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                self.sent[method, "none"] += 1
                raise _unreached(error) from error
            self.sent[method, str(answer.status)] += 1
            if answer.status == 401 and not renewed:
                renewed = True
                await self._renew()
                continue
            if answer.status < 300:
                return _plain(body)
            raise _failure(path, answer, body, data)

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        silence: float | None = None,
        accept: str = JSON,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The server's data in pieces, as they arrive. Raises ClusterUnavailable after `silence` seconds without any.

        Else it raises as `call`.
        """
        headers = [*self._common, *self.access.headers(), ("Accept", accept)]
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_TIMEOUT, sock_read=silence)
        try:
            async with self._session.get(
                self._url(path), params=query, headers=headers, timeout=timeout, **self._route()
            ) as answer:
                self.sent["WATCH", str(answer.status)] += 1
                if answer.status == 401:
                    await self._renew()
                if answer.status >= 300:
                    raise _failure(path, answer, await answer.read())
                try:
                    yield answer.content.iter_any()
                finally:
                    _break_off(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreached(error) from error

    async def _renew(self) -> None:
        """Reads the credentials again, which the server has refused; they may just be replaced."""
        try:
            await self.access.renew()
        except ConfigError as error:
            raise ClusterUnavailable(f"the API server does not know us (401), and {error}") from error

    def _url(self, path: str) -> str:
        return self.access.server + path

    def _route(self) -> dict[str, Any]:
        return {"proxy": self._proxy, "server_hostname": self.access.server_name}


def _proxy_of(server: str) -> str | None:
    """The proxy that the environment names for `server` (HTTPS_PROXY, NO_PROXY)."""
    address = urlsplit(server)
    return None if proxy_bypass(address.hostname or "") else getproxies().get(address.scheme)


def _break_off(answer: aiohttp.ClientResponse) -> None:
    """Aborts the connection: its further data is not wanted, and a silent server would not answer a shutdown."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


async def lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The whole lines in `pieces`, without line ends; an incomplete last line is dropped."""
    tail = b""
    async for piece in pieces:
        parts = (tail + piece).split(b"\n") if tail else piece.split(b"\n")
        tail = parts.pop()
        for line in parts:
            if line:
                yield line


def _failure(path: str, answer: aiohttp.ClientResponse, body: bytes, sent: bytes | None = None) -> Exception:
    error = failure(answer.status, body, answer.headers.get("Retry-After"), sent)
    if isinstance(error, NotServed) and path.startswith("/api/"):
        return ClusterUnavailable(f"the API server does not serve {path} yet")  # it always does, once it runs
    return error


def failure(status: int, body: bytes, retry_after: str | None = None, sent: bytes | None = None) -> Exception:
    """The error for a response of `status` ≥ 300. Source: Kubernetes API conventions, Status.

    An API server quotes what it refuses: secrets of what was `sent` (JSON) are taken out before it is stored.
    """
    status_object = _status(body)
    message = str(
        status_object.get("message") or body[:200].decode(errors="replace").strip() or f"HTTP {status}"
    )
    message = redacted_text(message, from_json(sent) if sent else None)
    reason, details = str(status_object.get("reason") or ""), status_object.get("details") or {}
    if status == 429:
        return ClusterUnavailable(message, _seconds(retry_after))
    if status >= 500 or status in (401, 408):
        return ClusterUnavailable(f"the API server answers {status}: {message}")
    if status == 404:
        return Missing(message) if details.get("name") else NotServed(message)
    if status == 409:
        return Conflict(message, exists=reason == "AlreadyExists")
    if any(cause.get("field") == "metadata.uid" for cause in details.get("causes") or ()):
        return Conflict(message)  # the only sign of another uid in the response to a patch
    if status == 410:
        return Expired(message)
    return Refused(status, reason, message)


def _plain(body: bytes) -> Any:
    """The data of a successful response."""
    try:
        return from_json(body, cache_strings="keys") if body else None
    except ValueError as error:
        raise ClusterUnavailable(f"the API server answers what is no JSON: {body[:100]!r}") from error


def _status(body: bytes) -> Mapping[str, Any]:
    try:
        status = from_json(body)
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def date_of(headers: Mapping[str, str]) -> datetime | None:
    """When the server began its response, cut to the second. Source: RFC 9110, Date."""
    try:
        date = parsedate_to_datetime(headers.get("Date", ""))
    except ValueError:
        return None
    return date if date.tzinfo else None


def _seconds(retry_after: str | None) -> float:
    return float(retry_after) if retry_after and retry_after.isdigit() else 1.0


def _unreached(error: Exception) -> ClusterUnavailable:
    if isinstance(error, TimeoutError):
        return ClusterUnavailable("the API server does not answer")
    return ClusterUnavailable(f"the API server cannot be reached: {error}")
