"""The cluster of a process without one: an engine by itself. Every call is a fault of the caller."""

from collections.abc import Callable
from typing import Never

from statemachine.errors import InvariantBroken


def _refused(method: str) -> Callable[..., Never]:
    def refuse(*_: object, **__: object) -> Never:
        raise InvariantBroken(f"a process without a cluster was asked to {method}")

    return refuse


class NoCluster:
    """A `Cluster` whose every method raises InvariantBroken when it is called."""

    watch = _refused("watch")
    get = _refused("get an object")
    look = _refused("look at a pod")
    list = _refused("list objects")
    children = _refused("list a job's children")
    owners = _refused("list the owners of objects")
    create = _refused("create an object")
    patch = _refused("patch an object")
    patch_status = _refused("patch a status")
    delete = _refused("delete an object")
    release = _refused("release a pod")
    orphans = _refused("list pods whose job is gone")
    emit = _refused("write an Event")
    events = _refused("list a job's Events")
    events_about = _refused("list Events")
    logs = _refused("read a log")
    close = _refused("close a cluster")
