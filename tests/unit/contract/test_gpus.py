"""How many GPUs a pod holds."""

from decimal import Decimal
from typing import Any

import pytest

from projectors.contract.gpus import USUAL, gpus, resources
from statemachine.schema.layout import Slot


def slot(containers: list[dict[str, Any]], init: list[dict[str, Any]] | None = None) -> Slot:
    def made(limits: dict[str, Any]) -> dict[str, Any]:
        return {"name": "c", "resources": {"limits": limits, "requests": {"nvidia.com/gpu": 99}}}

    spec = {"containers": list(map(made, containers)), "initContainers": list(map(made, init or []))}
    return Slot("worker", "", {"spec": spec})


@pytest.mark.parametrize(
    ("containers", "init", "count"),
    [
        ([{}], [], 0),
        ([{"nvidia.com/gpu": "8"}, {"nvidia.com/gpu": 1}], [], 9),
        ([{"nvidia.com/gpu": 2}], [{"nvidia.com/gpu": 4}, {"nvidia.com/gpu": 3}], 4),
        ([{"cpu": "8", "memory": "4Gi", "gpu.intel.com/i915": 2, "huawei.com/Ascend910": 1}], [], 3),
        ([{"nvidia.com/gpu": "many", "amd.com/gpu": -1}], [], 0),
    ],
)
def test_limits_of_all_containers_together_or_of_the_largest_init_container(
    containers: list[dict[str, Any]], init: list[dict[str, Any]], count: int
) -> None:
    assert gpus(slot(containers, init), USUAL) == count


def test_a_shared_gpu_is_a_fraction_of_one() -> None:
    counted = resources("nvidia.com/gpu.shared=0.1, nvidia.com/gpu")
    assert gpus(slot([{"nvidia.com/gpu.shared": 5, "nvidia.com/gpu": 1}]), counted) == Decimal("1.5")


@pytest.mark.parametrize("text", ["=1", "a=", "a=b", "a=0", "a=-1"])
def test_what_is_no_resource_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be names"):
        resources(text)
