"""What jobs own: objects that should exist, and sorts of objects that a kind has beside pods and Services."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from statemachine.ids import ReplicaName
from statemachine.state import JobState

Manifest = dict[str, Any]
"""A Kubernetes object as plain data."""


SSH_KEYS: Final = "ssh-keys"
"""What a Secret generates: an SSH key pair and what ssh needs to use it. Source: spec R15."""


NO_QUEUE: Final = "has no queue; pods start at once"
"""What a local run does in place of what a gang is for."""


MAKER: Final = "of"
"""Fact of a pod that was made by another controller: the name of the object that it was made of."""

POD_PHASE: Final = "phase"
"""Fact of such a pod: its phase."""

RESTARTS: Final = "restarts"
"""Fact of such a pod: how often its containers were restarted in place; absent: never."""

CONTAINER: Final = "container "
"""Beginning of the names of such a pod's facts about its containers: `Running`, or `Terminated 1` with a code."""


class Child(NamedTuple):
    """An object that should exist. `build` gives its whole manifest, owner reference and labels included.

    Its metadata is the caller's; of its spec parts may be the job's own, which nobody modifies.

    Order of a job's children is the order of creation. `replica` and `attempt` are set for pods. A `mutable`
    child is compared with the live one and updated; an `optional` one never holds up the others. `generates` names
    what its creator makes up and puts into it (`SSH_KEYS`): never a part of `build`, so that it gets into no log, no
    status and no terminal. `expand`: what `build` does with values of variables; those that the log does not have
    (ADR 0022) are put in later, and want it done to them then. One that is made `once` and is gone after it was
    observed is reported as gone, and not made again.
    """

    api_version: str
    kind: str
    name: str
    build: Callable[[], Manifest]
    replica: ReplicaName = ReplicaName("")
    attempt: int = 0
    mutable: bool = False
    optional: bool = False
    generates: str = ""
    expand: Callable[[str], str] | None = None
    once: bool = False


def owner_reference(job: JobState) -> dict[str, Any]:
    """What makes an object the job's child. Source: spec R3."""
    return {
        "apiVersion": job.api_version,
        "kind": job.object_kind,
        "name": job.name,
        "uid": job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


class Inquiry(NamedTuple):
    """What a server of the job's own is asked over HTTP, again and again, where Services have names in DNS.

    It is asked at `path` on `port` of the Service that `service` names, while `is_due`. `read` makes of the answer,
    which is any JSON, the uid of what it tells of; empty: it tells of nothing yet. The uid is observed as that of a
    child of this `kind` with the Service's name. The answer decides nothing.
    """

    kind: str
    port: int
    path: str
    service: Callable[[JobState], str]
    is_due: Callable[[JobState], bool]
    read: Callable[[object], str]


class Owned(NamedTuple):
    """Objects that jobs of a kind may own beside pods and Services: what API servers call them.

    They are watched, and made. One that is `optional` may not be installed. `when` is a setting of the kind and its
    value with which they are made; none: always. `facts`: what is observed of such an object, by name, of its status
    alone; None: nothing. A job can do without those that are not `needed`: a refusal holds nothing up.
    `compared`: the part in which the live object is compared with the wished one, and corrected. `gang`: a scheduler
    places the job's pods together by it. `link`: the field of a job's status that tells of such an object, as
    `dependent`, `ready` and `note`; its own status says where it answers, and pages lead there.
    `locally`: what a run on one machine, where nobody acts on such objects, does instead.
    `makes_pods`: its controller makes pods of such an object, which are observed by facts of their own (`MAKER`,
    `POD_PHASE` and so on), and its end counts: the last form of a deleted one is reported, too.
    """

    api_version: str
    kind: str
    plural: str
    optional: bool = True
    when: tuple[str, str] | None = None
    facts: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    needed: bool = True
    compared: str = ""
    gang: bool = False
    link: str = ""
    locally: str = ""
    makes_pods: bool = False

    @property
    def is_shown(self) -> bool:
        """Pages show how such an object stands."""
        return self.gang or bool(self.link)

    @property
    def group(self) -> str:
        """The API group."""
        return self.api_version.rpartition("/")[0]
