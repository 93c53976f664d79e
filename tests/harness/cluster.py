"""A cluster that tests may write to: kubectl, helm, namespaces, CRDs."""

import json
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

import httpx

from tests.harness.api import Api
from tests.harness.programs import HELM, environment, output, run
from tests.harness.resources import Resources
from tests.harness.waiting import wait_for

ROOT = Path(__file__).parents[2]

JOB_CRDS = ROOT / "crds"
"""The kinds of jobledger, but for those that are opt-in."""

OPT_IN_CRDS = JOB_CRDS / "opt-in"
"""Kinds that have to be switched on."""

KUBEFLOW_CRDS = Path(__file__).parent / "kubeflow"
"""The kind PyTorchJob as the training operator installs it."""

NEIGHBOUR_CRDS = Path(__file__).parent / "crds"
"""PodGroup, Queue and TensorBoard as far as jobledger knows them; others run what stands behind. Source: spec R13."""

_NAMESPACES: Final = "/api/v1/namespaces"


class Cluster:
    """A cluster that exists, as the kubeconfig's current user sees it.

    `home` is a folder for caches, `kubectl` how it is called. `api` asks the API server without kubectl, `resources`
    says at which path.
    """

    def __init__(self, kubeconfig: Path, home: Path, kubectl: list[str]) -> None:
        self.kubeconfig = kubeconfig
        self.home = home
        self._kubectl = kubectl
        self.api = Api(kubeconfig)
        self.resources = Resources(self.api)

    def close(self) -> None:
        """No connection to it is open; the next request opens one."""
        self.api.close()

    @property
    def environment(self) -> dict[str, str]:
        """For programs that shall talk to this cluster: KUBECONFIG, and caches of their own."""
        return environment(self.kubeconfig, self.home)

    def command(self, *arguments: str) -> list[str]:
        """How a test starts kubectl itself, with `environment`."""
        return [*self._kubectl, *arguments]

    def answer(
        self, *arguments: str, input: Any = None, within: float = 150
    ) -> subprocess.CompletedProcess[str]:
        """What kubectl answers, be it yes or no. `input` goes to `-f -`: text, a manifest or several."""
        return run(self.command(*arguments), sent=_text(input), env=self.environment, within=within)

    def kubectl(self, *arguments: str, input: Any = None, within: float = 150) -> str:
        """What kubectl prints. Raises CommandFailed."""
        return output(self.command(*arguments), sent=_text(input), env=self.environment, within=within)

    def get(self, *arguments: str) -> dict[str, Any]:
        """What `kubectl get -o json` prints, read: an object, or a list with `items`.

        No kubectl runs for the usual words. Raises CommandFailed, with the message of kubectl.
        """
        answer = self.resources.get(*arguments)
        if answer is None:
            answer = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return answer

    def helm(self, *arguments: str, within: float = 240) -> str:
        """What helm prints. Raises CommandFailed."""
        return output([str(HELM), *arguments], env=self.environment, within=within)

    def install(self, folder: Path) -> None:
        """The CRDs of a folder are there and served; a repetition changes nothing."""
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(folder))
        there = (
            "--recursive=false",
            "-f",
            str(folder),
        )  # of kubectl's verbs only this one looks into subfolders
        self.kubectl("wait", "--for=condition=Established", "--timeout=90s", *there)

    def uninstall(self, folder: Path) -> None:
        """The CRDs of a folder and all objects of their kinds are gone.

        The API server's finalizer of CRDs was seen to let one wait that had only just been made. It looks again when
        the CRD changes.
        """
        self.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", str(folder))
        looks = count()

        def gone() -> bool:
            left = self.kubectl("get", "--ignore-not-found", "-o", "name", "-f", str(folder)).split()
            look = next(looks)
            if left and look % 10 == 9:
                self.answer("annotate", "--overwrite", *left, f"jobledger.dev/look={look}")
            return not left

        wait_for("the CRDs are gone", gone, within=120)

    @contextmanager
    def namespace(self, prefix: str = "test", labels: Mapping[str, str] | None = None) -> Iterator[str]:
        """A new namespace in which pods can be made at once; it is deleted afterwards, without waiting for it."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        metadata = {"name": name, "labels": dict(labels or {})}
        self.api.write("POST", _NAMESPACES, {"metadata": metadata})
        place = f"{_NAMESPACES}/{name}"
        try:
            account = f"{place}/serviceaccounts/default"
            wait_for("the service account of pods", lambda: self.api.request("GET", account).is_accepted, 90)
            yield name
        finally:
            with suppress(httpx.TransportError):
                self.api.request("DELETE", place)

    wait_for = staticmethod(wait_for)


def _text(given: Any) -> str | None:
    """A manifest as JSON, several as a list of them, text as it is."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, list):
        given = {"apiVersion": "v1", "kind": "List", "items": given}
    return json.dumps(given)
