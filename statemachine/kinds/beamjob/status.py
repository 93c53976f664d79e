"""State → `.status` of a BeamJob, and the schema of it. Source: beamjob.md, section 5; spec R7."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.ids import split_replica
from statemachine.kind import Kind
from statemachine.kinds.beamjob.roles import JOB_MANAGER, SUBMIT, TASK_MANAGER, flink_name
from statemachine.kinds.beamjob.submit import flink_id, phase_of, submit_pods
from statemachine.kinds.common.crd import Served
from statemachine.kinds.t9k.kind import t9k_served
from statemachine.kinds.t9k.status import shown_condition, tasks
from statemachine.owned import CONTAINER, RESTARTS
from statemachine.phases import Phase
from statemachine.state import ChildState, JobState, ReplicaPhase
from statemachine.timestamps import rfc3339

INITIALIZING: Final = "Initializing"
"""What a job is called that waits for its cluster, or for the program to be submitted."""

Status = dict[str, Any]


def word_of(phase: Phase) -> str:
    """The phase as users of the kind read it."""
    return INITIALIZING if phase is Phase.PENDING else phase.value


def status(kind: Kind, state: JobState) -> Status:
    """The whole status."""
    times = {"startTime": state.started_at, "completionTime": state.completed_at}
    return {
        "phase": word_of(state.phase),
        **{name: rfc3339(at) for name, at in times.items() if at is not None},
        "observedGeneration": state.generation,
        "jobURL": _job_url(state),
        "aggregate": _aggregate(state),
        "flinkClusterStatus": {
            "jobManagerStatus": list(_flink(kind, state, JOB_MANAGER)),
            "taskManagerStatus": list(_flink(kind, state, TASK_MANAGER)),
        },
        "jobStatus": [_reference(pod.name, pod.uid, phase_of(pod)) for pod in submit_pods(state)],
        "tasks": list(_tasks(kind, state)),
        "conditions": [shown_condition(condition) for condition in state.conditions],
    }


def _job_url(state: JobState) -> str:
    """Where pages show the program in Flink's web interface; empty until Flink's id of it is known."""
    path = f"/t9k/flink-cluster/{flink_name(state.name)}/namespace/{state.namespace}/#/job/"
    return f"{path}{flink_id(state)}/overview/" if flink_id(state) else ""


def _aggregate(state: JobState) -> dict[str, int]:
    """The submit pods are counted beside the Flink pods."""
    counts = state.aggregate
    for pod in submit_pods(state):
        counts[phase_of(pod).value.lower()] += 1
    return counts


def _flink(kind: Kind, state: JobState, type_: str) -> Iterator[Status]:
    for replica in state.members:
        if split_replica(replica.name)[0] == type_:
            yield _reference(kind.pod_name(state, replica.name), replica.uid, state.reported(replica))


def _reference(name: str, uid: str, phase: ReplicaPhase) -> Status:
    return {"phase": phase.value, "reference": {"name": name, "uid": uid}}


def _tasks(kind: Kind, state: JobState) -> Iterator[Status]:
    if state.plan is None:
        return
    yield from tasks(kind, state)
    pods = submit_pods(state)
    # the Job's controller makes another pod for each that failed, but for the last
    again = sum(phase_of(pod) is ReplicaPhase.FAILED for pod in pods[:-1])
    in_place = sum(int(pod.facts.get(RESTARTS, "0")) for pod in pods)
    yield {"type": SUBMIT, "restartCount": again + in_place, "replicas": [_submit_pod(pod) for pod in pods]}


def _submit_pod(pod: ChildState) -> Status:
    containers = [
        _container(name.removeprefix(CONTAINER), said)
        for name, said in pod.facts.items()
        if name.startswith(CONTAINER)
    ]
    return {"name": pod.name, "uid": pod.uid, "phase": phase_of(pod).value, "containers": containers}


def _container(name: str, said: str) -> Status:
    state, _, code = said.partition(" ")
    return {"name": name, "state": state, **({"exitCode": int(code)} if code else {})}


def _text(about: str) -> Status:
    return {"type": "string", "description": about}


def _pods(about: str) -> Status:
    reference = {
        "type": "object",
        "description": "The pod.",
        "properties": {"name": _text("Its name."), "uid": _text("Its uid, empty while there is none.")},
    }
    phase = {
        "type": "string",
        "description": "Phase of the pod.",
        "enum": [phase.value for phase in ReplicaPhase],
    }
    item = {"type": "object", "description": "A pod.", "properties": {"phase": phase, "reference": reference}}
    return {"type": "array", "description": about, "items": item}


def _served() -> Served:
    served = t9k_served(
        "A Flink cluster, and a Job that runs an Apache Beam program on it. The end of the Job is the job's end.",
        restarts=False,
    )
    known: Mapping[str, Any] = served.status["properties"]
    condition = known["conditions"]["items"]
    type_ = _text("ClusterRunning, JobRunning, and Failed of a job that has failed.")
    reason = _text("Why, in a word; empty if there is nothing to say.")
    condition = condition | {"properties": {**condition["properties"], "type": type_, "reason": reason}}
    properties: Mapping[str, Any] = {
        **known,
        "phase": {
            **known["phase"],
            "enum": [INITIALIZING, "Running", "Succeeded", "Failed", "Unknown"],
        },
        "jobURL": _text("Where Flink's web interface shows the program; empty until it is known."),
        "conditions": {**known["conditions"], "items": condition},
        "flinkClusterStatus": {
            "type": "object",
            "description": "The pods of the Flink cluster.",
            "properties": {
                "jobManagerStatus": _pods("The JobManager's pod."),
                "taskManagerStatus": _pods("The TaskManagers' pods by index."),
            },
        },
        "jobStatus": _pods("The pods that submit the program, in the order in which they came."),
    }
    return Served(served.about, {**served.status, "properties": dict(properties)}, served.columns)


SERVED: Final = _served()
