"""An API server that answers as a test says, over real sockets; and kubeconfigs for it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from jobledger.plugin.apiserver import ApiServer
from jobledger.plugin.cluster import ClusterJobs
from k8s_bridge.kubeconfig.files import Context

Manifest = dict[str, Any]
JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/team/pytorchtrainingjobs"


@dataclass
class Asked:
    """A request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """An answer: `body` is JSON, or bytes as they are; `kind` its media type."""

    body: Any
    status: int = 200
    kind: str = "application/json"


Answers = Callable[[Asked], Reply | None]


@dataclass
class Fake:
    """Paths → answers: a value, or a function of the request. What has none is a 404 as an API server says it."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    apis: list[ApiServer] = field(default_factory=list)

    def reply(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        answer = self.answers.get(f"{asked.method} {asked.path}", self.answers.get(asked.path))
        if callable(answer):
            answer = answer(asked)
        if answer is None:
            return status(404, f'"{asked.path}" not found', "NotFound")
        return answer if isinstance(answer, Reply) else Reply(answer)

    def api(self, **user: Any) -> ApiServer:
        """A client of it, for a user with these fields of a kubeconfig."""
        self.apis.append(
            ApiServer(Context("test", {"server": self.url}, user or {"token": "secret"}, "team"))
        )
        return self.apis[-1]


def status(code: int, message: str, reason: str = "") -> Reply:
    """A no, as API servers say it."""
    return Reply({"kind": "Status", "code": code, "reason": reason, "message": message}, code)


@contextmanager
def server(answers: dict[str, Any] | None = None) -> Iterator[Fake]:
    """The server answers at `url` until the block ends."""
    fake = Fake({**(answers or {})})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        """Head and body are two writes: with it the second waits 40 ms for the client's acknowledgement."""

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            place = urlsplit(self.path)
            asked = Asked(
                self.command, place.path, dict(parse_qsl(place.query)), dict(self.headers.items()), body
            )
            reply = fake.reply(asked)
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with suppress(BrokenPipeError):  # somebody did not wait
                self.wfile.write(data)

        do_GET = do_POST = do_PATCH = answer

        def log_message(self, format: str, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        fake.url = f"http://127.0.0.1:{running.server_address[1]}"
        Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield fake
        finally:
            for api in fake.apis:
                api.close()
            running.shutdown()


# ---- what it holds -----------------------------------------------------------------------------------------


def discovery(*kinds: str, group: str = "batch.tensorstack.dev/v1beta1") -> dict[str, Any]:
    """The kinds of one group, each with its subresource."""
    resources = []
    for kind in kinds:
        plural = f"{kind.lower()}s"
        resources.append({"name": plural, "kind": kind, "categories": ["all", "jobledger"]})
        resources.append({"name": f"{plural}/status", "kind": kind})
    return {f"/apis/{group}": {"resources": resources}}


def job(
    name: str = "train", kind: str = "PyTorchTrainingJob", phase: str = "Running", **more: Any
) -> Manifest:
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "7"},
        "spec": {},
        "status": {"phase": phase, **more},
    }


def listed(*items: Manifest, version: str = "10", rest: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version, "continue": rest}, "items": list(items)}


@contextmanager
def cluster(**answers: Any) -> Iterator[tuple[ClusterJobs, Fake]]:
    """A cluster with one kind of jobs; `answers` are given as a dict under `more`."""
    with server({**discovery("PyTorchTrainingJob"), **answers.get("more", {})}) as fake:
        yield ClusterJobs(fake.api()), fake


def kubeconfig(path: Path, **fields: Any) -> Path:
    """A kubeconfig with one cluster, user and context called `here`, changed by `fields`."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here", "namespace": "team"}}],
        "clusters": [{"name": "here", "cluster": {"server": "https://10.0.0.1:6443"}}],
        "users": [{"name": "here", "user": {"token": "secret"}}],
        **fields,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return path
