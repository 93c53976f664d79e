"""Given, when, then for one job: the words that scenarios are written in.

A `Story` feeds observations of one job to the real `decide` and folds what it says, as the engine does. Time is
seconds since submission. Pods get the uids that the story's author names, or `<replica>.<attempt>`.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from statemachine.decide import POLICY, decide
from statemachine.desired import desired
from statemachine.events import Announced, Event
from statemachine.evolve import fold
from statemachine.ids import JobUid, PodUid, ReplicaName, split_replica
from statemachine.kinds import kind_of
from statemachine.log.codec import encode, entry_hash
from statemachine.log.entry import GENESIS, Entry
from statemachine.log.life import LifeStep, retold
from statemachine.log.sharing import version
from statemachine.observations import (
    ChildObserved,
    Container,
    ContainerStatus,
    JobGone,
    JobObserved,
    Observation,
    PodGone,
    PodObserved,
    PodPhase,
    PodUnreadable,
    TimerFired,
    WriteRefused,
)
from statemachine.phases import Phase
from statemachine.state import JobState, ReplicaState
from statemachine.status import status

START = datetime(2024, 1, 9, 15, 0, 0, tzinfo=UTC)
UID = JobUid("00000000-0000-0000-0000-000000000001")
API = "batch.tensorstack.dev/v1beta1"
KIND = "PyTorchTrainingJob"


def replica_type(type_: str, replicas: int, **more: Any) -> dict[str, Any]:
    """One item of `replicaSpecs`, with a container that the rules have nothing against."""
    container = {"name": "pytorch", "image": "pytorch:2", "command": ["python", "train.py"]}
    return {"type": type_, "replicas": replicas, "template": {"spec": {"containers": [container]}}, **more}


def workers(replicas: int, *types: Any, policy: Any = "", **spec: Any) -> dict[str, Any]:
    """The spec of a job with `replicas` workers (and further types); the rest of the spec as keywords."""
    item = replica_type("worker", replicas, **({"restartPolicy": policy} if policy else {}))
    return {"replicaSpecs": [item, *types], **spec}


def merged(target: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """`target` with `change` merged in; None removes."""
    result = copy.deepcopy(target)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


class Story:
    """One job, from submission on."""

    def __init__(
        self,
        spec: dict[str, Any],
        *,
        name: str = "mnist",
        namespace: str = "demo",
        uid: str = UID,
        kind: str = KIND,
        api: str = API,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.spec, self.name, self.kind, self.api = spec, name, kind, api
        self.namespace = namespace
        self.settings = dict(settings or {})
        self.uid = JobUid(uid)
        self.generation = 1
        self.labels: dict[str, str] = {}
        self.clock = 0.0
        self.state = JobState(self.uid)
        self.entries: list[Entry] = []
        self.bodies: list[bytes] = []
        self.last: tuple[Event, ...] = ()

    @property
    def steps(self) -> Sequence[LifeStep]:
        """The entries so far, as views of a life get them."""
        return list(retold(JobState(self.uid), self.entries))

    # ---- when ----------------------------------------------------------------------------------------------------

    def at(self, seconds: float) -> Self:
        """What follows is observed `seconds` after submission."""
        self.clock = seconds
        return self

    def see(self, observation: Observation) -> Self:
        """`observation` is decided on; the events are in `last`."""
        self.last = decide(self.state, observation)
        if self.last:
            prev = entry_hash(self.bodies[-1]) if self.bodies else GENESIS
            entry = Entry(
                v=version(observation, self.last),
                job=self.uid,
                seq=len(self.entries) + 1,
                prev=prev,
                policy=POLICY,
                seen_at=observation.at,
                happened_at=observation.happened_at,
                cause=observation,
                events=self.last,
            )
            self.entries.append(entry)
            self.bodies.append(encode(entry))
        self.state = fold(self.state, self.last)
        return self

    def submit(self, **more: Any) -> Self:
        """The job object is seen, as it stands."""
        return self.see(
            JobObserved(
                job=self.uid,
                at=self.now,
                api_version=self.api,
                kind=self.kind,
                namespace=self.namespace,
                name=self.name,
                generation=self.generation,
                spec=copy.deepcopy(self.spec),
                actor="alice",
                settings=self.settings,
                labels=dict(self.labels),
                **more,
            )
        )

    def terminate(self) -> Self:
        """The deletion of the job object was asked for, and somebody's finalizer holds it."""
        return self.submit(terminating_since=self.now)

    def adopt(self, status: Mapping[str, Any]) -> Self:
        """The job object is seen with this status, which the log knows nothing of."""
        return self.submit(recorded=kind_of(self.api, self.kind).recorded(status))

    def label(self, **labels: str) -> Self:
        """The job object has these labels now, and its generation is what it was; that is seen."""
        self.labels = labels
        return self.submit()

    def edit(self, **change: Any) -> Self:
        """The user changes the spec (merge patch); the change is seen."""
        self.spec = merged(self.spec, change)
        self.generation += 1
        return self.submit()

    def pause(self) -> Self:
        """`runMode.pause.enabled` becomes true."""
        return self.edit(runMode={"pause": {"enabled": True}})

    def resume(self) -> Self:
        """`runMode.pause.enabled` becomes false."""
        return self.edit(runMode={"pause": {"enabled": False}})

    def pod(self, replica: str, phase: str, *, uid: str = "", **more: Any) -> Self:
        """The pod of the replica's present attempt is seen in `phase`."""
        return self.see(self.pod_seen(replica, phase, uid=uid, **more))

    def pod_seen(
        self,
        replica: str,
        phase: str,
        *,
        uid: str = "",
        attempt: int = 0,
        exit_code: int | None = None,
        containers: Sequence[Container] | None = None,
        **more: Any,
    ) -> PodObserved:
        """The observation of a pod; without `containers` it has the one of the template."""
        known = self.replica(replica)
        attempt = attempt or known.attempt
        if containers is None:
            containers = (_container(self.training(replica), PodPhase(phase), exit_code),)
        return PodObserved(
            job=self.uid,
            at=self.now,
            replica=ReplicaName(replica),
            attempt=attempt,
            pod=self.pod_name(replica),
            uid=PodUid(uid or known.uid or f"{replica}.{attempt}"),
            phase=PodPhase(phase),
            containers=tuple(containers),
            **more,
        )

    def all_pods(self, phase: str, **more: Any) -> Self:
        """The pods of all replicas of the scale are seen in `phase`, in order."""
        for name in self.state.running_plan.replicas():
            self.pod(name, phase, **more)
        return self

    def gone(self, replica: str, *, uid: str = "", attempt: int = 0) -> Self:
        """The replica's pod is no longer there."""
        known = self.replica(replica)
        return self.see(
            PodGone(
                job=self.uid,
                at=self.now,
                replica=ReplicaName(replica),
                attempt=attempt or known.attempt,
                uid=PodUid(uid or known.uid),
            )
        )

    def unreadable(self, replica: str, **more: Any) -> Self:
        """The status of the replica's pod cannot be made out."""
        name, uid = ReplicaName(replica), self.replica(replica).uid
        return self.see(PodUnreadable(job=self.uid, at=self.now, replica=name, uid=uid, **more))

    def timer(self, name: str) -> Self:
        """The timer `name` fires, as it is set, now or when it is due."""
        due_at = self.state.timers[name]
        at = max(self.now, due_at)
        self.clock = (at - START).total_seconds()
        return self.see(TimerFired(job=self.uid, at=at, timer=name, due_at=due_at))

    def refused(self, kind: str = "Pod", status_: int = 422, message: str = "no", **more: Any) -> Self:
        """The cluster refuses to create a child."""
        fields = {
            "verb": "create",
            "name": self.pod_name("worker-0"),
            "retryable": status_ in (403, 409, 429) or status_ >= 500,
            **more,
        }
        return self.see(
            WriteRefused(job=self.uid, at=self.now, kind=kind, status=status_, message=message, **fields)
        )

    def board(self, *, uid: str = "u-3", running: bool = True) -> Self:
        """The TensorBoard object is seen."""
        name = f"{self.name}-7ac1b"
        facts = {"running": "true"} if running else {}
        return self.see(
            ChildObserved(job=self.uid, at=self.now, kind="TensorBoard", name=name, uid=uid, facts=facts)
        )

    def delete(self) -> Self:
        """The job object is gone."""
        return self.see(JobGone(job=self.uid, at=self.now, actor="alice"))

    def ready(self, *replicas: str) -> Self:
        """These pods are seen Running and Ready."""
        for name in replicas:
            self.pod(name, "Running", ready=True)
        return self

    # ---- then ----------------------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The story's present."""
        return START + timedelta(seconds=self.clock)

    def replica(self, name: str) -> ReplicaState:
        """A replica as it stands."""
        return self.state.replicas.get(ReplicaName(name)) or ReplicaState(ReplicaName(name))

    def pod_name(self, replica: str) -> str:
        """Name of the replica's pods."""
        return kind_of(self.state.api_version, self.kind).pod_name(self.state, ReplicaName(replica))

    def training(self, replica: str) -> str:
        """Name of the container that trains in the replica's pods."""
        return kind_of(self.state.api_version, self.kind).training_container(
            self.state, split_replica(ReplicaName(replica))[0]
        )

    @property
    def phase(self) -> Phase:
        """The job's phase."""
        return self.state.phase

    @property
    def status(self) -> dict[str, Any]:
        """`.status` as it would be written."""
        return status(self.state)

    def condition(self, type_: str) -> tuple[str, str, str] | None:
        """Status, reason and message of a condition."""
        condition = self.state.condition(type_)
        return None if condition is None else (condition.status, condition.reason, condition.message)

    @property
    def conditions(self) -> dict[str, str]:
        """Type → status, in order of first appearance."""
        return {condition.type: condition.status for condition in self.state.conditions}

    @property
    def pods(self) -> list[str]:
        """`<replica>.<attempt>` of the pods that should exist."""
        return [f"{child.replica}.{child.attempt}" for child in desired(self.state) if child.kind == "Pod"]

    @property
    def children(self) -> dict[str, dict[str, Any]]:
        """`<kind>/<name>` → manifest of everything that should exist."""
        return {f"{child.kind}/{child.name}": child.build() for child in desired(self.state)}

    def announced(self) -> Iterator[tuple[str, str]]:
        """Reason and message of everything announced so far."""
        for entry in self.entries:
            for event in entry.events:
                if isinstance(event, Announced):
                    yield event.reason, event.message

    @property
    def reasons(self) -> list[str]:
        """The reasons of everything announced so far."""
        return [reason for reason, _ in self.announced()]


def _container(name: str, phase: PodPhase, exit_code: int | None) -> Container:
    if phase is PodPhase.RUNNING:
        return Container(name=name, state=ContainerStatus.RUNNING)
    if phase in (PodPhase.SUCCEEDED, PodPhase.FAILED):
        code = exit_code if exit_code is not None else (0 if phase is PodPhase.SUCCEEDED else 1)
        return Container(name=name, state=ContainerStatus.TERMINATED, exit_code=code)
    return Container(name=name, state=ContainerStatus.WAITING)
