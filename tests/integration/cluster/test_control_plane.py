"""The harness keeps what its header promises: users, audit log, pods' logs and ports, killed parts, no orphans.

And its connection to the API server gives what kubectl would print.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.harness import PARTS, Cluster, CommandFailed, ControlPlane, wait_for
from tests.harness.api import DRY_RUN
from tests.support.cluster_jobs import job, replica_type

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]


def pod(name: str = "web", **annotations: str) -> dict[str, Any]:
    """A pod of one container; annotations are those of the simulation, with `_` for `-`."""
    marks = {f"sim.jobledger.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": marks},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
    }


def shown(kind: str, spec: dict[str, Any], name: str = "web") -> dict[str, Any]:
    """An object of KWOK's: what the pod of that name shows."""
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_a_pod_ends_as_its_annotations_say(simulated: ControlPlane, namespace: str) -> None:
    simulated.kubectl("create", "-n", namespace, "-f", "-", input=pod(run_seconds="0", exit_code="3"))
    simulated.kubectl(
        "wait", "pod/web", "-n", namespace, "--for=jsonpath={.status.phase}=Failed", "--timeout=90s"
    )
    status = simulated.get("pod", "web", "-n", namespace)["status"]
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_pod_shows_the_log_it_is_given(simulated: ControlPlane, namespace: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("2026-01-01T00:00:00.000000000Z stdout F step 1\n", encoding="utf-8")
    given = [pod(), shown("Logs", {"logs": [{"logsFile": str(log)}]})]
    simulated.kubectl("create", "-n", namespace, "-f", "-", input=given)
    simulated.kubectl("wait", "pod/web", "-n", namespace, "--for=condition=Ready", "--timeout=90s")
    said = partial(simulated.answer, "logs", "web", "-n", namespace)
    wait_for("the log", lambda: said().stdout == "step 1\n")


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")  # KWOK does not pass on that the server hangs up
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *_: object) -> None:
        pass


@pytest.fixture
def web_port() -> Iterator[int]:
    """The port of a web server that says hello."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        return int(probe.getsockname()[1])


def hello(port: int) -> bool:
    """Does the server behind a port say hello?"""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read() == b"hello"
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def test_port_forward_reaches_a_real_server(simulated: ControlPlane, namespace: str, web_port: int) -> None:
    forward = {"ports": [80], "target": {"address": "127.0.0.1", "port": web_port}}
    given = [pod(), shown("PortForward", {"forwards": [forward]})]
    simulated.kubectl("create", "-n", namespace, "-f", "-", input=given)
    simulated.kubectl("wait", "pod/web", "-n", namespace, "--for=condition=Ready", "--timeout=90s")
    here = free_port()
    command = simulated.command("port-forward", "-n", namespace, "pod/web", f"{here}:80")
    with subprocess.Popen(command, env=simulated.environment, stdout=subprocess.DEVNULL) as forwarding:
        try:
            wait_for("an answer through the API server", lambda: hello(here))
        finally:
            forwarding.terminate()


def test_a_pod_of_a_restricted_namespace_has_to_be_harmless(cluster: Cluster) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    with cluster.namespace("restricted", labels) as name:
        answer = cluster.answer("create", "-n", name, "-f", "-", input=pod())
    assert 'violates PodSecurity "restricted:latest"' in answer.stderr


def test_nothing_is_granted_to_the_visitor(simulated: ControlPlane, namespace: str) -> None:
    answer = simulated.answer("--context", "visitor", "get", "pods", "-n", namespace)
    assert 'User "visitor" cannot list resource "pods"' in answer.stderr


def test_helm_installs_into_the_cluster(helm: Cluster, namespace: str, tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: small, version: 0.1.0}", encoding="utf-8")
    template = "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}}}"
    (chart / "templates" / "map.yaml").write_text(template, encoding="utf-8")
    helm.helm("install", "first", str(chart), "-n", namespace)
    assert helm.get("configmap", "first", "-n", namespace)["metadata"]["name"] == "first"


CONFIG_MAP = {"metadata": {"name": "first", "labels": {"part": "one"}}, "data": {"a": "b"}}
JOB = job("idle", replica_type("worker", 1, container={"resources": {"limits": {"cpu": "2"}}}))


@pytest.fixture
def filled(job_crds: Cluster, namespace: str) -> Cluster:
    """The cluster with a ConfigMap and a job in the namespace that nobody changes any more."""
    for word, manifest in (("cm", CONFIG_MAP), ("pj", JOB)):
        resource = job_crds.resources.named(word)
        assert resource is not None
        job_crds.api.write("POST", resource.path(namespace), manifest)
    return job_crds


@pytest.mark.parametrize(
    "words",
    [
        "configmap first",
        "cm/first",
        "ConfigMaps",
        "configmaps --field-selector metadata.name=first",
        "cm -l part=one",
        "cm -l part!=one",
        "secrets,cm,pytorchtrainingjobs -l part",
        "pj",
        "pj idle",
        "pytorchtrainingjob.batch.tensorstack.dev/idle",
        "deepspeedjobs",
        "crd pytorchtrainingjobs.batch.tensorstack.dev",
        "nodes",
    ],
)
def test_an_object_over_the_connection_is_what_kubectl_prints(
    filled: Cluster, namespace: str, words: str
) -> None:
    arguments = ("-n", namespace, *words.split())
    shown = filled.resources.get(*arguments)
    assert shown is not None
    printed = json.loads(filled.kubectl("get", *arguments, "-o", "json"))
    if "items" in printed:
        printed.pop("metadata")
    assert shown == printed


@pytest.mark.parametrize(
    "words", ["cm second", "nonsense", "cm first -l part=one", "cm,pj first", "cm -A", "cm first second"]
)
def test_unusual_words_and_refusals_are_left_to_kubectl(filled: Cluster, namespace: str, words: str) -> None:
    assert filled.resources.get("-n", namespace, *words.split()) is None


def test_without_a_namespace_only_what_has_none_is_asked_for(filled: Cluster) -> None:
    assert filled.resources.get("cm") is None
    assert filled.resources.get("ns") is not None


def test_the_message_of_a_refused_look_is_that_of_kubectl(filled: Cluster, namespace: str) -> None:
    with pytest.raises(CommandFailed, match='configmaps "second" not found'):
        filled.get("-n", namespace, "cm", "second")


def test_a_write_that_is_tried_is_checked_and_not_stored(filled: Cluster, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    manifest = {"metadata": {"name": "tried"}}
    assert filled.api.write("POST", path, manifest, dry_run=True)["metadata"]["uid"]
    assert filled.api.request("GET", f"{path}/tried").code == 404
    answer = filled.api.request("POST", path, {**manifest, "date": {}}, DRY_RUN)
    assert (answer.code, answer.is_accepted) == (400, False)
    assert 'unknown field "date"' in answer.message


@pytest.mark.parametrize("part", PARTS)
def test_a_killed_part_comes_back_and_nothing_is_lost(killable_plane: ControlPlane, part: str) -> None:
    own = killable_plane
    with own.namespace() as name:
        own.kubectl("create", "-n", name, "-f", "-", input=pod("before"))
        pods = own.api.versions(f"/api/v1/namespaces/{name}/pods", {}, within=240)
        assert next(pods)["metadata"]["name"] == "before"
        own.restart(part)
        own.kubectl("create", "-n", name, "-f", "-", input=pod("after"))
        assert next(version for version in pods if version["metadata"]["name"] == "after")
        pods.close()
        both = ("pod/before", "pod/after")
        ready = ("wait", *both, "-n", name, "--for=condition=Ready", "--timeout=5s")

        def both_are_ready() -> bool:
            own.bring_back()
            # KWOK overlooks a pod now and then that it hears of while it starts, and looks again at what changes
            own.kubectl("annotate", "pods", "--all", "-n", name, "--overwrite", f"seen={time.time()}")
            return own.answer(*ready).returncode == 0

        # The other parts look again later and later while etcd is away.
        wait_for("both pods are ready", both_are_ready, within=240)


def test_the_audit_log_says_who_asked_for_what(audited_plane: ControlPlane) -> None:
    audited_plane.forget_audit()
    audited_plane.answer("--context", "visitor", "get", "secrets")

    def asked() -> set[tuple[str, str, int]]:
        events = [event for event in audited_plane.audit_log() if event["user"]["username"] == "visitor"]
        return {(event["verb"], event["requestURI"], event["responseStatus"]["code"]) for event in events}

    request = ("list", "/api/v1/namespaces/default/secrets?limit=500", 403)
    wait_for("the request in the audit log", lambda: request in asked())


OWNER = """
import sys, time
from pathlib import Path
from tests.harness import ControlPlane
ControlPlane(Path(sys.argv[1]), nodes=1).start()
print("started", flush=True)
time.sleep(600)
"""


def test_a_control_plane_goes_with_its_owner(simulated: ControlPlane, tmp_path: Path) -> None:
    home = tmp_path / "kube"
    command = [sys.executable, "-c", OWNER, str(home)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "started\n"
        pids = [int((home / f"{part}.pid").read_text()) for part in PARTS]
        owner.kill()
    assert owner.returncode == -signal.SIGKILL
    wait_for("everything is purged", lambda: not home.exists())
    assert not any(alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    """Is there a process of that number, other than one that nobody has waited for?"""
    try:
        os.kill(pid, 0)
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
