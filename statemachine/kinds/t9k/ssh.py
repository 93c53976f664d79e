"""SSH between the replicas of a job: the Secret with its keys, where they are mounted, and what users leave alone.

The keys are not here, nor in anything that the log or a status could hold: the Secret's `Child` only says that
a key pair is to be generated, and who creates it on the cluster does so (ADR 0013). Source: spec R15.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from posixpath import normpath
from typing import Annotated, Any, Final

from pydantic import Field

from statemachine.errors import Problem
from statemachine.kinds.t9k.hostfile import HOSTFILE_PATH, HOSTFILE_VOLUME
from statemachine.kinds.t9k.objects import job_labels, metadata
from statemachine.kinds.t9k.pods import Attached
from statemachine.owned import SSH_KEYS, Child, Manifest
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.layout import Layout, Slot
from statemachine.schema.lookup import items, text
from statemachine.state import JobState

AbsolutePath = Annotated[str, Field(pattern="^/", max_length=4096)]
"""A path that begins at the root, as an SSH server wants it. Source: spec R15."""

SSH_DIRECTORY: Final = "/root/.ssh"
"""Where the keys are unless the job says otherwise. Source: spec R15."""

SSH_VOLUME: Final = "ssh-auth"

SSHD: Final = "/usr/sbin/sshd"
"""The SSH server. Source: spec R15, `sshdPath`."""

_OWNER_ONLY: Final = 0o600
"""ssh refuses a private key that others may read."""


def ssh_name(job: JobState) -> str:
    """Name of the Secret. Source: spec R3."""
    return f"{job.name}-ssh"


def ssh_secret(job: JobState) -> Child:
    """The Secret `<job>-ssh`, without the keys: they are made once, when it is created. Source: spec R15."""
    name = ssh_name(job)
    return Child("v1", "Secret", name, partial(_secret, job, name), generates=SSH_KEYS)


def _secret(job: JobState, name: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(job, name, job_labels(job)),
        "type": "Opaque",
    }


def ssh_keys_at(job: JobState, directory: str = SSH_DIRECTORY) -> Attached:
    """Volume and mount of the job's keys at `directory` of the training container. Source: spec R15."""
    secret = {"secretName": ssh_name(job), "defaultMode": _OWNER_ONLY}
    return Attached(
        volume={"name": SSH_VOLUME, "secret": secret},
        mount={"name": SSH_VOLUME, "mountPath": directory, "readOnly": True},
    )


def reserved_mounts(
    id_: str, layout: Layout, directories: Callable[[Mapping[str, Any]], Sequence[str]], *, source: str
) -> Rule:
    """Volumes and mounts of the controller are not the user's: the rule under the kind's own id.

    `directories` finds in a spec the paths that are reserved besides the hostfile. What lies below such a path
    cannot be mounted either; other containers than the training one get nothing mounted, and are free.
    """

    def check(draft: Draft) -> Iterator[Problem]:
        paths = [HOSTFILE_PATH, *map(normpath, directories(draft.spec))]
        for slot in layout.slots(draft.spec):
            training = layout.training(slot)
            if training is not None:
                at = f"{slot.path}.containers[{training[0]}]"
                yield from _taken_paths(id_, at, training[1], paths)
            yield from _taken_names(id_, slot)

    return Rule(
        id_,
        Layer.CONTROLLER,
        says=f"no volume is called `{SSH_VOLUME}` or `{HOSTFILE_VOLUME}`, and the training container mounts "
        "nothing where the controller does: the SSH directory and the hostfile",
        text='<path>.volumeMounts[i].mountPath: "<p>" is reserved by the controller',
        check=check,
        source=source,
    )


def _taken_paths(id_: str, at: str, container: Mapping[str, Any], paths: Sequence[str]) -> Iterator[Problem]:
    for index, mount in items(container, "volumeMounts"):
        path = text(mount, "mountPath")
        if path and any(f"{normpath(path)}/".startswith(f"{taken}/") for taken in paths):
            where = f"{at}.volumeMounts[{index}].mountPath"
            yield Problem(id_, where, f'"{path}" is reserved by the controller')


def _taken_names(id_: str, slot: Slot) -> Iterator[Problem]:
    for index, volume in items(slot.template, "spec.volumes"):
        name = text(volume, "name")
        if name in (SSH_VOLUME, HOSTFILE_VOLUME):
            yield Problem(
                id_, f"{slot.path}.volumes[{index}].name", f'"{name}" is reserved by the controller'
            )
