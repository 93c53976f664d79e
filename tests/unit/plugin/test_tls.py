"""Trust in both directions, over real sockets: the server's certificate, and ours."""

import base64
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from jobledger.plugin.apiserver import ApiServer
from k8s_bridge.kubeconfig.files import Context
from statemachine.errors import ClusterUnavailable, ConfigError

pytestmark = pytest.mark.skipif(
    not shutil.which("openssl"), reason="there is no openssl to make certificates with"
)


class Hello(BaseHTTPRequestHandler):
    """Says who the client's certificate belongs to."""

    def do_GET(self) -> None:
        subject = dict(attribute[0] for attribute in self.connection.getpeercert()["subject"])
        data = f'"{subject["commonName"]}"'.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *_: object) -> None:
        pass


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate of that name, and its key."""
    files = folder / f"{name}.crt", folder / f"{name}.key"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        f"/CN={name}",
    ]
    command += ["-addext", f"subjectAltName=DNS:{name}", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(command, check=True, capture_output=True)
    return files


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    for name in ("kubernetes", "alice"):
        certificate(folder, name)
    return folder


@contextmanager
def secure(pki: Path) -> Iterator[str]:
    """The address of a server that is `kubernetes`, and serves only those whose certificate it knows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "kubernetes.crt", pki / "kubernetes.key")
    context.load_verify_locations(pki / "alice.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    with HTTPServer(("127.0.0.1", 0), Hello) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # clients that do not trust it
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def says(pki: Path, cluster: dict[str, Any], user: dict[str, str] | None = None) -> Any:
    mine = {"client-certificate": str(pki / "alice.crt"), "client-key": str(pki / "alice.key")}
    with secure(pki) as url:
        api = ApiServer(Context("here", {"server": url, **cluster}, mine if user is None else user))
        try:
            return api.get("/")
        finally:
            api.close()


def test_a_certificate_says_who_we_are_and_another_whom_we_talk_to(pki: Path) -> None:
    trusted = {"certificate-authority": str(pki / "kubernetes.crt"), "tls-server-name": "kubernetes"}
    assert says(pki, trusted) == "alice"


def test_certificates_may_stand_in_the_kubeconfig(pki: Path) -> None:
    def data(name: str) -> str:
        return base64.b64encode((pki / name).read_bytes()).decode()

    user = {"client-certificate-data": data("alice.crt"), "client-key-data": data("alice.key")}
    trusted = {"certificate-authority-data": data("kubernetes.crt"), "tls-server-name": "kubernetes"}
    assert says(pki, trusted, user) == "alice"


def test_trust_may_be_waived(pki: Path) -> None:
    assert says(pki, {"insecure-skip-tls-verify": True}) == "alice"


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        ({}, "self-signed certificate"),
        ({"certificate-authority": "kubernetes.crt"}, "IP address mismatch"),
        ({"certificate-authority": "kubernetes.crt", "tls-server-name": "other"}, "Hostname mismatch"),
        ({"certificate-authority": "alice.crt", "tls-server-name": "kubernetes"}, "self-signed certificate"),
    ],
)
def test_a_server_that_cannot_prove_who_it_is_is_not_talked_to(
    pki: Path, cluster: dict[str, str], why: str
) -> None:
    if "certificate-authority" in cluster:
        cluster = {**cluster, "certificate-authority": str(pki / cluster["certificate-authority"])}
    with pytest.raises(ClusterUnavailable, match=f"is not to be trusted: .*{why}"):
        says(pki, cluster)


def test_certificates_that_are_none_are_a_sentence(pki: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello")
    with pytest.raises(ConfigError, match="the certificates of context"):
        says(pki, {"certificate-authority": str(tmp_path / "x")})
    pair = {"client-certificate": str(tmp_path / "x"), "client-key": str(tmp_path / "x")}
    with pytest.raises(ConfigError, match="the certificates of context"):
        says(pki, {}, pair)
