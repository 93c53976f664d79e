"""Rights are what controllers ask for, no less and no more: compared with the audit log of an API server.

Each role runs as a process of its own, with the token of its own account, while jobs live through everything that
makes a controller ask for something. What users do meanwhile they do as the administrator, or through the front.
"""

import asyncio
import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, NamedTuple

import httpx
import pytest

from jobledger.generate.rbac import GRANTS, LEASE, SWITCHED_GRANTS
from jobledger.wiring.roles import Role
from k8s_bridge.apiserver.access import ApiServerChoice
from k8s_bridge.apiserver.api import MERGE, Api
from statemachine.kinds import SERVED
from tests.harness import Cluster, ControlPlane, wait_for
from tests.support.accounts import ACCOUNTS, in_processes, process, rights
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, conditions, job, replica_type
from tests.support.cluster_people import token_of
from tests.support.deployment import DEPLOY, address, charted, kustomized
from tests.unit.kinds import beam
from tests.unit.kinds.build import API

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PAUSES: Final = 9
"""At most: one or two are enough, as a rule, for a status to be refused over an edit."""

OWNED: Final = "pods,services,configmaps,secrets,podgroups,tensorboards"


PLURALS: Final = frozenset(names.plural for names in SERVED)


class Asked(NamedTuple):
    """What an API server was asked for, as rules name it."""

    group: str
    resource: str
    verb: str


def of_any_kind(resource: str) -> str:
    """`resource`, where it is one of jobs, without which: what is granted of one kind is granted of all."""
    plural, _, rest = resource.partition("/")
    return resource if plural not in PLURALS else "/".join(filter(None, ("jobs", rest)))


def granted(*roles: Role) -> set[Asked]:
    """Everything that the rules of the roles allow."""
    return {
        Asked(rule.group, of_any_kind(resource), verb)
        for role in roles
        for rules in GRANTS[role].values()
        for rule in rules
        for resource in rule.resources
        for verb in rule.verbs
    }


@pytest.fixture
def cluster(audited_plane: ControlPlane) -> ControlPlane:
    """A control plane with an audit log, and all kinds."""
    audited_plane.forget_audit()
    return audited_plane


# ---- what users do -----------------------------------------------------------------------------------------------


class Front:
    """The HTTP API of a controller, as somebody with a token calls it about jobs of a namespace."""

    def __init__(self, http: httpx.Client, namespace: str) -> None:
        self._http, self.namespace = http, namespace

    def ask(self, method: str, path: str, **more: Any) -> str:
        """What it answers. Raises HTTPStatusError."""
        return self._http.request(method, path, **more).raise_for_status().text

    def of(self, name: str, rest: str = "") -> str:
        """The path of a job, or of something about it."""
        return f"/v1/jobs/{self.namespace}/{name}{rest}"

    def knows(self, name: str) -> bool:
        """It has read of the job in the log."""
        return self._http.get(self.of(name, "/why")).is_success


@contextmanager
def front_of(process: ControllerProcess, token: str, namespace: str) -> Iterator[Front]:
    """The front of a process, for callers with the token."""
    url = wait_for("the address of the front", lambda: address(process))
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=20) as http:
        yield Front(http, namespace)


def lead_a_life(jobs: Jobs) -> None:
    """A job starts, fails out of sight of the watches, is restarted, paused, resumed, and ends well."""
    jobs.apply(job("life", replica_type("worker", 2)))
    jobs.wait("life", "phase", "Running", within=150)  # processes have just been started
    jobs.kubectl("label", f"pod/{jobs.base('life')}-worker-1", "tensorstack.dev/owner-kind-")
    jobs.end(f"{jobs.base('life')}-worker-1", 137)
    jobs.wait("life", "backoffCount", 1)
    jobs.wait("life", "aggregate.running", 2)
    with edited_again_and_again(jobs, "life") as refused_a_status:
        for _ in range(PAUSES):
            jobs.patch("life", runMode={"pause": {"enabled": True}})
            jobs.wait("life", "phase", "Paused")
            jobs.wait("life", "aggregate.deleted", 2)
            jobs.patch("life", runMode={"pause": {"enabled": False}})
            jobs.wait("life", "aggregate.running", 2)
            if refused_a_status.is_set():
                break
    for index in (1, 0):
        jobs.end(f"{jobs.base('life')}-worker-{index}", 0)
    jobs.kubectl("wait", "pj/life", "--for=condition=Completed", "--timeout=90s")
    jobs.event_message("life", "Succeeded")


def have_neighbours(cluster: ControlPlane, jobs: Jobs) -> None:
    """A job has a PodGroup and a TensorBoard, loses labels, is scaled, gets another TensorBoard, and is deleted.

    Another has SSH keys and a hostfile, and a third a Job of batch/v1, whose pods nobody of ours deletes.
    """
    bounds = {"enabled": True, "minReplicas": 1, "maxReplicas": 3, "expectedReplicas": 2}
    worker = replica_type("worker", 1, container={"args": ["train.py"]})
    more = {"torchrunConfig": {"enabled": True}, "scheduler": {"t9kScheduler": {"queue": "default"}}}
    jobs.apply(job("big", worker, elastic=bounds, tensorboardSpec={"image": "one"}, **more))
    jobs.wait("big", "aggregate.pending", 2)
    jobs.kubectl("wait", "--for=create", "podgroup/big", f"tensorboard/{jobs.base('big')}", "--timeout=90s")
    labelled = (f"service/{jobs.base('big')}", "podgroup/big")
    jobs.kubectl("label", *labelled, "tensorstack.dev/owner-kind-")
    for label in labelled:
        wait_for(f"{label} has its label", partial(has_owner_kind, jobs, label))
    jobs.kubectl("scale", "pj/big", "--replicas=1")
    jobs.kubectl("wait", "--for=delete", f"pod/{jobs.base('big')}-worker-1", "--timeout=90s")
    jobs.patch("big", tensorboardSpec={"image": "two"})
    image = "--for=jsonpath={.spec.image}=two"
    jobs.kubectl("wait", f"tensorboard/{jobs.base('big')}", image, "--timeout=90s")
    over_ssh = Jobs(cluster, jobs.namespace, "dj")
    over_ssh.apply(ssh_job("ssh", elastic={**bounds, "expectedReplicas": 1}))
    over_ssh.wait("ssh", "phase", "Running")
    over_ssh.kubectl("scale", "dj/ssh", "--replicas=2")
    over_ssh.wait("ssh", "aggregate.running", 2)
    submitted = Jobs(cluster, jobs.namespace, "bj")
    submitted.apply(
        {"apiVersion": API, "kind": "BeamJob", "metadata": {"name": "beam"}, "spec": beam.spec(1)}
    )
    submitted.kubectl("wait", "--for=create", "job/beam-batchjob", "--timeout=90s")
    submitted.kubectl("label", "job/beam-batchjob", "tensorstack.dev/owner-kind-")
    wait_for("the Job has its label", partial(has_owner_kind, submitted, "job/beam-batchjob"))
    cluster.kill("kube-controller-manager")  # its garbage collector would be quicker, now and then
    jobs.delete("big")
    over_ssh.delete("ssh")
    submitted.delete("beam")
    mine = ("-n", jobs.namespace, "-l", "tensorstack.dev/owner-name in (big, ssh)")
    wait_for("nothing is left of them", lambda: not cluster.get(OWNED, *mine)["items"])
    wait_for("nor a Job", lambda: not cluster.get("jobs.batch", "-n", jobs.namespace)["items"])
    cluster.start()


def ssh_job(name: str, **spec: Any) -> dict[str, Any]:
    """A job whose replicas find each other over SSH."""
    pod = {"containers": [{"name": "worker", "image": "none"}]}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "DeepSpeedJob",
        "metadata": {"name": name},
        "spec": {
            "config": {"run": {"python": "train.py"}},
            "worker": {"template": {"spec": pod}},
            **spec,
        },
    }


def look_at_neighbours(jobs: Jobs, front: Front) -> None:
    """A user looks at the pages of a job with a PodGroup, and a TensorBoard that answers, in the console."""
    place = {"scheduler": {"t9kScheduler": {"queue": "default"}}, "tensorboardSpec": {"image": "one"}}
    jobs.apply(job("seen", **place))
    jobs.wait("seen", "aggregate.pending", 1)  # nobody here binds pods of that scheduler
    jobs.kubectl("wait", "--for=create", f"tensorboard/{jobs.base('seen')}", "--timeout=90s")
    for what, status in (
        ("podgroup/seen", {"phase": "Inqueue"}),
        (f"tensorboard/{jobs.base('seen')}", {"phase": "Running", "url": "https://board.example/seen"}),
    ):
        patch = json.dumps({"status": status})
        jobs.kubectl("patch", what, "--subresource=status", "--type=merge", "-p", patch)
    page = f"/jobs/{jobs.namespace}/PyTorchTrainingJob/seen"
    wait_for("the TensorBoard's link", lambda: "https://board.example/seen" in front.ask("GET", page))
    assert "<dd>Inqueue</dd>" in front.ask("GET", page)
    assert jobs.base("seen") in front.ask("GET", f"{page}/replicas/worker-0")
    jobs.delete("seen")


def has_owner_kind(jobs: Jobs, what: str) -> bool:
    labels = jobs.cluster.get("-n", jobs.namespace, what)["metadata"].get("labels") or {}
    return "tensorstack.dev/owner-kind" in labels


def use_the_front(jobs: Jobs, front: Front, log: Path) -> None:
    """A user hands a job in, looks at it from all sides, changes it and deletes it, all through the controller."""
    handed = job("handed", replica_type("worker", 1, container={"env": [{"name": "A", "value": "b"}]}))
    handed["metadata"]["namespace"] = jobs.namespace
    front.ask("POST", "/v1/jobs", json=handed)
    jobs.wait("handed", "phase", "Running")
    pod = f"{jobs.base('handed')}-worker-0"
    log.write_text("2026-01-01T00:00:00.000000000Z stdout F step 1\n", encoding="utf-8")
    shown = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Logs", "metadata": {"name": pod}}
    jobs.kubectl("create", "-f", "-", input=shown | {"spec": {"logs": [{"logsFile": str(log)}]}})
    wait_for("the front knows the job", lambda: front.knows("handed"))
    front.ask("GET", "/v1/jobs", params={"namespace": jobs.namespace})
    for rest in ("", "/events", "/history"):
        front.ask("GET", front.of("handed", rest))
    assert front.ask("GET", front.of("handed", "/logs")) == "step 1\n"
    # its form offers claims and queues, and for its variable keys of ConfigMaps
    front.ask("GET", f"/jobs/{jobs.namespace}/PyTorchTrainingJob/handed/clone")
    front.ask("POST", front.of("handed", "/pause"))
    jobs.wait("handed", "phase", "Paused")
    front.ask("POST", front.of("handed", "/resume"))
    jobs.wait("handed", "phase", "Running")
    front.ask("DELETE", front.of("handed"))
    jobs.kubectl("wait", "--for=delete", "pj/handed", "--timeout=90s")


def take_names(jobs: Jobs, projectors: ControllerProcess) -> None:
    """Objects that nobody of ours made have names that jobs need: whose they are, has to be asked."""
    projectors.stop()
    jobs.apply(
        job("group", scheduler={"t9kScheduler": {"queue": "default"}}),
        job("service"),
        job("pod", tensorboardSpec={"image": "none"}),
        ssh_job("hosts"),
    )
    bases = {name: jobs.base(name) for name in ("group", "service", "pod")}
    stranger = {"containers": [{"name": "main", "image": "none"}]}
    port = {"ports": [{"port": 80}]}
    strangers = [
        ("scheduler.tensorstack.dev/v1beta1", "PodGroup", "group", {"minMember": 1}),
        ("v1", "Service", bases["service"], port),
        ("tensorstack.dev/v1beta1", "TensorBoard", bases["pod"], {}),
        ("v1", "Pod", f"{bases['pod']}-worker-0", stranger),
    ]
    for version, kind, name, spec in strangers:
        meta = {"name": name}
        jobs.kubectl(
            "create", "-f", "-", input={"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
        )
    jobs.kubectl("create", "configmap", "hosts-hostfile")
    projectors.start()
    for kind, name in (*(("pj", base) for base in bases), ("dj", "hosts")):
        Jobs(jobs.cluster, jobs.namespace, kind).until(
            name, "its name is taken", lambda status: reason(status, "Initialized") == "NameConflict"
        )


def reason(status: dict[str, Any], condition: str) -> str:
    return conditions(status).get(condition, ("", "", ""))[1]


@contextmanager
def edited_again_and_again(
    jobs: Jobs, name: str, api: str = "batch.tensorstack.dev/v1beta1", plural: str = "pytorchtrainingjobs"
) -> Iterator[Event]:
    """Somebody changes the job until a status was refused, as the version that it was to be written over is gone.

    The event is set when that was so.
    """
    left, refused_a_status = Event(), Event()
    path = f"/apis/{api}/namespaces/{jobs.namespace}/{plural}/{name}"

    async def edit_it() -> None:
        async with await Api.connect(ApiServerChoice(jobs.cluster.kubeconfig)) as session:
            for count in itertools.count():
                if count % 25 == 24 and had_a_status_refused(jobs.cluster, plural, name):
                    refused_a_status.set()
                if left.is_set() or refused_a_status.is_set():
                    return
                edit = {"metadata": {"annotations": {"edit": str(count)}}}
                await session.call("PATCH", path, body=edit, content=MERGE)
                await asyncio.sleep(0.005)

    editing = Thread(target=lambda: asyncio.run(edit_it()))
    editing.start()
    try:
        yield refused_a_status
    finally:
        left.set()
        editing.join()


def had_a_status_refused(cluster: Cluster, plural: str, name: str) -> bool:
    """Somebody tried to write a status of the job, and was refused. The audit log has it."""
    assert isinstance(cluster, ControlPlane)
    return any(
        (place.get("resource"), place.get("name"), place.get("subresource")) == (plural, name, "status")
        for event in cluster.audit_log()
        if event.get("responseStatus", {}).get("code", 200) >= 400 and (place := event.get("objectRef", {}))
    )


# ---- the comparison ----------------------------------------------------------------------------------------------


def asked(cluster: ControlPlane, account: str) -> list[dict[str, Any]]:
    """What an account has asked for; not the addresses that everybody may look at (`system:discovery`)."""
    events = [
        manifest for manifest in cluster.audit_log() if manifest["user"]["username"] == ACCOUNTS + account
    ]
    return [event for event in events if "resource" in event.get("objectRef", {})]


def as_rules_name_it(events: list[dict[str, Any]]) -> set[Asked]:
    """What was asked for. A watch that begins with what exists counts as a list: some servers are asked for one."""
    accesses: set[Asked] = set()
    for event in events:
        place = event["objectRef"]
        resource = "/".join(filter(None, (place["resource"], place.get("subresource"))))
        verbs = {event["verb"]} | ({"list"} if "sendInitialEvents=true" in event["requestURI"] else set())
        accesses |= {Asked(place.get("apiGroup", ""), of_any_kind(resource), verb) for verb in verbs}
    return accesses


def drive(
    cluster: ControlPlane, team: str, projectors: ControllerProcess, front: ControllerProcess, folder: Path
) -> None:
    """Everything happens that makes a controller ask for something."""
    cluster.kubectl("create", "serviceaccount", "user", "-n", team)
    user = f"--serviceaccount={team}:user"
    cluster.kubectl("create", "rolebinding", "user", "--clusterrole=edit", user, "-n", team)
    groups = {"queues": "scheduler", "podgroups": "scheduler", "tensorboards": ""}
    neighbours = [f"{name}.{part}.tensorstack.dev".replace("..", ".") for name, part in groups.items()]
    what = f"--resource={','.join(neighbours)}"
    cluster.kubectl("create", "role", "neighbours", "--verb=get,list", what, "-n", team)
    cluster.kubectl("create", "rolebinding", "neighbours", "--role=neighbours", user, "-n", team)
    jobs = Jobs(cluster, team)
    lead_a_life(jobs)
    have_neighbours(cluster, jobs)
    with front_of(front, token_of(cluster, "user", team), team) as opened:
        use_the_front(jobs, opened, folder / "pod.log")
        look_at_neighbours(jobs, opened)
    take_names(jobs, projectors)


def run_whole(cluster: ControlPlane, team: str, folder: Path, *options: str) -> None:
    """The same with one process."""
    with process(cluster, "jobledger", folder, *options) as everything:
        drive(cluster, team, everything, everything, folder)
        assert everything.stop() == 0, everything.said


def refused(events: list[dict[str, Any]], team: str) -> list[str]:
    """What was forbidden, but in the namespaces of tests before: while they end nothing may be made in them."""
    return [
        f"{event['verb']} {event['requestURI']}"
        for event in events
        if event["responseStatus"]["code"] == 403 and event["objectRef"].get("namespace", team) == team
    ]


@pytest.mark.slow
def test_each_role_is_granted_what_it_asks_for_and_nothing_else(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        stack.enter_context(rights(cluster, kustomized(cluster, DEPLOY / "overlays" / "roles-split")))
        team = stack.enter_context(cluster.namespace("team"))
        processes = in_processes(cluster, tmp_path)
        for process in processes.values():
            stack.enter_context(process)
        drive(cluster, team, processes[Role.PROJECTORS], processes[Role.FRONT], tmp_path)
        for process in processes.values():
            assert process.stop() == 0, process.said
    events = {role: asked(cluster, f"jobledger-{role}") for role in Role}
    for role in Role:
        assert refused(events[role], team) == []
        assert as_rules_name_it(events[role]) == granted(role), role
    leases = [
        event["objectRef"] for event in events[Role.BRIDGE] if event["objectRef"]["resource"] == "leases"
    ]
    assert {lease.get("name", LEASE) for lease in leases} == {LEASE}


@pytest.mark.slow
def test_one_process_with_all_roles_is_refused_nothing(cluster: ControlPlane, tmp_path: Path) -> None:
    before = len(asked(cluster, "jobledger"))
    objects = kustomized(cluster, DEPLOY / "overlays" / "default")
    with cluster.namespace("team") as team, rights(cluster, objects):
        run_whole(cluster, team, tmp_path)
    events = asked(cluster, "jobledger")[before:]
    assert refused(events, team) == []
    assert as_rules_name_it(events) <= granted(*Role)


@pytest.mark.slow
def test_a_process_for_some_namespaces_needs_rights_in_these_alone(
    cluster: ControlPlane, helm: Cluster, tmp_path: Path
) -> None:
    before = len(asked(cluster, "jobledger"))
    with cluster.namespace("team") as team, rights(cluster, charted(helm, f"--set=namespaces={{{team}}}")):
        run_whole(cluster, team, tmp_path, f"--namespaces={team}")
    assert refused(asked(cluster, "jobledger")[before:], team) == []


# ---- kinds that have to be switched on ---------------------------------------------------------------------------

TORCH: Final = "pytorchjob.kubeflow.org"

AUTOSCALED: Final = {"minReplicas": 1, "maxReplicas": 3, "metrics": [{"type": "Resource", "resource": {}}]}
AUTOSCALED["metrics"][0]["resource"] = {  # type: ignore[index]
    "name": "cpu",
    "target": {"type": "Utilization", "averageUtilization": 80},
}


def pytorchjob(name: str, **spec: Any) -> dict[str, Any]:
    """A PyTorchJob of one Worker."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"template": template}}, **spec},
    }


def lead_the_life_of_a_pytorchjob(jobs: Jobs, projectors: ControllerProcess) -> None:
    """It is autoscaled, changed, suspended, taken for somebody else's, ends, and expires."""
    suspended = {"suspend": True, "ttlSecondsAfterFinished": 1}
    jobs.apply(pytorchjob("torch", elasticPolicy=AUTOSCALED, runPolicy=suspended))
    jobs.kubectl("wait", f"{TORCH}/torch", "--for=condition=Suspended", "--timeout=120s")
    projectors.stop()
    stranger = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
        "maxReplicas": 1,
    }
    meta, version = {"name": "torch"}, "autoscaling/v2"
    autoscaler = {
        "apiVersion": version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": meta,
        "spec": stranger,
    }
    jobs.kubectl("create", "-f", "-", input=autoscaler)
    projectors.start()
    patch_torch(jobs, runPolicy={"suspend": False})
    jobs.event_message("torch", "FailedCreateHorizontalPodAutoscaler")
    jobs.kubectl("delete", "hpa", "torch")
    jobs.kubectl("wait", f"{TORCH}/torch", "--for=condition=Running", "--timeout=90s")
    with edited_again_and_again(jobs, "torch", "kubeflow.org/v1", "pytorchjobs") as refused_a_status:
        for _ in range(PAUSES):
            patch_torch(jobs, runPolicy={"suspend": True})
            jobs.kubectl("wait", f"{TORCH}/torch", "--for=condition=Suspended", "--timeout=90s")
            patch_torch(jobs, runPolicy={"suspend": False})
            jobs.kubectl("wait", f"{TORCH}/torch", "--for=condition=Running", "--timeout=90s")
            if refused_a_status.is_set():
                break
    jobs.kubectl("wait", "--for=create", "hpa/torch", "--timeout=90s")
    patch_torch(jobs, elasticPolicy={"maxReplicas": 2})
    jobs.kubectl("wait", "hpa/torch", "--for=jsonpath={.spec.maxReplicas}=2", "--timeout=90s")
    patch_torch(jobs, runPolicy={"suspend": True})
    jobs.kubectl("wait", "--for=delete", "hpa/torch", "--timeout=90s")
    patch_torch(jobs, runPolicy={"suspend": False})
    jobs.kubectl("wait", f"{TORCH}/torch", "--for=condition=Running", "--timeout=90s")
    jobs.end("torch-worker-0", 0)
    jobs.kubectl("wait", "--for=delete", f"{TORCH}/torch", "--timeout=90s")


def patch_torch(jobs: Jobs, **spec: Any) -> None:
    jobs.kubectl("patch", f"{TORCH}/torch", "--type=merge", "-p", json.dumps({"spec": spec}))


def hand_in_a_pytorchjob(jobs: Jobs, front: Front) -> None:
    """The same through the front."""
    handed = pytorchjob("handed", runPolicy={"suspend": True})
    handed["metadata"]["namespace"] = jobs.namespace
    front.ask("POST", "/v1/jobs", json=handed)
    wait_for("the front knows the job", lambda: front.knows("handed"))
    front.ask("GET", "/v1/jobs", params={"namespace": jobs.namespace})
    front.ask("POST", front.of("handed", "/resume"))
    front.ask("DELETE", front.of("handed"))
    jobs.kubectl("wait", "--for=delete", f"{TORCH}/handed", "--timeout=90s")


@pytest.mark.slow
def test_a_kind_that_is_switched_on_is_granted_what_it_needs_there_and_nothing_else(
    cluster: ControlPlane, helm: Cluster, tmp_path: Path
) -> None:
    grants = SWITCHED_GRANTS["pytorchjobs"]
    before = {role: len(asked(cluster, f"jobledger-{role}")) for role in grants}
    with ExitStack() as stack:
        team = stack.enter_context(cluster.namespace("team"))
        wanted = ("--set=splitRoles=true", f"--set=pytorchjobs.namespaces={{{team}}}")
        stack.enter_context(rights(cluster, charted(helm, *wanted)))
        processes = in_processes(cluster, tmp_path, f"--pytorchjobs={team}")
        for process in processes.values():
            stack.enter_context(process)
        cluster.kubectl("create", "serviceaccount", "user", "-n", team)
        user = f"--serviceaccount={team}:user"
        cluster.kubectl("create", "rolebinding", "user", "--clusterrole=edit", user, "-n", team)
        jobs = Jobs(cluster, team)
        lead_the_life_of_a_pytorchjob(jobs, processes[Role.PROJECTORS])
        with front_of(processes[Role.FRONT], token_of(cluster, "user", team), team) as opened:
            hand_in_a_pytorchjob(jobs, opened)
        for process in processes.values():
            assert process.stop() == 0, process.said
    for role, rules in grants.items():
        events = asked(cluster, f"jobledger-{role}")[before[role] :]
        assert refused(events, team) == []
        allowed = {
            Asked(rule.group, of_any_kind(resource), verb)
            for rule in rules
            for resource in rule.resources
            for verb in rule.verbs
        }
        groups = {access.group for access in allowed}
        assert {access for access in as_rules_name_it(events) if access.group in groups} == allowed, role
