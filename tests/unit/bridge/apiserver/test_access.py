"""Who we are: the service account of our pod, whose token changes while we run."""

from pathlib import Path

import pytest
from kubernetes.aio.config import incluster_config

from k8s_bridge.apiserver import access
from k8s_bridge.apiserver.access import Access, Wanted


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a pod finds who it is."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setattr(access, "_SERVICE_ACCOUNT", tmp_path)
    (tmp_path / "ca.crt").write_text("a certificate")
    (tmp_path / "namespace").write_text("jobledger-system\n")
    (tmp_path / "token").write_text("one\n")
    return tmp_path


async def test_a_pod_is_its_service_account(account: Path) -> None:
    found = await Access.load(Wanted())
    assert found.server == "https://10.0.0.1:443"
    assert found.headers() == {"Authorization": "Bearer one"}
    assert found.namespace == "jobledger-system"


async def test_a_token_that_the_server_does_not_take_is_read_again(account: Path) -> None:
    found = await Access.load(Wanted())
    (account / "token").write_text("two")
    await found.renew()
    assert found.headers() == {"Authorization": "Bearer two"}


async def test_while_a_token_is_being_replaced_the_last_one_is_used(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await Access.load(Wanted())

    def refresh(_: object) -> None:
        (account / "gone").read_text()

    monkeypatch.setattr(found._configuration, "refresh_api_key_hook", refresh)
    assert found.headers() == {"Authorization": "Bearer one"}
