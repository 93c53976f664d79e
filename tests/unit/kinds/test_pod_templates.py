"""Rule G20 of spec R2: what an API server refuses in a pod template is refused for every kind, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from statemachine.kinds import kind_of
from tests.unit.kinds import build, colossal, deepspeed, kubeflow
from tests.unit.kinds.build import Spec, texts

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))

Judged = Callable[[Spec], list[str]]


def of_torch(template: Spec) -> list[str]:
    """What is wrong with a PyTorchTrainingJob of this template, with the path from the template on."""
    item = {"type": "worker", "template": template}
    return _inside("spec.replicaSpecs[0].", texts(build.admit(build.spec(item))))


def of_deepspeed(template: Spec) -> list[str]:
    """The same of a DeepSpeedJob."""
    return _inside(
        "spec.worker.", texts(deepspeed.admit(deepspeed.spec({"replicas": 1, "template": template})))
    )


def of_colossal(template: Spec) -> list[str]:
    """The same of a ColossalAIJob."""
    template["spec"]["containers"][0]["name"] = "worker"
    admission = colossal.admit(colossal.spec({**colossal.workers(), "template": template}))
    return _inside("spec.worker.", texts(admission))


def of_kubeflow(template: Spec) -> list[str]:
    """The same of a PyTorchJob."""
    admission = kubeflow.admit(kubeflow.spec({"Worker": {"replicas": 1, "template": template}}))
    return _inside("spec.pytorchReplicaSpecs[Worker].", texts(admission))


def _inside(root: str, sentences: list[str]) -> list[str]:
    return [sentence.removeprefix(root) for sentence in sentences]


every_kind = pytest.mark.parametrize("judged", [of_torch, of_deepspeed, of_colossal, of_kubeflow])


def pods(*, meta: Spec | None = None, pod: Spec | None = None, **more: Any) -> Spec:
    """A template with one container, of which every kind thinks well without `more`."""
    container = {"name": "pytorch", "image": "train:1", "args": ["train.py"], **more}
    template = {"spec": {"containers": [container], **(pod or {})}}
    return template if meta is None else {**template, "metadata": meta}


FIRST = "template.spec.containers[0]"
SYNTAX = "at most 63 letters, digits, '-', '_' and '.', a letter or digit first and last"
KEY = f"a key must be {SYNTAX}; before it may stand a DNS name and '/'"
QUANTITY = "must be a quantity such as 2, 500m or 4Gi"


@every_kind
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("cpu", "${X}", f'"${{X}}": {QUANTITY}'),
        ("memory", "1Gx", f'"1Gx": {QUANTITY}'),
        ("cpu", True, f"true: {QUANTITY}"),
        ("cpu", "-1", '"-1": must be greater than or equal to 0'),
        ("cpu", -1, "-1: must be greater than or equal to 0"),
        ("nvidia.com/gpu", "500m", '"500m": must be a whole number'),
    ],
)
def test_g20_quantities(judged: Judged, name: str, value: object, sentence: str) -> None:
    sentences = judged(pods(resources={"limits": {name: value}}))
    assert sentences == [f"{FIRST}.resources.limits[{name}]: Invalid value: {sentence}"]


@every_kind
@pytest.mark.parametrize("value", ["1e3", "0.5", "100m", "1Gi", "1e-3", 0, 2, 0.5, ".5", "+1", " 1 ", 1e-05])
def test_g20_quantities_of_an_api_server(judged: Judged, value: object) -> None:
    assert judged(pods(resources={"limits": {"cpu": value}})) == []


@every_kind
def test_g20_devices_are_whole(judged: Judged) -> None:
    of_int = {"nvidia.com/gpu": 1, "hugepages-2Mi": "4Mi", "requests.kubernetes.io/x": "500m"}
    for limits in (of_int, {"nvidia.com/gpu": "1"}, {"example.com/nic": "2000m"}):
        assert judged(pods(resources={"limits": limits})) == []


@every_kind
def test_g20_names_of_variables(judged: Judged) -> None:
    sentences = judged(pods(env=[{"name": "A=B", "value": "1"}, {"name": "my.name-1", "value": "1"}]))
    assert sentences == [f"{FIRST}.env[0].name: Invalid value: \"A=B\": must not contain '=' or NUL"]


@every_kind
def test_g20_no_nul_anywhere(judged: Judged) -> None:
    sentences = judged(pods(args=["a\0b"], pod={"nodeSelector": {"a\0": "x"}}))
    assert sorted(sentences) == [
        f'{FIRST}.args[0]: Invalid value: "a\\u0000b": must not contain NUL',
        'template.spec.nodeSelector: Invalid value: "a\\u0000": must not contain NUL',
    ]


@every_kind
@pytest.mark.parametrize("port", [70000, 0, -1])
def test_g20_ports(judged: Judged, port: int) -> None:
    sentences = judged(pods(ports=[{"containerPort": 80, "hostPort": 0}, {"containerPort": port}]))
    where = f"{FIRST}.ports[1].containerPort"
    assert sentences == [f"{where}: Invalid value: {port}: must be between 1 and 65535"]


PORT = "must be between 1 and 65535"
PORT_OR_NAME = "must be a number from 1 to 65535, or the name of a port"


@every_kind
@pytest.mark.parametrize(
    ("asks", "how", "port", "sentence"),
    [
        ("livenessProbe", "httpGet", 0, f"0: {PORT}"),
        ("readinessProbe", "tcpSocket", 70000, f"70000: {PORT}"),
        ("startupProbe", "grpc", 70000, f"70000: {PORT}"),
        ("startupProbe", "grpc", "http", '"http": must be of type integer'),
        ("livenessProbe", "httpGet", "8080", f'"8080": {PORT_OR_NAME}'),
        ("livenessProbe", "httpGet", "a--b", f'"a--b": {PORT_OR_NAME}'),
        ("livenessProbe", "httpGet", "a" * 16, f'"{"a" * 16}": {PORT_OR_NAME}'),
        ("livenessProbe", "httpGet", "", f'"": {PORT_OR_NAME}'),
        ("livenessProbe", "tcpSocket", 80.5, "80.5: must be of type integer"),
        ("lifecycle.preStop", "httpGet", 0, f"0: {PORT}"),
    ],
)
def test_g20_ports_of_probes_and_hooks(
    judged: Judged, asks: str, how: str, port: object, sentence: str
) -> None:
    first, _, second = asks.partition(".")
    handler = {how: {"port": port}}
    sentences = judged(pods(**{first: {second: handler} if second else handler}))
    assert sentences == [f"{FIRST}.{asks}.{how}.port: Invalid value: {sentence}"]


@every_kind
@pytest.mark.parametrize("port", [1, 65535, "http", "a-1", "1a"])
def test_g20_ports_of_probes_that_an_api_server_takes(judged: Judged, port: object) -> None:
    probe = {"httpGet": {"path": "/", "port": port}}
    of_exec = {"preStop": {"exec": {"command": ["a"]}}}
    assert judged(pods(livenessProbe=probe, lifecycle=of_exec)) == []


@every_kind
def test_g20_each_device_has_its_volume(judged: Judged) -> None:
    devices = [{"name": "disk", "devicePath": "/dev/a"}, {"name": "data", "devicePath": "/dev/b"}]
    claim = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
    sentences = judged(pods(volumeDevices=devices, pod={"volumes": [claim]}))
    where = f"{FIRST}.volumeDevices[1].name"
    assert sentences == [f'{where}: Invalid value: "data": must be the name of a volume of the pod']


@every_kind
def test_g20_each_mount_has_its_volume(judged: Judged) -> None:
    mounts = [{"name": "code", "mountPath": "/code"}, {"name": "data", "mountPath": "/data"}]
    sentences = judged(pods(volumeMounts=mounts, pod={"volumes": [{"name": "code"}]}))
    where = f"{FIRST}.volumeMounts[1].name"
    assert sentences == [f'{where}: Invalid value: "data": must be the name of a volume of the pod']


@every_kind
def test_g20_each_volume_has_its_name(judged: Judged) -> None:
    volumes = [{"name": "a"}, {"name": "b"}, {"name": "a", "emptyDir": {"sizeLimit": "1Gx"}}]
    unique = "must be unique in the pod, also beside what the controller adds"
    assert sorted(judged(pods(pod={"volumes": volumes}))) == [
        f'template.spec.volumes[2].emptyDir.sizeLimit: Invalid value: "1Gx": {QUANTITY}',
        f'template.spec.volumes[2].name: Invalid value: "a": {unique}',
    ]


@every_kind
def test_g20_labels_and_annotations(judged: Judged) -> None:
    labels = {"a": "b c", "-x": "", "example.com/team": "A_1.b", "Example.com/x": "", "empty": ""}
    sentences = judged(
        pods(meta={"labels": labels, "annotations": {"Example.com/X": "any text\n", "a b": ""}})
    )
    assert sorted(sentences) == sorted(
        [
            f'template.metadata.labels[a]: Invalid value: "b c": must be {SYNTAX}',
            f'template.metadata.labels: Invalid value: "-x": {KEY}',
            f'template.metadata.labels: Invalid value: "Example.com/x": {KEY}',
            f'template.metadata.annotations: Invalid value: "a b": {KEY}',
        ]
    )


@every_kind
def test_g20_labels_are_texts(judged: Judged) -> None:
    sentences = judged(pods(meta={"labels": {"v": 1.10}}))
    assert sentences == ["template.metadata.labels.v: Invalid value: 1.1: must be of type string"]


@every_kind
def test_g20_images_have_no_blanks(judged: Judged) -> None:
    sentences = judged(pods(image="train:1 "))
    assert sentences == [f'{FIRST}.image: Invalid value: "train:1 ": must not contain blanks']


@every_kind
def test_g20_takes_what_an_api_server_takes(judged: Judged) -> None:
    sentences = judged(
        pods(
            env=[
                {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                {
                    "name": "CPU",
                    "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}},
                },
            ],
            envFrom=[{"configMapRef": {"name": "settings"}}],
            resources={"limits": {"cpu": 1}, "claims": [{"name": "gpu"}]},
            volumeMounts=[{"name": "all", "mountPath": "/all"}],
            pod={
                "ephemeralContainers": [{"name": "debug", "image": "busybox"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
                "volumes": [{"name": "all", "projected": {"sources": [{"configMap": {"name": "c"}}]}}],
            },
        )
    )
    assert sentences == []


@pytest.mark.parametrize("master", [True, False])
def test_g20_names_beside_those_of_the_controller(master: bool) -> None:
    container = kubeflow.container()
    init = {"name": "init-pytorch", "image": "i"}
    worker = {"template": kubeflow.template(container, initContainers=[init, {**init, "name": "pytorch"}])}
    types = {"Worker": worker, **({"Master": kubeflow.replica()} if master else {})}
    where = "spec.pytorchReplicaSpecs[Worker].template.spec.initContainers"
    unique = "must be unique in the pod, also beside what the controller adds"
    ours = [f'{where}[0].name: Invalid value: "init-pytorch": {unique}'] if master else []
    own = [f'{where}[1].name: Invalid value: "pytorch": {unique}']
    assert texts(kubeflow.admit(kubeflow.spec(types))) == [*ours, *own]


def test_g20_volumes_of_the_controller_can_be_mounted() -> None:
    mounts = [{"name": "hostfile", "mountPath": "/hosts"}]
    assert of_deepspeed(pods(volumeMounts=mounts)) == []
    assert of_torch(pods(volumeMounts=mounts)) != []


# ---- fields that Kubernetes does not know ----------------------------------------------------------------------

UNKNOWN = "is no known field of a pod template, and Kubernetes ignores what it does not know"


def strangers(of: Spec, *, kubeflow_s: bool = False) -> list[str]:
    """What is reported of fields of this template that there are not."""
    admission = (
        kubeflow.admit(kubeflow.spec({"Worker": {"template": of}}))
        if kubeflow_s
        else build.admit(build.spec({"type": "worker", "template": of}))
    )
    assert admission.problems == ()
    assert {notice.reason for notice in admission.notices} <= {"UnknownPodField"}
    prefix = "spec.pytorchReplicaSpecs[Worker]." if kubeflow_s else "spec.replicaSpecs[0]."
    return [notice.message.removeprefix(prefix) for notice in admission.notices]


@pytest.mark.parametrize("kubeflow_s", [True, False], ids=["kx3", "gx1"])
def test_gx1_a_slip_of_the_pen_in_a_template_is_reported(kubeflow_s: bool) -> None:
    of = {
        "metadata": {"label": {"a": "b"}},
        "spec": {
            "restartPolicies": "Never",
            "containers": [
                {
                    "name": "pytorch",
                    "image": "i",
                    "envs": [{"name": "A", "value": "1"}],
                    "env": [{"name": "A", "val": "1"}],
                    "livenessProbe": {"httpGet": {"ports": 80}},
                }
            ],
            "volumes": [{"name": "v", "emptydir": {}}],
            "xyz": 1,
        },
    }
    first = "template.spec.containers[0]"
    assert sorted(strangers(of, kubeflow_s=kubeflow_s)) == sorted(
        [
            f'template.metadata.label {UNKNOWN}; did you mean "labels"?',
            f'template.spec.restartPolicies {UNKNOWN}; did you mean "restartPolicy"?',
            f"template.spec.xyz {UNKNOWN}",
            f'{first}.envs {UNKNOWN}; did you mean "env"?',
            f'{first}.env[0].val {UNKNOWN}; did you mean "value"?',
            f'{first}.livenessProbe.httpGet.ports {UNKNOWN}; did you mean "port"?',
            f'template.spec.volumes[0].emptydir {UNKNOWN}; did you mean "emptyDir"?',
        ]
    )


def test_kx3_tells_of_ten_fields_at_most() -> None:
    container = {"name": "pytorch", "image": "i", **{f"x{at}": 1 for at in range(50)}}
    assert len(strangers({"spec": {"containers": [container]}}, kubeflow_s=True)) == 10


def test_kx3_what_an_update_brings_is_reported() -> None:
    old = kubeflow.workers_only(1)
    new = kubeflow.spec({"Worker": kubeflow.replica(1, kubeflow.container(envs=[]))})
    assert [notice.reason for notice in kubeflow.admit(new, old).notices] == ["UnknownPodField"]
    assert kubeflow.admit(kubeflow.spec({**new["pytorchReplicaSpecs"]}, nprocPerNode="2"), new).notices == ()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_example_has_a_field_that_kubernetes_does_not_know(path: Path) -> None:
    for job in yaml.safe_load_all(path.read_text("utf-8")):
        if "batch.tensorstack.dev" in job["apiVersion"] or "kubeflow.org" in job["apiVersion"]:
            admission = kind_of(job["apiVersion"], job["kind"]).admit(job["metadata"]["name"], job["spec"])
            assert "UnknownPodField" not in [notice.reason for notice in admission.notices]
