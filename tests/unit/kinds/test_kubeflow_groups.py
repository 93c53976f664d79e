"""What PyTorchJobs have beside pods and Services: an autoscaler, a PodGroup.

Source: kubeflow-pytorchjob.md, section 3.
"""

from typing import Any

import pytest

from tests.unit.kinds.build import Spec
from tests.unit.kinds.kubeflow import (
    children,
    container,
    pod,
    replica,
    scheduling,
    spec,
    template,
    types,
    workers_only,
)

METRICS = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]


def test_metrics_make_an_autoscaler() -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 3, "metrics": METRICS}
    (manifest,) = children(workers_only(elasticPolicy=elastic), "HorizontalPodAutoscaler")
    target = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "mnist"}
    assert (manifest["apiVersion"], manifest["metadata"]["name"]) == ("autoscaling/v2", "mnist")
    assert manifest["spec"] == {
        "scaleTargetRef": target,
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": METRICS,
    }


@pytest.mark.parametrize(("metrics", "made"), [({}, 0), ({"metrics": []}, 1)])
def test_an_empty_list_of_metrics_leaves_them_to_the_cluster(metrics: Spec, made: int) -> None:
    manifests = children(workers_only(elasticPolicy=metrics), "HorizontalPodAutoscaler")
    assert [("metrics" in manifest["spec"]) for manifest in manifests] == [False] * made


def gang(of: Spec, scheduler: str) -> dict[str, Any]:
    """The spec of the PodGroup, with its apiVersion."""
    (manifest,) = children(of, "PodGroup", settings={"gang_scheduler": scheduler})
    return {"apiVersion": manifest["apiVersion"], **manifest["spec"]}


@pytest.mark.parametrize("settings", [{}, {"gang_scheduler": "none"}])
def test_by_default_there_is_no_gang(settings: dict[str, str]) -> None:
    assert children(spec(), "PodGroup", settings=settings) == []
    manifest = pod(spec(), "worker-0", settings=settings)
    assert "schedulerName" not in manifest["spec"]


def test_volcano_gets_the_group_in_annotations() -> None:
    assert gang(spec(**scheduling(priorityClass="high")), "volcano") == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "minMember": 3,
        "minResources": {},
        "queue": "default",
        "priorityClassName": "high",
    }
    manifest = pod(spec(), "worker-0", settings={"gang_scheduler": "volcano"})
    assert manifest["spec"]["schedulerName"] == "volcano"
    assert manifest["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "mnist"
    assert manifest["metadata"]["annotations"]["volcano.sh/task-spec"] == "worker"


@pytest.mark.parametrize("scheduler", ["scheduler-plugins", "my-scheduler"])
def test_any_other_gang_scheduler_gets_the_group_in_a_label(scheduler: str) -> None:
    assert gang(spec(**scheduling(minAvailable=2, scheduleTimeoutSeconds=30)), scheduler) == {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "minMember": 2,
        "minResources": {},
        "scheduleTimeoutSeconds": 30,
    }
    manifest = pod(spec(), "worker-0", settings={"gang_scheduler": scheduler})
    assert manifest["spec"]["schedulerName"] == scheduler
    assert manifest["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "mnist"


def test_a_scheduler_that_the_template_names_stays() -> None:
    of = spec({"Worker": {"template": template(schedulerName="own")}})
    assert pod(of, "worker-0", settings={"gang_scheduler": "volcano"})["spec"]["schedulerName"] == "own"


@pytest.mark.parametrize(
    ("members", "resources"),
    [
        (1, {"cpu": "500m"}),
        (2, {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"}),
        (3, {"cpu": "3500m", "memory": "2Gi", "nvidia.com/gpu": "2"}),
        (0, {}),
    ],
)
def test_the_gang_s_resources_are_the_sum_over_its_first_pods(members: int, resources: Spec) -> None:
    asks = container(resources={"requests": {"cpu": "500m"}, "limits": {"cpu": 4}})
    limited = container(resources={"limits": {"cpu": 1.5, "memory": "1Gi", "nvidia.com/gpu": 1}})
    of = spec(types(Master=replica(1, asks), Worker=replica(2, limited)), **scheduling(minAvailable=members))
    assert gang(of, "volcano")["minResources"] == resources


@pytest.mark.parametrize(
    ("amount", "twice"),
    [
        ("1500Mi", "3000Mi"),
        ("512Mi", "1Gi"),
        ("0.25", "500m"),
        ("3u", "6u"),
        ("7n", "14n"),
        ("1e3", "2000"),
        (0, "0"),
    ],
)
def test_sums_of_resources_are_exact(amount: object, twice: str) -> None:
    of = spec({"Worker": replica(2, container(resources={"requests": {"memory": amount}}))})
    assert gang(of, "volcano")["minResources"] == {"memory": twice}


def test_resources_that_the_user_says_are_the_gang_s() -> None:
    assert gang(spec(**scheduling(minResources={"cpu": 9})), "volcano")["minResources"] == {"cpu": 9}
