"""Jobs with a driver (`Plan.driver`): when it is made, and which replicas have to be there for it (T7, T9, T18).

Workers wait for the driver, which starts the training in them. Before its pod is asked for, workers can be made
anew; afterwards the training counts on those that there are. Nothing here holds of jobs without a driver.
Source: spec R5, R10.
"""

from statemachine.ids import ReplicaName
from statemachine.spec import Launch
from statemachine.state import JobState, ReplicaPhase, ReplicaState


def driver_of(state: JobState) -> ReplicaName:
    """The replica that starts the training in the others; empty: all start together."""
    return ReplicaName("") if state.plan is None else state.plan.driver


def is_driven(state: JobState) -> bool:
    """The driver's pod exists, or has been asked for, since the job was started or resumed."""
    if not driver_of(state):
        return False
    driver = state.replicas[driver_of(state)]
    return driver.has_pod and not driver.leaving


def is_held_back(state: JobState, replica: ReplicaState) -> bool:
    """The pod of `replica` is not asked for yet: it is the driver, and not every worker is Running and Ready."""
    if state.running_plan.launch is not Launch.WHEN_READY or replica.name != driver_of(state):
        return False
    return not all(_waits(other) for other in state.members if other.name != replica.name)


def _waits(worker: ReplicaState) -> bool:
    """The worker is ready for the driver, and will be there when it comes."""
    staying = not worker.leaving and not worker.deleting
    return worker.phase is ReplicaPhase.RUNNING and worker.ready and staying


def early_end(state: JobState) -> ReplicaState | None:
    """A worker that has ended before the driver was made, which would now wait for it for ever (T9)."""
    if not driver_of(state) or is_driven(state):
        return None
    over = (ReplicaPhase.SUCCEEDED, ReplicaPhase.FAILED)
    return next((replica for replica in state.members if replica.phase in over and not replica.leaving), None)


def only_serves(state: JobState, replica: ReplicaState) -> bool:
    """`replica` is a worker that only serves the driver: exit code 0 of one being deleted is no success.

    A server that takes the driver's commands ends so when it is asked to stop.
    """
    return bool(driver_of(state)) and replica.name != driver_of(state)
