"""Requests to an API server over one connection that stays open, with the credentials of a kubeconfig.

A program costs a tenth of a second of processor time for each of its runs, a request next to none. What kubectl makes
of an answer is not tested here: that is for tests that start it.
"""

import json
import re
import ssl
import tempfile
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import httpx

from k8s_bridge.kubeconfig.credentials import Credentials
from k8s_bridge.kubeconfig.files import Context, load

Json = dict[str, Any]

STRICT: Final = {"fieldValidation": "Strict"}
"""Query by which the API server refuses unknown fields, as kubectl asks it to."""

DRY_RUN: Final = {**STRICT, "dryRun": "All"}
"""Query of a write that is tried and not stored."""

APPLY: Final = "APPLY"
"""A method of ours: a PATCH by server-side apply. Source: Kubernetes, "Server-Side Apply"."""

_APPLIER: Final = {"fieldManager": "kubectl", "force": "true"}
"""Query of it: who applies, and that fields of others are taken over."""

_CONTENT: Final = {"PATCH": "application/merge-patch+json", APPLY: "application/apply-patch+yaml"}
"""Content types by method; JSON for all others."""

_WARNING: Final = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
"""A `Warning` header. Source: RFC 7234, section 5.5."""

_PAUSE: Final = 0.1
"""Seconds between two attempts."""

_BUSY: Final = 30.0
"""Seconds for which a server may put a request off."""


@dataclass(frozen=True)
class Answer:
    """HTTP status code, the object, list or `Status` that came back, and the texts of `Warning` headers."""

    code: int
    body: Json
    warnings: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """The API server did what it was asked for."""
        return self.code < 300

    @property
    def message(self) -> str:
        """The API server's reason for a refusal."""
        return str(self.body.get("message", ""))

    @property
    def causes(self) -> list[Json]:
        """What is wrong with a manifest, one by one: `field`, `message` and `reason`."""
        details: Json = self.body.get("details") or {}
        causes: list[Json] = details.get("causes", [])
        return causes


class Api:
    """The API server of a kubeconfig's current context.

    It connects at the first request, and again after the server has closed the connection or after `close`. Threads
    may share it.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._lock = Lock()
        self._client: httpx.Client | None = None

    def close(self) -> None:
        """No connection is open."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = "application/json",
    ) -> Answer:
        """The server's answer, be it yes or no; a PATCH is a merge patch, and `APPLY` a server-side apply.

        A server that puts the request off, since a kind has just changed for example, is asked again, as by kubectl.

        Raises:
            httpx.TransportError: there was no answer. Whether a write was done is not known then.
        """
        headers = {"Accept": accept}
        query = dict(params or {})
        content = None
        if body is not None:
            headers["Content-Type"] = _CONTENT.get(method, "application/json")
            content = json.dumps(body)
        if method == APPLY:
            method, query = "PATCH", {**_APPLIER, **query}
        until = time.monotonic() + _BUSY
        while True:
            response = self._connected().request(method, path, content=content, params=query, headers=headers)
            if "Retry-After" not in response.headers or time.monotonic() > until:
                break
            time.sleep(_PAUSE)
        warnings = tuple(_warning(header) for header in response.headers.get_list("Warning"))
        return Answer(response.status_code, _read(response), warnings)

    def write(self, method: str, path: str, body: object = None, *, dry_run: bool = False) -> Json:
        """What the server made of a request that it has to accept, without unknown fields, stored unless `dry_run`.

        Raises:
            AssertionError: it refused; its message.
        """
        answer = self.request(method, path, body, DRY_RUN if dry_run else STRICT)
        assert answer.is_accepted, f"{method} {path}: {answer.message}"
        return answer.body

    def versions(self, path: str, params: Mapping[str, str], within: float) -> Generator[Json, None, None]:
        """The objects of a list as they are now, then each of their next versions, for at most `within` seconds.

        When the server ends the watch, or restarts, the objects as they are then follow.
        """
        until = time.monotonic() + within
        while (left := until - time.monotonic()) > 0:
            query = {**params, "watch": "true", "timeoutSeconds": str(int(left) + 1)}
            try:
                with self._connected().stream("GET", path, params=query, timeout=left) as response:
                    if response.status_code == 200:
                        for line in response.iter_lines():
                            event = json.loads(line)
                            if event["type"] in ("ADDED", "MODIFIED"):
                                yield event["object"]
            except httpx.TransportError:
                pass  # the server restarts, or time is up
            time.sleep(max(0.0, min(_PAUSE, until - time.monotonic())))

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = _client(self._kubeconfig)
            return self._client


def _client(kubeconfig: Path) -> httpx.Client:
    context = load(kubeconfig)
    credentials = Credentials(context)
    return httpx.Client(
        base_url=context.server,
        verify=_tls(context, credentials),
        headers=credentials.headers(),
        timeout=60,
        limits=httpx.Limits(keepalive_expiry=60),
        trust_env=False,
    )


def _tls(context: Context, credentials: Credentials) -> ssl.SSLContext:
    """Trusts the cluster's CA, and shows the user's certificate if there is one."""
    tls = ssl.create_default_context(cadata=credentials.authority.decode() or None)
    if context.cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if pair := credentials.pair:
        with tempfile.NamedTemporaryFile() as file:  # Python takes certificates from files only
            file.write(pair.certificate.rstrip() + b"\n" + pair.key)
            file.flush()
            tls.load_cert_chain(file.name)
    return tls


def _read(response: httpx.Response) -> Json:
    """The JSON object of an answer; text that is none becomes the `message`."""
    try:
        body = response.json()
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"message": response.text}


def _warning(header: str) -> str:
    match = _WARNING.match(header)
    return re.sub(r"\\(.)", r"\1", match[1]) if match else header
