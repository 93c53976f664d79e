"""The HTTP API of a running `jobledger serve` as Python calls. Every failure is one of `jobledger.program.errors`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from jobledger.client.connection import TIMEOUT, NoAnswer, Pieces, Server, Unreached, path_of
from jobledger.client.jobs import Manifest
from jobledger.program.errors import NoServer, ServerRefused
from statemachine.addresses import port_of
from statemachine.errors import ClusterUnavailable, ConfigError

_SILENCE: Final = 30.0
"""Seconds without a line after which a watch is given up; the server says something every ten."""

_SILENT_AFTER: Final = 2.0
"""Seconds without an answer after which a server is reported to be silent. Whether it lives it says at once."""

_OF_SILENCE: Final = (
    "it starts, or is stopped, stuck or overloaded: try again, or start another with `jobledger serve`"
)


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
        headers = [("X-Jobledger-Actor", actor)] if actor else []
        if address.startswith("http://"):
            _check(address)
            self._server = Server(address, address, headers=headers, agent="jobledger", reuse=False)
        else:
            self._server = Server(
                "http://localhost", address, headers=headers, agent="jobledger", reuse=False, unix=address
            )

    def __enter__(self) -> Self:
        """Raises NoServer."""
        try:
            self._greet(_SILENT_AFTER)
        except NoAnswer:
            silent = NoServer(self.address, _silence(_SILENT_AFTER), _OF_SILENCE)
            if self._patience is None:
                raise silent from None
            self._patience.tell(f"{silent.fact}; waiting for it")
            self._wait(self._patience.seconds)
        return self

    def _wait(self, seconds: float | None) -> None:
        try:
            self._greet(seconds)
        except NoAnswer:
            raise NoServer(self.address, _silence(seconds or 0), _OF_SILENCE) from None

    def _greet(self, seconds: float | None) -> None:
        """Something has answered, whatever it said. Raises NoAnswer, or NoServer if nobody listens."""
        try:
            self._server.ask("GET", "/healthz", patience=seconds)
        except NoAnswer:
            raise
        except Unreached as error:
            raise NoServer(self.address, self._reason(error)) from None

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
        listing = self._job("GET", namespace, name, "events", params=_given(kind=kind, uid=uid))
        items: list[dict[str, Any]] = listing["items"]
        return items

    @contextmanager
    def logs(self, namespace: str, name: str, **which: str | bool) -> Iterator[Iterator[bytes]]:
        """What a replica writes. `which`: kind, uid, replica, container, previous, follow."""
        patience = None if which.get("follow") else TIMEOUT
        with self._stream(_path(namespace, name, "logs"), _given(**which), patience) as pieces:
            yield self._until_it_ends(pieces)

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
        with self._stream("/v1/watch", which, max(silence, 0.05)) as pieces:
            try:
                for line in pieces.lines():
                    item = json.loads(line)
                    yield item["type"], item["object"]
            except NoAnswer:
                raise Silent from None
            except ClusterUnavailable:
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
        return self._job("POST", namespace, name, wish, params=_given(kind=kind, uid=uid), body=body)

    # ---- inside --------------------------------------------------------------------------------------------

    def _job(self, method: str, namespace: str, name: str, *more: str, **request: Any) -> Manifest:
        job: Manifest = self._ask(method, _path(namespace, name, *more), **request)
        return job

    def _ask(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: Any = None
    ) -> Any:
        """Raises NoServer, ServerRefused."""
        with self._reached():
            answer = self._server.ask(method, path, params, body=body)
        if answer.status >= 400:
            raise _refusal(answer.status, answer.body)
        return json.loads(answer.body)

    @contextmanager
    def _stream(self, path: str, params: Mapping[str, str], patience: float | None) -> Iterator[Pieces]:
        """An answer as it comes; `patience` is how many seconds may pass without a byte of it.

        Raises:
            NoServer: nobody answers.
            ServerRefused: the answer is a problem.
        """
        with ExitStack() as opened:
            with self._reached():
                pieces = opened.enter_context(
                    self._server.stream(path, params, silence=patience, patience=patience)
                )
            if pieces.head.status >= 400:
                raise _refusal(pieces.head.status, pieces.head.body)
            yield pieces

    def _until_it_ends(self, pieces: Pieces) -> Iterator[bytes]:
        try:
            yield from pieces
        except ClusterUnavailable:
            raise NoServer(self.address, "it has just ended") from None

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except NoAnswer:
            raise NoServer(self.address, f"it does not answer within {TIMEOUT:.0f} s") from None
        except Unreached as error:
            raise NoServer(self.address, self._reason(error)) from None

    def _reason(self, error: Unreached) -> str:
        """What is worth knowing beyond that nobody is there."""
        if not self.address.startswith("http://") and not Path(self.address).exists():
            return ""
        text = error.reason.lower()
        return "" if "refused" in text or "no such file" in text else error.reason


def _silence(seconds: float) -> str:
    return f"something listens there, and has said nothing for {seconds:.0f} s"


def _check(address: str) -> None:
    """Raises ConfigError for what is no address."""
    try:
        parts = urlsplit(address)
        usable = bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"{address} is no server: give http://127.0.0.1:PORT or the path of a socket")
    port_of(parts.netloc, f"the server {address}")


def _path(namespace: str, name: str, *more: str) -> str:
    return path_of("v1", "jobs", namespace, name, *more)


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
