"""Who we are: the service account of our pod, whose token changes while we run."""

from pathlib import Path

import pytest

from k8s_bridge.apiserver import access
from k8s_bridge.apiserver.access import Access, ApiServerChoice
from k8s_bridge.kubeconfig import files


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a pod finds who it is; a kubeconfig is there, too, and nobody names it."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.setattr(files, "_POD", tmp_path)
    (tmp_path / "config").write_text("{current-context: none}")
    (tmp_path / "ca.crt").write_text("a certificate")
    (tmp_path / "namespace").write_text("jobledger-system\n")
    (tmp_path / "token").write_text("one\n")
    return tmp_path


async def test_a_pod_is_its_service_account(account: Path) -> None:
    own = await Access.load(ApiServerChoice())
    assert own.server == "https://10.0.0.1:443"
    assert own.headers() == [("Authorization", "Bearer one")]
    assert own.namespace == "jobledger-system"


async def test_a_token_that_the_server_does_not_take_is_read_again(account: Path) -> None:
    own = await Access.load(ApiServerChoice())
    (account / "token").write_text("two")
    await own.renew()
    assert own.headers() == [("Authorization", "Bearer two")]


async def test_a_token_in_a_file_is_read_again_after_a_while(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = await Access.load(ApiServerChoice())
    (account / "token").write_text("two")
    assert own.headers() == [("Authorization", "Bearer one")]
    monkeypatch.setattr(access, "_REREAD", -1.0)
    assert own.headers() == [("Authorization", "Bearer two")]


async def test_while_a_token_is_being_replaced_the_last_one_is_used(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = await Access.load(ApiServerChoice())
    monkeypatch.setattr(access, "_REREAD", -1.0)
    (account / "token").unlink()
    assert own.headers() == [("Authorization", "Bearer one")]


async def test_a_program_says_who_we_are_and_is_asked_again(tmp_path: Path) -> None:
    program, config = tmp_path / "login", tmp_path / "config"
    program.write_text(
        '#!/bin/sh\necho x >>"$0.runs"\n'
        """printf '{"status": {"token": "run-%d"}}' $(wc -l <"$0.runs")\n"""
    )
    program.chmod(0o755)
    user = "{name: it, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login}}}"
    config.write_text(
        "{current-context: it, contexts: [{name: it, context: {cluster: it, user: it}}], "
        f"clusters: [{{name: it, cluster: {{server: 'http://127.0.0.1:1'}}}}], users: [{user}]}}"
    )
    own = await Access.load(ApiServerChoice(config))
    assert own.headers() == [("Authorization", "Bearer run-1")]
    await own.renew()
    assert own.headers() == [("Authorization", "Bearer run-2")]
