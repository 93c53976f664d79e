"""Other people than the administrator: service accounts with the rights that a test gives them, and their kubectl."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from statemachine.kinds import SERVED
from tests.harness import Cluster

JOBS: Final = "pytorchtrainingjobs.batch.tensorstack.dev"

ANY: Final = " or ".join(f"{each.plural}.{each.group}" for each in SERVED)
"""What who says no kind asks the controller for."""

_RBAC: Final = "rbac.authorization.k8s.io"


class Person:
    """A service account, which has no right but those that it `may`."""

    def __init__(self, cluster: Cluster, namespace: str, name: str, folder: Path) -> None:
        self._cluster, self.namespace, self.account, self._folder = cluster, namespace, name, folder
        cluster.kubectl("create", "serviceaccount", name, "-n", namespace)
        self.token = self.new_token()
        self.kubeconfig = folder / f"{namespace}-{name}.kubeconfig"
        self._write_kubeconfig()

    @property
    def name(self) -> str:
        """As the API server calls them."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"

    def new_token(self) -> str:
        """A token of an hour. Source: TokenRequest."""
        return self._cluster.kubectl("create", "token", self.account, "-n", self.namespace).strip()

    def may(self, verbs: str, resources: str, namespace: str = "") -> "Person":
        """They may do the verbs with the resources (`plural.group/subresource`), both parted by commas; there."""
        where = namespace or self.namespace
        role = f"{self.account}-{abs(hash((verbs, resources))) % 100000}"
        self._cluster.kubectl(
            "create", "role", role, f"--verb={verbs}", f"--resource={resources}", "-n", where
        )
        subject = f"--serviceaccount={self.namespace}:{self.account}"
        self._cluster.kubectl("create", "rolebinding", role, f"--role={role}", subject, "-n", where)
        return self

    @contextmanager
    def everywhere(self, verbs: str, resources: str) -> Iterator[None]:
        """They may in all namespaces, for as long as the block."""
        name = f"{self.namespace}-{self.account}"
        subject = f"--serviceaccount={self.namespace}:{self.account}"
        self._cluster.kubectl("create", "clusterrole", name, f"--verb={verbs}", f"--resource={resources}")
        self._cluster.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", subject)
        try:
            yield
        finally:
            self._cluster.kubectl("delete", f"clusterrolebinding/{name}", f"clusterrole/{name}")

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
        self.kubeconfig.write_bytes(self._cluster.kubeconfig.read_bytes())
        self.kubeconfig.chmod(0o600)
        for arguments in (
            ("set-credentials", "person", f"--token={self.token}"),
            ("set-context", "--current", "--user=person", f"--namespace={self.namespace}"),
        ):
            self._cluster.kubectl(f"--kubeconfig={self.kubeconfig}", "config", *arguments)
