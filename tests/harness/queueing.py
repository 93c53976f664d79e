"""Kueue as a process over a control plane of ours: CRDs, webhooks with a certificate of our own, a configuration.

It looks after PyTorchJobs and plain pods. Its own management of certificates is on: without it Kueue reads some from
below /etc. The certificate that we put into its Secret is valid for it, and for 127.0.0.1, too.
"""

import base64
import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import yaml

from tests.harness.control_plane import ControlPlane
from tests.harness.ports import free_port
from tests.harness.programs import HERE, built, output
from tests.harness.server import GUARDED
from tests.harness.waiting import wait_for

KUEUE: Final = HERE / "kueue"

NAMESPACE: Final = "kueue-system"
_SERVICE: Final = "kueue-webhook-service"
_SECRET: Final = "kueue-webhook-server-cert"

_CONVERTED: Final = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
"""Kinds whose versions Kueue converts. Source: pkg/util/cert."""

_WEBHOOKS: Final = ("kubeflow-org-v1-pytorchjob", "kueue-x-k8s-io", "-v1-pod")
"""Parts of the paths of the webhooks that these frameworks need; the others' kinds are not installed."""


class Kueue:
    """Kueue on `plane`, with more `configuration` (waitForPodsReady …); a `with` block is its life."""

    def __init__(self, plane: ControlPlane, home: Path, **configuration: Any) -> None:
        program = built(KUEUE)[0]
        assert program is not None
        self._program, self._plane, self._home = program, plane, home
        self._configuration = configuration
        self._ports = [free_port() for _ in range(2)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def said(self) -> str:
        """Everything that it has written."""
        return (self._home / "kueue.log").read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> Self:
        self._home.mkdir(parents=True, exist_ok=True)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self._plane.kubectl("apply", "-f", "-", input=namespace)
        self._make_keys()
        self._apply(self._secret(), *self._crds())
        established = ("wait", "--for=condition=Established", "crd", "--all", "--timeout=5s")
        wait_for("Kueue's kinds are served", lambda: self._plane.answer(*established).returncode == 0, 120)
        self._apply(*self._webhooks())
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
        self._plane.kubectl("delete", kinds, "-l", "jobledger.dev/test=kueue", "--ignore-not-found")

    def start(self) -> None:
        """It runs, and its webhooks answer."""
        config = self._home / "config.yaml"
        config.write_text(json.dumps(self._config()), encoding="utf-8")
        environment = {**self._plane.environment, "POD_NAMESPACE": NAMESPACE}
        gates = "--feature-gates=VisibilityOnDemand=false"  # it would listen on a port of its own
        with (self._home / "kueue.log").open("ab") as said:
            self._process = subprocess.Popen(
                ["bash", "-c", GUARDED, "kueue", str(self._program), f"--config={config}", gates],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                env=environment,
            )
        wait_for("Kueue's webhooks answer", self._answers, 120)

    def kill(self) -> None:
        """Kill -9."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.said[-3000:]
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._ports[0])) == 0

    def _config(self) -> dict[str, Any]:
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._ports[1]}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"port": self._ports[0], "host": "127.0.0.1", "certDir": str(self._home)},
            "internalCertManagement": {
                "enable": True,
                "webhookServiceName": _SERVICE,
                "webhookSecretName": _SECRET,
            },
            "leaderElection": {"leaderElect": False},
            "integrations": {"frameworks": ["kubeflow.org/pytorchjob", "pod"]},
            "managedJobsNamespaceSelector": {
                "matchExpressions": [
                    {
                        "key": "kubernetes.io/metadata.name",
                        "operator": "NotIn",
                        "values": ["kube-system", NAMESPACE],
                    }
                ]
            },
            **self._configuration,
        }

    def _make_keys(self) -> None:
        """ca.crt, ca.key, tls.crt and tls.key, as Kueue's Secret has them."""
        if (self._home / "tls.crt").exists():
            return
        name, new = (
            f"{_SERVICE}.{NAMESPACE}.svc",
            ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes"),
        )
        authority = self._pair("ca")
        output([
            *(*new, "-days", "3650", "-subj", "/CN=kueue-ca/O=kueue", *authority),
            *("-addext", "subjectAltName=DNS:kueue-ca"),
        ])  # fmt: skip
        key = authority[1]
        output(["openssl", "rsa", "-traditional", "-in", key, "-out", key])  # Kueue reads PKCS #1 alone
        output([
            *(*new, "-days", "3650", "-subj", f"/CN={name}", *self._pair("tls")),
            *("-CA", authority[-1], "-CAkey", authority[1]),
            *("-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1"),
            *("-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth"),
        ])  # fmt: skip

    def _pair(self, name: str) -> tuple[str, str, str, str]:
        return "-keyout", str(self._home / f"{name}.key"), "-out", str(self._home / f"{name}.crt")

    def _encoded(self, file: str) -> str:
        return base64.b64encode((self._home / file).read_bytes()).decode()

    def _secret(self) -> dict[str, Any]:
        data = {name: self._encoded(name) for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": _SECRET, "namespace": NAMESPACE},
            "data": data,
        }

    def _client(self, path: str) -> dict[str, Any]:
        """How the API server calls us."""
        return {"url": f"https://127.0.0.1:{self._ports[0]}{path}", "caBundle": self._encoded("ca.crt")}

    def _crds(self) -> Iterator[dict[str, Any]]:
        for file in sorted((self._program.parent / "crds").glob("*.yaml")):
            crd = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
            if crd["spec"]["names"]["plural"] in _CONVERTED:
                webhook = {"conversionReviewVersions": ["v1"], "clientConfig": self._client("/convert")}
                crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
            yield crd

    def _apply(self, *objects: dict[str, Any]) -> None:
        self._plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=list(objects))

    def _webhooks(self) -> Iterator[dict[str, Any]]:
        """Kueue's own webhook configurations, as far as they are needed, called at this process."""
        text = (self._program.parent / "webhooks.yaml").read_text(encoding="utf-8")
        for configuration in yaml.safe_load_all(text):
            wanted = []
            for webhook in configuration["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                if any(webhook in path for webhook in _WEBHOOKS):
                    webhook["clientConfig"] = self._client(path)
                    if path.endswith("-v1-pod"):
                        webhook["namespaceSelector"] = {"matchLabels": {"jobledger.dev/pods": "kueue"}}
                    wanted.append(webhook)
            name = f"kueue-{configuration['metadata']['name']}"
            yield {
                **configuration,
                "metadata": {"name": name, "labels": {"jobledger.dev/test": "kueue"}},
                "webhooks": wanted,
            }
