"""Kinds with a launcher: when it is made, and which replicas have to be there for it (T7, T9, T18).

Workers wait for the launcher, which starts the training in them. Before its pod is asked for, workers can be made
anew; afterwards the training counts on those that there are. Nothing here holds of jobs without a launcher.
Source: colossalaijob.md, sections 3 and 5.
"""

from statemachine.spec import Launch
from statemachine.state import JobState, ReplicaPhase, ReplicaState


def has_launcher(state: JobState) -> bool:
    """The primary is a launcher."""
    return state.plan is not None and state.plan.launch is not Launch.NONE


def is_launched(state: JobState) -> bool:
    """The launcher's pod exists, or has been asked for, since the job was started or resumed."""
    if not has_launcher(state):
        return False
    launcher = state.replicas[state.running_plan.primary]
    return launcher.has_pod and not launcher.leaving


def is_held_back(state: JobState, replica: ReplicaState) -> bool:
    """The pod of `replica` is not asked for yet: it is the launcher, and not every worker is Running and Ready."""
    if state.running_plan.launch is not Launch.WHEN_READY or replica.name != state.running_plan.primary:
        return False
    return not all(_waits(each) for each in state.members if each.name != replica.name)


def _waits(worker: ReplicaState) -> bool:
    """The worker is ready for the launcher, and will be there when it comes."""
    staying = not worker.leaving and not worker.deleting
    return worker.phase is ReplicaPhase.RUNNING and worker.ready and staying


def early_end(state: JobState) -> ReplicaState | None:
    """A worker that has ended before the launcher was made, which would now wait for it for ever (T9)."""
    if not has_launcher(state) or is_launched(state):
        return None
    over = (ReplicaPhase.SUCCEEDED, ReplicaPhase.FAILED)
    return next((each for each in state.members if each.phase in over and not each.leaving), None)


def only_serves(state: JobState, replica: ReplicaState) -> bool:
    """`replica` is a worker that only serves the launcher: exit code 0 of one being deleted is no success.

    sshd ends so when it is told to stop.
    """
    return has_launcher(state) and replica.name != state.running_plan.primary
