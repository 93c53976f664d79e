"""Words for tests of XGBoostTrainingJob: specs with nothing wrong in them, to be broken in one place."""

import copy
from functools import partial
from typing import Any

from tests.support.scenario import Story
from tests.unit.kinds import build
from tests.unit.kinds.build import Spec, template

KIND = "XGBoostTrainingJob"
NAME = "iris"
BASE = "iris-7ac1b"

admit = partial(build.admit, kind=KIND, name=NAME)
state = partial(build.state, kind=KIND, name=NAME)


def container(**more: Any) -> Spec:
    """The container that trains."""
    return {"name": "xgboost", "image": "xgboost:2", "command": ["python", "train.py"], **more}


def replicas(type_: str, number: int = 1, *containers: Spec, **more: Any) -> Spec:
    """One item of `replicaSpecs`; without `containers` of one good one."""
    return {"type": type_, "replicas": number, "template": template(*(containers or [container()])), **more}


def spec(*items: Spec, **more: Any) -> Spec:
    """A spec; of a master and a worker unless said otherwise."""
    return copy.deepcopy({"replicaSpecs": list(items) or [replicas("master"), replicas("worker")], **more})


def with_policy(policy: str, **more: Any) -> Spec:
    """A master and a worker that are restarted by this policy."""
    return spec(replicas("master", restartPolicy=policy), replicas("worker", restartPolicy=policy), **more)


def started(of: Spec) -> Story:
    """The job with all its pods running."""
    return Story(of, name=NAME, kind=KIND).submit().at(5).all_pods("Running")
