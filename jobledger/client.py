"""The HTTP API as Python calls: what client verbs ask of a running `jobledger serve`.

Blocking, because commands have nothing else to do meanwhile. Every failure is one of `jobledger.errors`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import httpx

from jobledger.errors import NoServer, ServerRefused

Manifest = dict[str, Any]

_TIMEOUT: Final = 30.0
_SILENCE: Final = 30.0
"""Seconds without a line after which a watch is given up; the server says something every ten."""


class Jobs(Protocol):
    """What the verbs ask about jobs: of a server here, or of a cluster's API server (`jobledger.plugin.cluster`)."""

    def jobs(
        self, *, namespace: str | None = None, phase: str = "", selector: str = "", gone: bool = False
    ) -> list[Manifest]:
        """Jobs by namespace and name; `selector` is one of labels, as Kubernetes has it."""

    def job(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> Manifest:
        """A job."""

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


class Client:
    """Talks to the server at `address`: the path of a unix socket, or `http://127.0.0.1:PORT`.

    `actor` is written into the history beside what is asked for.
    """

    def __init__(self, address: str, actor: str = "") -> None:
        self.address = address
        is_url = address.startswith("http://")
        self._http = httpx.Client(
            transport=None if is_url else httpx.HTTPTransport(uds=address),
            base_url=address if is_url else "http://localhost",
            headers={"X-Jobledger-Actor": actor} if actor else None,
            timeout=_TIMEOUT,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

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
        timeout = httpx.Timeout(_TIMEOUT, read=None if which.get("follow") else _TIMEOUT)
        path = _path(namespace, name, "/logs")
        with self._stream(path, _given(**which), timeout) as response:
            yield self._pieces(response)

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
        timeout = httpx.Timeout(_TIMEOUT, read=max(silence, 0.05))
        which = _given(namespace=namespace, name=name, labelSelector=selector)
        with self._stream("/v1/watch", which, timeout) as response:
            try:
                for line in response.iter_lines():
                    item = json.loads(line)
                    yield item["type"], item["object"]
            except httpx.ReadTimeout:
                raise Silent from None
            except httpx.TransportError:
                pass
        raise NoServer(self.address, "it has just ended")

    # ---- writing -------------------------------------------------------------------------------------------

    def submit(self, manifests: Sequence[Manifest]) -> list[Manifest]:
        """All objects exist; the jobs as stored."""
        body = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        items: list[Manifest] = self._ask("POST", "/v1/jobs", json=body)["items"]
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
        return self._job("POST", namespace, name, f"/{wish}", params=_given(kind=kind, uid=uid), json=body)

    # ---- inside --------------------------------------------------------------------------------------------

    def _job(self, method: str, namespace: str, name: str, more: str = "", **request: Any) -> Manifest:
        found: Manifest = self._ask(method, _path(namespace, name, more), **request)
        return found

    def _ask(self, method: str, path: str, **request: Any) -> Any:
        with self._reached():
            response = self._http.request(method, path, **request)
        _check(response)
        return response.json()

    @contextmanager
    def _stream(self, path: str, params: dict[str, Any], timeout: httpx.Timeout) -> Iterator[httpx.Response]:
        request = self._http.build_request("GET", path, params=params, timeout=timeout)
        with self._reached():
            response = self._http.send(request, stream=True)
        try:
            if response.is_error:
                response.read()
            _check(response)
            yield response
        finally:
            response.close()

    def _pieces(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_raw()
        except httpx.TransportError:
            raise NoServer(self.address, "it has just ended") from None

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException:
            raise NoServer(self.address, f"it does not answer within {_TIMEOUT:.0f} s") from None
        except httpx.TransportError as error:
            raise NoServer(self.address, self._reason(error)) from None

    def _reason(self, error: httpx.TransportError) -> str:
        """What is worth knowing beyond that nobody is there."""
        if not self.address.startswith("http://") and not Path(self.address).exists():
            return ""
        text = str(error).lower()
        return "" if "refused" in text or "no such file" in text else str(error)


def _path(namespace: str, name: str, more: str = "") -> str:
    from urllib.parse import quote

    return f"/v1/jobs/{quote(namespace, safe='')}/{quote(name, safe='')}{more}"


def _given(**params: str | float | bool | None) -> dict[str, Any]:
    return {
        name: value
        for name, value in params.items()
        if value is not None and value is not False and value != ""
    }


def _check(response: httpx.Response) -> None:
    if not response.is_error:
        return
    try:
        body = response.json()
        code, detail, problems = body["code"], body["detail"], body.get("problems", ())
    except (ValueError, KeyError, TypeError):
        code, problems = "bad-request", ()
        detail = f"what answers is no jobledger server (HTTP {response.status_code})"
    raise ServerRefused(response.status_code, code, detail, problems)
