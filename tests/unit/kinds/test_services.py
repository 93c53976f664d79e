"""The names by which pods of T9k kinds find each other (spec R4)."""

from collections.abc import Callable
from typing import Any

import pytest

from statemachine.ids import CLUSTER_DOMAIN
from statemachine.kinds.t9k.objects import OWNER_KIND, OWNER_NAME, Member, hashed_pod_name
from statemachine.kinds.t9k.services import plain_service, services_by_type
from statemachine.state import JobState
from tests.unit.kinds import build, colossal, deepspeed
from tests.unit.kinds.build import Spec, children, pods


def _torch(template: Spec, **more: Any) -> JobState:
    items = ({"type": name, "replicas": 2, "template": template} for name in ("ps", "worker"))
    return build.state(build.spec(*items), **more)


def _deepspeed(template: Spec, **more: Any) -> JobState:
    return deepspeed.state(deepspeed.spec({"replicas": 2, "template": template}), **more)


def _colossal(template: Spec, **more: Any) -> JobState:
    workers = {"replicas": 2, "command": ["train.py"], "template": template}
    return colossal.state(colossal.spec(workers), **more)


Make = Callable[..., JobState]

MAKES: dict[str, tuple[Make, str, dict[str, int]]] = {
    "PyTorchTrainingJob": (_torch, "mnist-7ac1b", {"pytorch-port": 23456}),
    "DeepSpeedJob": (_deepspeed, "gpt-pods", {"ssh": 22, "master": 29500}),
    "ColossalAIJob": (_colossal, "gpt-pods", {"ssh": 22, "master": 29500}),
}
EVERY = pytest.mark.parametrize("kind", MAKES)


def made(kind: str, template: Spec | None = None, **more: Any) -> JobState:
    """A job of several pods; `template` is that of all that have one."""
    container = {"name": "worker", "image": "i", "args": ["train.py"]}
    make: Make = MAKES[kind][0]
    return make({"spec": {"containers": [container], **(template or {})}}, **more)


def services(job: JobState) -> list[dict[str, Any]]:
    """The job's Services."""
    return [child for child in children(job) if child["kind"] == "Service"]


@EVERY
def test_all_pods_share_a_headless_service_that_answers_before_they_are_ready(kind: str) -> None:
    job, (_, name, ports) = made(kind), MAKES[kind]
    (service,) = services(job)
    assert service["metadata"]["name"] == job.running_plan.service == name
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert {port["name"]: port["port"] for port in service["spec"]["ports"]} == ports
    assert service["spec"]["selector"] == {OWNER_NAME: job.name, OWNER_KIND: kind}
    for pod in pods(job).values():
        assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()


@EVERY
def test_the_first_label_of_a_pod_s_name_in_dns_is_its_own_name(kind: str) -> None:
    job = made(kind, namespace="team", settings={CLUSTER_DOMAIN: "k8s.example"})
    assert len(pods(job)) > 2 or kind == "DeepSpeedJob"
    for pod in pods(job).values():
        assert pod["spec"]["hostname"] == pod["metadata"]["name"]
        assert pod["spec"]["subdomain"] == MAKES[kind][1]
        assert pod["spec"]["dnsConfig"] == {"searches": [f"{MAKES[kind][1]}.team.svc.k8s.example"]}


@EVERY
def test_the_service_is_called_like_no_pod(kind: str) -> None:
    """Else the pod's bare name would lead to the Service: its namespace is searched first."""
    job = made(kind)
    assert job.running_plan.service not in {pod["metadata"]["name"] for pod in pods(job).values()}


@pytest.mark.parametrize("job", ["a", "a-launcher", "a-worker-0", "pods"])
def test_no_name_of_a_job_makes_its_service_one_of_a_pod_of_another(job: str) -> None:
    assert not plain_service(job).endswith("-launcher")
    assert not plain_service(job)[-1].isdigit()


def test_what_a_template_says_of_dns_stays_behind_ours() -> None:
    own = {
        "nameservers": ["10.0.0.1"],
        "searches": ["corp.example", "mnist-7ac1b.demo.svc.cluster.local"],
        "options": [{"name": "ndots", "value": "2"}],
    }
    job = made("PyTorchTrainingJob", {"dnsConfig": own, "dnsPolicy": "None"})
    for pod in pods(job).values():
        wanted = ["mnist-7ac1b.demo.svc.cluster.local", "corp.example"]
        assert pod["spec"]["dnsConfig"] == {**own, "searches": wanted}
        assert pod["spec"]["dnsPolicy"] == "None"


def test_a_template_s_own_host_name_would_be_that_of_all_its_pods() -> None:
    job = made("PyTorchTrainingJob", {"hostname": "trainer", "subdomain": "own"})
    assert {pod["spec"]["hostname"] for pod in pods(job).values()} == {
        pod["metadata"]["name"] for pod in pods(job).values()
    }
    old = made("PyTorchTrainingJob", {"hostname": "trainer", "subdomain": "own"}, shared=False)
    assert {(pod["spec"]["hostname"], pod["spec"]["subdomain"]) for pod in pods(old).values()} == {
        ("trainer", "own")
    }


@pytest.mark.parametrize("wrong", ["text", {"searches": "text"}])
def test_a_dns_config_that_is_none_is_left_to_the_api_server_to_refuse(wrong: object) -> None:
    broken = made("PyTorchTrainingJob", {"dnsConfig": wrong})
    assert {str(pod["spec"]["dnsConfig"]) for pod in pods(broken).values()} == {str(wrong)}


@EVERY
def test_a_job_without_has_a_service_for_each_replica_that_is_listened_at(kind: str) -> None:
    job = made(kind, shared=False)
    listening = {name: pod for name, pod in pods(job).items() if not name.startswith("launcher")}
    for service, pod in zip(services(job), listening.values(), strict=True):
        assert service["metadata"]["name"] == pod["metadata"]["name"]
        assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        others = [other for other in pods(job).values() if other is not pod]
        for other in others:
            same = other["metadata"]["name"] == pod["metadata"]["name"]
            assert same or not service["spec"]["selector"].items() <= other["metadata"]["labels"].items()
        assert service["spec"]["clusterIP"] == "None"
        assert service["spec"]["publishNotReadyAddresses"] is True
        assert {port["name"]: port["port"] for port in service["spec"]["ports"]} == MAKES[kind][2]
    for pod in pods(job).values():
        assert not {"hostname", "subdomain", "dnsConfig"} & set(pod["spec"])


@pytest.mark.parametrize(
    ("by_type", "united"),
    [
        ({"ps": 1, "worker": 1}, {"net": 1}),
        ({"ps": 1, "worker": 2}, {"net": 1, "worker-net": 2}),
    ],
)
def test_a_number_that_differs_between_types_has_a_name_for_each(
    by_type: dict[str, int], united: dict[str, int]
) -> None:
    job = made("PyTorchTrainingJob")
    members = [
        Member(replica, hashed_pod_name(job, replica), primary=False)
        for replica in job.running_plan.replicas()
    ]
    (service,) = services_by_type(job, iter(members), lambda type_: {"net": by_type[type_]})
    for manifest in (service.build(), service.build()):
        assert {port["name"]: port["port"] for port in manifest["spec"]["ports"]} == united
    apart = made("PyTorchTrainingJob", shared=False)
    own = [child.build() for child in services_by_type(apart, members, lambda type_: {"net": by_type[type_]})]
    assert [manifest["spec"]["ports"][0]["port"] for manifest in own] == [
        by_type[member.role] for member in members
    ]
