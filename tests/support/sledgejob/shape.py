"""Random SledgeJobs for the simulation."""

from random import Random
from typing import Any, Final

from k8s_bridge.port import Manifest
from tests.simulation.generic_shapes import EqualFates
from tests.simulation.shapes import NAMESPACE, Shape, Spec

API: Final = "north.example/v1"
KIND: Final = "SledgeJob"


def _team(chance: Random, number: int) -> Spec:
    pod = {"containers": [{"name": "dog", "image": "busybox"}]}
    return {"number": number, "falls": chance.choice((0, 1, 1, 2)), "template": {"spec": pod}}


def _manifest(chance: Random, name: str) -> Manifest:
    dogs, leaders = chance.randint(1, 4), chance.choice((0, 0, 1))
    spec: Spec = {"dogs": _team(chance, dogs), "arrivals": chance.randint(1, dogs + leaders)}
    if leaders:
        spec["leaders"] = _team(chance, leaders)
    if chance.random() < 0.2:
        spec["rest"] = True
    if chance.random() < 0.3:
        spec["harness"] = {"size": chance.randint(1, 9)}
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _edit(chance: Random, job: Manifest) -> dict[str, Any]:
    return chance.choice([{"rest": not job["spec"].get("rest", False)}, {"arrivals": 99}])


SLEDGE: Final = Shape((KIND,), _manifest, _edit, EqualFates)
