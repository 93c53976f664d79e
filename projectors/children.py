"""Makes the child objects follow the log.

A visit compares desired and live children, and writes the difference, in order, one job at a time.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Final

from k8s_bridge.env_values import EnvValues
from k8s_bridge.port import Cluster, Manifest, Ref
from k8s_bridge.ssh_keys import GENERATORS, Generate
from projectors.base import States
from projectors.child_writer import ChildWriter, Done
from projectors.confirming import Confirming
from projectors.diff import Await, Create, Delete, Hold, Release, Report, TakeBack, Write, diff
from projectors.leisure import Leisure, Patience, Rush
from statemachine import events as e
from statemachine.desired import desired
from statemachine.engine.clock import Clock
from statemachine.errors import Missing
from statemachine.ids import JobUid
from statemachine.observations import Observation, WriteRefused
from statemachine.owned import Child
from statemachine.phases import Phase
from statemachine.rules.creation import SAID_TIMES
from statemachine.rules.timers import RETRY
from statemachine.state import JobState

_LOOK_AGAIN: Final = 1.0
"""Seconds until the next look for leftovers that no watch will report."""

_OPTIONAL_AGAIN: Final = 60.0

_UNHEARD_AGAIN: Final = 10.0
"""Seconds until the next look for children that the log may not have. A child that vanishes while the watches begin
anew was never shown, so no watch shows its deletion. A look at the index costs no request."""

_RELEASED_WITHIN: Final = Patience(30.0, crowded=60.0)
"""How long the finalizer of a pod that stays lets more urgent writes pass. A deletion ends that at once."""

_FIRST_BATCH: Final = 8
"""Creates at the same time at first, then twice as many: a refusal need not be repeated a thousand times.

The first batch is one of a kind that was last refused in the namespace, as batch Job always begins.
Source: Kubernetes, Job controller, slow start.
"""


_CLOSED: Final = partial(JobState, deleted=True, closed=True)
"""The state of a forgotten job: all its objects have to be deleted, in any namespace."""


_UNCONCERNING: Final[frozenset[type[e.Event]]] = frozenset(
    {
        e.Announced,
        e.ConditionsChanged,
        e.ReplicaCreated,
        e.ReplicaStarted,
        e.ReplicaUnreachable,
        e.ChildrenAccepted,
        e.RestartDenied,
        e.TimerSet,
        e.QueueChanged,
        e.CleanedUp,
        e.UpdateIgnored,
        e.LabelsChanged,
        e.JobClosed,
    }
)


_LEISURELY: Final[frozenset[type[e.Event]]] = _UNCONCERNING | {
    e.PhaseEntered,
    e.ReplicaFailed,
    e.ReplicaSucceeded,
    e.ReplicaUpdated,
    e.TimerCleared,
}
"""Events that by themselves need no urgent write; urgent ones come with others."""


class Children:
    """The level projector of child objects.

    `evidence` says whether pods get the evidence finalizer; `generators` make the data that `Child.generates` names;
    `confirming` compares the job object with the state; `env_values` resolves the references to values in the log;
    `rush` is what tells all projectors that there are writes which somebody waits for.
    """

    name = "children"

    def __init__(
        self,
        states: States,
        cluster: Cluster,
        observe: Callable[[Observation], Awaitable[None]],
        clock: Clock,
        *,
        evidence: bool = True,
        generators: Mapping[str, Generate] = GENERATORS,
        confirming: Confirming | None = None,
        env_values: EnvValues | None = None,
        rush: Rush | None = None,
    ) -> None:
        values = env_values or EnvValues()
        self._states, self._cluster, self._observe = states, cluster, observe
        self._writer = ChildWriter(
            states, cluster, observe, clock, evidence=evidence, generators=generators, env_values=values
        )
        self._confirming = confirming or Confirming(cluster, clock, values)
        self._rush = rush or Rush()
        self._releases = Leisure(self._rush, _RELEASED_WITHIN)
        self._refusing: set[tuple[str, str]] = set()

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """Some event changes the desired children, or the need for a finalizer."""
        return not _UNCONCERNING.issuperset(map(type, events))

    def is_urgent(self, events: Sequence[e.Event]) -> bool:
        """Pods are urgent; the release of a finished one is not."""
        return not _LEISURELY.issuperset(map(type, events))

    async def visit(self, job: JobUid) -> float | None:
        """Brings the job's children to what its latest state says, as far as the cluster accepts that."""
        try:
            return await self._visit(job)
        finally:
            self._writer.visited(job)

    async def _visit(self, job: JobUid) -> float | None:
        state = await self._state_of(job)
        if state is None or (state.phase is Phase.NEW and not state.closed):
            return None
        self._writer.made.drop_reported(state)
        if state.deleted:
            self._confirming.forget(job)
        state, writes = await self._compared(state)
        unconfirmed = any(map(_makes, writes)) and not self._confirming.has(state)
        if unconfirmed:
            writes = [write for write in writes if not _makes(write)]
        writes, released_in = self._put_off(job, writes)
        dones = await self._written(state, writes)
        again = _come_back(self._states.state(job) or state, dones)
        if unconfirmed:
            later = self._confirming.again(job)
            # without a write `again` is only the look for missed children, and each visit reads the job object
            again = later if again is None or not dones else min(again, later)
        return min((seconds for seconds in (again, released_in) if seconds is not None), default=None)

    async def _state_of(self, job: JobUid) -> JobState | None:
        """The state that says what the job has to have; of one that is gone, that it has to have nothing."""
        state = self._states.state(job)
        if state is None and (self._states.is_forgotten(job) or await self._left_in_quarantine(job)):
            return _CLOSED(job)
        return state

    async def _compared(self, state: JobState) -> tuple[JobState, list[Write]]:
        """What has to be written, and the state that says so: the latest one, where another would do harm."""
        job = state.uid
        observed = [replica.uid for replica in state.replicas.values() if replica.uid]
        live = await self._cluster.children(state.namespace, job, observed)
        # the state must not be older than `live`: a pod of the older one may be gone
        state = self._states.state(job) or state
        wished = list(desired(state))
        writes = list(diff(state, wished, live))
        if any(map(_makes, writes)):
            await self._confirming.look(state)
        if any(map(_needs_the_latest, writes)):
            await self._states.fresh(job)
            compared, state = (state, live), self._states.state(job) or state
            wished = wished if state is compared[0] else list(desired(state))
            live = await self._still_there(wished, live)
            if state is not compared[0] or live is not compared[1]:
                writes = list(diff(state, wished, live))
        return state, writes

    async def _written(self, state: JobState, writes: Sequence[Write]) -> set[Done]:
        """The outcomes of the writes. Creations come last, batch by batch, until one is refused."""
        creates = [write for write in writes if isinstance(write, Create)]
        others = _by_object(write for write in writes if not isinstance(write, Create))
        dones = {outcome for outcome in await self._writer.write(state, others) if isinstance(outcome, Done)}
        for batch in self._batches(state.namespace, creates):
            child = batch[0].child
            outcomes = await self._writer.write(state, [[create] for create in batch])
            dones.update(outcome for outcome in outcomes if isinstance(outcome, Done))
            refused = [outcome for outcome in outcomes if isinstance(outcome, WriteRefused)]
            if any(not refusal.name_taken for refusal in refused):
                self._refusing.add((state.namespace, child.kind))
            elif refused or Done.MADE in outcomes:  # a name that is taken says that others would be accepted
                self._refusing.discard((state.namespace, child.kind))
            if refused:  # one is reported: the others have the same reason, or will be refused again
                await self._observe(min(refused, key=lambda refusal: refusal.retryable))
                dones.add(Done.OPTIONAL_REFUSED if child.optional else Done.REFUSED)
            if Done.REFUSED in dones:
                break
        return dones

    def _put_off(self, job: JobUid, writes: list[Write]) -> tuple[list[Write], float | None]:
        """The writes to make now, and the seconds until the next look at those that nobody waits for, if any."""
        urgent = [write for write in writes if not (isinstance(write, Release) and not write.awaited)]
        if any(not isinstance(write, Hold | Await) for write in urgent):
            self._rush.write()
        if len(urgent) == len(writes):
            self._releases.drop(job)
            return writes, None
        remaining = self._releases.remaining(job)
        return (urgent, remaining) if remaining else (writes, None)

    async def _left_in_quarantine(self, job: JobUid) -> bool:
        """The job is in quarantine and its object is gone: its children have to be deleted, as with any owner."""
        quarantine = self._states.quarantined(job)
        if quarantine is None or not quarantine.state.name:
            return False
        state = quarantine.state
        try:
            job_object = await self._cluster.get(
                Ref(state.api_version, state.object_kind, state.namespace, state.name)
            )
        except Missing:
            return True
        return bool(job_object["metadata"]["uid"] != job)

    def _batches(self, namespace: str, creates: Sequence[Create]) -> Iterator[Sequence[Create]]:
        """Batches of creates of one kind, kinds in their order (spec R4)."""
        for kind, creates_of_kind in groupby(creates, key=lambda create: create.child.kind):
            pending = list(creates_of_kind)
            size = 1 if (namespace, kind) in self._refusing else _FIRST_BATCH
            while pending:
                yield pending[:size]
                pending = pending[size:]
                size *= 2

    async def _still_there(self, children: Sequence[Child], live: Sequence[Manifest]) -> Sequence[Manifest]:
        """`live` without generated objects that are gone: no watch shows them, and new pods could not start."""
        generated = {(child.kind, child.name) for child in children if child.generates}
        if not generated:
            return live
        remaining: list[Manifest] = []
        for manifest in live:
            if (manifest["kind"], manifest["metadata"]["name"]) in generated:
                with suppress(Missing):
                    await self._cluster.get(Ref.of(manifest))
                    remaining.append(manifest)
            else:
                remaining.append(manifest)
        return remaining


def _makes(write: Write) -> bool:
    """The write gives the job an object that it did not have."""
    return isinstance(write, Create | TakeBack)


def _needs_the_latest(write: Write) -> bool:
    """The write does harm if the log has entries that the state does not.

    A pod that does not exist may have existed: the log has that before the pod can vanish.
    """
    return isinstance(write, Create | Report) or (isinstance(write, Delete) and write.doubtful)


def _by_object(writes: Iterable[Write]) -> list[list[Write]]:
    """The writes, grouped by object and in order."""
    groups: dict[object, list[Write]] = {}
    for write in writes:
        groups.setdefault(write.uid if isinstance(write, Delete | Release) else id(write), []).append(write)
    return list(groups.values())


def _come_back(state: JobState, dones: Collection[Done]) -> float | None:
    """After how many seconds the queue has to visit the job again without a new entry."""
    if Done.NOT_THERE in dones:
        return _LOOK_AGAIN
    if Done.REFUSED in dones:
        # only an active job has a timer for its refused writes; and the other objects were not made either
        return _LOOK_AGAIN if state.phase.is_active and state.refusals < SAID_TIMES else _OPTIONAL_AGAIN
    if Done.OPTIONAL_REFUSED in dones:
        return _OPTIONAL_AGAIN
    return _UNHEARD_AGAIN if Done.MADE in dones or _waits_for_a_report(state) else None


def _waits_for_a_report(state: JobState) -> bool:
    """The log waits for a report of a child. A refused write has a timer, which ends in a visit."""
    if RETRY in state.timers:
        return False
    planned = state.plan.children if state.plan is not None and not state.deleted else ()
    children = [state.child(child.kind, child.name) for child in planned]
    if any(child is None or not child.uid for child in children):
        return True
    if state.phase.is_active and any(child.is_unknown_since_a_pause for child in state.children.values()):
        return True
    return any(replica.awaits_pod for replica in state.replicas.values())
