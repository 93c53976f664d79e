"""Kubeconfig files as kubectl reads them."""

import os
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.kubeconfig.files import load
from statemachine.errors import ConfigError
from tests.unit.plugin.words import kubeconfig


def test_the_current_context_says_server_user_and_namespace(tmp_path: Path) -> None:
    context = load(kubeconfig(tmp_path / "config"))
    assert (context.name, context.server, context.namespace) == ("here", "https://10.0.0.1:6443", "team")
    assert context.user == {"token": "secret"}


def test_a_context_without_a_namespace_means_default(tmp_path: Path) -> None:
    contexts = [{"name": "here", "context": {"cluster": "here", "user": "here"}}]
    assert load(kubeconfig(tmp_path / "config", contexts=contexts)).namespace == "default"


def test_another_context_is_chosen_by_name(tmp_path: Path) -> None:
    contexts = [{"name": "other", "context": {"cluster": "here", "user": "here", "namespace": "x"}}]
    path = kubeconfig(tmp_path / "config", contexts=contexts)
    assert load(path, "other").namespace == "x"
    with pytest.raises(ConfigError, match=r'no context "here" in .*; there is other'):
        load(path)


def test_of_several_files_the_first_that_says_something_counts(tmp_path: Path) -> None:
    one = kubeconfig(tmp_path / "one", users=[{"name": "here", "user": {"token": "of-one"}}], contexts=[])
    two = kubeconfig(tmp_path / "two", users=[{"name": "here", "user": {"token": "of-two"}}])
    environ = {"KUBECONFIG": os.pathsep.join([str(tmp_path / "missing"), str(one), str(two)])}
    context = load(environ=environ)
    assert (context.user["token"], context.namespace) == ("of-one", "team")


def test_without_kubeconfig_it_is_the_one_at_home(tmp_path: Path) -> None:
    kubeconfig(tmp_path / ".kube" / "config")
    assert load(environ={"HOME": str(tmp_path)}).name == "here"


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    path = kubeconfig(
        tmp_path / "folder" / "config",
        clusters=[{"name": "here", "cluster": {"server": "https://x", "certificate-authority": "ca.crt"}}],
        users=[
            {
                "name": "here",
                "user": {
                    "client-certificate": "pki/me.crt",
                    "tokenFile": "/etc/token",
                    "exec": {"command": "./login"},
                },
            }
        ],
    )
    context, folder = load(path), tmp_path / "folder"
    assert context.cluster["certificate-authority"] == str(folder / "ca.crt")
    assert context.user["client-certificate"] == str(folder / "pki/me.crt")
    assert context.user["tokenFile"] == "/etc/token"
    assert Path(context.user["exec"]["command"]) == folder / "login"


def test_a_program_on_the_path_stays_one(tmp_path: Path) -> None:
    users = [{"name": "here", "user": {"exec": {"command": "aws"}}}]
    assert load(kubeconfig(tmp_path / "config", users=users)).user["exec"]["command"] == "aws"


def test_in_a_pod_it_is_the_service_account(tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path),
        "KUBERNETES_SERVICE_HOST": "fd00::1",
        "KUBERNETES_SERVICE_PORT": "6443",
    }
    context = load(environ=environ)
    assert context.server == "https://[fd00::1]:6443"
    assert context.user["tokenFile"].endswith("/serviceaccount/token")
    kubeconfig(tmp_path / ".kube" / "config")
    assert load(environ=environ).name == "here"


_AT = (
    "{{current-context: x, contexts: [{{name: x, context: {{cluster: y}}}}], "
    "clusters: [{{name: y, cluster: {{{}}}}}]}}"
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a: [", "cannot be read"),
        ("just text", "holds no object"),
        ("{}", "names no current context"),
        ("current-context: x", 'no context "x"'),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: y}}]}",
            'cluster "y" .* has no server',
        ),
        (
            _AT.format("server: 'https://one:65536'"),
            'server of the cluster "y" .* ports are numbers from 1 to',
        ),
        (_AT.format("server: 'https://one:0'"), 'server of the cluster "y" .* ports are numbers from 1 to'),
        (_AT.format("server: 'https://[one'"), 'server of the cluster "y" .* is no address'),
        (
            _AT.format("server: 'https://one', proxy-url: 'http://proxy:0'"),
            "proxy-url of .* ports are numbers",
        ),
    ],
)
def test_a_file_that_is_of_no_use_is_a_sentence(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(ConfigError, match=says) as caught:
        load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("environ", [{}, {"KUBECONFIG": "/nowhere/config"}])
def test_no_file_is_a_sentence_that_says_what_to_do(tmp_path: Path, environ: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"there is no kubeconfig .*; name one with --kubeconfig"):
        load(environ={"HOME": str(tmp_path), **environ})
