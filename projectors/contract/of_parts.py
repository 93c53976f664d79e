"""Parts of public events, made of what the log has. Pure; field by field, nothing is copied whole."""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Final

from projectors.contract.gpus import Resources, gpus
from projectors.contract.model import parts
from projectors.contract.model.written import written
from projectors.contract.page import Draft, Page
from projectors.contract.scrub import LONGEST
from statemachine import events as e
from statemachine.budget import budget as budget_of
from statemachine.errors import Problem
from statemachine.ids import PodUid, ReplicaName, split_replica
from statemachine.kinds import kind_of
from statemachine.observations import Container, PodObserved
from statemachine.redact import Same
from statemachine.schema.lookup import text
from statemachine.spec import Launch
from statemachine.state import JobState

MOST_PROBLEMS: Final = 20
MOST_NOTICES: Final = 20
MOST_CONTAINERS: Final = 32
MOST_TYPES: Final = 32

_SIGNALS_FROM: Final = 128

_Cause = written(parts.Cause)
_Container = written(parts.Container)
_Pod = written(parts.Pod)
_Replica = written(parts.Replica)
_Budget = written(parts.Budget)
_Problem = written(parts.Problem)
_Notice = written(parts.Notice)
_ReplicaType = written(parts.ReplicaType)
_Plan = written(parts.Plan)
_Counts = written(parts.Counts)


def cause(draft: Draft, why: e.Cause) -> parts.Cause:
    """Why something ended."""
    code = why.exit_code
    return _Cause(
        class_=_class_name(why.kind),
        rule=why.rule,
        pod_uid=why.pod_uid or None,
        node=why.node or None,
        container=why.container or None,
        exit_code=code,
        signal=code - _SIGNALS_FROM if code is not None and code > _SIGNALS_FROM else None,
        reason=draft.text(why.reason),
        message=draft.text(why.message),
    )


def maybe_cause(draft: Draft, why: e.Cause | None) -> parts.Cause | None:
    """The same, where there may be none."""
    return None if why is None else cause(draft, why)


def _class_name(kind: e.CauseClass) -> str:
    match kind:
        case e.CauseClass.APPLICATION_EXIT:
            return "ApplicationExit"
        case e.CauseClass.OUT_OF_MEMORY:
            return "OutOfMemory"
        case e.CauseClass.DISRUPTED:
            return "Disrupted"
        case e.CauseClass.NODE_LOST:
            return "NodeLost"
        case e.CauseClass.DELETED_BY_SOMEONE:
            return "DeletedBySomeone"
        case e.CauseClass.DELETED_BY_US:
            return "DeletedByController"
        case e.CauseClass.REFUSED_BY_API:
            return "RefusedByApi"
        case e.CauseClass.DEADLINE:
            return "Deadline"
        case e.CauseClass.EVIDENCE_LOST:
            return "EvidenceLost"


def containers(draft: Draft, reported: Iterable[Container]) -> tuple[parts.Container, ...]:
    """The containers of a pod."""
    return tuple(
        _Container(
            name=container.name,
            init=container.init,
            state=container.state.value,
            exit_code=container.exit_code,
            reason=draft.text(container.reason),
            restarts=container.restarts,
        )
        for container in draft.few(reported, MOST_CONTAINERS)
    )


def replica(
    page: Page, state: JobState, name: ReplicaName, *, uid: str = "", node: str = "", attempt: int = 0
) -> parts.Replica:
    """The replica as `state`, that before the event, has it, and what the event says beyond that."""
    type_, index = split_replica(name)
    held = state.replicas[name]
    asked_anew = bool(attempt) and attempt != held.attempt
    shown = PodUid(uid) or held.uid
    where = node or ("" if asked_anew else held.node or _reported_node(page, name, shown))
    pod = _Pod(name=page.kind.pod_name(page.after, name), uid=shown or None, node=where or None)
    return _Replica(name=name, type=type_, index=index, attempt=attempt or held.attempt, pod=pod)


def _reported_node(page: Page, name: ReplicaName, uid: str) -> str:
    """The node that the observation names, where it is one of this pod."""
    report = page.entry.cause
    is_ours = isinstance(report, PodObserved) and report.replica == name and report.uid == uid
    return report.node if is_ours and isinstance(report, PodObserved) else ""


def budget(state: JobState) -> parts.Budget:
    """The restarts of a job in `state`."""
    now = budget_of(state)
    return _Budget(spent=now.used, limit=now.limit, before=None, after=None)


def granted(event: e.RestartScheduled) -> parts.Budget:
    """What a restart that was granted has cost."""
    why = event.cause
    return _Budget(spent=event.spent, limit=event.limit, before=why.budget_before, after=why.budget_after)


def denied(page: Page, state: JobState, event: e.RestartDenied) -> parts.Budget:
    """What was left when a restart was denied."""
    spent = page.kind.budget(state, event.replica).used
    why = event.cause
    return _Budget(spent=spent, limit=event.limit, before=why.budget_before, after=why.budget_after)


def problems(draft: Draft, wrong: Iterable[Problem]) -> tuple[parts.Problem, ...]:
    """What is wrong with a spec."""
    return tuple(
        _Problem(rule=problem.rule, path=draft.text(problem.path), message=draft.text(problem.text))
        for problem in draft.few(wrong, MOST_PROBLEMS)
    )


def notices(draft: Draft, warnings: Iterable[tuple[int, str, str]]) -> tuple[parts.Notice, ...]:
    """What users are warned of."""
    return tuple(
        _Notice(reason=reason, message=draft.text(message))
        for _, reason, message in draft.few(warnings, MOST_NOTICES)
    )


def plan(draft: Draft, page: Page, state: JobState) -> parts.Plan | None:
    """How a job in `state` is to be run."""
    held = state.plan
    if held is None:
        return None
    templates = _templates(Same(state.spec), state.api_version, state.kind, page.publication.gpus)
    types = tuple(
        _ReplicaType(
            type=type_.type,
            replicas=type_.scale,
            restart_policy=type_.restart_policy.value,
            gpus=float(templates.get(type_.type, _NOTHING)[0]),
            image=templates.get(type_.type, _NOTHING)[1][:LONGEST],
        )
        for type_ in draft.few(held.types, MOST_TYPES)
    )
    return _Plan(
        replica_types=types,
        primary=held.primary,
        min_running=held.min_running,
        backoff_limit=held.backoff_limit,
        active_deadline_seconds=held.active_deadline_seconds,
        clean_up=held.clean_up.value,
        ttl_seconds=held.ttl_seconds,
        paused=held.paused,
        launch=_launch(held.launch),
    )


_NOTHING: Final = (Decimal(0), "")


@lru_cache(maxsize=1024)
def _templates(
    spec: Same, api_version: str, kind_name: str, counted: Resources
) -> dict[str, tuple[Decimal, str]]:
    """Replica type → GPUs of a pod, and the image of the container that trains."""
    kind = kind_of(api_version, kind_name)
    slots = {slot.type: slot for slot in kind.layout.slots(spec.held)}
    training = {type_: kind.layout.training(slot) for type_, slot in slots.items()}
    return {
        type_: (gpus(slot, counted), text(container[1] if (container := training[type_]) else None, "image"))
        for type_, slot in slots.items()
    }


def _launch(launch: Launch) -> str:
    match launch:
        case Launch.NONE:
            return "None"
        case Launch.WHEN_READY:
            return "WhenReady"
        case Launch.AT_ONCE:
            return "AtOnce"


_WORD: Final = re.compile(r"[a-z]+")


def in_camel(words: str) -> str:
    """`clean-up` as `CleanUp`."""
    return "".join(word.capitalize() for word in _WORD.findall(words))


def counts(state: JobState) -> parts.Counts:
    """How many replicas are in which phase."""
    return _Counts(**state.aggregate)
