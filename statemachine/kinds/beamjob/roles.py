"""Who is who in a BeamJob: names, the pod template, the plan. Source: beamjob.md, sections 1 and 3.

The pods of the Flink cluster are its replicas, and none of them decides; the Job that submits the program is a child,
whose pods its own controller makes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.ids import JobUid, ReplicaName, replica_name
from statemachine.kinds.beamjob.spec import BeamSpec
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.schema.layout import Layout, Slot
from statemachine.schema.lookup import entries, is_object
from statemachine.spec import CleanUpPolicy, Plan, PlannedChild, ReplicaType, RestartPolicy
from statemachine.state import JobState

NAMES: Final = t9k_names("BeamJob", "bj")

JOB_MANAGER: Final = "jobmanager"
TASK_MANAGER: Final = "taskmanager"
SUBMIT: Final = "batchjob"
"""The type of the pods that submit the program, in status and debug mode."""

JOB: Final = "Job"
"""Kind of the child that submits the program."""

THE_JOB_MANAGER: Final = replica_name(JOB_MANAGER, 0)


def flink_name(name: str) -> str:
    """`<job>-flinkcluster`: what the names of the cluster's objects begin with."""
    return f"{name}-flinkcluster"


def job_manager_name(name: str) -> str:
    """`<job>-flinkcluster-jobmanager`: the Service under which the cluster is reached."""
    return f"{flink_name(name)}-{JOB_MANAGER}"


def submit_name(name: str) -> str:
    """`<job>-batchjob`: the Job that submits the program; its pods are called `<job>-batchjob-xxxxx`."""
    return f"{name}-{SUBMIT}"


def pod_name(job: JobState, replica: ReplicaName) -> str:
    """`<job>-flinkcluster-<type>-<index>`."""
    return f"{flink_name(job.name)}-{replica}"


def slots(spec: Mapping[str, Any]) -> Iterator[Slot]:
    """The one pod template that users write: that of the Job."""
    if is_object(spec.get("jobTemplate")):
        template = entries(spec, "jobTemplate.spec.template")
        yield Slot(SUBMIT, "spec.jobTemplate.spec.template.spec", template)


LAYOUT: Final = Layout(slots=slots, training_names=(), generated_env=lambda _: ())


def plan(name: str, _uid: JobUid, spec: BeamSpec) -> Plan:
    """How the job is to be run: the cluster's pods come back without a limit, and decide nothing."""
    return Plan(
        types=(
            ReplicaType(type=JOB_MANAGER, scale=1, restart_policy=RestartPolicy.ALWAYS),
            ReplicaType(
                type=TASK_MANAGER,
                scale=spec.flink_cluster_template.spec.task_manager.replicas,
                restart_policy=RestartPolicy.ALWAYS,
            ),
        ),
        backoff_limit=None,
        clean_up=CleanUpPolicy.ALL if spec.run_policy.clean_up_cluster else CleanUpPolicy.NONE,
        children=(PlannedChild(kind=JOB, name=submit_name(name), field="spec.jobTemplate"),),
    )
