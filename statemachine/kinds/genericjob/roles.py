"""Who is who in a GenericJob: names, pod templates, the plan, in which no replica is the primary.

Source: genericjob.md, sections 1 and 3.
"""

from statemachine.ids import JobUid
from statemachine.kinds.genericjob.spec import GenericSpec
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.kinds.t9k.listed import slots
from statemachine.schema.layout import Layout
from statemachine.spec import CleanUpPolicy, Plan, ReplicaType, RestartPolicy

NAMES = t9k_names("GenericJob", "gj")


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
