"""Who is who in a ColossalAIJob: names, pod templates, the plan. Source: colossalaijob.md, sections 3 and 5."""

from collections.abc import Iterator, Mapping
from typing import Any

from statemachine.errors import InvariantBroken
from statemachine.ids import JobUid
from statemachine.kinds.colossalaijob.spec import ColossalAISpec, Worker
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.kinds.t9k.launcher import LAUNCHER, launcher_plan
from statemachine.kinds.t9k.workers import WORKER, worker_slots
from statemachine.schema.layout import Layout, Slot
from statemachine.schema.lookup import entries
from statemachine.spec import Plan

NAMES = t9k_names("ColossalAIJob", "caj")


def launcher_slot(spec: Mapping[str, Any]) -> Slot:
    """The launcher's pod template: one container, made of `spec.launcher`."""
    container = {"name": LAUNCHER, **entries(spec, "launcher")}
    return Slot(LAUNCHER, "spec.launcher", {"spec": {"containers": [container]}})


def _slots(spec: Mapping[str, Any]) -> Iterator[Slot]:
    yield launcher_slot(spec)
    yield from worker_slots(spec)


def _generated_env(_: Mapping[str, Any]) -> tuple[str, ...]:
    """None: the launcher program sets what the training needs."""
    return ()


WORKERS = Layout(slots=worker_slots, training_names=(WORKER,), generated_env=_generated_env)
"""For the rules about templates, which name paths that a user wrote."""

LAYOUT = Layout(slots=_slots, training_names=(LAUNCHER, WORKER), generated_env=_generated_env)


def worker(spec: ColossalAISpec) -> Worker:
    """The workers of an admitted job: CA1 sees to it that there are any."""
    if spec.worker is None:
        raise InvariantBroken("a job without workers was admitted")
    return spec.worker


def plan(name: str, _uid: JobUid, spec: ColossalAISpec) -> Plan:
    """How the job is to be run: the launcher decides."""
    return launcher_plan(name, worker(spec).replicas, spec.run_policy, spec.run_mode)
