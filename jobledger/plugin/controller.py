"""The HTTP API of the controller, from outside of the cluster: `why` and `history` come from there.

Three ways lead to it: the API server's proxy to services, a port-forward by kubectl, or an address that the user
knows. In each the controller is shown the user's token, and asks the API server what its owner may see; in the first
the header Authorization is the API server's own, so the token goes in another.
"""

import re
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

from jobledger.client.connection import NoAnswer, Server, ServerResponse, path_of
from jobledger.lives.answer import LifeAnswer
from jobledger.plugin.apiserver import ApiServer, message_of
from jobledger.program.errors import ServerRefused, Unauthenticated
from statemachine.errors import ClusterUnavailable, ConfigError

TOKEN_HEADER: Final = "X-Jobledger-Token"  # noqa: S105 - the name of a header

PORT: Final = 8080
"""Of the controller's Service."""

_PROBLEM: Final = "application/problem+json"
_PROXY_PATIENCE: Final = 10.0
"""Seconds. Where API servers cannot reach pods, they try for half a minute."""
_FORWARD_PATIENCE: Final = 15.0
_FORWARDING: Final = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) ")


class NoWay(ClusterUnavailable):
    """The controller cannot be reached in this way; another may do. `final`: no other will, and this says why."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


@dataclass(frozen=True, slots=True)
class ServicePlace:
    """Where the controller's Service is, and which kubeconfig and context say so to kubectl."""

    namespace: str
    service: str
    kubeconfig: Path | None = None
    context: str = ""


class Way(Protocol):
    """How requests get to the controller."""

    def ask(self, path: str, query: Mapping[str, str]) -> ServerResponse:
        """What the controller, or somebody on the way, answers. Raises NoWay, ClusterUnavailable."""


class ThroughProxy:
    """Through the API server, which needs the right to get `services/proxy` in the controller's namespace."""

    def __init__(self, api: ApiServer, place: ServicePlace, token: str) -> None:
        self._api, self._place, self._token = api, place, token

    def ask(self, path: str, query: Mapping[str, str]) -> ServerResponse:
        """See Way."""
        place = self._place
        proxied = path_of(
            "api", "v1", "namespaces", place.namespace, "services", f"http:{place.service}:{PORT}"
        )
        headers = [(TOKEN_HEADER, self._token)]
        try:
            answer = self._api.server.ask(
                "GET", f"{proxied}/proxy{path}", query, headers=headers, patience=_PROXY_PATIENCE
            )
        except NoAnswer:  # the API server answers itself at once: it is what is behind it that does not
            raise NoWay(f"no answer within {_PROXY_PATIENCE:.0f} s") from None
        if answer.status < 300 or answer.content_type == _PROBLEM:
            return answer
        raise self._no_way(answer)

    def _no_way(self, answer: ServerResponse) -> Exception:
        """What somebody on the way said: the question has not got through."""
        data = answer.data()
        if not isinstance(data, dict) or data.get("kind") != "Status":
            return NoWay(_no_controller(answer))
        if answer.status == 401:
            return self._api.failure(answer)
        if answer.status == 404:
            return NoWay(_no_service(self._place))  # or one of which this API server knows no endpoints
        return NoWay(message_of(answer))


class Direct:
    """At an address, with the token where HTTP has it."""

    def __init__(self, server: Server, token: str) -> None:
        self._server, self._token = server, token

    def ask(self, path: str, query: Mapping[str, str]) -> ServerResponse:
        """See Way."""
        return self._server.ask("GET", path, query, headers=[("Authorization", f"Bearer {self._token}")])


@contextmanager
def at_address(url: str, token: str) -> Iterator[Direct]:
    """The way to `url`. Raises ConfigError for one on which everybody could read the token."""
    with closing(Server(url, f"the controller at {url}")) as server:
        host, secure = urlsplit(url).hostname, url.startswith("https://")
        if not secure and host not in ("127.0.0.1", "localhost", "::1"):
            raise ConfigError(
                f"--server {url} would show your token to everybody on the way; use https or a port-forward"
            )
        yield Direct(server, token)


@contextmanager
def forwarded(place: ServicePlace, token: str) -> Iterator[Direct]:
    """Through a free port of this machine, for as long as the block: `kubectl port-forward`.

    Raises:
        NoWay: kubectl says no, or nothing.
    """
    with _port_forward(place) as process:
        try:
            with at_address(f"http://127.0.0.1:{_port(process, place)}", token) as way:
                yield way
        finally:
            process.terminate()
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()


def _port_forward(place: ServicePlace) -> "subprocess.Popen[bytes]":
    options = [f"--namespace={place.namespace}"]
    options += [f"--kubeconfig={place.kubeconfig}"] if place.kubeconfig else []
    options += [f"--context={place.context}"] if place.context else []
    command = [
        "kubectl",
        "port-forward",
        "--address=127.0.0.1",
        *options,
        f"service/{place.service}",
        f":{PORT}",
    ]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        raise NoWay(f"kubectl cannot be run: {error.strerror}") from None


def _port(process: "subprocess.Popen[bytes]", place: ServicePlace) -> int:
    """The port that kubectl says it listens on."""
    said, until = b"", time.monotonic() + _FORWARD_PATIENCE
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, until - time.monotonic())):
            piece = process.stdout.read1()  # type: ignore[attr-defined]
            said += piece
            if match := _FORWARDING.search(said.decode(errors="replace")):
                return int(match[1])
            if not piece:
                raise _not_forwarded(" ".join(said.decode(errors="replace").split()), place)
    raise NoWay(f"kubectl port-forward said nothing for {_FORWARD_PATIENCE:.0f} s")


def _not_forwarded(said: str, place: ServicePlace) -> NoWay:
    if "NotFound" in said or "not found" in said:
        return NoWay(_no_service(place), final=True)
    return NoWay(said.removeprefix("error: ") or "kubectl port-forward ended without a word")


def _no_service(place: ServicePlace) -> str:
    return f'there is no service "{place.service}" in namespace "{place.namespace}"'


# ---- questions ---------------------------------------------------------------------------------------------


def life_answer(way: Way, question: str, namespace: str, job: str, query: Mapping[str, str]) -> LifeAnswer:
    """The controller's answer to `why` or `history` about a job.

    Raises:
        NoWay: the question has not got through.
        Unauthenticated, ServerRefused: the controller's own no.
    """
    answer = way.ask(path_of("v1", "lives", namespace, job, question), query)
    data = answer.data()
    if not isinstance(data, dict):
        raise NoWay(_no_controller(answer))
    if answer.content_type != _PROBLEM:
        try:
            return LifeAnswer(data["data"], data["text"], tuple(data["notes"]), data["doubt"])
        except KeyError:
            raise NoWay(_no_controller(answer)) from None
    if answer.status == 401:
        raise Unauthenticated(f"the controller does not accept your token: {data['detail']}")
    raise ServerRefused(answer.status, data["code"], data["detail"])


def _no_controller(answer: ServerResponse) -> str:
    return f"what answers there is no controller of jobledger (HTTP {answer.status})"
