"""A job kind made of data: names, spec model, rules, and two functions for its plan and its children."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Generic, TypeVar

from statemachine.concealed import as_known
from statemachine.errors import InvariantBroken, Problem
from statemachine.ids import JobUid, ReplicaName
from statemachine.kind import NO_UID, Admission, Budget, LifeRule, Names, OptInSettings, Placement, Scaling
from statemachine.kinds.common.canonical import Modern, Reading, as_written, read
from statemachine.kinds.common.crd import Served, crd
from statemachine.kinds.common.stored import KEPT, Version, stored
from statemachine.kinds.common.update import (
    frozen_changes,
    is_same,
    mutable_changes,
    rendered,
    value_at,
    with_value,
)
from statemachine.observations import Recorded
from statemachine.owned import Child, Inquiry, Manifest, Owned
from statemachine.programs import Program
from statemachine.rulebook import UNKNOWN_FIELD, Draft, Notice, Rule
from statemachine.schema.fields import SpecPart
from statemachine.schema.form import SpecForm
from statemachine.schema.json_values import unreadable
from statemachine.schema.layout import Layout
from statemachine.schema.lookup import flag, number, text
from statemachine.schema.manual import NO_MANUAL, Manual
from statemachine.schema.problems import by_rule, in_field_order, shown
from statemachine.spec import Plan
from statemachine.state import JobState

S = TypeVar("S", bound=SpecPart)

Finding = Problem | Notice


def usual_pause(on: bool) -> dict[str, Any]:
    """How jobs are paused whose kind says nothing else. Source: spec R11."""
    # the alias goes: the two may stand side by side only with equal values (spec R2, G12)
    return {"runMode": {"pause": {"enabled": on, "enable": None}}}


def usual_scaling(spec: Mapping[str, Any]) -> Scaling | None:
    """How jobs are scaled whose kind says nothing else: where `elastic` is on. Source: spec R12."""
    low, most = number(spec, "elastic.minReplicas"), number(spec, "elastic.maxReplicas")
    if low is None or most is None or not flag(spec, "elastic.enabled"):
        return None
    wish = number(spec, "elastic.expectedReplicas")
    return Scaling(low, most, low if wish is None else wish)


def usual_placement(_spec: Mapping[str, Any]) -> Placement:
    """The cluster's scheduler, where the kind says nothing else."""
    return Placement()


def usual_debugging(_spec: Mapping[str, Any]) -> bool:
    """There is no such mode, where the kind says nothing else."""
    return False


def no_phase(_status: Mapping[str, Any]) -> str:
    """The status has `phase`, or says none, where the kind says nothing else."""
    return ""


def no_count(_job: Mapping[str, Any]) -> tuple[int, int]:
    """The status has `aggregate`, or counts nothing, where the kind says nothing else."""
    return 0, 0


def usual_scale(plan: Plan) -> int:
    """All replicas, where the kind says nothing else. Source: spec R12."""
    return plan.scale


def shared_budget(job: JobState, _replica: ReplicaName | None) -> Budget:
    """All replicas share `backoffLimit`, and every restart counts, where the kind says nothing else (spec R8)."""
    return Budget(job.running_plan.backoff_limit, job.spent)


@dataclass(frozen=True)
class ModelKind(Generic[S]):
    """A `Kind` (see `statemachine.kind`).

    `plan` gets the job's name and uid. `objects` are a job's children.
    `modern` rewrites the older form of a spec, where the kind has one.
    `scalable` gets a spec in its canonical form. `describe` gives the status, `read_status` what one tells of
    a job's life; `keep` says which children but pods should exist now, `allowance` what the restart budget is (see
    `Kind.budget`), `scaled` how many replicas are those that a user scales.
    `fixed` are the mutable fields that cannot change any more when the job has ended. See `Kind` for the rest.

    `placement` and `debugging` get a spec, canonical or not (see `Kind.placing`, `Kind.debugs`).
    """

    names: Names
    model: type[S]
    rules: tuple[Rule, ...]
    layout: Layout
    plan: Callable[[str, JobUid, S], Plan]
    objects: Callable[[JobState, S], Iterator[Child]]
    pod_name: Callable[[JobState, ReplicaName], str]
    served: Served
    child_label: str
    name_label: str
    replica_labels: tuple[tuple[str, str], ...]
    primary_label: tuple[str, str]
    lifecycle: tuple[LifeRule, ...]
    describe: Callable[["ModelKind[S]", JobState], dict[str, Any]]
    read_status: Callable[[Mapping[str, Any]], Recorded | None]
    keep: Callable[[JobState, Child], bool]
    retryable: Callable[[int], bool]
    fixed: tuple[str, ...] = ()
    aliases: tuple[Names, ...] = ()
    modern: Modern | None = None
    manual: Manual = NO_MANUAL
    refused_as: str = "InvalidSpec"
    pause: Callable[[bool], dict[str, Any]] = usual_pause
    scalable: Callable[[Mapping[str, Any]], Scaling | None] = usual_scaling
    owns: tuple[Owned, ...] = ()
    opt_in: type[OptInSettings] | None = None
    expires: bool = False
    allowance: Callable[[JobState, ReplicaName | None], Budget] = shared_budget
    queue_label: str = ""
    """Label that puts a job into a LocalQueue, for kinds that Kueue takes in by itself."""
    scaled: Callable[[Plan], int] = usual_scale
    placement: Callable[[Mapping[str, Any]], Placement] = usual_placement
    debugging: Callable[[Mapping[str, Any]], bool] = usual_debugging
    troubles: tuple[str, ...] = ("ReplicaFailure",)
    look: Callable[[], SpecForm] = SpecForm
    programs: tuple[Program, ...] = ()
    phase_stated: Callable[[Mapping[str, Any]], str] = no_phase
    count: Callable[[Mapping[str, Any]], tuple[int, int]] = no_count
    needs_cluster: str = ""
    inquiries: tuple[Inquiry, ...] = ()

    @property
    def form(self) -> SpecForm:
        """See `Kind.form`. It is made where a form is asked for: most programs never do."""
        return self.look()

    def admit(
        self,
        name: str,
        spec: Mapping[str, Any],
        old: Mapping[str, Any] | None = None,
        *,
        uid: JobUid = NO_UID,
        runs: bool = False,
    ) -> Admission:
        """See `Kind.admit`. Source: spec R2."""
        fault = _no_object(spec) or unreadable(dict(spec))
        if fault is not None:
            return Admission(dict(old or {}), None, (fault,))
        if old is not None:
            return self._update(name, uid, self._admitted(old), self._read(spec))
        reading = self._read(spec)
        model, problems, notices = self._judged(Draft(name, reading.spec), reading, uid)
        said = (*reading.notices, *notices)
        if runs and problems and model is not None:
            with suppress(InvariantBroken):
                warned = Notice(self.refused_as, "; ".join(map(str, problems)))
                return Admission(reading.spec, self.plan(name, uid, model), (), (*said, warned))
        plan = None if model is None or problems else self.plan(name, uid, model)
        return Admission(reading.spec, plan, problems, said)

    def _read(self, spec: Mapping[str, Any]) -> Reading:
        return read(self.model, spec, self.modern)

    def _admitted(self, old: Mapping[str, Any]) -> dict[str, Any]:
        """A spec that was admitted; itself where it is canonical, as its model is known then."""
        spec = self._read(old).spec
        return old if isinstance(old, dict) and old == spec else spec

    def _judged(
        self, draft: Draft, reading: Reading, uid: JobUid
    ) -> tuple[S | None, tuple[Problem, ...], list[Notice]]:
        """The model if the spec has its shape, all problems in field order, and what the rules warn of."""
        version = Version(self.model, uid, draft.spec)
        model, broken = version.parsed()
        by_itself = draft.old is None and uid
        said = self._by_itself(draft.name, version) if by_itself else self._findings(draft)
        problems = [*_named(broken, reading, self.rules), *reading.problems]
        problems += [finding for finding in said if isinstance(finding, Problem)]
        notices = list(dict.fromkeys(finding for finding in said if isinstance(finding, Notice)))
        return model, in_field_order(self.model, problems), notices

    def _findings(self, draft: Draft) -> list[Finding]:
        """What the rules say of a draft."""
        return [finding for rule in self.rules if rule.check for finding in rule.check(draft)]

    @cached_property
    def _by_itself(self) -> Callable[[str, Version[S]], list[Finding]]:
        """What the rules say of a job's spec that replaces no other.

        That is judged when the job is created, and once more when the spec changes, to tell what the change brings:
        the second time it is known.
        """
        return lru_cache(maxsize=KEPT)(lambda name, version: self._findings(Draft(name, version.spec)))

    def _update(self, name: str, uid: JobUid, old: dict[str, Any], reading: Reading) -> Admission:
        """The old spec with what may change taken from the new one. Source: spec R2.

        A rule that came with a release, or a field's, is no hindrance for a job that was admitted before: what breaks
        it in the old spec, too, is not refused. What is warned of is what the update brings into the spec that holds
        from now on: what it would bring, and may not, is said by `frozen`.
        """
        reading = replace(reading, spec=as_known(old, reading.spec))
        after, problems, notices = self._judged(Draft(name, reading.spec, old), reading, uid)
        unknown = tuple(_unknown_fields(reading))
        frozen = tuple(map(rendered, frozen_changes(self.model, old, reading.spec)))
        # nothing is asked of the old spec where nothing is wrong with the new one
        accepted = self._judged(Draft(name, old), Reading(), uid)[1] if problems else ()
        brought = tuple(problem for problem in problems if problem not in accepted)
        if brought:
            return Admission(old, None, brought, unknown, frozen, {})
        try:
            before, _ = Version(self.model, uid, old).parsed()
            spec, changes = self._merged(old, reading.spec, before, after)
            if is_same(spec, reading.spec):  # all that was asked for: what was found of it holds
                spec = reading.spec
            elif changes:
                notices = self._judged(Draft(name, spec, old), Reading(), uid)[2]
            plan = self.plan(name, uid, Version(self.model, uid, spec).stored())
        except _NEVER_ADMITTED:
            return Admission(old, None, problems or _OLD_INVALID, unknown, frozen, {})
        fresh = self._unwarned(Draft(name, old), uid, notices) if changes else ()
        return Admission(spec, plan, (), (*unknown, *fresh), frozen, changes)

    def _unwarned(self, before: Draft, uid: JobUid, notices: Sequence[Notice]) -> Sequence[Notice]:
        """The notices that were not given of the spec before."""
        warned = self._judged(before, Reading(), uid)[2] if notices else ()
        return [notice for notice in notices if notice not in warned]

    def _merged(
        self, old: dict[str, Any], new: dict[str, Any], before: S | None, after: S | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The old spec with what may change taken from the new one, and these values by their paths."""
        spec, changes = old, {}
        for place in mutable_changes(before or stored(self.model, old), after or stored(self.model, new)):
            value = changes[rendered(place)] = value_at(new, place)
            spec = with_value(spec, place, value)
        return self._read(spec).spec, changes

    def canonical(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """See `Kind.canonical`."""
        return {} if _no_object(spec) or unreadable(dict(spec)) else self._read(spec).spec

    def children(self, job: JobState) -> Iterator[Child]:
        """See `Kind.children`. A job that was refused has none."""
        return (
            iter(())
            if job.plan is None
            else self.objects(job, Version(self.model, job.uid, job.spec).stored())
        )

    def pausing(self, on: bool) -> dict[str, Any]:
        """See `Kind.pausing`."""
        return self.pause(on)

    def scaling(self, spec: Mapping[str, Any]) -> Scaling | None:
        """See `Kind.scaling`; of a spec that cannot be read nothing is scaled."""
        return None if _no_object(spec) or unreadable(dict(spec)) else self.scalable(self._read(spec).spec)

    def queue(self, labels: Mapping[str, str]) -> str:
        """See `Kind.queue`."""
        return labels.get(self.queue_label, "") if self.queue_label else ""

    def needs(self, child_kind: str) -> bool:
        """See `Kind.needs`."""
        return all(owned.needed for owned in self.owns if owned.kind == child_kind)

    def placing(self, spec: Mapping[str, Any]) -> Placement:
        """See `Kind.placing`."""
        return self.placement(spec)

    def debugs(self, spec: Mapping[str, Any]) -> bool:
        """See `Kind.debugs`."""
        return self.debugging(spec)

    def scale_of(self, plan: Plan) -> int:
        """See `Kind.scale_of`."""
        return self.scaled(plan)

    def is_retryable(self, exit_code: int) -> bool:
        """See `Kind.is_retryable`."""
        return self.retryable(exit_code)

    def budget(self, job: JobState, replica: ReplicaName | None = None) -> Budget:
        """See `Kind.budget`."""
        return self.allowance(job, replica)

    def fixed_when_finished(self, changes: Mapping[str, Any]) -> tuple[str, ...]:
        """See `Kind.fixed_when_finished`."""
        return tuple(
            fixed for fixed in self.fixed if any(f"{path}.".startswith(f"{fixed}.") for path in changes)
        )

    def keeps(self, job: JobState, child: Child) -> bool:
        """See `Kind.keeps`."""
        return self.keep(job, child)

    def status(self, job: JobState) -> dict[str, Any]:
        """See `Kind.status`."""
        return self.describe(self, job)

    def recorded(self, status: Mapping[str, Any]) -> Recorded | None:
        """See `Kind.recorded`."""
        return self.read_status(status)

    def stated_phase(self, status: Mapping[str, Any]) -> str:
        """See `Kind.stated_phase`."""
        return self.phase_stated(status)

    def counted(self, job: Mapping[str, Any]) -> tuple[int, int]:
        """See `Kind.counted`."""
        return self.count(job)

    def training_container(self, job: JobState, type_: str) -> str:
        """See `Kind.training_container`. Empty if the job has no such replica type."""
        slots = (slot for slot in self.layout.slots(job.spec) if slot.type == type_)
        training = next(map(self.layout.training, slots), None)
        return "" if training is None else text(training[1], "name")

    def crd(self, names: Names | None = None) -> Manifest:
        """See `Kind.crd`."""
        if names is None or names == self.names:
            return crd(self.names, self.model, self.rules, self.served)
        warning = f"kind {names.kind} is deprecated, use {self.names.kind}"
        return crd(names, self.model, self.rules, replace(self.served, deprecation=warning))


_NEVER_ADMITTED: Final = (InvariantBroken, AttributeError, LookupError, TypeError, ValueError)
"""What comes of planning with a spec that is not only older than a rule. The engine never asks for that, as it knows
which jobs were admitted; those who see nothing but two specs may."""

_OLD_INVALID = (Problem("", "spec", "the job was refused when it was created; delete and create it again"),)


def _no_object(spec: object) -> Problem | None:
    if isinstance(spec, Mapping):
        return None
    wrong = f"Invalid value: {shown(spec)}: must be of type object"
    return Problem("", "spec", "Required value" if spec is None else wrong)


def _named(broken: list[Problem], reading: Reading, rules: tuple[Rule, ...]) -> list[Problem]:
    """Layer S problems with rule ids, at the paths that the user wrote."""
    if not broken:
        return []
    return [
        Problem(problem.rule, as_written(problem.path, reading.renamed), problem.text)
        for problem in by_rule(broken, rules)
    ]


def _unknown_fields(reading: Reading) -> Iterator[Notice]:
    """What reading an update warns of: old spellings were reported when the job was created."""
    return (notice for notice in reading.notices if notice.reason == UNKNOWN_FIELD)
