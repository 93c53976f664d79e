"""The API server of a context as the plugin asks it: paths in, plain data out, every failure an error of ours."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from jobledger.client.connection import Pieces, Server, ServerResponse
from jobledger.program.errors import NoRight, Unauthenticated
from k8s_bridge.kubeconfig.credentials import Credentials
from k8s_bridge.kubeconfig.files import Context
from k8s_bridge.kubeconfig.trust import tls
from statemachine.errors import (
    ClusterUnavailable,
    Conflict,
    Expired,
    JobledgerError,
    Missing,
    Refused,
)

MERGE: Final = "application/merge-patch+json"

FIELD_MANAGER: Final = "kubectl-jobledger"


class ApiServer:
    """Requests in the name of a context's user."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.credentials = Credentials(context)
        self.server = Server(
            context.server,
            f"the API server {context.server}",
            headers=self.credentials.headers(),
            tls=tls(context, self.credentials) if context.server.startswith("https:") else None,
            server_name=str(context.cluster.get("tls-server-name") or ""),
            proxy=context.cluster.get("proxy-url"),
        )

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The object or list at `path`. Raises what `failure` gives."""
        return self._data(self.server.ask("GET", path, query))

    def post(self, path: str, body: Any) -> Any:
        """What was made of `body`. Raises what `failure` gives."""
        return self._data(self.server.ask("POST", path, body=body))

    def merge(self, path: str, patch: Any) -> Any:
        """The object after `patch` (RFC 7396). Raises what `failure` gives."""
        answer = self.server.ask("PATCH", path, {"fieldManager": FIELD_MANAGER}, body=patch, content=MERGE)
        return self._data(answer)

    @contextmanager
    def stream(self, path: str, query: Mapping[str, str], silence: float | None = None) -> Iterator[Pieces]:
        """An answer as it comes. Raises what `failure` gives."""
        with self.server.stream(path, query, silence=silence) as pieces:
            if pieces.head.status >= 300:
                raise self.failure(pieces.head)
            yield pieces

    def close(self) -> None:
        """No connection is left."""
        self.server.close()

    def _data(self, answer: ServerResponse) -> Any:
        if answer.status >= 300:
            raise self.failure(answer)
        data = answer.data()
        if data is None:
            raise ClusterUnavailable(f"what answers at {self.context.server} is no API server")
        return data

    def failure(self, answer: ServerResponse) -> JobledgerError:
        """The error that an answer of status ≥ 300 means. Source: Kubernetes API conventions, Status."""
        status, message = answer.status, message_of(answer)
        if status == 401:
            return Unauthenticated(
                f'{self.context.server} does not know the user of context "{self.context.name}": '
                "the credentials have expired, or are of another cluster"
            )
        if status == 403:
            return NoRight(message)
        if status == 404:
            return Missing(message)
        if status == 409:
            return Conflict(message)
        if status == 410:
            return Expired(message)
        if status == 429 or status >= 500:
            return ClusterUnavailable(f"the API server answers {status}: {message}")
        return Refused(status, "", message)


def message_of(answer: ServerResponse) -> str:
    """What the API server said, in one line."""
    data = answer.data()
    said = data.get("message") if isinstance(data, dict) else None
    text = str(said or answer.body[:200].decode(errors="replace") or f"HTTP {answer.status}")
    return " ".join(text.split())
