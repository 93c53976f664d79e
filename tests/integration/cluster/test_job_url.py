"""A controller asks Flink for the program's id by the name of the job's Service, and shows where the program is."""

import json
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from tests.harness import ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs
from tests.support.cluster_log import Ledger, comes_to_rest
from tests.unit.kinds.beam import KIND, NAME, spec
from tests.unit.kinds.build import API

pytestmark = pytest.mark.integration

ADDRESS: Final = "127.81.0.1"
"""Where the Service's name leads, as simulated pods have no network."""

REST: Final = 8081
ID: Final = "c9f62e4d61d089f351ab1f8b29e1df32"

HOSTS: Final = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
WITH: Final = 'mount --bind "$0" /etc/hosts && exec "$@"'
"""A program, behind a file of hosts of its own."""


class Flink(BaseHTTPRequestHandler):
    """Flink's REST API with one program."""

    def do_GET(self) -> None:
        known = self.path == "/jobs/overview"
        jobs = [{"jid": ID, "name": "wordcount", "state": "RUNNING", "start-time": 1_600_000_000_000}]
        body = json.dumps({"jobs": jobs}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def flink() -> Iterator[None]:
    with ThreadingHTTPServer((ADDRESS, REST), Flink) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield
        server.shutdown()
        thread.join()


@pytest.fixture
def within(tmp_path: Path, namespace: str) -> tuple[str, ...]:
    """The command that starts a program for which the Service's name leads to `flink`; skips where there is none."""
    hosts = tmp_path / "hosts"
    host = f"{NAME}-flinkcluster-jobmanager.{namespace}.svc.cluster.local"
    hosts.write_text(f"127.0.0.1 localhost\n{ADDRESS} {host}\n", encoding="utf-8")
    command = (*HOSTS, WITH, str(hosts))
    done = subprocess.run([*command, "getent", "hosts", host], capture_output=True, text=True, check=False)
    if ADDRESS not in done.stdout:
        pytest.skip(f"no file of hosts can be mounted here: {done.stderr.strip()}")
    return command


@pytest.mark.usefixtures("flink", "neighbour_crds")
def test_the_url_is_in_the_status_once_flink_knows_the_program(
    simulated: ControlPlane, namespace: str, within: tuple[str, ...], tmp_path: Path
) -> None:
    controller = ControllerProcess(simulated, tmp_path)
    controller.within = within
    jobs = Jobs(simulated, namespace, "bj", owner=KIND)
    url = f"/t9k/flink-cluster/{NAME}-flinkcluster/namespace/{namespace}/#/job/{ID}/overview/"
    with controller:
        jobs.apply({"apiVersion": API, "kind": KIND, "metadata": {"name": NAME}, "spec": spec(1)})
        wait_for("the URL is known", lambda: jobs.status(NAME).get("jobURL") == url)
        assert jobs.phase(NAME) in ("Initializing", "Running")
        comes_to_rest(jobs, Ledger(controller.store), NAME)
        assert controller.stop() == 0
