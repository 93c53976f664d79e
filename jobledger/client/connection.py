"""The HTTP client of commands: JSON in, JSON out, and answers that have no end in pieces.

For API servers, a controller's own address, and the socket of `jobledger serve`; it knows nothing of either.
"""

import http.client
import json
import os
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from statemachine.addresses import port_of
from statemachine.errors import ClusterUnavailable, ConfigError

TIMEOUT: Final = 30.0
"""Seconds without a byte after which an answer is given up."""

_PIECE: Final = 1 << 16

_LOOK: Final = 0.05
"""Seconds between two tries to be let in by a socket whose queue is full."""

Headers = Sequence[tuple[str, str]]


class Unreached(ClusterUnavailable):
    """Nobody is there, or they broke off; `reason` is what the network says."""

    def __init__(self, sentence: str, reason: str = "") -> None:
        super().__init__(sentence)
        self.reason = reason


class NoAnswer(Unreached):
    """The server was reached, or seemed to be, and says nothing."""


class ServerResponse(NamedTuple):
    """What a server said; the names of `headers` are in lower case."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}

    def data(self) -> Any:
        """The body as JSON; None if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class Pieces(Iterator[bytes]):
    """The body of an answer as it comes; `head` is the answer without it, or all of one that says no."""

    def __init__(self, head: ServerResponse, response: http.client.HTTPResponse, where: str) -> None:
        self.head, self._response, self._where = head, response, where

    def __iter__(self) -> "Pieces":
        return self

    def __next__(self) -> bytes:
        try:
            piece = self._response.read1(_PIECE)
        except TimeoutError:
            raise NoAnswer(f"{self._where} has gone silent") from None
        except (OSError, http.client.HTTPException) as error:
            raise ClusterUnavailable(f"{self._where} broke off: {_reason(error)}") from None
        if not piece:
            raise StopIteration
        return piece

    def lines(self) -> Iterator[bytes]:
        """The body line by line; what has no end of a line yet is kept back."""
        rest = b""
        for piece in self:
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines


class Server:
    """What answers at `url`: `https://host:port/path` or `http://…`. `where` names it in errors.

    `tls` says how it is trusted, `server_name` what its certificate says where that is not its address, `proxy`
    the way there (None: as the environment says), `unix` the socket that stands for the address. Connections are kept
    for the next request, unless `reuse` says no.
    """

    def __init__(
        self,
        url: str,
        where: str,
        *,
        headers: Headers = (),
        tls: ssl.SSLContext | None = None,
        server_name: str = "",
        proxy: str | None = None,
        unix: str = "",
        agent: str = "kubectl-jobledger",
        reuse: bool = True,
    ) -> None:
        self._url, self._where = _checked(url), where
        self._headers = [("Accept", "application/json"), ("User-Agent", agent), *headers]
        self._tls, self._server_name = tls, server_name
        self._proxy = _proxy(self._url, proxy)
        self._unix, self._reuse = unix, reuse
        self._idle: list[http.client.HTTPConnection] = []

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Any = None,
        content: str = "application/json",
        headers: Headers = (),
        patience: float | None = TIMEOUT,
    ) -> ServerResponse:
        """The whole answer, given up after `patience` seconds of nothing. Raises ClusterUnavailable, NoAnswer."""
        connection, target = self._any(patience), self._target(path, query)
        kept = False
        try:
            with self._in_sentences():
                response = self._send(connection, method, target, body=body, content=content, headers=headers)
                answer = _answer(response, response.read())
            kept = self._reuse and not response.will_close
            return answer
        finally:
            if kept:
                self._idle.append(connection)
            else:
                connection.close()

    @contextmanager
    def stream(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        headers: Headers = (),
        silence: float | None = None,
        patience: float | None = TIMEOUT,
    ) -> Iterator[Pieces]:
        """An answer as it comes; given up after `silence` seconds of nothing, or `patience` before it begins.

        Raises ClusterUnavailable, NoAnswer.
        """
        connection = self._connection()
        try:
            with self._in_sentences():
                connection.connect()
                opened = connection.sock
                opened.settimeout(patience)
                response = self._send(connection, "GET", self._target(path, query), headers=headers)
                body = b""
                if response.status >= 300:
                    body = response.read()  # which may close the connection
                else:
                    opened.settimeout(silence)
            head = _answer(response, body)
            yield Pieces(head, response, self._where)
        finally:
            connection.close()

    def close(self) -> None:
        """No connection is left."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    # ---- inside --------------------------------------------------------------------------------------------

    def _target(self, path: str, query: Mapping[str, str] | None) -> str:
        return self._url.path.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        *,
        body: Any = None,
        content: str = "",
        headers: Headers = (),
    ) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in (*self._headers, *headers):
            connection.putheader(name, value)
        if data is not None:
            connection.putheader("Content-Type", content)
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        return connection.getresponse()

    def _any(self, patience: float | None) -> http.client.HTTPConnection:
        """A connection for a request; threads do not get the same one."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connection()
        connection.timeout = patience
        if connection.sock is not None:
            connection.sock.settimeout(patience)
        return connection

    def _connection(self) -> http.client.HTTPConnection:
        if self._unix:
            return _ToSocket(self._unix)
        host, port = self._url.hostname or "", self._url.port
        secure = self._url.scheme == "https"
        if self._proxy is None:
            if secure:
                return _Secure(host, port or 443, self._context(), self._server_name or host)
            return http.client.HTTPConnection(host, port or 80, timeout=TIMEOUT)
        way = (self._proxy.hostname or "", self._proxy.port or 3128)
        through = (
            _Secure(*way, self._context(), self._server_name or host)
            if secure
            else http.client.HTTPConnection(*way, timeout=TIMEOUT)
        )
        through.set_tunnel(host, port or (443 if secure else 80), headers=_login(self._proxy))
        return through

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    @contextmanager
    def _in_sentences(self) -> Iterator[None]:
        """What the network does becomes a sentence."""
        try:
            yield
        except ssl.SSLCertVerificationError as error:
            raise Unreached(f"{self._where} is not to be trusted: {error.verify_message}") from None
        except TimeoutError:
            raise NoAnswer(f"{self._where} does not answer") from None
        except (OSError, http.client.HTTPException) as error:
            reason = _reason(error)
            raise Unreached(f"{self._where} cannot be reached: {reason}", reason) from None


def _answer(response: http.client.HTTPResponse, body: bytes) -> ServerResponse:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return ServerResponse(response.status, response.headers.get_content_type(), body, headers)


class _Secure(http.client.HTTPSConnection):
    """TLS with a server whose certificate says `server_name`, perhaps through a tunnel."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, server_name: str) -> None:
        super().__init__(host, port, timeout=TIMEOUT, context=context)
        self._trusted, self._server_name = context, server_name

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._trusted.wrap_socket(self.sock, server_hostname=self._server_name)


class _ToSocket(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        until = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            try:
                self.sock.connect(self._path)
            except (
                BlockingIOError
            ):  # where its queue is full a unix socket does not wait: who should accept is asleep
                if until is not None and time.monotonic() > until:
                    raise TimeoutError from None
                time.sleep(_LOOK)
            else:
                return


def _checked(url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        usable = address.scheme in ("http", "https") and address.hostname
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f'"{url}" is no address: give one such as https://host:port')
    port_of(address.netloc, f"the address {url}")
    return address


def _proxy(url: SplitResult, said: str | None) -> SplitResult | None:
    """The proxy on the way to `url`: the one `said`, else the one of the environment."""
    proxy_url = said or _proxy_of_environment(url)
    if not proxy_url:
        return None
    try:
        proxy = urlsplit(proxy_url if "://" in proxy_url else f"http://{proxy_url}")
    except ValueError:
        raise ConfigError(f"the proxy {proxy_url} is no address: give one such as http://host:port") from None
    port_of(proxy.netloc, f"the proxy {proxy.hostname or ''}".rstrip())
    if proxy.scheme != "http":
        raise ConfigError(
            f"the proxy {proxy_url} is of a make that is not supported here; only http://host:port is"
        )
    return proxy


def _proxy_of_environment(url: SplitResult) -> str:
    if not any(name in os.environ for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")):
        return ""
    from urllib.request import getproxies, proxy_bypass

    host = url.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return ""
    return getproxies().get(url.scheme, "")


def _login(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    from base64 import b64encode

    pair = f"{proxy.username}:{proxy.password or ''}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "there is no host of that name"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def path_of(*parts: str) -> str:
    """The parts as a path, whatever stands in them."""
    return "".join(f"/{quote(part, safe=':')}" for part in parts)
