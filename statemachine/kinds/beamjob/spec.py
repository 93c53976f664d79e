"""The spec of a BeamJob. Source: beamjob.md, section 1."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from statemachine.kinds.t9k.parts import DebugMode, Passed, Scheduler
from statemachine.schema.fields import Mutable, Opaque, Read, SpecPart, replica_count

_TEXTS: Final = {
    "type": "object",
    "maxProperties": 1024,
    "additionalProperties": {"type": "string", "maxLength": 8192},
}

Texts = Annotated[dict[str, str], Read(lambda texts: texts, _TEXTS, "map of strings")]
"""Texts by name."""

JobTemplate = Annotated[dict[str, Any], Opaque("JobTemplateSpec")]
"""The template of a Job of batch/v1, as the user wrote it."""


class FlinkMetadata(SpecPart):
    """What else the Flink pods are marked with."""

    labels: Texts | None = Field(None, description="Labels of the Flink pods; those of the controller win.")
    annotations: Texts | None = Field(None, description="Annotations of the Flink pods.")


class FlinkImage(SpecPart):
    """The container image of Flink."""

    name: Annotated[str, Field(min_length=1, max_length=8192)] = Field(
        description="Its name, for example flink:1.16.3."
    )
    pull_policy: Literal["IfNotPresent", "Always", "Never"] = Field(
        "IfNotPresent", description="When the image is pulled."
    )


class JobManager(SpecPart):
    """The Flink JobManager: one pod."""

    access_scope: Literal["Cluster"] = Field("Cluster", description="Who may reach Flink's web interface.")
    resources: Passed | None = Field(None, description="Resources of the container: requests and limits.")


class TaskManager(SpecPart):
    """The Flink TaskManagers, each with the workers of the program beside it."""

    replicas: Annotated[int, replica_count(1)] = Field(1, description="Number of TaskManagers.")
    resources: Passed | None = Field(
        None, description="Resources of the Flink container: requests and limits."
    )


class FlinkClusterSpec(SpecPart):
    """The Flink cluster that is made for the job."""

    flink_version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$", max_length=64)] = Field(
        description="Version of Flink, x.y.z: the program is submitted by the runner for x.y."
    )
    image: FlinkImage = Field(description="The container image of Flink.")
    job_manager: JobManager = Field(JobManager(), description="The Flink JobManager.")
    task_manager: TaskManager = Field(TaskManager(), description="The Flink TaskManagers.")
    flink_properties: Texts | None = Field(
        None, description="More lines of flink-conf.yaml, by key. Addresses and ports are the controller's."
    )


class FlinkClusterTemplate(SpecPart):
    """The Flink cluster, and what its pods are marked with."""

    metadata: FlinkMetadata = Field(FlinkMetadata(), description="Labels and annotations of the Flink pods.")
    spec: FlinkClusterSpec = Field(description="The cluster itself.")


class BeamRunPolicy(SpecPart):
    """What is left of a job that has ended. Source: spec R9."""

    clean_up_cluster: bool = Field(
        False,
        description="Delete the Flink cluster when the job has ended: its pods, Service and ConfigMap. What Flink's "
        "web interface shows is lost then. The Job that submitted the program stays for its log.",
    )


class BeamRunMode(SpecPart):
    """Debug."""

    debug: DebugMode = Field(
        DebugMode(), description="Set the Flink cluster up, and wait instead of submitting the program."
    )


class BeamSpec(SpecPart):
    """A Flink cluster, and the Job that runs a Beam program on it."""

    flink_cluster_template: FlinkClusterTemplate = Field(description="The Flink cluster.")
    job_template: JobTemplate = Field(
        description="Template of the Job (batch/v1) that submits the program. Options of the runner are added to the "
        "arguments of its first container, unless they have --runner. Cannot be changed after creation."
    )
    run_policy: Annotated[BeamRunPolicy, Mutable(until_finished=True)] = Field(
        BeamRunPolicy(), description="What is left of the job when it has ended."
    )
    run_mode: BeamRunMode = Field(BeamRunMode(), description="Debug.")
    scheduler: Scheduler | None = Field(
        None, description="Who places the pods. Default: the cluster's scheduler."
    )
