"""Condition types, reasons and messages, word for word (spec R6, R16): written here and nowhere else."""

from statemachine.events import Cause, Condition
from statemachine.phases import Phase

INITIALIZED = "Initialized"
RUNNING = "Running"
REPLICA_FAILURE = "ReplicaFailure"
COMPLETED = "Completed"
FAILED = "Failed"
PAUSED = "Paused"
CHILD_REFUSED = "ChildRefused"

INITIALIZED_MESSAGE = "The job has been initialized successfully."
NORMAL_MESSAGE = "All pods are running normally."
DONE_MESSAGE = "The job has finished successfully."
EXIT_MESSAGE = "The job exited with an error code."
PAUSED_MESSAGE = "The job is paused; all replicas are deleted or being deleted."
RESUMING_MESSAGE = "The job is resuming from pause."


def limit_message(limit: int | None) -> str:
    """Code mLimit of spec R6."""
    return f"The job has failed because the restart limit ({limit}) has been reached."


def deadline_message(seconds: int | None) -> str:
    """Code mDeadline of spec R6."""
    return f"The job was active longer than the specified deadline ({seconds}s)."


def unknown_message(pod: str) -> str:
    """Code mUnknown of spec R6."""
    return f"The status of replica {pod} cannot be obtained."


def replica_message(pod: str, cause: Cause) -> str:
    """Code mReplica of spec R6: by exit code where there is one, else by the pod's reason."""
    if cause.exit_code is not None:
        return f'Replica {pod} failed: container "{cause.container}" exited with code {cause.exit_code}.'
    return f"Replica {pod} failed: {cause.reason or cause.kind}."


def lost_message(pod: str) -> str:
    """Code mReplica of spec R6 for a pod that vanished and is not made again."""
    return f"Replica {pod} failed: its pod was deleted."


def early_end_message(pod: str, driver: str) -> str:
    """Code mReplica of spec R6 for a worker that ended with exit code 0 before there was a driver, by its type."""
    return f"Replica {pod} failed: it ended before the {driver} was created."


def restart_message(pod: str, cause: Cause, number: int, limit: int | None) -> str:
    """The ReplicaRestart event of spec R16."""
    how = f"exit code {cause.exit_code}" if cause.exit_code is not None else cause.reason or cause.kind
    return f"Restart replica {pod} ({how}), restart {number} of {'no limit' if limit is None else limit}"


def true(type_: str, reason: str, message: str) -> Condition:
    """A condition that holds."""
    return Condition(type=type_, status="True", reason=reason, message=message)


def false(type_: str, reason: str, message: str) -> Condition:
    """A condition that does not hold."""
    return Condition(type=type_, status="False", reason=reason, message=message)


INITIALIZED_TRUE = true(INITIALIZED, "-", INITIALIZED_MESSAGE)
RUNNING_TRUE = true(RUNNING, "-", NORMAL_MESSAGE)
NO_REPLICA_FAILURE = false(REPLICA_FAILURE, "-", NORMAL_MESSAGE)

RUNNING_PAUSED = false(RUNNING, "Paused", PAUSED_MESSAGE)
PAUSED_TRUE = true(PAUSED, "Paused", PAUSED_MESSAGE)
WHEN_PAUSED = (RUNNING_PAUSED, PAUSED_TRUE)
WHEN_RESUMING = (false(RUNNING, "Resuming", RESUMING_MESSAGE), false(PAUSED, "Resuming", RESUMING_MESSAGE))
WHEN_SUCCEEDED = (
    false(RUNNING, "Succeeded", DONE_MESSAGE),
    true(COMPLETED, "Succeeded", DONE_MESSAGE),
    false(FAILED, "Succeeded", DONE_MESSAGE),
)


def when_failed(reason: str, message: str) -> tuple[Condition, ...]:
    """The conditions of a job that ran and failed: rows "Failed: …" of spec R6."""
    return (
        false(RUNNING, reason, message),
        false(COMPLETED, reason, message),
        true(FAILED, reason, message),
    )


def unstartable(pod: str, why: str) -> str:
    """A pod that can never be started (T6)."""
    return f"Pod {pod} cannot be started: {why}"


def when_invalid(message: str) -> tuple[Condition, ...]:
    """The conditions of a job that never ran because something in it is invalid (T3, T6)."""
    return (false(COMPLETED, "InvalidSpec", message), true(FAILED, "InvalidSpec", message))


def known_again(phase: Phase) -> tuple[Condition, ...]:
    """The Running condition that a job back from Unknown has in `phase` (T17); empty: it is absent there."""
    match phase:
        case Phase.RUNNING:
            return (RUNNING_TRUE,)
        case Phase.RESUMING:
            return (false(RUNNING, "Resuming", RESUMING_MESSAGE),)
        case _:
            return ()
