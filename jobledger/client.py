"""The HTTP API as Python calls: what client verbs ask of a running `jobledger serve`.

Blocking, because commands have nothing else to do meanwhile, and with nothing but the standard library, because a
command that people type should answer at once. Every failure is one of `jobledger.errors`.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from socket import AF_UNIX, socket
from types import TracebackType
from typing import Any, Final, Protocol, Self
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from jobledger.errors import NoServer, ServerRefused
from statemachine.errors import ConfigError

Manifest = dict[str, Any]

_TIMEOUT: Final = 30.0
_SILENCE: Final = 30.0
"""Seconds without a line after which a watch is given up; the server says something every ten."""

_SILENT_AFTER: Final = 2.0
"""Seconds without an answer after which a server is reported to be silent. Whether it lives it says at once."""

_OF_SILENCE: Final = (
    "it starts, or is stopped, stuck or overloaded: try again, or start another with `jobledger serve`"
)

_LOOK: Final = 0.05

_PIECE: Final = 1 << 16


class Listing(Protocol):
    """Jobs by name: of a server, a cluster's API server, or a log alone (`jobledger.stored`)."""

    def jobs(
        self, *, namespace: str | None = None, phase: str = "", selector: str = "", gone: bool = False
    ) -> list[Manifest]:
        """Jobs by namespace and name; `selector` is one of labels, as Kubernetes has it."""

    def job(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> Manifest:
        """A job."""


class Jobs(Listing, Protocol):
    """What the verbs ask about jobs: of a server here, or of a cluster's API server (`jobledger.plugin.cluster`)."""

    def events(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> list[dict[str, Any]]:
        """The Kubernetes Events of a job, oldest first."""

    def logs(self, namespace: str, name: str, **which: str | bool) -> AbstractContextManager[Iterator[bytes]]:
        """What a replica writes. `which`: kind, replica, container, previous, follow."""

    def watch(
        self, *, namespace: str | None = None, name: str | None = None, selector: str = ""
    ) -> Iterator[tuple[str, Manifest]]:
        """Jobs as they stand (ADDED), ("SYNCED", {}), then every change, for ever."""

    def wish(
        self,
        wish: str,
        namespace: str,
        name: str,
        body: Mapping[str, Any] | None = None,
        *,
        kind: str = "",
        uid: str = "",
    ) -> Manifest:
        """`pause`, `resume`, or `scale` with a body; the job as stored."""


class Silent(Exception):
    """A watch brought nothing for as long as was asked."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server that is silent once `tell` has said so; None: for ever."""

    tell: Callable[[str], None]
    seconds: float | None = None


class Client:
    """Talks to the server at `address`: the path of a unix socket, or `http://127.0.0.1:PORT`.

    `actor` is written into the history beside what is asked for. Entering it takes two seconds at most to know that
    something answers there; with `patience` it goes on waiting. Until then nothing has been asked for.
    """

    def __init__(self, address: str, actor: str = "", patience: Patience | None = None) -> None:
        self.address, self._patience = address, patience
        self._url = _url(address) if address.startswith("http://") else None
        self._headers = {"X-Jobledger-Actor": actor} if actor else {}

    def __enter__(self) -> Self:
        """Raises NoServer."""
        try:
            self._greet(_SILENT_AFTER)
        except TimeoutError:
            silent = NoServer(self.address, _silence(_SILENT_AFTER), _OF_SILENCE)
            if self._patience is None:
                raise silent from None
            self._patience.tell(f"{silent.fact}; waiting for it")
            self._wait(self._patience.seconds)
        return self

    def _wait(self, seconds: float | None) -> None:
        try:
            self._greet(seconds)
        except TimeoutError:
            raise NoServer(self.address, _silence(seconds or 0), _OF_SILENCE) from None

    def _greet(self, seconds: float | None) -> None:
        """Something has answered, whatever it said. Raises TimeoutError, or NoServer if nobody listens."""
        connection = self._connection(seconds)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            raise NoServer(self.address, self._reason(error)) from None
        finally:
            connection.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Every request has closed its connection."""

    # ---- reading -------------------------------------------------------------------------------------------

    def jobs(
        self, *, namespace: str | None = None, phase: str = "", selector: str = "", gone: bool = False
    ) -> list[Manifest]:
        """Jobs by namespace and name; `selector` is one of labels, as Kubernetes has it."""
        params = _given(namespace=namespace, phase=phase, labelSelector=selector, gone=gone)
        items: list[Manifest] = self._ask("GET", "/v1/jobs", params=params)["items"]
        return items

    def job(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> Manifest:
        """A job."""
        return self._job("GET", namespace, name, params=_given(kind=kind, uid=uid))

    def events(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> list[dict[str, Any]]:
        """The Kubernetes Events of a job, oldest first."""
        found = self._job("GET", namespace, name, "/events", params=_given(kind=kind, uid=uid))
        items: list[dict[str, Any]] = found["items"]
        return items

    @contextmanager
    def logs(self, namespace: str, name: str, **which: str | bool) -> Iterator[Iterator[bytes]]:
        """What a replica writes. `which`: kind, uid, replica, container, previous, follow."""
        patience = None if which.get("follow") else _TIMEOUT
        with self._answer(
            "GET", _path(namespace, name, "/logs"), _given(**which), patience=patience
        ) as answer:
            yield self._pieces(answer)

    def watch(
        self,
        *,
        silence: float = _SILENCE,
        namespace: str | None = None,
        name: str | None = None,
        selector: str = "",
    ) -> Iterator[tuple[str, Manifest]]:
        """Jobs as they stand and as they change, for ever.

        Raises:
            Silent: nothing was said for `silence` seconds.
        """
        which = _given(namespace=namespace, name=name, labelSelector=selector)
        with self._answer("GET", "/v1/watch", which, patience=max(silence, 0.05)) as answer:
            try:
                for line in answer:
                    item = json.loads(line)
                    yield item["type"], item["object"]
            except TimeoutError:
                raise Silent from None
            except (OSError, HTTPException):
                pass
        raise NoServer(self.address, "it has just ended")

    # ---- writing -------------------------------------------------------------------------------------------

    def submit(self, manifests: Sequence[Manifest]) -> list[Manifest]:
        """All objects exist; the jobs as stored."""
        body = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        items: list[Manifest] = self._ask("POST", "/v1/jobs", body=body)["items"]
        return items

    def delete(self, namespace: str, name: str, grace: float | None = None, **which: str) -> Manifest:
        """The job's deletion has begun; the job as it was."""
        return self._job("DELETE", namespace, name, params=_given(grace=grace, **which))

    def wish(
        self,
        wish: str,
        namespace: str,
        name: str,
        body: Mapping[str, Any] | None = None,
        *,
        kind: str = "",
        uid: str = "",
    ) -> Manifest:
        """`pause`, `resume`, or `scale` with a body; the job as stored."""
        return self._job("POST", namespace, name, f"/{wish}", params=_given(kind=kind, uid=uid), body=body)

    # ---- inside --------------------------------------------------------------------------------------------

    def _job(self, method: str, namespace: str, name: str, more: str = "", **request: Any) -> Manifest:
        found: Manifest = self._ask(method, _path(namespace, name, more), **request)
        return found

    def _ask(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: Any = None
    ) -> Any:
        with self._answer(method, path, params, body) as answer, self._reached():
            text = answer.read()
        return json.loads(text)

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        *,
        patience: float | None = _TIMEOUT,
    ) -> Iterator[HTTPResponse]:
        """What the server answers, to be read; `patience` is how many seconds may pass without a byte of it.

        Raises:
            NoServer: nobody answers.
            ServerRefused: the answer is a problem.
        """
        target = f"{path}?{urlencode(params)}" if params else path
        headers, data = dict(self._headers), None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        connection = self._connection()
        try:
            with self._reached():
                connection.connect()
                connection.sock.settimeout(patience)
                connection.request(method, target, data, headers)
                answer = connection.getresponse()
                problem = answer.read() if answer.status >= 400 else b""
            if answer.status >= 400:
                raise _refusal(answer.status, problem)
            yield answer
        finally:
            connection.close()

    def _connection(self, seconds: float | None = _TIMEOUT) -> HTTPConnection:
        if self._url is None:
            return _ToSocket(self.address, seconds)
        return HTTPConnection(self._url.hostname or "", self._url.port, timeout=seconds)

    def _pieces(self, answer: HTTPResponse) -> Iterator[bytes]:
        try:
            while piece := answer.read1(_PIECE):
                yield piece
        except (OSError, HTTPException):
            raise NoServer(self.address, "it has just ended") from None

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise NoServer(self.address, f"it does not answer within {_TIMEOUT:.0f} s") from None
        except (OSError, HTTPException) as error:
            raise NoServer(self.address, self._reason(error)) from None

    def _reason(self, error: OSError | HTTPException) -> str:
        """What is worth knowing beyond that nobody is there."""
        if not self.address.startswith("http://") and not Path(self.address).exists():
            return ""
        text = str(error).lower()
        return "" if "refused" in text or "no such file" in text else str(error)


class _ToSocket(HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, seconds: float | None) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket(AF_UNIX)
        self.sock.settimeout(self.timeout)
        until = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            try:
                self.sock.connect(self._path)
            except (
                BlockingIOError
            ):  # a unix socket whose queue is full does not wait: who should accept is asleep
                if until is not None and time.monotonic() > until:
                    raise TimeoutError from None
                time.sleep(_LOOK)
            else:
                return


def _silence(seconds: float) -> str:
    return f"something listens there, and has said nothing for {seconds:.0f} s"


def _url(address: str) -> SplitResult:
    try:
        found = urlsplit(address)
        usable = found.hostname and (found.port or 1)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"{address} is no server: give http://127.0.0.1:PORT or the path of a socket")
    return found


def _path(namespace: str, name: str, more: str = "") -> str:
    return f"/v1/jobs/{quote(namespace, safe='')}/{quote(name, safe='')}{more}"


def _given(**params: str | float | bool | None) -> dict[str, str]:
    return {
        name: "true" if value is True else str(value)
        for name, value in params.items()
        if value is not None and value is not False and value != ""
    }


def _refusal(status: int, answered: bytes) -> ServerRefused:
    try:
        body = json.loads(answered)
        code, detail, problems = body["code"], body["detail"], body.get("problems", ())
    except (ValueError, KeyError, TypeError):
        code, problems = "bad-request", ()
        detail = f"what answers is no jobledger server (HTTP {status})"
    return ServerRefused(status, code, detail, problems)
