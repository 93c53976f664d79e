"""Other people than the administrator: service accounts with the rights that a test gives them, and their kubectl."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from statemachine.kinds import SERVED
from tests.harness import Cluster

JOBS: Final = "pytorchtrainingjobs.batch.tensorstack.dev"

ANY: Final = " or ".join(f"{names.plural}.{names.group}" for names in SERVED)
"""What who says no kind asks the controller for."""

_RBAC: Final = "rbac.authorization.k8s.io"

_RBAC_PATH: Final = f"/apis/{_RBAC}/v1"


class Person:
    """A service account, which has no right but those that it `may`."""

    def __init__(self, cluster: Cluster, namespace: str, name: str, folder: Path) -> None:
        self._cluster, self.namespace, self.account, self._folder = cluster, namespace, name, folder
        cluster.api.write("POST", _accounts(namespace), {"metadata": {"name": name}})
        self.token = self.new_token()
        self.kubeconfig = folder / f"{namespace}-{name}.kubeconfig"
        self._write_kubeconfig()

    @property
    def name(self) -> str:
        """As the API server calls them."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"

    def new_token(self) -> str:
        """A token of an hour. Source: TokenRequest."""
        return token_of(self._cluster, self.account, self.namespace)

    def may(self, verbs: str, resources: str, namespace: str = "") -> "Person":
        """They may do the verbs with the resources (`plural.group/subresource`), both parted by commas; there."""
        where = namespace or self.namespace
        role = f"{self.account}-{abs(hash((verbs, resources))) % 100000}"
        place = f"{_RBAC_PATH}/namespaces/{where}"
        self._cluster.api.write("POST", f"{place}/roles", _role(role, verbs, resources))
        self._cluster.api.write("POST", f"{place}/rolebindings", self._binding(role, "Role"))
        return self

    @contextmanager
    def everywhere(self, verbs: str, resources: str) -> Iterator[None]:
        """They may in all namespaces, for as long as the block."""
        name = f"{self.namespace}-{self.account}"
        roles, bindings = f"{_RBAC_PATH}/clusterroles", f"{_RBAC_PATH}/clusterrolebindings"
        self._cluster.api.write("POST", roles, _role(name, verbs, resources))
        self._cluster.api.write("POST", bindings, self._binding(name, "ClusterRole"))
        try:
            yield
        finally:
            self._cluster.api.write("DELETE", f"{bindings}/{name}")
            self._cluster.api.write("DELETE", f"{roles}/{name}")

    def _binding(self, role: str, kind: str) -> dict[str, Any]:
        return {
            "metadata": {"name": role},
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": self.account, "namespace": self.namespace}],
        }

    def environment(self) -> dict[str, str]:
        """For programs that act in their name; `kubectl` and its plugin are found first."""
        program = self._folder / "bin" / "kubectl"
        if not program.exists():
            program.parent.mkdir(exist_ok=True)
            words = " ".join(f"'{word}'" for word in self._cluster.command())
            program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            program.chmod(0o755)
        ours = Path(sys.executable).parent
        path = os.pathsep.join([str(program.parent), str(ours), os.environ.get("PATH", "")])
        return {**self._cluster.environment, "KUBECONFIG": str(self.kubeconfig), "PATH": path}

    def command(self, *arguments: str) -> list[str]:
        """`kubectl jobledger`, as a user types it."""
        return [str(self._folder / "bin" / "kubectl"), "jobledger", *arguments]

    def asks(self, *arguments: str, within: float = 150, **more: Any) -> subprocess.CompletedProcess[str]:
        """What `kubectl jobledger` answers them."""
        env = self.environment()
        return subprocess.run(
            self.command(*arguments),
            env=env,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
            **more,
        )

    def _write_kubeconfig(self) -> None:
        """That of the cluster, with their token and namespace."""
        config = yaml.safe_load(self._cluster.kubeconfig.read_text(encoding="utf-8"))
        config["users"].append({"name": "person", "user": {"token": self.token}})
        current = next(
            context for context in config["contexts"] if context["name"] == config["current-context"]
        )
        current["context"] |= {"user": "person", "namespace": self.namespace}
        self.kubeconfig.touch(0o600)
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")


def token_of(cluster: Cluster, account: str, namespace: str) -> str:
    """A token of an hour for a service account. Source: Kubernetes, TokenRequest."""
    wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = cluster.api.write("POST", f"{_accounts(namespace)}/{account}/token", wish)
    return str(answer["status"]["token"])


def _accounts(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/serviceaccounts"


def _role(name: str, verbs: str, resources: str) -> dict[str, Any]:
    """A role, or cluster role, with a rule for each of the resources."""
    rules = []
    for resource in resources.split(","):
        what, _, part = resource.partition("/")
        plural, _, group = what.partition(".")
        rule = {
            "apiGroups": [group],
            "resources": [f"{plural}/{part}" if part else plural],
            "verbs": verbs.split(","),
        }
        rules.append(rule)
    return {"metadata": {"name": name}, "rules": rules}
