"""Who is who in a SledgeJob: names, labels, pod templates, the plan. No replica decides alone."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.ids import JobUid, ReplicaName, split_replica
from statemachine.kind import Names
from statemachine.owned import owner_reference
from statemachine.schema.layout import Layout, Slot
from statemachine.schema.lookup import find, is_object
from statemachine.spec import CleanUpPolicy, Plan, PlannedChild, ReplicaType, RestartPolicy
from statemachine.state import JobState
from tests.support.sledgejob.spec import SledgeSpec

NAMES: Final = Names("SledgeJob", "north.example", "v1", "sledgejobs", "sledgejob", "SledgeJobList", ("sl",))

RUN: Final = "north.example/run"
"""Label of every child."""

SLEDGE: Final = "north.example/sledge"
"""Label of every child: the job's name."""

PLACE: Final = ("north.example/team", "north.example/place")
"""The labels that say which dog a pod is."""

TYPES: Final = {"leaders": "leader", "dogs": "dog"}
"""Part of the spec → replica type."""

HARNESS: Final = "Harness"


def slots(spec: Mapping[str, Any]) -> Iterator[Slot]:
    """The pod templates."""
    for part, type_ in TYPES.items():
        template = find(spec, f"{part}.template")
        if is_object(template):
            yield Slot(type_, f"spec.{part}.template.spec", template)


LAYOUT: Final = Layout(slots=slots, training_names=("dog",), generated_env=lambda _: ("PLACE",))


def plan(name: str, _uid: JobUid, spec: SledgeSpec) -> Plan:
    """How the job is to be run: each dog has falls of its own."""
    teams = {"leader": spec.leaders, "dog": spec.dogs}
    return Plan(
        types=tuple(
            ReplicaType(
                type=type_,
                scale=team.number,
                restart_policy=RestartPolicy.ON_FAILURE,
                restart_limit=team.falls,
            )
            for type_, team in teams.items()
            if team is not None
        ),
        paused=spec.rest,
        backoff_limit=None,
        clean_up=CleanUpPolicy.UNFINISHED,
        children=(PlannedChild(kind=HARNESS, name=name, field="spec.harness"),) if spec.harness else (),
    )


def pod_name(job: JobState, replica: ReplicaName) -> str:
    """`<team>-<place>-of-<job>`."""
    return f"{replica}-of-{job.name}"


def metadata(job: JobState, name: str, replica: ReplicaName | None = None) -> dict[str, Any]:
    """Metadata of a child, and of a replica's pod."""
    labels = {RUN: "yes", SLEDGE: job.name}
    if replica:
        type_, index = split_replica(replica)
        labels |= {PLACE[0]: type_, PLACE[1]: str(index)}
    return {
        "name": name,
        "namespace": job.namespace,
        "labels": labels,
        "ownerReferences": [owner_reference(job)],
    }
