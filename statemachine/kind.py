"""What a job kind has to say: the port between everything that is shared and one folder per kind.

The rules of `statemachine.rules` are handed the kind of the job that they look at, and know no kind by name.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from statemachine.errors import Problem
from statemachine.events import Event
from statemachine.ids import JobUid, ReplicaName
from statemachine.observations import Observation, Recorded
from statemachine.owned import Child, Inquiry, Manifest, Owned
from statemachine.programs import Program
from statemachine.rulebook import Notice, Rule
from statemachine.schema.fields import SpecPart
from statemachine.schema.form import SpecForm
from statemachine.schema.layout import Layout
from statemachine.schema.manual import Manual
from statemachine.spec import Plan
from statemachine.state import JobState

NO_UID = JobUid("")
"""For a manifest that is examined before the API server has given it a uid."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What a kind makes of a manifest.

    `spec` is the canonical form; for an update, the old spec with only the mutable fields taken from the new
    one. `plan` is None exactly when there are `problems`. `frozen` are the paths inside pod templates that an
    update tried to change (spec R2: ignored and reported).
    """

    spec: dict[str, Any]
    plan: Plan | None
    problems: tuple[Problem, ...] = ()
    notices: tuple[Notice, ...] = ()
    frozen: tuple[str, ...] = ()
    changes: Mapping[str, Any] | None = None
    """For an update: path of each mutable field that changed → its new value (None: removed)."""


@dataclass(frozen=True, slots=True)
class Names:
    """How the API server and users call the kind. Source: spec R1."""

    kind: str
    group: str
    version: str
    plural: str
    singular: str
    list_kind: str
    short: tuple[str, ...]

    @property
    def api_version(self) -> str:
        """`<group>/<version>`."""
        return f"{self.group}/{self.version}"


class OptInSettings(BaseModel):
    """What is configured for an opt-in kind; one that has more to configure adds text fields, each with a default.

    Settings, environment variables, options, values of the chart and their documentation are made from this, under
    the kind's plural: a docstring under a field says its unit, its default and why.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    namespaces: str = ""
    """Namespaces of a cluster in which such jobs are managed, with commas between them; `*`: in all. Default:
    none, because another controller may do it, and two must never manage one namespace."""

    def of_jobs(self) -> dict[str, str]:
        """What a job keeps of this from its first day on."""
        return {name: value for name, value in self.model_dump(exclude={"namespaces"}).items() if value}


class Scaling(NamedTuple):
    """Between how many replicas a user may choose, and how many are wished for now."""

    low: int
    most: int
    now: int


class Placement(NamedTuple):
    """Where pods wait: the scheduler, its queue, and how important they are; empty: nothing is said."""

    scheduler: str = "default"
    queue: str = ""
    priority: int = 0
    priority_class: str = ""


class Budget(NamedTuple):
    """Restarts of a job, or of a replica that has a limit of its own; without a limit `limit` is None."""

    limit: int | None
    used: int

    @property
    def left(self) -> int | None:
        """How many are left; None without a limit. A limit lowered below what was used leaves none."""
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def is_spent(self) -> bool:
        """No restart is left."""
        return self.left == 0

    def __str__(self) -> str:
        return str(self.used) if self.limit is None else f"{self.used} of {self.limit}"


class Kind(Protocol):
    """One job kind. Pure: the same arguments give the same answer."""

    @property
    def names(self) -> Names:
        """The kind's names."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every validation rule of the kind, shared ones (G…) included, in the order of the spec."""

    @property
    def model(self) -> type[SpecPart]:
        """What a spec consists of: fields, types, defaults, bounds, what each field is for, and what may change."""

    @property
    def layout(self) -> Layout:
        """Where a spec has its pod templates, and which container of a pod trains."""

    @property
    def manual(self) -> Manual:
        """What the documentation says of the environment of the training."""

    @property
    def form(self) -> SpecForm:
        """How forms show a spec, and its words in other languages, where the kind says so."""

    @property
    def refused_as(self) -> str:
        """The reason that a job is given which breaks a rule of layer V."""

    @property
    def troubles(self) -> tuple[str, ...]:
        """Types of the conditions that say that a job goes on with an error, the most telling first."""

    @property
    def child_label(self) -> str:
        """Key of a label that every child of the kind's jobs carries: watches ask for it."""

    @property
    def name_label(self) -> str:
        """Key of the label that says a child's job by its name: users, and `kubectl jobledger`, select by it."""

    @property
    def replica_labels(self) -> tuple[tuple[str, str], ...]:
        """Pairs of labels of its pods that say which replica one is, by type and index; another controller's, too."""

    @property
    def primary_label(self) -> tuple[str, str]:
        """The label, and its value, that the primary's pod alone has."""

    @property
    def aliases(self) -> tuple[Names, ...]:
        """Other names under which the API server serves the same kind, deprecated ones (spec R17, 1)."""

    @property
    def opt_in(self) -> type[OptInSettings] | None:
        """How that is configured, where its jobs are managed only if asked for: others may do it already."""

    @property
    def owns(self) -> tuple[Owned, ...]:
        """What its jobs may own beside pods and Services."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """Programs of its launch lines of which a run on one machine has to know more than their name."""

    @property
    def expires(self) -> bool:
        """Its job objects may be deleted some time after their end (`JobExpired`)."""

    @property
    def inquiries(self) -> tuple[Inquiry, ...]:
        """What servers of its jobs are asked."""

    @property
    def needs_cluster(self) -> str:
        """Why its jobs do not run on one machine, and what to do, without a full stop. Empty: they do."""

    @property
    def lifecycle(self) -> "tuple[LifeRule, ...]":
        """The rules of a job's life, in the order in which facts become consequences."""

    def pausing(self, on: bool) -> dict[str, Any]:
        """What to merge into a spec to pause the job, or to let it go on. Nothing: its jobs cannot be paused."""

    def scaling(self, spec: Mapping[str, Any]) -> Scaling | None:
        """What a user may scale a job of this spec to. None: its number of replicas is fixed, or others decide it."""

    def queue(self, labels: Mapping[str, str]) -> str:
        """The LocalQueue of Kueue's in which jobs with these labels wait. Empty: none, or not a kind of Kueue's."""

    def needs(self, child_kind: str) -> bool:
        """A job cannot do without its children of this Kubernetes kind."""

    def placing(self, spec: Mapping[str, Any]) -> Placement:
        """Where the pods of a job with this spec wait until they are placed. Copes with broken specs."""

    def debugs(self, spec: Mapping[str, Any]) -> bool:
        """A job with this spec sets its environment up and starts no training. Copes with broken specs."""

    def scale_of(self, plan: Plan) -> int:
        """The replicas that a user scales, as the `scale` subresource counts them (spec R12)."""

    def is_retryable(self, exit_code: int) -> bool:
        """Restart policy ExitCode restarts a replica that ended so (spec R8)."""

    def budget(self, job: JobState, replica: ReplicaName | None = None) -> Budget:
        """The restarts that `replica` has had and may have; None: those of all replicas together (spec R8).

        A job has a plan. Of one that has ended: by its end.
        """

    def fixed_when_finished(self, changes: Mapping[str, Any]) -> tuple[str, ...]:
        """The fields among the paths in `changes` that cannot change in a finished job (spec R2)."""

    def keeps(self, job: JobState, child: "Child") -> bool:
        """This child, no pod, should exist right now (spec R9, R11)."""

    def status(self, job: JobState) -> dict[str, Any]:
        """`.status` of the job object, whole."""

    def stated_phase(self, status: Mapping[str, Any]) -> str:
        """The phase that a status says which has no field `phase`; empty: it says none."""

    def counted(self, job: Mapping[str, Any]) -> tuple[int, int]:
        """How many replicas run, and how many there are, by a job object whose status has no `aggregate`."""

    def recorded(self, status: Mapping[str, Any]) -> Recorded | None:
        """What a status tells of a job's life, no matter who wrote it; None for a job without a past."""

    def admit(
        self,
        name: str,
        spec: Mapping[str, Any],
        old: Mapping[str, Any] | None = None,
        *,
        uid: JobUid = NO_UID,
        runs: bool = False,
    ) -> Admission:
        """Examine the spec of job `name`; with `old` (canonical), as an update of it. Finds every problem.

        Of a job that `runs` already, by another controller's leave, what breaks a rule is a warning.

        `uid` is needed for the plan only: names of children may have a part of it. Never raises, whatever `spec`
        holds.
        """

    def canonical(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The canonical form of a spec, whatever the rules say of it; empty where it cannot be read."""

    def children(self, job: JobState) -> Iterator[Child]:
        """All objects of a job with every replica of its scale in existence, in creation order.

        Whether a pod should exist right now is not the kind's to say: `statemachine.desired` picks.
        """

    def pod_name(self, job: JobState, replica: ReplicaName) -> str:
        """Name of the replica's pods, of all attempts (spec R3). Uid and name of the job alone decide it."""

    def training_container(self, job: JobState, type_: str) -> str:
        """Name of the container whose exit code counts, for pods of replica type `type_`."""

    def crd(self, names: Names | None = None) -> Manifest:
        """The CustomResourceDefinition: structural schema, CEL rules, printer columns, subresources.

        That of an alias with `names`; it is the same otherwise, and the API server warns of its use.
        """


LifeRule = Callable[[Kind, JobState, Observation], Iterator[Event]]
"""What an observation means for a job of this kind in this state, given what the rules before it made of it."""
