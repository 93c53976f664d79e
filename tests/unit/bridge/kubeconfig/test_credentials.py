"""What the user of a context shows: a token, a password, a certificate, or what a program gives."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.kubeconfig.credentials import Credentials
from k8s_bridge.kubeconfig.files import Context
from statemachine.errors import ConfigError


def of(user: dict[str, Any], **cluster: Any) -> Credentials:
    return Credentials(Context("here", {"server": "https://x", **cluster}, user))


def program(folder: Path, code: str) -> dict[str, Any]:
    """A credential program with this Python code."""
    path = folder / "login.py"
    path.write_text(code)
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(path), "now"],
        "env": [{"name": "WHO", "value": "alice"}],
        "provideClusterInfo": True,
        "interactiveMode": "Never",
    }


def test_a_token_a_file_or_a_password_becomes_a_header(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-file\n")
    assert of({"token": "abc"}).headers() == [("Authorization", "Bearer abc")]
    both = {"token": "abc", "tokenFile": str(tmp_path / "token")}
    assert of(both).headers() == [("Authorization", "Bearer of-file")]
    pair = base64.b64encode(b"alice:secret").decode()
    assert of({"username": "alice", "password": "secret"}).headers() == [("Authorization", f"Basic {pair}")]


def test_a_certificate_is_no_token() -> None:
    data = base64.b64encode(b"PEM").decode()
    credentials = of({"client-certificate-data": data, "client-key-data": data})
    assert (credentials.token, credentials.headers()) == ("", [])
    assert credentials.pair is not None
    assert credentials.pair.key == b"PEM"


def test_impersonation_is_said_in_headers() -> None:
    user = {
        "token": "t",
        "as": "bob",
        "as-groups": ["a", "b"],
        "as-uid": "1",
        "as-user-extra": {"x/y": ["z"]},
    }
    assert of(user).headers()[1:] == [
        ("Impersonate-User", "bob"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Extra-x%2Fy", "z"),
    ]


def test_a_credential_program_gets_the_cluster_and_is_run_once(tmp_path: Path) -> None:
    code = (
        "import json, os, sys, pathlib\n"
        f"runs = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "runs.open('a').write('x')\n"
        "asked = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "token = '/'.join([os.environ['WHO'], sys.argv[1], asked['spec']['cluster']['server'], asked['kind'],\n"
        "                  str(asked['spec']['interactive'])])\n"
        "print(json.dumps({'status': {'token': token}}))\n"
    )
    credentials = of({"exec": program(tmp_path, code)})
    assert credentials.token == "alice/now/https://x/ExecCredential/False"
    assert credentials.headers() == [("Authorization", f"Bearer {credentials.token}")]
    assert credentials.pair is None
    assert (tmp_path / "runs").read_text() == "x"


def test_a_credential_program_may_give_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}
    code = f"print({json.dumps(json.dumps({'status': status}))})"
    credentials = of({"exec": program(tmp_path, code)})
    assert credentials.pair is not None
    assert (credentials.pair.certificate, credentials.token) == (b"CERT", "")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit(3)", "failed with exit code 3"),
        ("print('no json')", "gave no credential"),
        ("print('{}')", "gave no credential"),
    ],
)
def test_a_credential_program_that_fails_is_a_sentence(tmp_path: Path, code: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        _ = of({"exec": program(tmp_path, code)}).token


def test_a_program_that_is_not_there_says_how_to_get_it() -> None:
    user = {"exec": {"command": "no-such-login", "installHint": "Get it\nfrom example.com"}}
    with pytest.raises(ConfigError, match=r"no-such-login .*is not there: Get it from example.com"):
        _ = of(user).token


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({"auth-provider": {"name": "azure"}}, 'the auth-provider "azure" of context .* credential plugin'),
        ({"auth-provider": {"name": "gcp"}}, "the auth-provider of context .* gave no token: "),
        ({"tokenFile": "/nowhere/token"}, "the token of context"),
        ({"client-certificate": "/nowhere", "client-key": "/nowhere"}, "the client-certificate of context"),
        ({"client-certificate-data": "ä", "client-key-data": "ä"}, "is not base64"),
    ],
)
def test_what_cannot_be_used_is_a_sentence(user: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        _ = of(user).headers(), of(user).pair


def oidc(expires: int) -> dict[str, Any]:
    """A user who logs in by OIDC, with a token until then (seconds since 1970), and an issuer that is away."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    config = {"id-token": f"e30.{claims}.c2ln", "idp-issuer-url": "https://127.0.0.1:1", "refresh-token": "r"}
    return {"auth-provider": {"name": "oidc", "config": {**config, "client-id": "c", "client-secret": "s"}}}


def test_the_token_of_an_auth_provider_is_used_while_it_holds() -> None:
    user = oidc(32_503_680_000)
    token = user["auth-provider"]["config"]["id-token"]
    assert of(user).headers() == [("Authorization", f"Bearer {token}")]


def test_an_auth_provider_that_is_away_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"the auth-provider of context .* gave no token: "):
        of(oidc(1)).headers()


def test_without_the_client_library_an_auth_provider_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes.config", None)
    with pytest.raises(ConfigError, match=r"install `jobledger\[kubernetes\]`"):
        of(oidc(1)).headers()
