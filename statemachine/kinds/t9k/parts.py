"""The parts of a spec that the T9k kinds share. Descriptions are what `kubectl explain` shows."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from statemachine.schema.fields import (
    INT32_MAX,
    Count,
    Mutable,
    Number,
    Opaque,
    OpenPart,
    PodTemplate,
    Seconds,
    SpecPart,
    Was,
    Word,
    replica_count,
)

TYPE_PATTERN = "^[a-z]([-a-z0-9]*[a-z0-9])?$"

TypeName = Annotated[str, Field(max_length=20, pattern=TYPE_PATTERN)]
"""The name of a replica type. Source: spec G3."""

TypeRef = Annotated[str, Field(max_length=20)]
"""A mention of a replica type; that it exists is G7's to say."""

Words = Annotated[list[Word], Field(max_length=256)]
"""A command line. The bounds serve CEL, which wants to know what a comparison may cost."""

Passed = Annotated[dict[str, Any], Opaque("object")]
"""An object that is handed on as it is."""

Policy = Literal["Never", "OnFailure", "Always", "ExitCode"]


class ReplicaSpec(SpecPart):
    """One type of replicas: pods that are alike but for their index."""

    type: TypeName = Field(
        description="Name of the replica type, for example worker. Becomes part of pod names."
    )
    replicas: Annotated[int, replica_count(0)] = Field(1, description="Number of replicas of this type.")
    restart_policy: Policy = Field(
        "OnFailure",
        description="Which ends of a pod make the controller start it again. ExitCode: only exit codes 130, "
        "137, 138 and 143, or an end without exit code. Every restart counts towards runPolicy.backoffLimit.",
    )
    template: PodTemplate = Field(
        description="Pod template of this type. Its restartPolicy is ignored: pods get Never, the controller "
        "restarts. Cannot be changed after creation."
    )


class RunPolicy(SpecPart):
    """How long a job may run, how often it may fail, what is left of it. Source: spec R9."""

    active_deadline_seconds: Seconds | None = Field(
        None,
        description="Seconds the job may be active, from the start (or the last resume) on, waiting and "
        "restarts included. Then it has failed. Default: no limit.",
    )
    backoff_limit: Count = Field(
        3,
        description="Restarts that all replicas together may use up. 0: nothing is restarted. "
        "Raising it while the job runs counts for later failures.",
    )
    clean_up_policy: Literal["None", "All", "Unfinished"] = Field(
        "None",
        description="Pods to delete when the job has ended. None: nothing, running replicas go on. "
        "Unfinished: those that still run or wait. All: all of them, logs included.",
    )


class DebugReplica(SpecPart):
    """How the replicas of one type wait to be debugged."""

    type: TypeRef = Field(description="Replica type that this entry is for.")
    skip_init_container: bool = Field(False, description="Leave the init containers out.")
    command: Words | None = Field(
        None, description="What the training container runs instead of the training; its args are emptied."
    )


class DebugMode(SpecPart):
    """Everything is set up as usual, but training does not start. Source: spec R10."""

    enabled: Annotated[bool, Was("enable")] = Field(
        False, description="Set the environment up, but do not start the training. Default false."
    )
    replica_specs: list[DebugReplica] | None = Field(
        None,
        max_length=16,
        description="Exceptions by replica type; a type that is not listed has the defaults.",
    )


class ResumeSpec(SpecPart):
    """How the replicas of one type are started once a pause has ended."""

    type: TypeRef = Field(description="Replica type that this entry is for.")
    skip_init_container: bool = Field(False, description="Leave the init containers out.")
    command: Words | None = Field(
        None,
        description="Replaces the whole entrypoint; no launch line is generated. "
        "Default: as at the first start.",
    )
    args: Words | None = Field(
        None, description="Arguments of command; without command, they replace those of the training."
    )


class PauseMode(SpecPart):
    """Pausing deletes all pods; ending the pause creates them again. Source: spec R11."""

    enabled: Annotated[bool, Was("enable"), Mutable()] = Field(
        False, description="true pauses the job, false resumes it. May be changed at any time. Default false."
    )
    resume_specs: list[ResumeSpec] | None = Field(
        None, max_length=16, description="How pods are started after a pause, by replica type."
    )


class RunMode(SpecPart):
    """Debug and pause."""

    debug: DebugMode = Field(DebugMode(), description="Set the environment up without starting the training.")
    pause: PauseMode = Field(PauseMode(), description="Stop the job for a while.")


class Elastic(SpecPart):
    """Training whose number of replicas may change while it runs. Source: spec R12."""

    enabled: Annotated[bool, Was("enable")] = Field(
        False, description="Switch elastic training on. Default false."
    )
    min_replicas: Number | None = Field(
        None, description="The fewest replicas the training runs with. Required if enabled; at least 1."
    )
    max_replicas: Annotated[int, replica_count(-INT32_MAX - 1)] | None = Field(
        None, description="The most replicas the training runs with. Required if enabled."
    )
    expected_replicas: Annotated[Number | None, Mutable()] = Field(
        None,
        description="The number of replicas wished for, between the other two; may be changed at any time. "
        "When the cluster is short of resources fewer run. Default: minReplicas.",
    )

    @model_validator(mode="before")
    @classmethod
    def _expected_is_min_by_default(cls, data: Any) -> Any:
        if (
            isinstance(data, dict)
            and data.get("expectedReplicas") is None
            and type(data.get("minReplicas")) is int
        ):
            return data | {"expectedReplicas": data["minReplicas"]}
        return data


class T9kScheduler(SpecPart):
    """The queue of the T9k scheduler that the job waits in."""

    queue: str = Field("default", max_length=63, description="Queue to wait in.")
    priority: int = Field(
        0, ge=0, le=100, json_schema_extra={"format": "int32"}, description="Priority in the queue, 0 to 100."
    )


class Scheduler(SpecPart):
    """Who places the pods. Source: spec R13."""

    t9k_scheduler: T9kScheduler | None = Field(
        None,
        alias="t9kScheduler",
        description="Use the T9k scheduler: all pods are placed together, or none.",
    )


class LogClaim(OpenPart):
    """Directories of a PersistentVolumeClaim."""

    name: str = Field(description="Name of the PersistentVolumeClaim.")
    sub_path: Annotated[list[str] | None, Was("subpath")] = Field(
        None, max_length=64, description="Paths in it, relative to its root."
    )


class LogDir(OpenPart):
    """Where TensorBoard finds its data."""

    pvc: list[LogClaim] | None = Field(None, max_length=64, description="Directories in volumes.")
    s3: Passed | None = Field(None, description="Object storage: secretRef.name and the list uri.")
    http: Passed | None = Field(None, description="Web addresses: the list url.")


class TensorBoardSpec(OpenPart):
    """The spec of the TensorBoard that is made for the job. Source: spec R14."""

    image: str | None = Field(None, description="Container image of TensorBoard.")
    training_log_filesets: list[str] | None = Field(
        None,
        description="t9k://pvc/<name>/<path> or t9k://minio/<secret>/<bucket>/<path>. Superseded by logDir.",
    )
    log_dir: LogDir | None = Field(
        None, description="Volumes or object storage that hold the training's logs."
    )
    resources: Passed | None = Field(None, description="Resources of the TensorBoard container.")
    suspend: bool | None = Field(None, description="Stop TensorBoard without deleting it.")
    scheduler: Passed | None = Field(
        None, description="Scheduler of the TensorBoard pod: t9kScheduler.queue."
    )
