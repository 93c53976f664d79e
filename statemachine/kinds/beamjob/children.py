"""The objects of a BeamJob: a Flink cluster, and the Job that submits the program to it.

Source: beamjob.md, section 3.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from statemachine.ids import ATTEMPT, JOB_UID, ReplicaName
from statemachine.kinds.beamjob.flink import (
    CONF,
    CONF_PATH,
    PORTS,
    WORKER_POOL,
    conf,
    runner_args,
)
from statemachine.kinds.beamjob.roles import (
    JOB,
    JOB_MANAGER,
    LAYOUT,
    SUBMIT,
    THE_JOB_MANAGER,
    flink_name,
    job_manager_name,
    pod_name,
    slots,
    submit_name,
)
from statemachine.kinds.beamjob.spec import BeamSpec, FlinkClusterSpec
from statemachine.kinds.t9k.kind import DEBUG_COMMAND
from statemachine.kinds.t9k.modes import debugged, overridden
from statemachine.kinds.t9k.objects import Member, job_labels, member_labels, metadata, pod_group
from statemachine.kinds.t9k.parts import T9kScheduler
from statemachine.kinds.t9k.pods import placed, placed_alone, replica_pod
from statemachine.kinds.t9k.services import headless, selector
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Container
from statemachine.schema.lookup import entries, texts
from statemachine.schema.manual import Variable
from statemachine.state import JobState

ENV_SAYS: Final = (
    "BeamJob sets no variables. These options are added to the arguments of the container that submits the program, "
    "unless they have `--runner`:"
)

ENV: Final = (
    Variable("--runner", ("`FlinkRunner`",), "what runs the program"),
    Variable(
        "--flink_master", ("`<job>-flinkcluster-jobmanager:8081`",), "where the Flink cluster is reached"
    ),
    Variable("--flink_version", ("x.y of `flinkVersion`",), "for which Flink the program is submitted"),
    Variable("--environment_type", ("`EXTERNAL`",), "workers of the program run beside the TaskManagers"),
    Variable("--environment_config", ("`localhost:50000`",), "where a TaskManager reaches them"),
)

_CONF_VOLUME: Final = "flink-conf"
_POOL: Final = "beam-worker-pool"


@dataclass(frozen=True)
class _Job:
    """A job with what its objects need."""

    state: JobState
    spec: BeamSpec

    @property
    def flink(self) -> FlinkClusterSpec:
        return self.spec.flink_cluster_template.spec

    @property
    def scheduler(self) -> T9kScheduler | None:
        return self.spec.scheduler.t9k_scheduler if self.spec.scheduler else None

    @property
    def submitting(self) -> tuple[int, Container]:
        """Index and container that submits the program."""
        return LAYOUT.admitted_training(next(slots(self.state.spec)))

    def member(self, replica: ReplicaName) -> Member:
        return Member(replica, pod_name(self.state, replica), primary=False)


def children(state: JobState, spec: BeamSpec) -> Iterator[Child]:
    """PodGroup, ConfigMap, Service, Flink pods, and the Job, in the order of creation (spec R4).

    They are built when asked for. Whether the Job should exist yet is for the life to say.
    """
    job = _Job(state, spec)
    members = [*map(job.member, state.running_plan.replicas())]
    if job.scheduler is not None:
        yield pod_group(state, job.scheduler, len(members))
    yield Child("v1", "ConfigMap", _conf_name(state), partial(_config_map, job))
    yield Child("v1", "Service", job_manager_name(state.name), partial(_service, job))
    for member in members:
        yield replica_pod(state, member, partial(_pod, job, member))
    yield Child("batch/v1", JOB, submit_name(state.name), partial(_submit_job, job), once=True)


def _conf_name(state: JobState) -> str:
    return f"{flink_name(state.name)}-conf"


def _config_map(job: _Job) -> Manifest:
    text = conf(job_manager_name(job.state.name), job.flink.flink_properties or {})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(job.state, _conf_name(job.state), job_labels(job.state)),
        "data": {CONF: text},
    }


def _service(job: _Job) -> Manifest:
    """Without an address of its own, so that every port of the JobManager is reached, whatever Flink is set to."""
    member = job.member(THE_JOB_MANAGER)
    ports = [{"name": name, "port": port, "targetPort": port} for name, port in PORTS.items()]
    labels = member_labels(job.state, member)
    return headless(job.state, job_manager_name(job.state.name), labels, selector(job.state, member), ports)


def _pod(job: _Job, member: Member) -> Manifest:
    """A pod of the Flink cluster: its containers are started again in place, as long as the cluster lives."""
    is_master = member.role == JOB_MANAGER
    containers = (
        [_flink_container(job, member)] if is_master else [_flink_container(job, member), _worker_pool(job)]
    )
    meta = job.spec.flink_cluster_template.metadata
    known = job.state.replicas.get(member.replica)
    labels = {**(meta.labels or {}), **member_labels(job.state, member)}
    spec: dict[str, Any] = {
        "restartPolicy": "Always",
        "containers": containers,
        "volumes": [{"name": _CONF_VOLUME, "configMap": {"name": _conf_name(job.state)}}],
    }
    placing, queued = placed(job.state, member, job.scheduler)
    manifest_meta = metadata(job.state, member.pod, labels | queued)
    manifest_meta["annotations"] = {**(meta.annotations or {}), ATTEMPT: str(known.attempt if known else 0)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": manifest_meta, "spec": spec | placing}


def _flink_container(job: _Job, member: Member) -> dict[str, Any]:
    is_master = member.role == JOB_MANAGER
    of_type = job.flink.job_manager if is_master else job.flink.task_manager
    ports = [{"name": name, "containerPort": port} for name, port in PORTS.items()] if is_master else []
    return {
        "name": member.role,
        "image": job.flink.image.name,
        "imagePullPolicy": job.flink.image.pull_policy,
        "args": [member.role],
        **({"ports": ports} if ports else {}),
        **({"resources": of_type.resources} if of_type.resources else {}),
        "volumeMounts": [{"name": _CONF_VOLUME, "mountPath": CONF_PATH, "subPath": CONF}],
    }


def _worker_pool(job: _Job) -> dict[str, Any]:
    """Where a TaskManager has the program's own code run: in the program's image."""
    return {
        "name": _POOL,
        "image": job.submitting[1].get("image"),
        "args": ["--worker_pool"],
        "ports": [{"name": "pool", "containerPort": WORKER_POOL}],
    }


def _submit_job(job: _Job) -> Manifest:
    template = job.spec.job_template
    meta = metadata(
        job.state,
        submit_name(job.state.name),
        {**entries(template, "metadata.labels"), **job_labels(job.state)},
    )
    annotations = entries(template, "metadata.annotations")
    spec = {**entries(template, "spec"), "template": _submit_template(job)}
    return {
        "apiVersion": "batch/v1",
        "kind": JOB,
        "metadata": meta | ({"annotations": dict(annotations)} if annotations else {}),
        "spec": spec,
    }


def _submit_template(job: _Job) -> dict[str, Any]:
    """The user's pod template; its pods, which the Job's controller makes, say whose they are."""
    slot = next(slots(job.state.spec))
    how = debugged(job.spec.run_mode.debug, SUBMIT, DEBUG_COMMAND)
    index, container = job.submitting
    if how is None:
        args = runner_args(
            texts(container, "args"), job_manager_name(job.state.name), job.flink.flink_version
        )
        container = {**container, "args": args}
    else:
        container = overridden(container, how)
    spec = dict(entries(slot.template, "spec"))
    spec["containers"] = [*spec["containers"][:index], dict(container), *spec["containers"][index + 1 :]]
    labels = {**entries(slot.template, "metadata.labels"), **_submit_labels(job)}
    if how is not None and how.skip_init:
        spec.pop("initContainers", None)
    placing, queued = placed_alone(job.scheduler)
    meta = {"labels": labels | queued, "annotations": {**slot.annotations, JOB_UID: job.state.uid}}
    return {**slot.template, "metadata": meta, "spec": spec | placing}


def _submit_labels(job: _Job) -> Mapping[str, str]:
    return {**job_labels(job.state), "replica-type": SUBMIT, job.state.kind.lower(): job.state.name}
