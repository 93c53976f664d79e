"""kustomize and Helm install the same, on a real API server: admitted, scheduled, running, and gone again.

Controllers have real starts here, as in their containers; those of other tests are forked.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from jobledger.settings.loading import PREFIX
from tests.harness import Cluster, CommandFailed, ControlPlane, program, wait_for
from tests.harness.broker import Kafka
from tests.harness.postgres import PASSWORD, USER, Postgres
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import SIMULATED
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
    without_helms,
)
from tests.support.http import PLAIN

pytestmark = pytest.mark.integration

TOGETHER = DEPLOY / "overlays" / "default"
SPLIT = DEPLOY / "overlays" / "roles-split"
IN_KAFKA = DEPLOY / "overlays" / "kafka"

EVICTABLE = "--for=jsonpath={.status.disruptionsAllowed}=1"

ROLES = ("bridge", "engine", "projectors", "front")

BY_ROLE = ("--set=splitRoles=true",)
WITH_KAFKA = (*BY_ROLE, "--set=kafka.log=kafka://kafka:9092")

WAYS = [
    pytest.param(TOGETHER, (), id="together"),
    pytest.param(SPLIT, BY_ROLE, id="split"),
    pytest.param(IN_KAFKA, WITH_KAFKA, id="kafka"),
]

Manifest = dict[str, Any]


# ---- the same objects --------------------------------------------------------------------------------------------


def by_name(objects: list[Manifest]) -> dict[tuple[str, str], Manifest]:
    """The objects by kind and name, but for the namespace itself."""
    return {(item["kind"], name_of(item)): item for item in objects if item["kind"] != "Namespace"}


@pytest.mark.parametrize(("overlay", "options"), WAYS)
def test_kustomize_and_the_chart_say_the_same(helm: Cluster, overlay: Path, options: tuple[str, ...]) -> None:
    assert by_name(without_helms(charted(helm, *options))) == by_name(kustomized(helm, overlay))


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
    assert by_name(without_helms(charted(helm, "--set=monitoring.enabled=true"))) == monitored


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
        (r"settings.kafka\.password_file=x", "additional properties 'kafka.password_file' not allowed"),
        ("kafka.log=broker:9092", "at '/kafka/log': 'broker:9092' does not match pattern"),
        ("kafka.engines=0", "at '/kafka/engines': minimum: got 0, want 1"),
        ("history.url=postgresql://us:secret@db/history", "at '/history/url': 'postgresql://us:secret@db"),
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
    by_kind = by_name(charted(helm, "--set-json", 'namespaces=["a","b"]'))
    everywhere = {name for kind, name in by_kind if kind == "ClusterRoleBinding"}
    assert everywhere == {
        "jobledger-front-cluster",
        "jobledger-bridge-cluster",
    }  # reviews; a policy, by its name
    (container,) = by_kind["Deployment", "jobledger"]["spec"]["template"]["spec"]["containers"]
    assert "--namespaces=a,b" in container["args"]
    objects = charted(helm, "--set-json", 'namespaces=["a","b"]')
    bound = {
        (manifest["metadata"].get("namespace"), manifest["roleRef"]["name"])
        for manifest in objects
        if manifest["kind"] == "RoleBinding" and manifest["roleRef"]["kind"] == "ClusterRole"
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
    objects = by_name(charted(helm, *options))
    assert ("PersistentVolumeClaim", "jobledger") not in objects
    pod = objects["Deployment", "jobledger"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "mine"}
    assert pod["priorityClassName"] == "high"
    assert container["image"] == f"elsewhere/jobledger@sha256:{'0' * 64}"
    given = {variable["name"]: variable["value"] for variable in container["env"]}
    assert (given["JOBLEDGER_EVIDENCE"], given["OTEL_TRACES_EXPORTER"]) == ("false", "otlp")


def workloads(objects: list[Manifest]) -> dict[str, Manifest]:
    """What makes pods, by name."""
    return {
        name_of(manifest): manifest
        for manifest in objects
        if manifest["kind"] in ("Deployment", "StatefulSet", "Job")
    }


@pytest.mark.parametrize("split", [False, True], ids=["together", "split"])
def test_with_the_log_in_kafka_no_pod_needs_a_volume_and_each_may_reach_the_brokers(
    helm: Cluster, split: bool
) -> None:
    log = r"kafka.log=kafka://one:9092\,two:9093\,three:9093/mine"
    options = (
        f"--set=splitRoles={str(split).lower()},kafka.applyTopics=true,kafka.engines=3,kafka.projectors=2",
        "--set=history.url=postgresql://jobledger@database/history",
        "--set",
        log,
    )
    rendered = charted(helm, *options)
    made = workloads(rendered)
    for workload in made.values():
        pod = workload["spec"]["template"]["spec"]
        assert "kafka://one:9092,two:9093,three:9093/mine" in str(pod["containers"][0]["args"])
        assert "affinity" not in pod
        assert [volume for volume in pod.get("volumes", ()) if volume["name"] != "tmp"] == []
    assert not [manifest for manifest in rendered if manifest["kind"] == "PersistentVolumeClaim"]
    policies = {
        name_of(manifest): manifest["spec"] for manifest in rendered if manifest["kind"] == "NetworkPolicy"
    }
    assert set(policies) == set(made) - {"jobledger-topics"}
    reached = {
        name: [port["port"] for port in policy["egress"][-1]["ports"]] for name, policy in policies.items()
    }
    with_database = {"jobledger", "jobledger-projectors", "jobledger-front"}
    assert reached == {name: [*([5432] if name in with_database else []), 9092, 9093] for name in policies}
    with_history = {
        name for name, workload in made.items() if "JOBLEDGER_HISTORY" in environment_of(workload)
    }
    assert with_history == ({"jobledger-projectors", "jobledger-front"} if split else {"jobledger"})
    if split:
        engine = made["jobledger-engine"]
        assert (engine["kind"], engine["spec"]["replicas"]) == ("StatefulSet", 3)
        replicas = [
            made[f"jobledger-{role}"]["spec"]["replicas"] for role in ("bridge", "projectors", "front")
        ]
        assert replicas == [2, 2, 2]
    else:  # a Deployment gives each pod another name
        assert environment_of(made["jobledger"])["JOBLEDGER_KAFKA__INSTANCE"] == "jobledger"


@pytest.mark.parametrize("split", [False, True], ids=["together", "split"])
@pytest.mark.parametrize("kafka", [False, True], ids=["file", "kafka"])
def test_the_key_of_snapshots_is_only_where_states_are_saved_or_believed(
    helm: Cluster, tmp_path: Path, split: bool, kafka: bool
) -> None:
    options = f"--set=splitRoles={str(split).lower()},snapshotKey.secret=jobledger-snapshot-key"
    log = ("--set=kafka.log=kafka://kafka:9092",) if kafka else ()
    ways = [workloads(charted(helm, options, *log))]
    if split or not kafka:
        overlay = "kafka" if kafka else "roles-split" if split else "default"
        there = os.path.relpath(DEPLOY, tmp_path.resolve())
        above = {
            "resources": [f"{there}/overlays/{overlay}"],
            "components": [f"{there}/components/snapshot-key"],
        }
        (tmp_path / "kustomization.yaml").write_text(json.dumps(above), encoding="utf-8")
        ways.append(workloads(kustomized(helm, tmp_path)))
    for made in ways:
        having = {name for name, workload in made.items() if "jobledger-snapshot-key" in json.dumps(workload)}
        with_key = {
            name
            for name, workload in made.items()
            if "JOBLEDGER_SNAPSHOT_KEY_FILE" in environment_of(workload)
        }
        wanted = {"jobledger-engine", "jobledger-projectors"} if split else {"jobledger"}
        assert having == with_key == wanted


def environment_of(
    workload: Manifest, secrets: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, str]:
    """The variables of its container, those from Secrets with what is in them."""
    values = {}
    for variable in container_of(workload).get("env", ()):
        if "value" in variable:
            values[variable["name"]] = variable["value"]
        else:
            asked = variable["valueFrom"]["secretKeyRef"]
            values[variable["name"]] = (secrets or {})[asked["name"]][asked["key"]]
    return values


def test_the_examples_of_the_documentation_say_the_same(helm: Cluster, tmp_path: Path) -> None:
    page = (DEPLOY.parent / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.split("\n## With the log in Kafka\n")[1].split("\n## ")[0]
    values, overlay = re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    (tmp_path / "values.yaml").write_text(values, encoding="utf-8")
    there = os.path.relpath(DEPLOY, tmp_path.resolve())
    (tmp_path / "kustomization.yaml").write_text(
        overlay.replace("- deploy/", f"- {there}/"), encoding="utf-8"
    )
    ours, theirs = (
        workloads(charted(helm, f"--values={tmp_path}/values.yaml")),
        workloads(kustomized(helm, tmp_path)),
    )
    assert ours.pop("jobledger-topics")["kind"] == "Job"
    assert set(ours) == set(theirs)
    secrets = {
        "jobledger-kafka": {"username": "user", "password": "secret", "ca.crt": "pem"},
        "kafka-ca": {"ca.crt": "pem"},
    }
    for name, manifest in ours.items():
        other = theirs[name]
        assert manifest["spec"]["replicas"] == other["spec"]["replicas"]
        assert container_of(manifest)["args"] == container_of(other)["args"]
        assert with_files(manifest, secrets, tmp_path) == with_files(other, secrets, tmp_path)
    assert ours["jobledger-engine"]["spec"]["replicas"] == 3


def container_of(workload: Manifest) -> Manifest:
    """The one that its pods have."""
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    return dict(container)


# ---- what a role has of its own ----------------------------------------------------------------------------------

OF_ROLES = {
    "splitRoles": True,
    "settings": {"kafka.protocol": "SASL_SSL", "kafka.mechanism": "SCRAM-SHA-512"},
    "kafka": {
        "log": "kafka://kafka:9093",
        "applyTopics": True,
        "topicsSecret": "of-topics",
        "username": {"secret": "of-all"},
        "password": {"secret": "of-all"},
        "ca": {"secret": "kafka-ca"},
    },
    "history": {
        "url": "postgresql://jobledger@db/ledger",
        "password": {"secret": "writes"},
        "front": {"url": "postgresql://jobledger_front@db/ledger", "password": {"secret": "reads"}},
    },
    "podLabels": {"team": "training"},
    "nodeSelector": {"disk": "any"},
    "roles": {
        "bridge": {"kafkaSecret": "of-bridge"},
        "engine": {
            "kafkaSecret": "of-engine",
            "resources": {"requests": {"memory": "1Gi"}},
            "nodeSelector": {"disk": "fast"},
            "podLabels": {"team": "core"},
            "podAnnotations": {"note": "decides"},
            "tolerations": [{"key": "core", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
            ],
        },
        "front": {"kafkaSecret": "of-front"},
    },
    "ingress": {
        "enabled": True,
        "host": "jobs.example.org",
        "className": "public",
        "tls": [{"hosts": ["jobs.example.org"], "secretName": "jobs-tls"}],
    },
}

BEARER = {
    "splitRoles": True,
    "settings": {"kafka.protocol": "SASL_SSL", "kafka.mechanism": "OAUTHBEARER"},
    "kafka": {"log": "kafka://kafka:9093", "token": {"secret": "token-of-all"}},
    "roles": {"engine": {"kafkaSecret": "token-of-engine"}},
}

CERTIFIED = {
    "splitRoles": True,
    "settings": {"kafka.protocol": "SSL"},
    "kafka": {"log": "kafka://kafka:9093"},
    "roles": {role: {"kafkaSecret": f"of-{role}"} for role in ROLES},
    "affinity": {"nodeAffinity": {}},
}

ON_ONE_NODE = {"splitRoles": True, "affinity": {"nodeAffinity": {}}, "roles": {"engine": {"resources": {}}}}

VALUES = [
    pytest.param(options, id=name)
    for name, options in {
        "roles": OF_ROLES,
        "bearer": BEARER,
        "certified": CERTIFIED,
        "one-node": ON_ONE_NODE,
    }.items()
]


def with_values(helm: Cluster, values: Manifest, folder: Path) -> list[Manifest]:
    (folder / "values.yaml").write_text(json.dumps(values), encoding="utf-8")
    return charted(helm, f"--values={folder}/values.yaml")


def secrets_of(workload: Manifest) -> set[str]:
    """The names of all Secrets that its pods get."""
    return set(re.findall(r"'secret(?:KeyRef)?': {.*?'name': '([^']+)'", str(workload["spec"]["template"])))


def test_each_role_has_its_own_user_of_kafka_and_the_front_one_of_the_database_that_reads(
    helm: Cluster, tmp_path: Path
) -> None:
    made = workloads(with_values(helm, OF_ROLES, tmp_path))
    assert {name: secrets_of(workload) for name, workload in made.items()} == {
        "jobledger-bridge": {"of-bridge", "kafka-ca"},
        "jobledger-engine": {"of-engine", "kafka-ca"},
        "jobledger-projectors": {"of-all", "kafka-ca", "writes"},
        "jobledger-front": {"of-front", "kafka-ca", "reads"},
        "jobledger-topics": {"of-topics", "kafka-ca"},
    }
    urls = {
        name: variable["value"]
        for name, workload in made.items()
        for variable in container_of(workload)["env"]
        if variable["name"] == "JOBLEDGER_HISTORY"
    }
    assert urls == {
        "jobledger-projectors": "postgresql://jobledger@db/ledger",
        "jobledger-front": "postgresql://jobledger_front@db/ledger",
    }


def test_a_roles_own_secret_holds_what_the_mechanism_asks_for(helm: Cluster, tmp_path: Path) -> None:
    made = workloads(with_values(helm, BEARER, tmp_path))
    assert secrets_of(made["jobledger-engine"]) == {"token-of-engine"}
    assert secrets_of(made["jobledger-bridge"]) == {"token-of-all"}
    given = {variable["name"] for variable in container_of(made["jobledger-engine"])["env"]}
    assert {variable for variable in given if variable.endswith("_FILE")} == {"JOBLEDGER_KAFKA__TOKEN_FILE"}
    made = workloads(with_values(helm, CERTIFIED, tmp_path))
    given = {variable["name"] for variable in container_of(made["jobledger-front"])["env"]}
    assert {"JOBLEDGER_KAFKA__CERTIFICATE_FILE", "JOBLEDGER_KAFKA__KEY_FILE"} <= given


def test_what_a_role_says_of_its_pods_stands_in_the_place_of_what_holds_for_all(
    helm: Cluster, tmp_path: Path
) -> None:
    made = workloads(with_values(helm, OF_ROLES, tmp_path))
    engine, front = (made[f"jobledger-{role}"]["spec"]["template"] for role in ("engine", "front"))
    of_engine = OF_ROLES["roles"]["engine"]  # type: ignore[index]
    for field in ("nodeSelector", "tolerations", "affinity"):
        assert engine["spec"][field] == of_engine[field]
    (spread,) = engine["spec"]["topologySpreadConstraints"]
    counted = spread.pop("labelSelector")["matchLabels"]
    assert [spread] == of_engine["topologySpreadConstraints"]
    assert counted == made["jobledger-engine"]["spec"]["selector"]["matchLabels"]
    assert engine["spec"]["containers"][0]["resources"] == {"requests": {"memory": "1Gi"}}
    assert engine["metadata"]["annotations"] == {"note": "decides"}
    assert [manifest["metadata"]["labels"]["team"] for manifest in (engine, front)] == ["core", "training"]
    assert front["spec"]["nodeSelector"] == {"disk": "any"}
    assert front["spec"]["containers"][0]["resources"]["limits"] == {"memory": "512Mi"}


def test_an_engine_reaches_brokers_and_names_alone_and_has_no_token(helm: Cluster, tmp_path: Path) -> None:
    rendered = by_name(with_values(helm, OF_ROLES, tmp_path))
    ports = {
        role: {
            port["port"]
            for rule in rendered["NetworkPolicy", f"jobledger-{role}"]["spec"]["egress"]
            for port in rule["ports"]
        }
        for role in ROLES
    }
    assert ports == {
        "bridge": {53, 443, 6443, 9093},
        "engine": {53, 9093},
        "projectors": {53, 443, 6443, 5432, 9093},
        "front": {53, 443, 6443, 5432, 9093},
    }
    engine = rendered["StatefulSet", "jobledger-engine"]["spec"]["template"]
    assert engine["spec"]["automountServiceAccountToken"] is False
    chosen = rendered["NetworkPolicy", "jobledger-engine"]["spec"]["podSelector"]["matchLabels"]
    assert chosen.items() <= engine["metadata"]["labels"].items()


@pytest.mark.parametrize("values", [{}, *(value.values[0] for value in VALUES)])
def test_selectors_are_what_they_have_always_been(helm: Cluster, values: Manifest, tmp_path: Path) -> None:
    made = workloads(with_values(helm, values, tmp_path))
    made.pop("jobledger-topics", None)
    for name, workload in made.items():
        assert workload["spec"]["selector"]["matchLabels"] == {
            "app.kubernetes.io/name": "jobledger",
            "app.kubernetes.io/instance": "jobledger",
            "app.kubernetes.io/component": name.removeprefix("jobledger").removeprefix("-") or "controller",
        }
        assert "helm.sh/chart" in workload["metadata"]["labels"]
        assert "helm.sh/chart" not in workload["spec"]["template"]["metadata"]["labels"]


def test_labels_that_select_pods_are_refused_as_labels_of_pods(helm: Cluster) -> None:
    with pytest.raises(CommandFailed, match="podLabels"):
        charted(helm, r"--set=podLabels.app\.kubernetes\.io/name=x")


def test_a_service_monitor_reads_every_pod_where_it_is_asked_for(helm: Cluster) -> None:
    assert not [manifest for manifest in charted(helm) if manifest["kind"].endswith("Monitor")]
    objects = by_name(charted(helm, "--set=monitoring.enabled=true,monitoring.serviceMonitor=true"))
    assert ("PodMonitor", "jobledger") not in objects
    service = objects["Service", "jobledger-metrics"]
    wanted = objects["ServiceMonitor", "jobledger"]["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    assert not wanted.items() <= objects["Service", "jobledger"]["metadata"]["labels"].items()
    assert set(service["spec"]["selector"]) == {"app.kubernetes.io/name", "app.kubernetes.io/instance"}


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_test_of_the_chart_ends_well_if_the_front_is_ready(helm: Cluster, status: int, code: int) -> None:
    said = helm.helm("template", "jobledger", str(CHART), "--show-only=templates/tests/ready.yaml")
    (pod,) = documents(said)
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    python, *command, there = pod["spec"]["containers"][0]["command"]
    assert (python, there) == ("python", "jobledger:8080")

    class Front(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()
            self.wfile.write(b"said")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Front) as server, ThreadPoolExecutor(1) as thread:
        thread.submit(server.serve_forever)
        asked = [sys.executable, *command, f"127.0.0.1:{server.server_port}"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        server.shutdown()
    assert (done.returncode, done.stdout) == (code, f"{status} said\n")


@pytest.mark.parametrize("values", VALUES)
def test_the_api_server_takes_what_other_values_make(helm: Cluster, values: Manifest, tmp_path: Path) -> None:
    with namespace(helm):
        objects = with_values(helm, values, tmp_path)
        given = [manifest for manifest in objects if manifest["kind"] != "CustomResourceDefinition"]
        answer = helm.answer("create", "--dry-run=server", "--validate=strict", "-f", "-", input=given)
        assert answer.returncode == 0, answer.stderr
        assert "Warning" not in answer.stderr


def test_a_release_is_upgraded_to_other_values(helm: Cluster, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(json.dumps({**OF_ROLES, "nodeSelector": {}}), encoding="utf-8")
    with helm_install(helm, WITH_KAFKA):
        there = ("--namespace", NAMESPACE, f"--values={tmp_path}/values.yaml")
        helm.helm("upgrade", "jobledger", str(CHART), *there, "--set=kafka.applyTopics=false")
        engine = helm.get("statefulset", "jobledger-engine", "-n", NAMESPACE)
        assert engine["spec"]["template"]["metadata"]["labels"]["team"] == "core"


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
def helm_install(cluster: Cluster, options: tuple[str, ...]) -> Iterator[None]:
    """Installed and uninstalled as docs/operations.md says, into a restricted namespace."""
    with namespace(cluster):
        cluster.helm("install", "jobledger", str(CHART), "--namespace", NAMESPACE, *options)
        try:
            yield
        finally:
            cluster.helm("uninstall", "jobledger", "--namespace", NAMESPACE, "--wait")
        assert left(cluster, charted(cluster, *options)) == []


Install = Callable[[Cluster], AbstractContextManager[None]]

INSTALLS = [
    pytest.param(partial(kustomize_install, folder=TOGETHER), ("",), id="kustomize"),
    pytest.param(partial(kustomize_install, folder=SPLIT), ROLES, id="kustomize-split"),
    pytest.param(partial(kustomize_install, folder=IN_KAFKA), ROLES, id="kustomize-kafka"),
    pytest.param(partial(helm_install, options=()), ("",), id="helm"),
    pytest.param(partial(helm_install, options=BY_ROLE), ROLES, id="helm-split"),
    pytest.param(partial(helm_install, options=WITH_KAFKA), ROLES, id="helm-kafka"),
]


@pytest.mark.parametrize(("overlay", "options"), WAYS)
def test_the_api_server_takes_every_object_as_it_is(
    helm: Cluster, overlay: Path, options: tuple[str, ...]
) -> None:
    with namespace(helm):
        for objects in (kustomized(helm, overlay), charted(helm, *options)):
            command = ("create", "--dry-run=server", "--validate=strict", "-f", "-")
            given = [
                manifest
                for manifest in objects
                if manifest["kind"] not in ("Namespace", "CustomResourceDefinition")
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
        names = {f"jobledger-{role}" if role else "jobledger" for role in roles}
        made = helm.get("deployments,statefulsets", "-n", NAMESPACE)["items"]
        assert set(map(name_of, made)) == names
        for item in made:
            named = f"{item['kind'].lower()}/{name_of(item)}"
            helm.kubectl("rollout", "status", named, "-n", NAMESPACE, "--timeout=150s", within=240)
        enforced = helm.get("namespace", NAMESPACE)["metadata"]["labels"]
        assert RESTRICTED.items() <= enforced.items()
        pods = helm.get("pods", "-n", NAMESPACE)["items"]
        wanted = sum(item["spec"]["replicas"] for item in made)
        assert [pod["status"]["phase"] for pod in pods] == ["Running"] * wanted
        if helm.get("persistentvolumeclaims", "-n", NAMESPACE)["items"]:
            assert len({pod["spec"]["nodeName"] for pod in pods}) == 1
        else:
            assert {"jobledger-engine-0", "jobledger-engine-1"} < set(map(name_of, pods))
        serving = sorted(pod for pod in map(name_of, pods) if not roles[0] or "-front-" in pod)
        wait_for("the Service finds its pods", lambda: sorted(endpoints(helm)) == serving)
        budgets = helm.get("poddisruptionbudgets", "-n", NAMESPACE)["items"]
        assert set(map(name_of, budgets)) == names
        for name in names:
            helm.kubectl("wait", f"poddisruptionbudget/{name}", "-n", NAMESPACE, EVICTABLE, "--timeout=90s")
    assert set(crds(helm)) == before


def test_the_chart_has_the_topics_made_before_any_controller_starts(
    helm: Cluster, simulated: ControlPlane
) -> None:
    options = (*WITH_KAFKA, "--set=kafka.applyTopics=true")
    with ThreadPoolExecutor(1) as thread, ExitStack() as stack:
        installing = thread.submit(stack.enter_context, helm_install(helm, options))
        jobs = ("pods", "-n", NAMESPACE, "-l", "batch.kubernetes.io/job-name=jobledger-topics")
        (pod,) = wait_for("the hook's pod", lambda: helm.get(*jobs)["items"])
        assert helm.get("deployments,statefulsets", "-n", NAMESPACE)["items"] == []
        helm.kubectl("annotate", "pod", name_of(pod), "-n", NAMESPACE, f"{SIMULATED}run-seconds=0")
        installing.result(120)
        assert len(helm.get("deployments,statefulsets", "-n", NAMESPACE)["items"]) == len(ROLES)
        assert helm.get("jobs", "-n", NAMESPACE)["items"] == []


def name_of(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])


def endpoints(cluster: Cluster) -> list[str]:
    """The pods behind the Service."""
    slices = cluster.get("endpointslices", "-n", NAMESPACE, "-l", "kubernetes.io/service-name=jobledger")[
        "items"
    ]
    addresses = [endpoint for part in slices for endpoint in part["endpoints"] or ()]
    return [address["targetRef"]["name"] for address in addresses if address["conditions"]["ready"]]


def crds(cluster: Cluster) -> list[str]:
    """Names of all kinds that were installed."""
    return [
        name_of(customresourcedefinition)
        for customresourcedefinition in cluster.get("customresourcedefinitions")["items"]
    ]


def test_the_crds_of_the_chart_are_those_of_the_repository(helm: Cluster) -> None:
    shown = documents(helm.helm("show", "crds", str(CHART)))
    kept = documents(helm.kubectl("kustomize", str(DEPLOY.parent / "crds")))
    assert by_name(shown) == by_name(kept)


# ---- what runs -----------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
@pytest.mark.parametrize("split", [False, True], ids=["together", "split"])
def test_the_containers_commands_start_and_become_ready(helm: Cluster, split: bool, tmp_path: Path) -> None:
    with helm.namespace("jobs") as jobs, ExitStack() as stack:
        rendered = charted(helm, f"--set=splitRoles={str(split).lower()},namespaces={{{jobs}}}")
        processes = {}
        for name, workload in workloads(rendered).items():
            folder = tmp_path / name
            folder.mkdir()
            _, *arguments = as_here(workload, tmp_path)
            process = ControllerProcess(helm, folder, *arguments, **environment_of(workload))
            process.real = True
            processes[name] = stack.enter_context(process)
        assert len(processes) == (4 if split else 1)
        all_ready(processes)
        assert (tmp_path / "ledger.db").exists()
        for process in processes.values():
            assert process.stop() == 0, process.said


@pytest.mark.timeout(600)
@pytest.mark.parametrize("split", [False, True], ids=["together", "split"])
def test_with_kafka_the_containers_commands_start_and_become_ready(
    helm: Cluster,
    postgres: Postgres,
    postgres_database: str,
    secure_kafka: Kafka,
    *,
    split: bool,
    tmp_path: Path,
) -> None:
    with helm.namespace("jobs") as jobs, ExitStack() as stack:
        admin = {"username": "admin", "password": "secret-admin"}
        secrets = {
            "user": admin,
            "ca": {"ca.crt": (secure_kafka.home / "ca.crt").read_text(encoding="utf-8")},
            "database": {"password": PASSWORD},
        }
        database = postgres_database.rpartition("/")[2]
        history = f"history.url=postgresql://{USER}@127.0.0.1:{postgres.port}/{database}"
        options = (
            f"--set=splitRoles={str(split).lower()},namespaces={{{jobs}}},kafka.log=kafka://{secure_kafka.servers}",
            "--set=kafka.applyTopics=true,kafka.username.secret=user,kafka.password.secret=user,kafka.ca.secret=ca",
            r"--set=settings.kafka\.protocol=SASL_SSL,settings.kafka\.mechanism=PLAIN,settings.kafka\.partitions=2",
            f"--set={history},history.password.secret=database",
        )
        made = workloads(charted(helm, *options))
        topics = made.pop("jobledger-topics")
        environment = {name: value for name, value in helm.environment.items() if not name.startswith(PREFIX)}
        environment |= with_files(topics, secrets, tmp_path)
        applied = program.run(*as_here(topics, tmp_path), env=environment)
        assert applied.returncode == 0, applied.stderr
        processes = {}
        for name, workload in made.items():
            folder = tmp_path / name
            folder.mkdir()
            _, *arguments = as_here(workload, tmp_path)
            process = ControllerProcess(helm, folder, *arguments, **with_files(workload, secrets, tmp_path))
            process.real = True
            processes[name] = stack.enter_context(process)
        all_ready(processes)
        tables = "SELECT to_regclass('history_jobs')"
        wait_for("the history has its tables", lambda: postgres.sql(tables, database) == "history_jobs")
        for process in processes.values():
            assert process.stop() == 0, process.said


def all_ready(processes: Mapping[str, ControllerProcess]) -> None:
    """In the end; up to four start at once, perhaps on a busy machine."""
    for name, process in processes.items():
        wait_for(f"{name} is ready", partial(is_ready, process), within=150)


def as_here(workload: Manifest, folder: Path) -> list[str]:
    """The arguments of its container, with `folder` in the place of the volume with the log."""
    container = container_of(workload)
    places = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "log"]
    arguments: list[str] = container["args"]
    assert ("sqlite:" in " ".join(arguments)) == bool(places)
    for place in places:
        assert place in " ".join(arguments)
        arguments = [argument.replace(place, str(folder)) for argument in arguments]
    return arguments


def with_files(workload: Manifest, secrets: Mapping[str, Mapping[str, str]], folder: Path) -> dict[str, str]:
    """Its environment, once `folder` holds the files that its volume takes from Secrets."""
    values = environment_of(workload, secrets)
    places = {mount["name"]: mount["mountPath"] for mount in container_of(workload)["volumeMounts"]}
    for mounted in workload["spec"]["template"]["spec"]["volumes"]:
        for source in (source["secret"] for source in mounted.get("projected", {}).get("sources", ())):
            for item in source["items"]:
                (folder / item["path"]).write_text(secrets[source["name"]][item["key"]], encoding="utf-8")
            place = places[mounted["name"]]
            values = {name: value.replace(place, str(folder)) for name, value in values.items()}
    return values


def is_ready(process: ControllerProcess) -> bool:
    """It answers the kubelet's questions with yes."""
    assert process.is_running, process.said
    url = address(process)
    try:
        return url is not None and all(PLAIN.get(url + path).is_success for path in ("/healthz", "/readyz"))
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
        answers = [(role, verb, what, may(helm, role, verb, what, team)) for role, verb, what, _ in USERS]
        assert answers == USERS
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
