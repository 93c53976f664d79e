"""Words for tests of TensorFlowTrainingJob: specs with nothing wrong in them, to be broken in one place."""

import copy
import json
from functools import partial
from typing import Any

from statemachine.owned import Manifest
from tests.support.scenario import Story
from tests.unit.kinds import build
from tests.unit.kinds.build import Spec, template

KIND = "TensorFlowTrainingJob"
NAME = "keras"
BASE = "keras-7ac1b"

admit = partial(build.admit, kind=KIND, name=NAME)
state = partial(build.state, kind=KIND, name=NAME)


def container(**more: Any) -> Spec:
    """The container that trains."""
    return {"name": "tensorflow", "image": "tensorflow:2", "command": ["python", "train.py"], **more}


def listening(port: int, name: str = "tensorflow-port") -> Spec:
    """The container that trains and declares a port of its own."""
    return container(ports=[{"name": name, "containerPort": port}])


def replicas(type_: str, number: int = 1, *containers: Spec, **more: Any) -> Spec:
    """One item of `replicaSpecs`; without `containers` of one good one."""
    return {"type": type_, "replicas": number, "template": template(*(containers or [container()])), **more}


def spec(*items: Spec, **more: Any) -> Spec:
    """A spec; of a chief and a worker unless said otherwise."""
    return copy.deepcopy({"replicaSpecs": list(items) or [replicas("chief"), replicas("worker")], **more})


def with_policy(policy: str, **more: Any) -> Spec:
    """A chief and a worker that are restarted by this policy."""
    return spec(replicas("chief", restartPolicy=policy), replicas("worker", restartPolicy=policy), **more)


def tf_config(pod: Manifest) -> dict[str, Any]:
    """What a pod's TF_CONFIG says."""
    said: dict[str, Any] = json.loads(build.env(pod)["TF_CONFIG"])
    return said


def hosts(type_: str, number: int, port: int = 2222) -> list[str]:
    """The addresses of the replicas of a type."""
    return [f"{BASE}-{type_}-{index}:{port}" for index in range(number)]


def started(of: Spec) -> Story:
    """The job with all its pods running."""
    return Story(of, name=NAME, kind=KIND).submit().at(5).all_pods("Running")
