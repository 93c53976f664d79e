"""The spec of a PyTorchJob. Source: kubeflow-pytorchjob.md, section 1.

Defaults are filled in when a job is read; the stored object is not rewritten, so the CRD has none of them.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from statemachine.schema.fields import (
    INT32_MAX,
    Count,
    FilledIn,
    Mutable,
    NamedParts,
    Opaque,
    PodTemplate,
    Seconds,
    SpecPart,
    replica_count,
)

DEFAULT_PROCESSES: Final = "auto"
"""`nprocPerNode` of who says nothing. Source: section 1."""

ELSEWHERE: Final = "kueue.x-k8s.io/multikueue"
"""`managedBy` of a job that another cluster runs: it is left alone here. Source: section 1."""

Policy = Literal["Always", "OnFailure", "Never", "ExitCode"]
Text = Annotated[str, Field(max_length=8192)]


class ReplicaSpec(SpecPart):
    """One type of replicas: pods that are alike but for their index."""

    replicas: Annotated[int, replica_count(-INT32_MAX - 1), Mutable(), FilledIn()] = Field(
        1, description="Number of replicas of this type."
    )
    restart_policy: Annotated[Policy, Mutable(), FilledIn()] = Field(
        "OnFailure",
        description="Always and OnFailure: the kubelet restarts containers in place. ExitCode: the controller "
        "makes a pod again that failed with code 128 or more, or without one; codes 1 to 127 fail the job. "
        "Never: a failed pod fails the job.",
    )
    template: Annotated[PodTemplate, Mutable()] = Field(
        description="Pod template of this type; the container called pytorch trains. Its restartPolicy is "
        "overwritten. A change holds for pods made from then on."
    )


class ReplicaSpecs(NamedParts):
    """The replicas by type."""

    master: ReplicaSpec | None = Field(
        None, alias="Master", description="The replica whose end is the job's end; there is one at most."
    )
    worker: ReplicaSpec | None = Field(None, alias="Worker", description="All other replicas.")


class RendezvousOption(SpecPart):
    """One option of the rendezvous."""

    key: Text | None = Field(None, description="Name of the option.")
    value: Text | None = Field(None, description="Its value.")


class ElasticPolicy(SpecPart):
    """Training with torchrun whose number of Workers may change."""

    min_replicas: Annotated[int, replica_count(0, asked=1)] | None = Field(
        None, description="The fewest Workers. Default: maxReplicas, else the number of Workers."
    )
    max_replicas: Annotated[int, replica_count(0)] | None = Field(
        None, description="The most Workers. Default: minReplicas, else the number of Workers."
    )
    rdzv_backend: Annotated[Literal["c10d", "etcd", "etcd-v2"], FilledIn()] = Field(
        "c10d", description="How the replicas find each other. etcd and etcd-v2 need a server of your own."
    )
    rdzv_port: Count | None = Field(
        None, description="Port of the rendezvous. Default: the Worker's pytorchjob-port."
    )
    rdzv_host: Text | None = Field(None, description="Host of the rendezvous. Default: the first Worker.")
    rdzv_id: Text | None = Field(None, description="Name of the rendezvous.")
    rdzv_conf: list[RendezvousOption] | None = Field(
        None, description="Further options of the rendezvous backend."
    )
    standalone: bool | None = Field(None, description="Meet on the node itself: one node, several processes.")
    n_proc_per_node: Count | None = Field(
        None, description="Deprecated: use spec.nprocPerNode. Processes per node."
    )
    max_restarts: Count | None = Field(
        None, description="How often torchrun restarts its processes inside living pods."
    )
    metrics: Annotated[list[dict[str, Any]] | None, Opaque("list of MetricSpec")] = Field(
        None,
        description="Metrics of autoscaling/v2: with them a HorizontalPodAutoscaler changes the number of Workers "
        "between minReplicas and maxReplicas.",
    )


class SchedulingPolicy(SpecPart):
    """What a gang scheduler gets; counts only where one is configured."""

    min_available: Annotated[Count | None, Mutable()] = Field(
        None, description="How many pods must fit together. Default: all."
    )
    queue: Annotated[str, Field(max_length=253), FilledIn()] = Field(
        "default", description="Queue of the gang scheduler."
    )
    min_resources: Annotated[dict[str, Any] | None, Opaque("resource map"), Mutable()] = Field(
        None, description="Resources that must be free. Default: the sum over the first minAvailable pods."
    )
    priority_class: Annotated[str | None, Mutable()] = Field(None, description="Priority class of the gang.")
    schedule_timeout_seconds: Annotated[Count | None, Mutable()] = Field(
        None, description="How long scheduler-plugins waits for the gang to fit."
    )


class RunPolicy(SpecPart):
    """How long a job may run, how often it may fail, what is left of it."""

    clean_pod_policy: Annotated[Literal["None", "Running", "All"], Mutable(), FilledIn()] = Field(
        "None",
        description="Pods, with their Services, to delete when the job has ended. Running: those that run or wait.",
    )
    ttl_seconds_after_finished: Annotated[Count | None, Mutable()] = Field(
        None, description="Delete the job this long after its end. Default: never."
    )
    active_deadline_seconds: Annotated[Seconds | None, Mutable()] = Field(
        None, description="Seconds the job may be active before it has failed. Default: no limit."
    )
    backoff_limit: Annotated[Count | None, Mutable()] = Field(
        None,
        description="How many pods that failed are made again; the next failure ends the job. Restarts of containers "
        "in place count as well, and end it as soon as all are this many together. Default: no limit.",
    )
    scheduling_policy: SchedulingPolicy = Field(SchedulingPolicy(), description="What a gang scheduler gets.")
    suspend: Annotated[bool, Mutable(), FilledIn()] = Field(
        False, description="true deletes all pods and keeps the job waiting; false makes them again."
    )
    managed_by: Literal["kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"] | None = Field(
        None,
        description="Who runs the job. kueue.x-k8s.io/multikueue: another cluster, nothing is done here.",
    )


class PyTorchJobSpec(SpecPart):
    """What is to be trained, where and how."""

    pytorch_replica_specs: ReplicaSpecs = Field(
        description="The replicas by type: Master and Worker, at least one of the two, in any case."
    )
    nproc_per_node: (
        Annotated[str, Field(pattern="^(auto|cpu|gpu|[1-9][0-9]*)$", max_length=20), Mutable()] | None
    ) = Field(
        None,
        description="Processes per node: auto, cpu, gpu or a number. Default: auto, unless "
        "elasticPolicy.nProcPerNode is set.",
    )
    elastic_policy: Annotated[ElasticPolicy | None, Mutable()] = Field(
        None, description="Let the number of Workers change while torchrun trains."
    )
    run_policy: RunPolicy = Field(
        RunPolicy(), description="How long the job may run, how often it may fail, what is left of it."
    )
