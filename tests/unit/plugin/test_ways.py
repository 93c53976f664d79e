"""The ways to the controller: which is tried, what each carries, and what is said where none leads there."""

import stat
from pathlib import Path
from typing import Any

import pytest

from jobledger.lives.answer import LifeAnswer
from jobledger.plugin import spoken
from jobledger.plugin.asking import Asking
from jobledger.plugin.options import ControllerAddress, Via
from jobledger.program.errors import ServerRefused, Unauthenticated
from statemachine.errors import ClusterUnavailable, ConfigError
from tests.unit.plugin.words import Asked, Fake, Reply, server, status

SERVICE = "/api/v1/namespaces/jobledger-system/services/http:jobledger:8080/proxy"
WHY = "/v1/lives/team/train/why"
REASONS = {"data": None, "text": "it runs", "notes": ["a note"], "doubt": ""}


def problem(code: int, name: str, detail: str) -> Reply:
    return Reply({"code": name, "detail": detail, "status": code}, code, "application/problem+json")


def ask(fake: Fake, job: str = "train", *, user: dict[str, Any] | None = None, **said: Any) -> LifeAnswer:
    asking = Asking(fake.api(**(user or {})), ControllerAddress(**said), None, "")
    return asking.answer("why", "team", job, at="-5m", width=80, uid="")


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a `kubectl` on the PATH that does what a line of shell says; its arguments are in `asked`."""

    def make(line: str) -> Path:
        program = tmp_path / "kubectl"
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{line}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return tmp_path / "asked"

    return make


def test_the_proxy_gets_the_token_in_a_header_of_ours() -> None:
    with server({SERVICE + WHY: REASONS}) as fake:
        assert ask(fake) == LifeAnswer(text="it runs", notes=("a note",))
        (asked,) = fake.asked
    assert asked.headers["X-Jobledger-Token"] == "secret"
    assert asked.query == {"at": "-5m", "width": "80"}


def test_an_address_gets_it_where_http_has_it() -> None:
    with server({WHY: REASONS}) as fake:
        assert ask(fake, server=fake.url, token="mine").text == "it runs"
        (asked,) = fake.asked
    assert asked.headers["Authorization"] == "Bearer mine"
    assert "X-Jobledger-Token" not in asked.headers


def test_the_jobs_namespace_may_stand_before_its_name() -> None:
    with server({"/v1/lives/other/a b/why": None, "/v1/lives/other/a%20b/why": REASONS}) as fake:
        assert ask(fake, "other/a b", server=fake.url).text == "it runs"


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (
            problem(401, "unauthenticated", "it has expired"),
            Unauthenticated,
            "does not accept your token: it has",
        ),
        (problem(403, "no-right", "you may not"), ServerRefused, "^you may not$"),
        (problem(404, "unknown-job", "no such job"), ServerRefused, "^no such job$"),
    ],
)
def test_what_the_controller_says_is_final(
    kubectl: Any, reply: Reply, error: type[Exception], says: str
) -> None:
    asked = kubectl("exit 1")
    with server({SERVICE + WHY: reply}) as fake, pytest.raises(error, match=says):
        ask(fake)
    assert not asked.exists()


def test_where_the_proxy_is_closed_kubectl_forwards_a_port(kubectl: Any) -> None:
    with server({SERVICE + WHY: status(403, "no services/proxy"), WHY: REASONS}) as fake:
        port = fake.url.rpartition(":")[2]
        asked = kubectl(f'echo "Forwarding from 127.0.0.1:{port} -> 8080"; exec sleep 60')
        assert ask(fake).text == "it runs"
    assert asked.read_text() == (
        "port-forward --address=127.0.0.1 --namespace=jobledger-system service/jobledger :8080\n"
    )


def test_the_context_is_kubectls_too(kubectl: Any) -> None:
    asked = kubectl("exit 1")
    said = ControllerAddress(via=Via.PORT_FORWARD, namespace="x", service="y")
    with server() as fake:
        asking = Asking(fake.api(), said, Path("/config"), "ctx")
        with pytest.raises(ClusterUnavailable):
            asking.answer("why", "team", "train")
    assert "--namespace=x --kubeconfig=/config --context=ctx service/y" in asked.read_text()


def test_both_ways_closed_are_one_sentence(kubectl: Any) -> None:
    kubectl("echo 'error: you may not forward' >&2; exit 1")
    with server({SERVICE + WHY: status(403, "no services/proxy")}) as fake:
        with pytest.raises(ClusterUnavailable) as caught:
            ask(fake)
        assert str(caught.value) == (
            "the controller can be reached neither through the API server (no services/proxy) nor by a port-forward "
            "(you may not forward); is it running? --controller-namespace says where it is, --server its address"
        )
        with pytest.raises(
            ClusterUnavailable, match=r"cannot be reached through the API server \(no services/proxy"
        ):
            ask(fake, via=Via.PROXY)


def test_a_service_that_is_not_there_is_said_alone(kubectl: Any) -> None:
    kubectl("""echo 'Error from server (NotFound): services "jobledger" not found' >&2; exit 1""")
    with (
        server() as fake,
        pytest.raises(ClusterUnavailable, match="there is no service") as caught,
    ):
        ask(fake)
    assert "--controller-namespace" in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"<html>hello", 200, "text/html"),
        Reply(b"<html>hello", 404, "text/html"),
        Reply({"hello": 1}),
        Reply([1]),
    ],
)
def test_somebody_elses_server_is_no_controller(reply: Reply) -> None:
    with server({SERVICE + WHY: reply, WHY: reply}) as fake:
        for way in ({"via": Via.PROXY}, {"server": fake.url}):
            with pytest.raises(ClusterUnavailable, match="no controller of jobledger"):
                ask(fake, **way)


def test_a_kubectl_that_is_not_there_or_ends_or_is_silent_is_a_sentence(
    kubectl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server() as fake:
        kubectl("exit 0")
        with pytest.raises(ClusterUnavailable, match="ended without a word"):
            ask(fake, via=Via.PORT_FORWARD)
        kubectl("exec sleep 60")
        monkeypatch.setattr("jobledger.plugin.controller._FORWARD_PATIENCE", 0.2)
        with pytest.raises(ClusterUnavailable, match="said nothing for"):
            ask(fake, via=Via.PORT_FORWARD)
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(ClusterUnavailable, match="kubectl cannot be run"):
            ask(fake, via=Via.PORT_FORWARD)


def test_a_proxy_without_an_answer_is_given_up_for_the_next_way(
    kubectl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_: Asked) -> Any:
        import time

        time.sleep(0.5)
        return REASONS

    kubectl("exit 1")
    monkeypatch.setattr("jobledger.plugin.controller._PROXY_PATIENCE", 0.1)
    with server({SERVICE + WHY: silent}) as fake, pytest.raises(ClusterUnavailable, match="no answer within"):
        ask(fake)


# ---- tokens ------------------------------------------------------------------------------------------------


def test_a_certificate_cannot_be_shown_to_the_controller() -> None:
    with (
        server() as fake,
        pytest.raises(ConfigError, match=r'has no token.*--token "\$\(kubectl create token'),
    ):
        ask(fake, user={"username": "admin", "password": "x"})


def test_a_token_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-file\n")
    (tmp_path / "empty").write_text("\n")
    with server({WHY: REASONS}) as fake:
        ask(fake, server=fake.url, token_file=tmp_path / "token")
        assert fake.asked[0].headers["Authorization"] == "Bearer of-file"
        for name, says in (("empty", "holds no token"), ("missing", "cannot be read")):
            with pytest.raises(ConfigError, match=says):
                ask(fake, server=fake.url, token_file=tmp_path / name)


@pytest.mark.parametrize("url", ["http://jobledger.example.com", "http://10.0.0.1:8080"])
def test_a_token_is_not_sent_where_everybody_can_read_it(url: str) -> None:
    with server() as fake, pytest.raises(ConfigError, match="use https or a port-forward"):
        ask(fake, server=url)


@pytest.mark.parametrize("url", ["jobledger:8080", "ftp://x", "http://", "https://x:y"])
def test_an_address_that_is_none_is_a_sentence(url: str) -> None:
    with server() as fake, pytest.raises(ConfigError):
        ask(fake, server=url)


def test_commands_are_named_as_users_of_the_plugin_type_them() -> None:
    assert spoken("`jobledger get -A` lists") == "`kubectl jobledger get -A` lists"
    assert spoken("`jobledger crds | kubectl apply`") == "`jobledger crds | kubectl apply`"
