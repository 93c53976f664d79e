"""Words for tests of DeepSpeedJob: specs with nothing wrong in them, to be broken in one place."""

import copy
from functools import partial
from typing import Any

from tests.unit.kinds import build
from tests.unit.kinds.build import Spec, template

KIND = "DeepSpeedJob"

RUN: Spec = {"run": {"python": ["train.py"]}}
ELASTIC: Spec = {"elastic": {"enabled": True, "minReplicas": 1, "maxReplicas": 3}}
DEBUG: Spec = {"runMode": {"debug": {"enabled": True}}}

admit = partial(build.admit, kind=KIND, name="gpt")
state = partial(build.state, kind=KIND, name="gpt")


def container(**more: Any) -> Spec:
    """A training container."""
    return {"name": "worker", "image": "deepspeed:1", **more}


def worker(replicas: int = 2, *containers: Spec, **more: Any) -> Spec:
    """The workers; without `containers` of one good one."""
    return {"replicas": replicas, "template": template(*(containers or [container()])), **more}


def spec(workers: Spec | None = None, *, config: Spec | None = None, **more: Any) -> Spec:
    """A DeepSpeedJob's spec; of two workers that run a script unless said otherwise."""
    return copy.deepcopy({"config": RUN if config is None else config, "worker": workers or worker(), **more})


def with_args(*other: str, replicas: int = 2, **more: Any) -> Spec:
    """A job with these further options of deepspeed."""
    return spec(worker(replicas), config={**RUN, "otherArgs": list(other)}, **more)
