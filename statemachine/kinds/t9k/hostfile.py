"""The hostfile: which hosts a launcher finds its workers on. Source: spec R15.

A file of its own in the pod (`subPath`), so that living pods keep the one they were started with.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from statemachine.kinds.t9k.objects import job_labels, metadata
from statemachine.kinds.t9k.pods import Attached
from statemachine.owned import Child, Manifest
from statemachine.state import JobState

HOSTFILE_PATH: Final = "/t9k/hostfile"
"""Where the training container finds it. Source: spec R15."""

HOSTFILE_VOLUME: Final = "hostfile"

_KEY: Final = "hostfile"


def hostfile_name(job: JobState) -> str:
    """Name of the ConfigMap. Source: spec R3."""
    return f"{job.name}-hostfile"


def hostfile(job: JobState, lines: Callable[[], Iterable[str]]) -> Child:
    """The ConfigMap `<job>-hostfile`: `lines` without their ends, a line a worker in index order.

    A change of scale rewrites it. Source: spec R15.
    """
    name = hostfile_name(job)
    return Child("v1", "ConfigMap", name, partial(_config_map, job, name, lines), mutable=True)


def _config_map(job: JobState, name: str, lines: Callable[[], Iterable[str]]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(job, name, job_labels(job)),
        "data": {_KEY: "".join(f"{line}\n" for line in lines())},
    }


def hostfile_mount(job: JobState) -> Attached:
    """Volume and mount of the job's hostfile in the training container. Source: spec R15."""
    return Attached(
        volume={"name": HOSTFILE_VOLUME, "configMap": {"name": hostfile_name(job)}},
        mount={"name": HOSTFILE_VOLUME, "mountPath": HOSTFILE_PATH, "subPath": _KEY},
    )
