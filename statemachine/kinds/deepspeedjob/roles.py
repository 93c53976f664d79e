"""Who is who in a DeepSpeedJob: names, the worker's template, worker-0, the plan.

Source: deepspeedjob.md, sections 3 and 5.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from statemachine.ids import JobUid, replica_name
from statemachine.kinds.deepspeedjob.spec import DeepSpeedSpec
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.kinds.t9k.services import plain_service
from statemachine.kinds.t9k.workers import WORKER, processes_by_gpu, worker_slots
from statemachine.schema.layout import Layout
from statemachine.schema.lookup import find, flag, number
from statemachine.spec import CleanUpPolicy, Plan, ReplicaType, RestartPolicy

NAMES = t9k_names("DeepSpeedJob", "dj")

ALIAS = replace(
    NAMES,
    kind="DeepspeedJob",
    plural="deepspeedjobaliases",
    singular="deepspeedjobalias",
    list_kind="DeepspeedJobList",
    short=(),
)
"""An older spelling of the kind. In lower case it would be the same, hence the other names. Source: spec R17, 1."""

PRIMARY: Final = replica_name(WORKER, 0)
"""Runs the launcher, and decides the result. Source: section 3."""


LAYOUT = Layout(slots=worker_slots, training_names=(WORKER,), generated_env=lambda _: ())


def slots_per_worker(spec: Mapping[str, Any]) -> int:
    """Processes that a worker runs: as said, else one for each GPU, else one. Source: section 1."""
    said = find(spec, "config.slotsPerWorker")
    if isinstance(said, int):
        return said
    training = next((LAYOUT.training(slot) for slot in worker_slots(spec)), None)
    return processes_by_gpu(training[1]) if training else 1


def workers(spec: DeepSpeedSpec) -> int:
    """Number of workers. Source: section 5, elastic."""
    if spec.elastic.enabled and spec.elastic.expected_replicas is not None:
        return spec.elastic.expected_replicas
    return spec.worker.replicas


def most_workers(spec: Mapping[str, Any]) -> int:
    """As many workers as the job may ever have."""
    path = "elastic.maxReplicas" if flag(spec, "elastic.enabled") else "worker.replicas"
    return number(spec, path) or 1


def plan(name: str, _uid: JobUid, spec: DeepSpeedSpec) -> Plan:
    """How the job is to be run: worker-0 decides, elastic jobs are up with `minReplicas`."""
    policy = RestartPolicy(spec.worker.restart_policy)
    return Plan(
        types=(ReplicaType(type=WORKER, scale=workers(spec), restart_policy=policy),),
        primary=PRIMARY,
        min_running=spec.elastic.min_replicas if spec.elastic.enabled else None,
        paused=spec.run_mode.pause.enabled,
        backoff_limit=spec.run_policy.backoff_limit,
        active_deadline_seconds=spec.run_policy.active_deadline_seconds,
        clean_up=CleanUpPolicy(spec.run_policy.clean_up_policy),
        anew_on_scale=spec.elastic.enabled,
        service=plain_service(name),
    )
