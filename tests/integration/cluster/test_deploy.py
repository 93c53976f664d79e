"""kustomize and Helm install the same, on a real API server: admitted, scheduled, running, and gone again.

Controllers have real starts here, as in their containers; those of other tests are forked.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from jobledger.settings import PREFIX
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
)

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


def workloads(objects: list[Manifest]) -> dict[str, Manifest]:
    """What makes pods, by name."""
    return {name_of(each): each for each in objects if each["kind"] in ("Deployment", "StatefulSet", "Job")}


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
    for each in made.values():
        pod = each["spec"]["template"]["spec"]
        assert "kafka://one:9092,two:9093,three:9093/mine" in str(pod["containers"][0]["args"])
        assert "affinity" not in pod
        assert [each for each in pod.get("volumes", ()) if each["name"] != "tmp"] == []
    assert not [each for each in rendered if each["kind"] == "PersistentVolumeClaim"]
    (policy,) = [each for each in rendered if each["kind"] == "NetworkPolicy"]
    assert [each["port"] for each in policy["spec"]["egress"][-1]["ports"]] == [5432, 9092, 9093]
    told = {name for name, each in made.items() if "JOBLEDGER_HISTORY" in environment_of(each)}
    assert told == ({"jobledger-projectors", "jobledger-front"} if split else {"jobledger"})
    if split:
        engine = made["jobledger-engine"]
        assert (engine["kind"], engine["spec"]["replicas"]) == ("StatefulSet", 3)
        replicas = [
            made[f"jobledger-{role}"]["spec"]["replicas"] for role in ("bridge", "projectors", "front")
        ]
        assert replicas == [1, 2, 1]
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
        having = {name for name, each in made.items() if "jobledger-snapshot-key" in json.dumps(each)}
        told = {name for name, each in made.items() if "JOBLEDGER_SNAPSHOT_KEY_FILE" in environment_of(each)}
        wanted = {"jobledger-engine", "jobledger-projectors"} if split else {"jobledger"}
        assert having == told == wanted


def environment_of(
    workload: Manifest, secrets: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, str]:
    """The variables of its container, those from Secrets with what is in them."""
    found = {}
    for each in container_of(workload).get("env", ()):
        if "value" in each:
            found[each["name"]] = each["value"]
        else:
            asked = each["valueFrom"]["secretKeyRef"]
            found[each["name"]] = (secrets or {})[asked["name"]][asked["key"]]
    return found


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
    for name, each in ours.items():
        other = theirs[name]
        assert each["spec"]["replicas"] == other["spec"]["replicas"]
        assert container_of(each)["args"] == container_of(other)["args"]
        assert with_files(each, secrets, tmp_path) == with_files(other, secrets, tmp_path)
    assert ours["jobledger-engine"]["spec"]["replicas"] == 3


def container_of(workload: Manifest) -> Manifest:
    """The one that its pods have."""
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    return dict(container)


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
        names = {f"jobledger-{role}" if role else "jobledger" for role in roles}
        made = helm.get("deployments,statefulsets", "-n", NAMESPACE)["items"]
        assert set(map(name_of, made)) == names
        for each in made:
            named = f"{each['kind'].lower()}/{name_of(each)}"
            helm.kubectl("rollout", "status", named, "-n", NAMESPACE, "--timeout=150s", within=240)
        enforced = helm.get("namespace", NAMESPACE)["metadata"]["labels"]
        assert RESTRICTED.items() <= enforced.items()
        pods = helm.get("pods", "-n", NAMESPACE)["items"]
        wanted = sum(each["spec"]["replicas"] for each in made)
        assert [each["status"]["phase"] for each in pods] == ["Running"] * wanted
        if helm.get("persistentvolumeclaims", "-n", NAMESPACE)["items"]:
            assert len({each["spec"]["nodeName"] for each in pods}) == 1
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
def test_the_containers_commands_start_and_become_ready(helm: Cluster, split: bool, tmp_path: Path) -> None:
    with helm.namespace("jobs") as jobs, ExitStack() as stack:
        rendered = charted(helm, f"--set=splitRoles={str(split).lower()},namespaces={{{jobs}}}")
        processes = {}
        for name, each in workloads(rendered).items():
            folder = tmp_path / name
            folder.mkdir()
            _, *arguments = as_here(each, tmp_path)
            process = ControllerProcess(helm, folder, *arguments, **environment_of(each))
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
        environment = {name: each for name, each in helm.environment.items() if not name.startswith(PREFIX)}
        environment |= with_files(topics, secrets, tmp_path)
        applied = program.run(*as_here(topics, tmp_path), env=environment)
        assert applied.returncode == 0, applied.stderr
        processes = {}
        for name, each in made.items():
            folder = tmp_path / name
            folder.mkdir()
            _, *arguments = as_here(each, tmp_path)
            process = ControllerProcess(helm, folder, *arguments, **with_files(each, secrets, tmp_path))
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
    places = [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "log"]
    arguments: list[str] = container["args"]
    assert ("sqlite:" in " ".join(arguments)) == bool(places)
    for place in places:
        assert place in " ".join(arguments)
        arguments = [each.replace(place, str(folder)) for each in arguments]
    return arguments


def with_files(workload: Manifest, secrets: Mapping[str, Mapping[str, str]], folder: Path) -> dict[str, str]:
    """Its environment, once `folder` holds the files that its volume takes from Secrets."""
    found = environment_of(workload, secrets)
    places = {each["name"]: each["mountPath"] for each in container_of(workload)["volumeMounts"]}
    for mounted in workload["spec"]["template"]["spec"]["volumes"]:
        for source in (each["secret"] for each in mounted.get("projected", {}).get("sources", ())):
            for item in source["items"]:
                (folder / item["path"]).write_text(secrets[source["name"]][item["key"]], encoding="utf-8")
            place = places[mounted["name"]]
            found = {name: value.replace(place, str(folder)) for name, value in found.items()}
    return found


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
