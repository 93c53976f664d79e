"""The peer: Kubeflow's training operator v1, built from its Go module, with limits that do not hold it back."""

import asyncio
import base64
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from tests.bench.cluster.api import Api
from tests.bench.cluster.figures import PEER
from tests.bench.cluster.plane import Plane, until
from tests.bench.cluster.programs import Process, Program, free_port, process, proved
from tests.bench.cluster.shapes import PYTORCH_JOB, Manifest

MODULE: Final = "github.com/kubeflow/training-operator"
VERSION: Final = "v1.9.3"
FLAGS: Final = ("--kube-api-qps=1000", "--kube-api-burst=2000", "--controller-threads=8")
"""Its defaults are 20, 30 and 1: then those are all that is measured."""

_CERTIFICATES: Final = Path("/tmp/k8s-webhook-server/serving-certs")
"""Where the operator insists on them: two of it at a time would spoil each other's."""
_NAMESPACE: Final = "kubeflow"
_SECRET: Final = "training-operator-webhook-cert"


class NoGo(Exception):
    """The peer cannot be built here."""


async def training_operator() -> Program:
    """The operator, built if it is not in the cache. Raises NoGo."""
    if shutil.which("go") is None:
        raise NoGo("the peer is left out: it is built with Go, and there is no `go` on PATH")
    tools = Path(os.environ.get("JOBLEDGER_TOOLS", Path.home() / ".cache/jobledger-tools"))
    folder = tools / f"training-operator-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    binary = folder / "training-operator.v1"
    if not binary.exists():
        await _go(
            "install", "-trimpath", "-ldflags", "-s -w", f"{MODULE}/cmd/{binary.name}@{VERSION}", into=folder
        )
    module = json.loads(await _go("mod", "download", "-json", f"{MODULE}@{VERSION}", into=folder))["Dir"]
    crd = yaml.safe_load(Path(module, "manifests/base/crds/kubeflow.org_pytorchjobs.yaml").read_text())
    return Program(PEER, PYTORCH_JOB, crd, "rest_client_requests_total", partial(_running, binary))


async def _go(*words: str, into: Path) -> str:
    env = {**os.environ, "GOBIN": str(into), "CGO_ENABLED": "0"}
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec("go", *words, cwd=into, env=env, stdout=pipe, stderr=pipe)
    output, complaints = await running.communicate()
    if running.returncode:
        raise NoGo(f"the peer is left out: go {words[0]} fails: {complaints.decode().strip()[-300:]}")
    return output.decode()


@asynccontextmanager
async def _running(binary: Path, plane: Plane) -> AsyncIterator[Process]:
    hook, metrics, health = free_port(), free_port(), free_port()
    await plane.apply(*_webhook(hook))
    shutil.rmtree(_CERTIFICATES, ignore_errors=True)
    _CERTIFICATES.mkdir(parents=True)
    addresses = (
        f"--webhook-server-port={hook}",
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        f"--health-probe-bind-address=127.0.0.1:{health}",
    )
    env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "MY_POD_NAMESPACE": _NAMESPACE}
    words = ("--enable-scheme=pytorchjob", *addresses, *FLAGS)
    try:
        async with process(plane, PEER, binary, *words, env=env) as pid:
            await _certified(plane, health)
            await proved(plane, PYTORCH_JOB)
            yield Process((pid,), (f"http://127.0.0.1:{metrics}/metrics",))
    finally:
        shutil.rmtree(_CERTIFICATES, ignore_errors=True)


async def _certified(plane: Plane, health: int) -> None:
    """The operator is ready: it has found its certificate where a kubelet would have put the Secret's files."""
    path = f"/api/v1/namespaces/{_NAMESPACE}/secrets/{_SECRET}"
    ready = f"http://127.0.0.1:{health}/readyz"
    async with Api.opened(plane.kubeconfig) as api, httpx.AsyncClient() as http:

        async def look() -> bool:
            for name, data in ((await api.call("GET", path)).get("data") or {}).items():
                (_CERTIFICATES / name).write_bytes(base64.b64decode(data))
            with suppress(httpx.HTTPError):
                return (await http.get(ready)).is_success
            return False

        await until("the operator is ready", look)


def _webhook(port: int) -> list[Manifest]:
    """Its validating webhook. The Service is a name for localhost: the one that the operator's certificate has."""
    service: dict[str, Any] = {"name": "training-operator", "namespace": _NAMESPACE}
    rule = {
        "apiGroups": ["kubeflow.org"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["pytorchjobs"],
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": _SECRET, "namespace": _NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": service,
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "validator.training-operator.kubeflow.org"},
            "webhooks": [
                {
                    "name": "validator.pytorchjob.training-operator.kubeflow.org",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "clientConfig": {
                        "service": {**service, "port": port, "path": "/validate-kubeflow-org-v1-pytorchjob"}
                    },
                    "rules": [rule],
                }
            ],
        },
    ]
