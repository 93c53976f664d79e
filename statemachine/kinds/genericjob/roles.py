"""Who is who in a GenericJob: names, pod templates, the plan, in which no replica is the primary.

Source: genericjob.md, sections 1 and 3.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from statemachine.ids import JobUid
from statemachine.kinds.common.layout import Layout, Slot
from statemachine.kinds.common.look import entries, items, text
from statemachine.kinds.genericjob.spec import GenericSpec
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.spec import CleanUpPolicy, Plan, ReplicaType, RestartPolicy

NAMES = t9k_names("GenericJob", "gj")


def slots(spec: Mapping[str, Any]) -> Iterator[Slot]:
    """The pod templates of a spec, in order."""
    for index, replica_spec in items(spec, "replicaSpecs"):
        path = f"spec.replicaSpecs[{index}].template.spec"
        if isinstance(replica_spec.get("template"), Mapping):
            yield Slot(text(replica_spec, "type"), path, entries(replica_spec, "template"))


LAYOUT = Layout(slots=slots, training_names=(), generated_env=lambda _: ())


def plan(_name: str, _uid: JobUid, spec: GenericSpec) -> Plan:
    """How the job is to be run: no replica decides alone, and each has restarts of its own."""
    return Plan(
        types=tuple(
            ReplicaType(
                type=replica.type,
                scale=replica.replicas,
                restart_policy=RestartPolicy(replica.restart_policy.policy),
                restart_limit=replica.restart_policy.limit,
            )
            for replica in spec.replica_specs
        ),
        paused=spec.run_mode.pause.enabled,
        backoff_limit=None,
        clean_up=CleanUpPolicy(spec.clean_up_policy),
    )
