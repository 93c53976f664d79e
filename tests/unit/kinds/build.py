"""Words for tests of job kinds: specs with nothing wrong in them, to be broken in one place, and job states."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from statemachine.errors import Problem
from statemachine.events import Event, JobAdmitted, PhaseEntered, ReplicaRequested
from statemachine.evolve import fold
from statemachine.ids import CLUSTER_DOMAIN, JobUid, ReplicaName
from statemachine.kind import Admission
from statemachine.kinds import SERVED, kind_of
from statemachine.owned import Manifest
from statemachine.phases import Phase, Trigger
from statemachine.state import JobState

API = "batch.tensorstack.dev/v1beta1"
KIND = "PyTorchTrainingJob"
UID = JobUid("00000000-0000-0000-0000-000000000001")
START = datetime(2024, 1, 9, 15, 0, 0, tzinfo=UTC)

Spec = dict[str, Any]

TORCHRUN: Spec = {"torchrunConfig": {"enabled": True}}
ELASTIC: Spec = {"elastic": {"enabled": True, "minReplicas": 2, "maxReplicas": 4}}


def container(**more: Any) -> Spec:
    """A container that the rules have nothing against, with torchrun and without."""
    return {"name": "pytorch", "image": "pytorch:2", "args": ["train.py"], **more}


def template(*containers: Spec, **pod: Any) -> Spec:
    """A pod template; without arguments of one good container."""
    return {"spec": {"containers": list(containers) or [container()], **pod}}


def replicas(type_: str = "worker", number: int = 1, *containers: Spec, **more: Any) -> Spec:
    """One item of `replicaSpecs`."""
    return {"type": type_, "replicas": number, "template": template(*containers), **more}


def spec(*items: Spec, **more: Any) -> Spec:
    """A PyTorchTrainingJob's spec; without items of one worker."""
    return copy.deepcopy({"replicaSpecs": list(items) or [replicas()], **more})


def merged(old: Mapping[str, Any], **more: Any) -> Spec:
    """A copy of a spec with some of its fields replaced."""
    return copy.deepcopy({**old, **more})


def admit(new: Any, old: Spec | None = None, name: str = "mnist", *, kind: str = KIND) -> Admission:
    """What a kind, PyTorchTrainingJob by default, makes of a spec; `old` may be as a user wrote it."""
    return kind_of(api_of(kind), kind).admit(name, new, old, uid=UID)


def api_of(kind: str) -> str:
    """The apiVersion of a kind, which may be an alias."""
    return next(names.api_version for names in SERVED if names.kind == kind)


def texts(admission: Admission) -> list[str]:
    """The problems' sentences."""
    return [str(problem) for problem in admission.problems]


def of_rule(admission: Admission, rule: str) -> list[Problem]:
    """The problems that a rule found."""
    return [problem for problem in admission.problems if problem.rule == rule]


def notices(admission: Admission) -> list[tuple[str, str]]:
    """Reasons and messages of the warnings."""
    return [(notice.reason, notice.message) for notice in admission.notices]


def state(
    manifest_spec: Spec,
    *,
    name: str = "mnist",
    resumed: bool = False,
    attempts: Mapping[str, int] | None = None,
    namespace: str = "demo",
    kind: str = KIND,
    settings: Mapping[str, str] | None = None,
    shared: bool = True,
) -> JobState:
    """A job as its events tell it: admitted, once paused and resumed if `resumed`, every pod asked for.

    `attempts` are those of replicas that are not at their first, `settings` the kind's. Unless it is `shared`, each
    replica has a Service of its own.
    """
    admission = admit(manifest_spec, name=name, kind=kind)
    assert admission.plan is not None, texts(admission)
    plan = admission.plan if shared else admission.plan.changed(service="")
    events: list[Event] = [
        JobAdmitted(
            api_version=api_of(kind),
            kind=kind,
            namespace=namespace,
            name=name,
            generation=1,
            at=START,
            spec=admission.spec,
            plan=plan,
            settings={CLUSTER_DOMAIN: "cluster.local", **(settings or {})},
        )
    ]
    pause = [(Phase.PAUSED, Trigger.ADMITTED_PAUSED, "T2"), (Phase.RESUMING, Trigger.PAUSE_ENDED, "T15")]
    start = [(Phase.PENDING, Trigger.ADMITTED, "T1")]
    for phase, trigger, rule in pause if resumed else start:
        events.append(PhaseEntered(phase=phase, trigger=trigger, rule=rule, at=START))
    wanted = {replica: (attempts or {}).get(replica, 1) for replica in admission.plan.replicas()}
    events += [ReplicaRequested(replica=replica, attempt=attempt) for replica, attempt in wanted.items()]
    return fold(JobState(UID), events)


def children(job: JobState) -> list[Manifest]:
    """The manifests of all children, in order."""
    return [child.build() for child in kind_of(job.api_version, job.kind).children(job)]


def pods(job: JobState) -> dict[str, Manifest]:
    """The pods' manifests by replica, in order."""
    children = kind_of(job.api_version, job.kind).children(job)
    return {child.replica: child.build() for child in children if child.kind == "Pod"}


def pod(job: JobState, replica: str = "worker-0") -> Manifest:
    """The manifest of a replica's pod."""
    return pods(job)[ReplicaName(replica)]


def env(manifest: Manifest, index: int = 0) -> dict[str, Any]:
    """The environment of one of a pod's containers, by name."""
    return {entry["name"]: entry.get("value") for entry in manifest["spec"]["containers"][index]["env"]}
