"""kustomize and Helm install the same, on a real API server: admitted, scheduled, running, and gone again."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.harness import Cluster, CommandFailed, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.deployment import (
    CHART,
    DEPLOY,
    NAMESPACE,
    OURS,
    RESTRICTED,
    address,
    charted,
    documents,
    kustomized,
    left,
    namespace,
    volume,
)

pytestmark = pytest.mark.integration

TOGETHER = DEPLOY / "overlays" / "default"
SPLIT = DEPLOY / "overlays" / "roles-split"

EVICTABLE = "--for=jsonpath={.status.disruptionsAllowed}=1"

ROLES = ("bridge", "engine", "projectors", "front")

WAYS = [
    pytest.param(TOGETHER, (), id="together"),
    pytest.param(SPLIT, ("--set=splitRoles=true",), id="split"),
]

Manifest = dict[str, Any]


# ---- the same objects --------------------------------------------------------------------------------------------


def by_name(objects: list[Manifest]) -> dict[tuple[str, str], Manifest]:
    """The objects by kind and name, but for the namespace itself."""
    return {(each["kind"], name_of(each)): each for each in objects if each["kind"] != "Namespace"}


@pytest.mark.parametrize(("overlay", "options"), WAYS)
def test_kustomize_and_the_chart_say_the_same(helm: Cluster, overlay: Path, options: tuple[str, ...]) -> None:
    assert by_name(charted(helm, *options)) == by_name(kustomized(helm, overlay))


def test_kustomize_and_the_chart_monitor_the_same(helm: Cluster, tmp_path: Path) -> None:
    there = os.path.relpath(DEPLOY, tmp_path.resolve())
    overlay = {
        "namespace": NAMESPACE,
        "resources": [f"{there}/overlays/default"],
        "components": [f"{there}/components/monitoring"],
    }
    (tmp_path / "kustomization.yaml").write_text(json.dumps(overlay), encoding="utf-8")
    monitored = by_name(kustomized(helm, tmp_path))
    assert ("PodMonitor", "jobledger") in monitored
    assert by_name(charted(helm, "--set=monitoring.enabled=true")) == monitored


# ---- values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("image.tag=1", "at '/image/tag': got number, want string"),
        ("imagee.tag=x", "at '': additional properties 'imagee' not allowed"),
        ("splitRoles=yes", "at '/splitRoles': got string, want boolean"),
        ("namespaces={Upper}", "at '/namespaces/0': 'Upper' does not match pattern"),
        ("settings.evidense=false", "at '/settings': additional properties 'evidense' not allowed"),
        (r"settings.log\.level=loud", "at '/settings/log.level': value must be one of 'debug', 'info'"),
        ("persistence.size=huge", "at '/persistence/size': 'huge' does not match pattern"),
        ("resources.limits.memory=lots", "at '/resources/limits/memory': 'lots' does not match pattern"),
        ("splitRoles=true,persistence.accessMode=ReadWriteOncePod", "value must be 'ReadWriteOnce'"),
        ("env[0].name=JOBLEDGER_STORE,env[0].value=x", "JOBLEDGER_STORE is a setting of jobledger; write it into"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_a_sentence(helm: Cluster, value: str, sentence: str) -> None:
    with pytest.raises(CommandFailed) as failed:
        charted(helm, f"--set={value}")
    assert sentence in failed.value.said


def test_a_controller_of_some_namespaces_has_rights_in_these_alone(helm: Cluster) -> None:
    found = by_name(charted(helm, "--set-json", 'namespaces=["a","b"]'))
    everywhere = {name for kind, name in found if kind == "ClusterRoleBinding"}
    assert everywhere == {"jobledger-front-cluster"}
    (container,) = found["Deployment", "jobledger"]["spec"]["template"]["spec"]["containers"]
    assert "--namespaces=a,b" in container["args"]
    objects = charted(helm, "--set-json", 'namespaces=["a","b"]')
    bound = {
        (each["metadata"].get("namespace"), each["roleRef"]["name"])
        for each in objects
        if each["kind"] == "RoleBinding" and each["roleRef"]["kind"] == "ClusterRole"
    }
    roles = ("jobledger-bridge", "jobledger-projectors", "jobledger-front")
    assert bound == {(namespace, role) for namespace in ("a", "b") for role in roles}


def test_other_values_go_where_they_belong(helm: Cluster) -> None:
    options = (
        "--set=persistence.existingClaim=mine,image.repository=elsewhere/jobledger,priorityClassName=high",
        f"--set=image.digest=sha256:{'0' * 64},settings.evidence=false",
        "--set-json",
        'env=[{"name": "OTEL_TRACES_EXPORTER", "value": "otlp"}]',
    )
    found = by_name(charted(helm, *options))
    assert ("PersistentVolumeClaim", "jobledger") not in found
    pod = found["Deployment", "jobledger"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "mine"}
    assert pod["priorityClassName"] == "high"
    assert container["image"] == f"elsewhere/jobledger@sha256:{'0' * 64}"
    given = {each["name"]: each["value"] for each in container["env"]}
    assert (given["JOBLEDGER_EVIDENCE"], given["OTEL_TRACES_EXPORTER"]) == ("false", "otlp")


# ---- on the API server -------------------------------------------------------------------------------------------


@contextmanager
def kustomize_install(cluster: Cluster, folder: Path) -> Iterator[None]:
    """Installed and uninstalled as docs/operations.md says."""
    cluster.kubectl("apply", "--server-side", "-k", str(folder))
    try:
        yield
    finally:
        cluster.kubectl("delete", "-k", str(folder), "-l", OURS, within=240)
    assert left(cluster, kustomized(cluster, folder)) == []


@contextmanager
def helm_install(cluster: Cluster, *, split: bool) -> Iterator[None]:
    """Installed and uninstalled as docs/operations.md says, into a restricted namespace."""
    with namespace(cluster):
        options = ("--namespace", NAMESPACE, f"--set=splitRoles={str(split).lower()}")
        cluster.helm("install", "jobledger", str(CHART), *options)
        try:
            yield
        finally:
            cluster.helm("uninstall", "jobledger", "--namespace", NAMESPACE, "--wait")
        assert left(cluster, charted(cluster, f"--set=splitRoles={str(split).lower()}")) == []


Install = Callable[[Cluster], AbstractContextManager[None]]

INSTALLS = [
    pytest.param(partial(kustomize_install, folder=TOGETHER), ("",), id="kustomize"),
    pytest.param(partial(kustomize_install, folder=SPLIT), ROLES, id="kustomize-split"),
    pytest.param(partial(helm_install, split=False), ("",), id="helm"),
    pytest.param(partial(helm_install, split=True), ROLES, id="helm-split"),
]


@pytest.mark.parametrize(("overlay", "options"), WAYS)
def test_the_api_server_takes_every_object_as_it_is(
    helm: Cluster, overlay: Path, options: tuple[str, ...]
) -> None:
    with namespace(helm):
        for objects in (kustomized(helm, overlay), charted(helm, *options)):
            command = ("create", "--dry-run=server", "--validate=strict", "-f", "-")
            given = [
                each for each in objects if each["kind"] not in ("Namespace", "CustomResourceDefinition")
            ]
            answer = helm.answer(*command, input=given)
            assert answer.returncode == 0, answer.stderr
            assert "Warning" not in answer.stderr


@pytest.mark.parametrize(("install", "roles"), INSTALLS)
def test_an_install_runs_in_a_restricted_namespace_and_leaves_nothing_but_crds(
    helm: Cluster, install: Install, roles: tuple[str, ...]
) -> None:
    before = set(crds(helm))
    with volume(helm), install(helm):
        names = [f"jobledger-{role}" if role else "jobledger" for role in roles]
        for name in names:
            helm.kubectl(
                "rollout", "status", f"deployment/{name}", "-n", NAMESPACE, "--timeout=150s", within=240
            )
        enforced = helm.get("namespace", NAMESPACE)["metadata"]["labels"]
        assert RESTRICTED.items() <= enforced.items()
        pods = helm.get("pods", "-n", NAMESPACE)["items"]
        assert [each["status"]["phase"] for each in pods] == ["Running"] * len(names)
        assert len({each["spec"]["nodeName"] for each in pods}) == 1
        served = wait_for("the Service finds its pod", lambda: endpoints(helm))
        assert served == [pod for pod in map(name_of, pods) if not roles[0] or "-front-" in pod]
        budgets = helm.get("poddisruptionbudgets", "-n", NAMESPACE)["items"]
        assert sorted(map(name_of, budgets)) == sorted(names)
        for name in names:
            helm.kubectl("wait", f"poddisruptionbudget/{name}", "-n", NAMESPACE, EVICTABLE, "--timeout=90s")
    assert set(crds(helm)) == before


def name_of(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])


def endpoints(cluster: Cluster) -> list[str]:
    """The pods behind the Service."""
    slices = cluster.get("endpointslices", "-n", NAMESPACE, "-l", "kubernetes.io/service-name=jobledger")[
        "items"
    ]
    found = [each for part in slices for each in part["endpoints"] or ()]
    return [each["targetRef"]["name"] for each in found if each["conditions"]["ready"]]


def crds(cluster: Cluster) -> list[str]:
    """Names of all kinds that were installed."""
    return [name_of(each) for each in cluster.get("customresourcedefinitions")["items"]]


def test_the_crds_of_the_chart_are_those_of_the_repository(helm: Cluster) -> None:
    shown = documents(helm.helm("show", "crds", str(CHART)))
    kept = documents(helm.kubectl("kustomize", str(DEPLOY.parent / "crds")))
    assert by_name(shown) == by_name(kept)


# ---- what runs -----------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
@pytest.mark.parametrize("split", [False, True], ids=["together", "split"])
def test_the_containers_commands_start_and_become_ready(
    helm: Cluster, split: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with helm.namespace("jobs") as jobs, ExitStack() as stack:
        rendered = charted(helm, f"--set=splitRoles={str(split).lower()},namespaces={{{jobs}}}")
        processes = {}
        for each in (each for each in rendered if each["kind"] == "Deployment"):
            (container,) = each["spec"]["template"]["spec"]["containers"]
            for variable in container["env"]:
                monkeypatch.setenv(variable["name"], variable["value"])
            folder = tmp_path / name_of(each)
            folder.mkdir()
            process = ControllerProcess(helm, folder, *as_here(container, tmp_path))
            processes[name_of(each)] = stack.enter_context(process)
        assert len(processes) == (4 if split else 1)
        for name, process in processes.items():  # up to four start at once, perhaps on a busy machine
            wait_for(f"{name} is ready", partial(is_ready, process), within=150)
        assert (tmp_path / "ledger.db").exists()
        for process in processes.values():
            assert process.stop() == 0, process.said


def as_here(container: Manifest, folder: Path) -> list[str]:
    """The arguments of a container, but for the name of the command, with `folder` in the place of its volume."""
    (place,) = [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "log"]
    command, *arguments = container["args"]
    assert command == "controller"
    assert place in " ".join(arguments)
    return [each.replace(place, str(folder)) for each in arguments]


def is_ready(process: ControllerProcess) -> bool:
    """It answers the kubelet's questions with yes."""
    assert process.is_running, process.said
    url = address(process)
    try:
        return url is not None and all(httpx.get(url + path).is_success for path in ("/healthz", "/readyz"))
    except httpx.TransportError:
        return False


# ---- users -------------------------------------------------------------------------------------------------------

USERS = [
    ("view", "get", "pytorchtrainingjobs", True),
    ("view", "create", "pytorchtrainingjobs", False),
    ("edit", "create", "pytorchtrainingjobs", True),
    ("edit", "deletecollection", "pytorchtrainingjobs", True),
    ("edit", "patch", "pytorchtrainingjobs/scale", True),
    ("edit", "patch", "pytorchtrainingjobs/status", False),
    ("admin", "update", "pytorchtrainingjobs", True),
    ("admin", "update", "pytorchtrainingjobs/status", False),
]


def test_users_may_do_with_jobs_what_they_may_do_with_pods(helm: Cluster) -> None:
    with kustomize_install(helm, TOGETHER), helm.namespace("team") as team:
        for role in ("view", "edit", "admin"):
            helm.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}", "-n", team)
        wait_for("the rules are taken in", lambda: may(helm, "admin", "create", "pytorchtrainingjobs", team))
        found = [(role, verb, what, may(helm, role, verb, what, team)) for role, verb, what, _ in USERS]
        assert found == USERS
        asks = ("get", "services/http:jobledger:8080", NAMESPACE, "--subresource=proxy")
        assert may(helm, "anybody", *asks)
        assert not may(helm, "anybody", "get", "services/http:other:8080", NAMESPACE, "--subresource=proxy")


def may(cluster: Cluster, user: str, verb: str, what: str, where: str, *options: str) -> bool:
    """Has the user that right in the namespace `where`?"""
    resource, _, subresource = what.partition("/")
    if subresource in ("status", "scale"):
        what, options = resource, (f"--subresource={subresource}", *options)
    asked = ("auth", "can-i", verb, what, "-n", where, *options)
    said = cluster.answer(*asked, f"--as={user}", "--as-group=system:authenticated")
    return said.stdout.strip() == "yes"
