"""The spec of a GenericJob. Source: genericjob.md, section 1."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from statemachine.kinds.t9k.parts import RunMode, Scheduler, TypeName
from statemachine.schema.fields import (
    Count,
    Mutable,
    Number,
    OpenPart,
    PodTemplate,
    Read,
    SpecPart,
    replica_count,
)

Ranks = Mapping[str, list[int]]
"""Replica type → indexes of its replicas."""

_MOST_RULES: Final = 1024

_MOST_TYPES: Final = 16


def with_numbers(rules: object) -> object:
    """Rules in which ranks that are written as decimal strings are numbers; anything else stays as it is."""
    if isinstance(rules, list):
        return [with_numbers(rule) for rule in rules]
    if isinstance(rules, Mapping):
        return {type_: with_numbers(ranks) for type_, ranks in rules.items()}
    return int(rules) if isinstance(rules, str) and rules.isdecimal() and rules.isascii() else rules


_RULES_SCHEMA: Final = {
    "type": "array",
    "maxItems": _MOST_RULES,
    "items": {
        "type": "object",
        "maxProperties": _MOST_TYPES,
        "additionalProperties": {"type": "array", "items": {"x-kubernetes-int-or-string": True}},
    },
}

Rules = Annotated[
    list[dict[str, list[int]]],
    Read(with_numbers, _RULES_SCHEMA, "list of objects: replica type to list of indexes"),
]
"""A list of rules; each names replicas by type and rank."""


class ReplicaRestartPolicy(SpecPart):
    """When, and how often, a replica is restarted."""

    policy: Literal["Always", "OnFailure", "Never"] = Field(
        "OnFailure", description="Which ends of a pod make the controller start it again."
    )
    limit: Count = Field(0, description="Most restarts of each replica of this type.")


class GenericReplicaSpec(SpecPart):
    """One type of replicas: pods that are alike but for their index."""

    type: TypeName = Field(
        description="Name of the replica type, for example worker. Becomes part of pod names."
    )
    replicas: Annotated[int, replica_count(0)] = Field(1, description="Number of replicas of this type.")
    restart_policy: ReplicaRestartPolicy = Field(
        ReplicaRestartPolicy(), description="When, and how often, a replica of this type is restarted."
    )
    template: PodTemplate = Field(
        description="Pod template of this type. Its restartPolicy is ignored: pods get Never, the controller "
        "restarts. Cannot be changed after creation."
    )


class ServicePort(OpenPart):
    """A port of a Service, as Kubernetes has it."""

    name: str | None = Field(None, max_length=63, description="Its name; required if there are several.")
    port: Number = Field(description="The port, 1 to 65535.")
    target_port: Annotated[
        Any, Read(lambda port: port, {"x-kubernetes-int-or-string": True}, "integer or string")
    ] = Field(None, description="Number or name of the container's port. Default: port.")


class ServiceSpec(SpecPart):
    """The Service that each replica gets."""

    ports: list[ServicePort] | None = Field(None, max_length=64, description="Ports of each Service.")


class GenericSpec(SpecPart):
    """What is to be run, where and how."""

    replica_specs: list[GenericReplicaSpec] = Field(
        min_length=1, max_length=_MOST_TYPES, description="The replicas by type."
    )
    success_rules: Rules | None = Field(
        None,
        description="The job has succeeded when all replicas that one of these rules names have succeeded: "
        "replica type to list of indexes. Default: one rule that names every replica.",
    )
    failure_rules: Rules | None = Field(
        None,
        description="The job has failed when all replicas that one of these rules names have failed and are not "
        "restarted. Default: a rule for each replica.",
    )
    service: ServiceSpec | None = Field(
        None, description="Make a headless Service for each replica, named as its pod. Default: no Services."
    )
    clean_up_policy: Annotated[Literal["None", "Unfinished", "All"], Mutable(until_finished=True)] = Field(
        "None",
        description="Pods to delete when the job has ended. None: nothing, running replicas go on. "
        "Unfinished: those that still run or wait. All: all of them, logs included.",
    )
    run_mode: RunMode = Field(RunMode(), description="Debug and pause.")
    scheduler: Scheduler | None = Field(
        None, description="Who places the pods. Default: the cluster's scheduler."
    )
