"""Scaling: which jobs may be, between which numbers, and where the wish is written."""

from pathlib import Path
from typing import Any

import pytest

from statemachine.kind import Scaling
from statemachine.kinds import kind_of
from tests.support.pytorchjob import API, training
from tests.unit.api.words import elastic, job
from tests.unit.console.words import console, hidden

BOUNDS = {"enable": True, "minReplicas": 1, "maxReplicas": 4}


def kubeflow(elastic: Any, *, key: str = "Worker", **more: Any) -> dict[str, Any]:
    spec = training(master=False, workers=2, elastic=elastic)
    spec["pytorchReplicaSpecs"] = {key: spec["pytorchReplicaSpecs"].pop("Worker")}
    return {"apiVersion": API, "kind": "PyTorchJob", "metadata": {"name": "train"}, "spec": {**spec, **more}}


METRICS = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (kubeflow({"minReplicas": 1, "maxReplicas": 3}), Scaling(1, 3, 2)),
        (kubeflow({"minReplicas": 1, "maxReplicas": 3}, key="worker"), Scaling(1, 3, 2)),
        (kubeflow({"minReplicas": 1, "maxReplicas": 3, "metrics": METRICS}), None),  # an autoscaler does it
        (kubeflow({"maxReplicas": 3}), None),  # the fewest are as many as the most
        (kubeflow({}), None),
        (kubeflow(None), None),
        (elastic(), Scaling(1, 4, 2)),
        (job(), None),
        ({**elastic(), "spec": {"elastic": BOUNDS, "torchrunConfig": {"enable": True}}}, Scaling(1, 4, 1)),
        ({**elastic(), "spec": {"elastic": BOUNDS}}, None),  # only torchrun can be scaled
        ({**elastic(), "spec": ["no", "spec"]}, None),
    ],
)
def test_a_job_is_scaled_between_its_ends(manifest: dict[str, Any], expected: Scaling | None) -> None:
    assert kind_of(manifest["apiVersion"], manifest["kind"]).scaling(manifest["spec"]) == expected


@pytest.mark.parametrize("key", ["Worker", "worker"])
async def test_an_elastic_job_of_kubeflow_is_scaled_in_the_console(tmp_path: Path, key: str) -> None:
    path = "/jobs/default/PyTorchJob/train"
    async with console(tmp_path) as browser:
        await browser.submit(kubeflow({"minReplicas": 1, "maxReplicas": 3}, key=key))
        assert f"{path}/scale" in await browser.listed("train", "Running")
        asked = (await browser.get(f"{path}/scale")).text
        assert 'min="1" max="3" value="2"' in asked
        for replicas in ("0", "4"):
            answer = await browser.post(f"{path}/scale", {**hidden(asked), "replicas": replicas})
            assert answer.status_code == 422
            assert "Worker.replicas: must be between minReplicas (1) and maxReplicas (3)" in answer.text
        assert (await browser.post(f"{path}/scale", {**hidden(asked), "replicas": "3"})).status_code == 303
        specs = (await browser.app.job("default", "train"))["spec"]["pytorchReplicaSpecs"]
        assert {name: spec["replicas"] for name, spec in specs.items()} == {key: 3}
        await browser.listed("train", "3 Running")


async def test_who_is_scaled_by_metrics_is_not_offered_it(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(kubeflow({"minReplicas": 1, "maxReplicas": 3, "metrics": METRICS}))
        row = await browser.listed("train", "Running")
        assert "/train/pause" in row
        assert "/train/scale" not in row
