"""The CRDs on a real API server: they apply, and each rule of layers S and C refuses what breaks just that rule.

Everything happens in a namespace of its own, which is deleted in the end; the CRDs stay.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import Cluster
from tests.unit.kinds.build import API, ELASTIC, KIND, TORCHRUN, Spec, container, merged, replicas, spec

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integration

NAME = "metadata.name must be a DNS-1035 label: lower-case letters, digits and '-', starting with a letter"
DEBUG_TEXT = "spec.runMode.debug is immutable; create the job again without debug"


@dataclass(frozen=True)
class Api:
    """What kubectl answers in a namespace of a cluster that knows the kinds."""

    cluster: Cluster
    namespace: str

    def __call__(self, *arguments: str, given: Any = None) -> subprocess.CompletedProcess[str]:
        return self.cluster.answer(*arguments, "-n", self.namespace, input=given)


@pytest.fixture(scope="module")
def api(job_crds: Cluster) -> Iterator[Api]:
    with job_crds.namespace("crds") as name:
        yield Api(job_crds, name)


def manifest(of: Spec, name: str = "job") -> dict[str, Any]:
    """A whole job."""
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": name}, "spec": of}


def refusal(answer: subprocess.CompletedProcess[str]) -> str:
    """The one thing that the API server has against a manifest."""
    assert answer.returncode != 0, answer.stdout
    lines = [
        line for line in answer.stderr.splitlines() if "some validation rules were not checked" not in line
    ]
    assert sum(line.startswith("* ") for line in lines) <= 1, answer.stderr
    return "\n".join(lines)


def accepted(answer: subprocess.CompletedProcess[str]) -> None:
    """The API server took what it was given."""
    assert answer.returncode == 0, answer.stderr


def with_elastic(**elastic: Any) -> Spec:
    """A torchrun job with these elastic fields."""
    return spec(**TORCHRUN, elastic=elastic)


REFUSED: list[tuple[str, str, Spec, str]] = [
    ("G1", "1a", spec(), NAME),
    ("G1", "a.b", spec(), NAME),
    ("G2", "a" * 46, spec(), "metadata.name is too long: the name of a replica would exceed 63 characters"),
    ("G3", "job", spec(replicas("W")), 'spec.replicaSpecs[0].type: Invalid value: "W"'),
    ("G3", "job", spec(replicas("w" * 21)), "spec.replicaSpecs[0].type: Too long: may not be more than 20"),
    ("G4", "job", spec(replicas("a"), replicas("a")), "spec.replicaSpecs: replica types must be unique"),
    (
        "G7",
        "job",
        spec(runMode={"debug": {"replicaSpecs": [{"type": "ps"}]}}),
        "spec.runMode.debug.replicaSpecs: unknown or repeated replica type",
    ),
    (
        "G7",
        "job",
        spec(runMode={"pause": {"resumeSpecs": [{"type": "worker"}, {"type": "worker"}]}}),
        "spec.runMode.pause.resumeSpecs: unknown or repeated replica type",
    ),
    (
        "G10",
        "job",
        spec(scheduler={"t9kScheduler": {"priority": 101}}),
        "spec.scheduler.t9kScheduler.priority",
    ),
    ("G11", "job", spec(runPolicy={"activeDeadlineSeconds": 0}), "spec.runPolicy.activeDeadlineSeconds"),
    ("G11", "job", spec(runPolicy={"backoffLimit": -1}), "spec.runPolicy.backoffLimit"),
    (
        "G11",
        "job",
        spec(runPolicy={"cleanUpPolicy": "Some"}),
        'spec.runPolicy.cleanUpPolicy: Unsupported value: "Some"',
    ),
    (
        "G12",
        "job",
        spec(torchrunConfig={"enable": False, "enabled": True}),
        "spec.torchrunConfig.enable is a deprecated alias of spec.torchrunConfig.enabled; set only one",
    ),
    (
        "G12",
        "job",
        spec(elastic={"enable": True, "enabled": False}),
        "spec.elastic.enable is a deprecated alias of spec.elastic.enabled; set only one",
    ),
    (
        "G12",
        "job",
        spec(runMode={"debug": {"enable": True, "enabled": False}}),
        "spec.runMode.debug.enable is a deprecated alias of spec.runMode.debug.enabled; set only one",
    ),
    (
        "G12",
        "job",
        spec(runMode={"pause": {"enable": True, "enabled": False}}),
        "spec.runMode.pause.enable is a deprecated alias of spec.runMode.pause.enabled; set only one",
    ),
    (
        "G12",
        "job",
        spec(tensorboardSpec={"logDir": {"pvc": [{"name": "a", "subpath": ["x"], "subPath": ["y"]}]}}),
        "spec.tensorboardSpec.logDir.pvc[].subpath is a deprecated alias of "
        "spec.tensorboardSpec.logDir.pvc[].subPath; set only one",
    ),
    (
        "PT1",
        "job",
        spec(replicas("worker", 0)),
        "spec.replicaSpecs[0].replicas: must be at least 1, its first replica is the master",
    ),
    (
        "PT2",
        "job",
        spec(**ELASTIC),
        "spec.elastic: elastic training is only supported with torchrunConfig.enabled=true",
    ),
    (
        "PT2",
        "job",
        spec(elastic={"enable": True, "minReplicas": 1, "maxReplicas": 2}),
        "spec.elastic: elastic training is only supported with torchrunConfig.enabled=true",
    ),
    (
        "PT3",
        "job",
        with_elastic(enabled=True, minReplicas=1),
        "spec.elastic: minReplicas and maxReplicas are required",
    ),
    (
        "PT4",
        "job",
        with_elastic(enabled=True, minReplicas=3, maxReplicas=2),
        "spec.elastic: must satisfy 1 <= minReplicas <= maxReplicas",
    ),
    (
        "PT4",
        "job",
        with_elastic(enabled=False, minReplicas=0, maxReplicas=2),
        "spec.elastic: must satisfy 1 <= minReplicas <= maxReplicas",
    ),
    (
        "PT5",
        "job",
        with_elastic(enabled=True, minReplicas=1, maxReplicas=2, expectedReplicas=3),
        "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas",
    ),
    ("PT7", "job", spec(torchrunConfig={"procPerNode": "tpu"}), "spec.torchrunConfig.procPerNode"),
    (
        "PT8",
        "job",
        spec(torchrunConfig={"rdzvBackend": "etcd"}),
        "spec.torchrunConfig: rdzvBackend etcd needs --rdzv_endpoint in extraOptions",
    ),
    (
        "PT11",
        "job",
        spec(
            replicas("a", 2, scalingWeight=0),
            replicas("b"),
            **TORCHRUN,
            elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 9},
        ),
        "spec.elastic.minReplicas: too small for the number of replica types",
    ),
]


@pytest.mark.parametrize(
    ("rule", "name", "broken", "text"),
    REFUSED,
    ids=[f"{rule}-{index}" for index, (rule, *_) in enumerate(REFUSED)],
)
def test_the_api_server_refuses_what_breaks_a_rule(
    api: Api, rule: str, name: str, broken: Spec, text: str
) -> None:
    answer = refusal(api("create", "--dry-run=server", "-f", "-", given=manifest(broken, name)))
    assert text in answer, rule


ITEMS = [replicas("worker", 2), replicas("ps", 1)]
OLD = spec(
    *ITEMS,
    torchrunConfig={"enable": True, "procPerNode": "4"},
    elastic={"enabled": True, "minReplicas": 3, "maxReplicas": 5},
    scheduler={"t9kScheduler": {"queue": "a"}},
    runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
)


def changed(path: str, value: Any) -> Spec:
    """The old spec with one value replaced; None takes it away."""
    new = merged(OLD)
    *above, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    place: Any = new
    for step in above:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    if value is None:
        del place[last]
    else:
        place[last] = value
    return new


KEPT: list[tuple[str, Spec, str]] = [
    ("G8", changed("runMode.debug", {"enabled": True}), DEBUG_TEXT),
    ("G8", changed("runMode.debug", {"replicaSpecs": [{"type": "ps"}]}), DEBUG_TEXT),
    ("G9", changed("runMode.pause.resumeSpecs.0.args", ["b"]), "spec.runMode.pause.resumeSpecs is immutable"),
    ("G9", changed("runMode.pause", {}), "spec.runMode.pause.resumeSpecs is immutable"),
    ("G17", changed("replicaSpecs", [*ITEMS, replicas("x")]), "spec.replicaSpecs is immutable"),
    ("G17", changed("replicaSpecs.1.type", "node"), "spec.replicaSpecs[1].type is immutable"),
    ("G17", changed("replicaSpecs.1.replicas", 3), "spec.replicaSpecs[1].replicas is immutable"),
    (
        "G17",
        changed("replicaSpecs.0.restartPolicy", "Never"),
        "spec.replicaSpecs[0].restartPolicy is immutable",
    ),
    ("G17", changed("replicaSpecs.1.scalingWeight", 4), "spec.replicaSpecs[1].scalingWeight is immutable"),
    ("G17", changed("torchrunConfig.maxRestarts", 1), "spec.torchrunConfig.maxRestarts is immutable"),
    ("G17", changed("torchrunConfig.procPerNode", "gpu"), "spec.torchrunConfig.procPerNode is immutable"),
    ("G17", changed("torchrunConfig.procPerNode", None), "spec.torchrunConfig.procPerNode is immutable"),
    (
        "G17",
        changed("torchrunConfig.extraOptions", ["--tee=3"]),
        "spec.torchrunConfig.extraOptions is immutable",
    ),
    ("G17", changed("scheduler", None), "spec.scheduler is immutable"),
    ("G17", changed("scheduler.t9kScheduler.queue", "b"), "spec.scheduler is immutable"),
    ("G17", changed("scheduler.t9kScheduler.priority", 1), "spec.scheduler is immutable"),
    ("PT6", changed("elastic.minReplicas", 4), "spec.elastic.minReplicas is immutable"),
    ("PT6", changed("elastic.maxReplicas", 6), "spec.elastic.maxReplicas is immutable"),
    ("PT6", changed("elastic.enabled", False), "spec.elastic.enabled is immutable"),
]


@pytest.fixture(scope="module")
def existing(api: Api) -> str:
    """Name of a job that is there."""
    accepted(api("create", "-f", "-", given=manifest(OLD, "existing")))
    return "existing"


@pytest.mark.parametrize(
    ("rule", "new", "text"), KEPT, ids=[f"{rule}-{index}" for index, (rule, *_) in enumerate(KEPT)]
)
def test_the_api_server_keeps_what_cannot_change(
    api: Api, existing: str, rule: str, new: Spec, text: str
) -> None:
    answer = refusal(api("replace", "--dry-run=server", "-f", "-", given=manifest(new, existing)))
    assert text in answer, rule


@pytest.mark.parametrize(("field", "value"), [("enabled", False), ("rdzvBackend", "c10d")])
def test_the_api_server_keeps_how_torchrun_is_used(api: Api, field: str, value: object) -> None:
    name, config = f"torchrun-{field.lower()}", {"enabled": True, "rdzvBackend": "etcd"}
    options = {"extraOptions": ["--rdzv_endpoint=etcd:2379"]}
    accepted(api("create", "-f", "-", given=manifest(spec(torchrunConfig={**config, **options}), name)))
    new = manifest(spec(torchrunConfig={**config, **options, field: value}), name)
    answer = refusal(api("replace", "--dry-run=server", "-f", "-", given=new))
    assert f"spec.torchrunConfig.{field} is immutable" in answer


def test_the_api_server_lets_change_what_may(api: Api, existing: str) -> None:
    new = merged(
        OLD,
        torchrunConfig={"enabled": True, "procPerNode": 4, "rdzvBackend": "c10d"},
        elastic={"enabled": True, "minReplicas": 3, "maxReplicas": 5, "expectedReplicas": 4},
        runMode={**OLD["runMode"], "debug": {"enabled": False}},
        runPolicy={"backoffLimit": 9},
        tensorboardSpec={"image": "tb"},
        replicaSpecs=[replicas("worker", 2, container(image="other")), ITEMS[1]],
    )
    new["runMode"]["pause"]["enabled"] = True
    accepted(api("replace", "--dry-run=server", "-f", "-", given=manifest(new, existing)))


def test_g17_a_finished_job_keeps_its_run_policy(api: Api) -> None:
    accepted(api("create", "-f", "-", given=manifest(spec(runPolicy={"backoffLimit": 1}), "finished")))
    change = ("patch", "pj", "finished", "--type=merge")
    accepted(api(*change, "-p", '{"spec": {"runPolicy": {"backoffLimit": 2}}}'))
    accepted(api(*change, "--subresource=status", "-p", '{"status": {"phase": "Succeeded"}}'))
    answer = refusal(api(*change, "-p", '{"spec": {"runPolicy": {"backoffLimit": 3}}}'))
    assert "spec.runPolicy is immutable" in answer
    accepted(api(*change, "-p", '{"spec": {"runMode": {"pause": {"enabled": true}}}}'))


def test_scale_is_the_wished_for_number(api: Api, existing: str) -> None:
    accepted(api("scale", "pj", existing, "--replicas=4"))
    found = api("get", "pj", existing, "-o", "jsonpath={.spec.elastic.expectedReplicas}")
    assert found.stdout == "4"
    answer = api("scale", "pj", existing, "--replicas=9")
    assert "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas" in answer.stderr


def test_a_whole_status_is_taken(api: Api, existing: str) -> None:
    counts = dict.fromkeys(("creating", "pending", "running", "succeeded", "failed", "unknown", "deleted"), 0)
    replica = {
        "name": "a",
        "uid": "",
        "phase": "Running",
        "containers": [{"name": "pytorch", "state": "Terminated", "exitCode": 0}],
    }
    status = {
        "phase": "Running",
        "startTime": "2024-01-09T15:24:26Z",
        "observedGeneration": 1,
        "backoffCount": 1,
        "aggregate": counts,
        "tasks": [{"type": "worker", "restartCount": 1, "replicas": [replica]}],
        "conditions": [
            {
                "type": "Running",
                "status": "True",
                "reason": "-",
                "message": "All pods are running normally.",
                "lastTransitionTime": "2024-01-09T15:24:26Z",
            }
        ],
        "tensorboard": {
            "dependent": {
                "apiVersion": "v1",
                "kind": "TensorBoard",
                "name": "a",
                "namespace": "b",
                "uid": "c",
            },
            "ready": True,
            "reason": "DependentReady",
            "action": "NOP",
            "type": "Normal",
            "note": "TensorBoard [a] is ready",
        },
    }
    patch = ("patch", "pj", existing, "--subresource=status", "--type=merge", "-o", "json", "-p")
    answer = api(*patch, json.dumps({"status": status}))
    accepted(answer)
    assert json.loads(answer.stdout)["status"] == status


GOLDEN = sorted((ROOT / "tests" / "golden").glob("*/*.yaml"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_worked_examples_are_accepted(api: Api, path: Path) -> None:
    _, job, *_ = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    job["metadata"].pop("namespace", None)
    accepted(api("create", "--dry-run=server", "-f", "-", given=job))
