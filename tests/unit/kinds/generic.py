"""Words for tests of GenericJob: specs with nothing wrong in them, to be broken in one place."""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.support.scenario import Story
from tests.unit.kinds import build
from tests.unit.kinds.build import Spec, template

KIND = "GenericJob"
NAME = "generic-example"

DEBUG: Spec = {"runMode": {"debug": {"enabled": True}}}
HTTP: Spec = {"service": {"ports": [{"name": "http", "port": 2222}]}}

admit = partial(build.admit, kind=KIND, name=NAME)
state = partial(build.state, kind=KIND, name=NAME)


def container(**more: Any) -> Spec:
    """A container of no framework."""
    return {"name": "sleep", "image": "busybox", "command": ["sleep", "365"], **more}


def replicas(type_: str = "worker", number: int = 2, *containers: Spec, **more: Any) -> Spec:
    """One item of `replicaSpecs`; without `containers` of one good one."""
    pods = template(*(containers or [container()]))
    return {"type": type_, "replicas": number, "template": pods, **more}


def restarting(type_: str, number: int, policy: str, limit: int) -> Spec:
    """Replicas that are restarted so often."""
    return replicas(type_, number, restartPolicy={"policy": policy, "limit": limit})


def spec(*items: Spec, **more: Any) -> Spec:
    """A GenericJob's spec; of two workers unless said otherwise."""
    return copy.deepcopy({"replicaSpecs": list(items) or [replicas()], **more})


def ruled(*items: Spec, success: Sequence[Spec], failure: Sequence[Spec] = (), **more: Any) -> Spec:
    """A spec with rules of its own."""
    return spec(*items, successRules=list(success), failureRules=list(failure), **more)


def started(of: Spec) -> Story:
    """The job with all its pods running."""
    return Story(of, name=NAME, kind=KIND).submit().at(5).all_pods("Running")
