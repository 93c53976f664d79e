"""Words for tests of MPIJob: specs with nothing wrong in them, to be broken in one place."""

import copy
from functools import partial
from typing import Any

from tests.support.scenario import Story
from tests.unit.kinds import build
from tests.unit.kinds.build import Spec, template

KIND = "MPIJob"
NAME = "walk"

DEBUG: Spec = {"runMode": {"debug": {"enabled": True}}}

admit = partial(build.admit, kind=KIND, name=NAME)
state = partial(build.state, kind=KIND, name=NAME)


def container(**more: Any) -> Spec:
    """The container that MPI runs in."""
    return {"name": "mpi-worker", "image": "openmpi:4", **more}


def workers(replicas: int = 2, *containers: Spec, **more: Any) -> Spec:
    """The workers; without `containers` of one good one."""
    pods = template(*(containers or [container()]))
    return {"replicas": replicas, "cmd": ["./walk"], "template": pods, **more}


def spec(worker: Spec | None = None, **more: Any) -> Spec:
    """An MPIJob's spec; of two workers unless said otherwise."""
    return copy.deepcopy({"worker": worker or workers(), **more})


def with_options(*words: str) -> Spec:
    """A job with these options of mpirun."""
    return spec(workers(extraMPIArgs=list(words)))


def old_launcher(**more: Any) -> Spec:
    """The launcher in the older form; `more` is said of its container."""
    return {"type": "launcher", "template": template({"name": "launcher", "image": "openmpi:4", **more})}


def old_workers(replicas: int = 2, **more: Any) -> Spec:
    """The workers in the older form."""
    return {"type": "worker", "replicas": replicas, "template": template(container()), **more}


def old_spec(*items: Spec, mpi: Spec | None = None, **more: Any) -> Spec:
    """A spec in the older form."""
    config = {"script": ["./walk"]} if mpi is None else mpi
    listed = list(items) or [old_launcher(), old_workers()]
    return copy.deepcopy({"mpiConfig": config, "replicaSpecs": listed, **more})


def without(whole: Spec, *names: str) -> Spec:
    """A spec that lacks some fields."""
    return {name: value for name, value in whole.items() if name not in names}


def started(of: Spec, workers: int = 2) -> Story:
    """The job with its workers ready and the launcher running."""
    story = Story(of, name=NAME, kind=KIND).submit()
    return story.ready(*(f"worker-{index}" for index in range(workers))).pod("launcher-0", "Running")
