"""How a job's primary replica is started: as its pod has it, else as the next one would be. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from jobledger.console.details.overview import containers
from jobledger.redact import redacted
from statemachine.kinds import kind_of
from statemachine.state import JobState


def launch(state: JobState, pods: Iterable[Mapping[str, Any]]) -> str:
    """The command line of the primary replica; empty where its image says what runs.

    A job that has ended, or is paused, has no pod that could tell: then it is what the kind makes of the spec.
    """
    if state.plan is None:
        return ""
    kind = kind_of(state.api_version, state.kind)
    name = kind.pod_name(state, state.plan.primary)
    pod = next((each for each in pods if each["metadata"]["name"] == name), None)
    if pod is None:
        wanted = (each for each in kind.children(state) if each.replica == state.plan.primary)
        pod = next((each.build() for each in wanted if each.kind == "Pod"), {})
    return next((each.command for each in containers(redacted(pod))), "")
