"""What users read of a PyTorchJob's life, word for word as the training operator says it: written here alone.

Source: kubeflow-pytorchjob.md, sections 4 and 5.
"""

from typing import Final

from statemachine.state import JobState

CREATED: Final = "Created"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
"""Condition types; the reason of each but ChildRefused and one other is `PyTorchJob` and the type."""

TROUBLES: Final = ("ReplicaFailure", RESTARTING)
"""Types of conditions of a job that goes on with an error."""

ACCEPTED: Final = "PyTorchJobChildrenAccepted"
"""Reason of a ChildRefused condition that is False."""

ALL_MADE: Final = "All pods of the job exist."

RESUMED: Final = "PyTorchJobResumed"
"""Reason of a Suspended condition that is False."""

INVALID: Final = "PyTorchJobFailedValidation"
"""Reason of the Failed condition of a job whose spec breaks a rule of layer V."""


def reason(type_: str) -> str:
    """The reason of a condition."""
    return f"PyTorchJob{type_}"


def created(name: str) -> str:
    """Of Created."""
    return f"PyTorchJob {name} is created."


def running(job: JobState, *, master: bool) -> str:
    """Of Running."""
    return f"PyTorchJob {job.name if master else _whole(job)} is running."


def succeeded(job: JobState, *, master: bool) -> str:
    """Of Succeeded."""
    if master:
        return f"PyTorchJob {job.name} is successfully completed."
    return f"PyTorchJob {_whole(job)} successfully completed."


def _whole(job: JobState) -> str:
    return f"{job.namespace}/{job.name}"


def restarting(job: JobState, key: str) -> str:
    """Of Restarting, when a failed pod is deleted to be made again."""
    return f"job {job.name} is restarting because {key} replica(s) failed."


def disappearing(job: JobState, key: str, number: int) -> str:
    """Of Restarting, when somebody deletes pods that run."""
    return f"PyTorchJob {job.name} is restarting because {number} {key} replica(s) failed."


def failed(job: JobState, key: str, number: int) -> str:
    """Of Failed, with restart policy Never."""
    return f"PyTorchJob {job.name} is failed because {number} {key} replica(s) failed."


def failed_by_code(job: JobState, key: str) -> str:
    """Of Failed, with restart policy ExitCode."""
    return f'job "{job.name}" is failing because "{key}" replica(s) failed.'


def past_limit(job: JobState) -> str:
    """Of Failed, when there were too many restarts."""
    return f"Job {job.name} has failed because it has reached the specified backoff limit"


def past_deadline(job: JobState) -> str:
    """Of Failed, when it took too long."""
    return f"Job {job.name} has failed because it was active longer than specified deadline"


def suspended(name: str) -> str:
    """Of Suspended, and of the Running that it ends."""
    return f"PyTorchJob {name} is suspended."


def resumed(name: str) -> str:
    """Of Suspended that is over."""
    return f"PyTorchJob {name} is resumed."
