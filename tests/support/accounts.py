"""Controllers in the name of the accounts that an install has, with the rights of these and no other."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from jobledger.wiring.roles import Role
from tests.harness import Cluster, ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_people import token_of
from tests.support.deployment import NAMESPACE, namespace

ACCOUNTS: Final = f"system:serviceaccount:{NAMESPACE}:"

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

RIGHTS: Final = frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"})


@contextmanager
def rights(cluster: Cluster, objects: list[dict[str, Any]]) -> Iterator[None]:
    """Namespace, accounts and rights of an install are there, and nothing that runs."""
    wanted = [manifest for manifest in objects if manifest["kind"] in RIGHTS]
    with namespace(cluster):
        cluster.kubectl("apply", "--server-side", "-f", "-", input=wanted)
        try:
            wait_for("the rights are in force", lambda: all(may_be_used(cluster, wanted)))
            yield
        finally:
            cluster.kubectl("delete", "--ignore-not-found", "-f", "-", input=wanted)


def may_be_used(cluster: Cluster, objects: list[dict[str, Any]]) -> Iterator[bool]:
    """Whether each role's last rule holds for the accounts it is bound to: authorizers learn of roles by watches."""
    roles = {
        (manifest["kind"], manifest["metadata"]["name"]): manifest
        for manifest in objects
        if manifest["kind"].endswith("Role")
    }
    for binding in objects:
        if not binding["kind"].endswith("Binding"):
            continue
        rule = roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]["rules"][-1]
        resource, _, part = rule["resources"][-1].partition("/")
        wanted = {
            "verb": rule["verbs"][0],
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": part,
            "name": next(iter(rule.get("resourceNames", [])), ""),
            "namespace": binding["metadata"].get("namespace", "default"),
        }
        for subject in binding["subjects"]:
            if subject["kind"] == "ServiceAccount":
                review = {"spec": {"resourceAttributes": wanted, "user": ACCOUNTS + subject["name"]}}
                yield cluster.api.write("POST", _REVIEWS, review)["status"]["allowed"]


def kubeconfig_of(cluster: Cluster, account: str, folder: Path) -> Path:
    """The cluster's kubeconfig with a token of the account instead of the administrator's."""
    config = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
    server = next(context for context in config["contexts"] if context["name"] == "local")["context"][
        "cluster"
    ]
    config["users"] = [{"name": account, "user": {"token": token_of(cluster, account, NAMESPACE)}}]
    context = {"cluster": server, "user": account, "namespace": NAMESPACE}
    config |= {"contexts": [{"name": account, "context": context}], "current-context": account}
    path = folder / f"{account}.kubeconfig"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def signed(cluster: ControlPlane, token: str, seconds: int) -> str:
    """The token, were it so many seconds younger."""
    head, claims, _ = token.split(".")
    body = json.loads(base64.urlsafe_b64decode(claims + "=="))
    body |= {claim: body[claim] + seconds for claim in ("exp", "iat", "nbf")}
    text = f"{head}.{_text(json.dumps(body).encode())}"
    command = ["openssl", "dgst", "-sha256", "-sign", str(cluster.home / "pki" / "sa.key")]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return f"{text}.{_text(done.stdout)}"


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def process(
    cluster: Cluster, account: str, folder: Path, *options: str, **variables: str
) -> ControllerProcess:
    """A controller in the name of an account, as the Deployments start it."""
    home = folder / account
    home.mkdir()
    theirs = Cluster(kubeconfig_of(cluster, account, folder), home, [])
    return ControllerProcess(
        theirs, home, "--log", f"sqlite://{folder}/ledger.db", "--leader-elect", *options, **variables
    )


def in_processes(cluster: Cluster, folder: Path, *options: str) -> dict[Role, ControllerProcess]:
    """A process for each role. That of the engine gets no kubeconfig, as its pod gets no token."""
    tokens = {
        role: process(cluster, f"jobledger-{role}", folder, f"--roles={role}", *options) for role in Role
    }
    (folder / f"jobledger-{Role.ENGINE}.kubeconfig").unlink()
    return tokens
