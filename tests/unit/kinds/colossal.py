"""Words for tests of ColossalAIJob: specs with nothing wrong in them, to be broken in one place."""

import copy
from functools import partial
from typing import Any

from tests.unit.kinds import build
from tests.unit.kinds.build import Spec, template

KIND = "ColossalAIJob"
NAME = "gpt"

DEBUG: Spec = {"runMode": {"debug": {"enabled": True}}}

admit = partial(build.admit, kind=KIND, name=NAME)
state = partial(build.state, kind=KIND, name=NAME)


def container(**more: Any) -> Spec:
    """The container that runs sshd."""
    return {"name": "worker", "image": "colossalai:1", **more}


def workers(replicas: int = 2, *containers: Spec, **more: Any) -> Spec:
    """The workers; without `containers` of one good one."""
    pods = template(*(containers or [container()]))
    return {"replicas": replicas, "command": ["train.py"], "template": pods, **more}


def spec(worker: Spec | None = None, *, launcher: Spec | None = None, **more: Any) -> Spec:
    """A ColossalAIJob's spec; of two workers unless said otherwise."""
    own = {"image": "colossalai:1"} if launcher is None else launcher
    return copy.deepcopy({"launcher": own, "worker": worker or workers(), **more})


def with_torch_args(*args: str) -> Spec:
    """A job with these options for torchrun."""
    return spec(workers(torchArgs=list(args)))


def old_launcher(**more: Any) -> Spec:
    """The launcher in the older form; `more` is said of its container."""
    return {"type": "launcher", "template": template({"name": "launcher", "image": "colossalai:1", **more})}


def old_workers(replicas: int = 2, **more: Any) -> Spec:
    """The workers in the older form."""
    return {"type": "worker", "replicas": replicas, "template": template(container()), **more}


def old_spec(*items: Spec, torch: Spec | None = None, **more: Any) -> Spec:
    """A spec in the older form."""
    config = {"procPerWorker": 1, "script": ["train.py"]} if torch is None else torch
    listed = list(items) or [old_launcher(), old_workers()]
    return copy.deepcopy({"torchConfig": config, "replicaSpecs": listed, **more})
