"""What the spec of every job kind boils down to: the part that the shared rules and `evolve` understand.

A kind makes a `Plan` from its own spec when a job is first seen and at every accepted change; the plan
travels inside the events, so that folding a history needs no kind and no setting that may have changed
meanwhile.
"""

from collections.abc import Iterator
from enum import StrEnum

from statemachine.ids import ReplicaName, replica_names, split_replica
from statemachine.wire import Wire


class RestartPolicy(StrEnum):
    """`restartPolicy` of a replica type. Source: spec R8."""

    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ALWAYS = "Always"
    EXIT_CODE = "ExitCode"


class CleanUpPolicy(StrEnum):
    """`runPolicy.cleanUpPolicy`. Source: spec R9."""

    NONE = "None"
    UNFINISHED = "Unfinished"
    ALL = "All"
    WORKERS = "cleanUpWorkers"
    """Every replica but the primary: `runPolicy.cleanUpWorkers`."""


class Launch(StrEnum):
    """Whether the primary is a driver, which starts the training in the other replicas, and when it is made.

    Source: spec R5, R10.
    """

    NONE = ""
    """There is no driver: all replicas are made together."""
    WHEN_READY = "when ready"
    """Once every other replica is Running and Ready."""
    AT_ONCE = "at once"
    """Together with the others: debug mode."""


class ReplicaType(Wire):
    """One replica type: `scale` is how many replicas there are now, elastic distribution included.

    `restart_limit`: how often a replica of the type may be restarted, where replicas have a limit of their own.
    """

    type: str
    scale: int
    restart_policy: RestartPolicy
    restart_limit: int | None = None


class PlannedChild(Wire):
    """An object of the job of which reports are awaited; `field` is the path in the spec that it is made of."""

    kind: str
    name: str
    field: str = ""


class Plan(Wire):
    """How a job is to be run. Order of `types` is the spec's.

    `primary` decides the result; empty where rules of the kind decide it. `min_running` is set for elastic jobs
    only: so many running replicas suffice (spec R12). `backoff_limit` None means without limit that all replicas
    share; `active_deadline_seconds` None means without deadline.
    """

    types: tuple[ReplicaType, ...]
    primary: ReplicaName = ReplicaName("")
    min_running: int | None = None
    paused: bool = False
    backoff_limit: int | None
    active_deadline_seconds: int | None = None
    clean_up: CleanUpPolicy
    launch: Launch = Launch.NONE
    anew_on_scale: bool = False
    """A change of scale deletes every pod and starts the replicas of the new scale."""
    children: tuple[PlannedChild, ...] = ()
    """The objects beside pods whose reports the job awaits, whatever it does meanwhile (spec R14)."""
    service: str = ""
    """Name of the headless Service that all pods share; empty: each replica has one of its own (spec R4)."""
    ttl_seconds: int | None = None
    """How long after its end the job object is deleted; None: never."""

    def replicas(self) -> Iterator[ReplicaName]:
        """Every replica of the current scale, in order: by type as the spec lists them, then by index."""
        for type_ in self.types:
            yield from replica_names(type_.type, type_.scale)

    def holds(self, replica: ReplicaName) -> bool:
        """The replica belongs to the current scale."""
        type_, index = split_replica(replica)
        return any(replica_type.type == type_ and index < replica_type.scale for replica_type in self.types)

    @property
    def leading(self) -> ReplicaName:
        """The primary, or else the first replica: the one that is shown to users who ask for none by name."""
        return self.primary or next(self.replicas(), ReplicaName(""))

    @property
    def driver(self) -> ReplicaName:
        """The replica that starts the training in the others, and decides the result; empty: all start together."""
        return ReplicaName("") if self.launch is Launch.NONE else self.primary

    @property
    def training_types(self) -> tuple[ReplicaType, ...]:
        """The replica types that train: all but that of a driver."""
        driving = split_replica(self.driver)[0] if self.driver else ""
        return tuple(type_ for type_ in self.types if type_.type != driving)

    def type_of(self, replica: ReplicaName) -> ReplicaType:
        """The replica type that `replica` belongs to."""
        type_ = split_replica(replica)[0]
        return next(replica_type for replica_type in self.types if replica_type.type == type_)

    @property
    def scale(self) -> int:
        """Number of replicas over all types."""
        number = 0
        for replica_type in self.types:
            number += replica_type.scale
        return number
