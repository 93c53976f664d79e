"""The data of events of replicas, a model a type."""

from typing import Annotated

from projectors.contract.model.base import At, Count, one_of
from projectors.contract.model.parts import Budget, Cause, Container, ReplicaData


class ReplicaRequested(ReplicaData):
    """A pod is wanted."""


class ReplicaDelayed(ReplicaData):
    """The next pod is not made before `retryAt`, as several were made in a row."""

    retry_at: At
    in_a_row: Count


class ReplicaPending(ReplicaData):
    """The pod exists."""

    containers: tuple[Container, ...]
    from_unknown: bool
    """It was out of sight before."""
    adopted: bool
    """The ledger did not ask for this attempt: it is of a life that the ledger does not know."""


class ReplicaRunning(ReplicaData):
    """The pod runs."""

    containers: tuple[Container, ...]
    ready: bool


class ReplicaUpdated(ReplicaRunning):
    """Containers of the pod changed, or its deletion began, while its phase stayed."""

    deleting: bool


class ReplicaEnded(ReplicaData):
    """The pod ended: well, with a failure, or because it was asked to."""

    containers: tuple[Container, ...]
    cause: Cause | None


class ReplicaUnknown(ReplicaData):
    """Nobody can say how the pod is."""

    containers: tuple[Container, ...]


class ReplicaLost(ReplicaData):
    """The pod vanished without having ended, and nobody had asked it to."""

    cause: Cause
    for_good: bool
    """No other takes its place."""


class ReplicaStopping(ReplicaData):
    """The controller will delete the pod."""

    why: Annotated[str, one_of("Pause", "Scale", "CleanUp", "Deadline", "JobEnded")]
    again: bool
    """Another is asked for when it is gone."""
    cause: Cause


class ReplicaReleased(ReplicaData):
    """The pod is gone, as asked or after its end."""


class ReplicaRestartScheduled(ReplicaData):
    """A restart was granted."""

    cause: Cause
    budget: Budget
    after_success: bool


class ReplicaRestartDenied(ReplicaData):
    """An ended replica stays ended: by its policy, or because no restart is left."""

    cause: Cause
    budget: Budget
    exhausted: bool
