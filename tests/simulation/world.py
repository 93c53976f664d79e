"""The whole system on simulated time: real controllers, a log and a cluster in memory, and users."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, ClassVar, Final

from jobledger.wiring import Controller
from jobledger.wiring.roles import Roles
from jobledger.wiring.streams import Stream
from k8s_bridge.admission import admit
from k8s_bridge.attended import Attended
from k8s_bridge.env_values import EnvValues
from k8s_bridge.objects import Admit
from k8s_bridge.port import Change, Cluster, Manifest, Ref
from k8s_bridge.ssh_keys import SecretData, secret_data
from statemachine.engine.clock import Clock
from statemachine.errors import Missing, Refused
from statemachine.ids import CLUSTER_DOMAIN, JobUid, Position
from statemachine.log.inbox import Inbox
from statemachine.log.port import EventLog, Record, Snapshot
from statemachine.owned import SSH_KEYS
from tests.simulation.crash_points import USUAL
from tests.simulation.pods import PodLife, PodRegister
from tests.simulation.processes import Errors, Process
from tests.simulation.shapes import NAMESPACE, NAMESPACES, PYTORCH, Script, Shape
from tests.simulation.steps import Chance, Diary
from tests.support.controllers import controller_of
from tests.support.faults import FaultyCluster, FaultyLog, JumpingClock, Life, Odds, Weather
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.simulated import SimulatedLoop

START: Final = datetime(2024, 1, 9, 15, 0, tzinfo=UTC)

_QUIET: Final = 306.0
"""Seconds after which nothing more comes: longer than the longest wait between two tries, and of a pod that is made
again (300 s)."""

_NEVER_QUIET: Final = 4000.0

_LOOK: Final = 30.0
"""Seconds between two looks whether anything has happened."""


async def _no_keys() -> SecretData:
    return secret_data(b"private", b"public")


GENERATORS: Final = {SSH_KEYS: _no_keys}
"""Real keys would take most of the time of a simulation, and be others each time."""


ENV_VALUES: Final = EnvValues((b"the key of every simulation",), conceals=True)


class Broken(AssertionError):
    """The system did something that it must never do."""


@dataclass
class World:
    """Everything that belongs to one seed."""

    seed: int
    shape: Shape = PYTORCH
    chance: Random = field(init=False)
    notes: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    jobs: list[Ref] = field(default_factory=list)

    def __post_init__(self) -> None:
        chance = self.chance = Chance(self.seed)
        self.diary = Diary()
        self.conceals = self.seed % 2 == 1
        """Values of environment variables stay out of the log."""
        self.namespaces = Random(f"{self.seed} namespaces").choice(((NAMESPACE,), (NAMESPACE,), NAMESPACES))
        self.clock = JumpingClock(self.start_at)
        self.log = self._new_log()
        self.evidence = chance.random() < 0.75
        self.workers = chance.choice((1, 2, 8))
        self.weather = Weather(chance, Odds())
        self._admit: Admit | None = admit if chance.random() < 0.6 else None
        fates = self.shape.fates(self.seed, chance.choice((0.1, 0.5, 0.9)))
        self.cluster = self._new_cluster(fates)
        self.cluster.disturbance = self.weather.delays
        self.pods = PodRegister(self.log, self.weather)
        self.cluster.objects.subscribe(self.pods.changed)
        self.cluster.objects.subscribe(self._changed)
        if self.shape.beside is not None:
            self.shape.beside(self.cluster)
        self.attended = Attended(kept={CLUSTER_DOMAIN: "cluster.local", **self.shape.settings(self.seed)})
        self.changes = 0
        self.harmed = False
        """Only the next visit, or the next list, shows it: an object that no controller watches was made or deleted
        behind its back, or old labels were reported as news."""
        self.untold: set[JobUid] = set()
        """Jobs whose histories cannot be read in full: a newer release has written in them."""
        self.unreadable: set[JobUid] = set()
        """Those of them in which an event is not known: they are in quarantine, and their reports dead letters."""
        self.usurped = False
        """For a while there were two controllers."""
        self.earlier: list[tuple[Position, dict[JobUid, Snapshot]]] = []
        """Snapshots as they were saved once, and how far they reached."""
        self.damaged: set[bytes] = set()
        """Snapshots whose bytes somebody has changed."""
        self.away_until: dict[str, float] = {}
        """By name of a process: not started again before (the loop's time)."""
        self.process: Process | None = None
        self._zombies: list[Process] = []
        self._prepare()

    # ---- what families of worlds have otherwise -----------------------------------------------------------

    odds: ClassVar[Mapping[str, float]] = {}
    """Faults that calls meet beside the usual ones, and how likely each is at most."""
    actions: ClassVar[Sequence[Any]] = ()
    """What happens instead of the usual; see `tests.simulation.chaos`."""
    points: ClassVar[Mapping[str, int]] = USUAL
    """Where a process dies in seeds that aim at a point, and the share of each; see `crash_points`."""
    possible: ClassVar[float] = 0.4
    """How likely each of the faults that calls meet is to be possible in a seed."""
    share: ClassVar[float] = 0.5
    """How likely each action is to be one of those of a seed."""
    start_at: ClassVar[datetime] = START
    quiet: ClassVar[float] = _QUIET
    """Seconds without a change after which nothing more comes."""
    silence: ClassVar[float | None] = None
    keeps_reports: ClassVar[bool] = False
    """Reports outlive the process that made them, in an inbox."""
    loop: ClassVar[type[SimulatedLoop]] = SimulatedLoop

    def surroundings(self) -> AbstractContextManager[None]:
        """What is otherwise as long as the world lives."""
        return nullcontext()

    def resting(self) -> AbstractContextManager[None]:
        """What is otherwise once no fault happens any more: what costs much and tells nothing, happens seldom."""
        return nullcontext()

    def _new_log(self) -> MemoryLog:
        return MemoryLog()

    def _new_cluster(self, fates: Script) -> MemoryCluster:
        return MemoryCluster(
            clock=self.clock.now, script=fates.script, admit=self._admit, written=self.clock.true
        )

    def _prepare(self) -> None:
        """The world is made; what else is in it from its beginning."""

    def log_of(self, life: Life, roles: Roles) -> EventLog:
        """The log as a process with these roles sees it."""
        return FaultyLog(self.log, life)

    def cluster_of(self, life: Life) -> Cluster:
        """The cluster as a process sees it."""
        return FaultyCluster(self.cluster, life)

    def clock_of(self, roles: Roles) -> Clock:
        """The clock of a process with these roles."""
        return self.clock

    def inbox_of(self, life: Life) -> Inbox | None:
        """Where observations go from process to process."""
        return None

    def streams_of(self, life: Life, roles: Roles) -> Sequence[Sequence[Stream]]:
        """The stream projectors of a process with these roles, beside those that all have."""
        return ()

    def controller(self, life: Life, roles: Roles) -> Controller:
        """What runs in a process."""
        return controller_of(
            self.log_of(life, roles),
            self.cluster_of(life),
            self.clock_of(roles),
            streams=self.streams_of(life, roles),
            inbox=self.inbox_of(life),
            **self.options(roles),
        )

    def options(self, roles: Roles) -> dict[str, Any]:
        """Those of `ControllerOptions`, for a process with these roles."""
        return {
            "evidence": self.evidence,
            "workers": self.workers,
            "jitter": Random(self.chance.random()),
            "roles": roles,
            "generators": GENERATORS,
            "silence": self.silence,
            "keeps": 0,
            "env_values": ENV_VALUES if self.conceals else EnvValues(),
            "attended": self.attended,
        }

    def processes(self) -> Mapping[str, Process]:
        """What runs, by name; one may have ended and not be started again yet."""
        return {} if self.process is None else {"controller": self.process}

    def believers(self) -> Mapping[str, Controller]:
        """The controllers that hold states, by name."""
        return {name: process.controller for name, process in self.processes().items()}

    def calm(self) -> None:
        """The weather is calm for ever; what has begun and takes minutes goes on."""
        self.weather.odds.calm()
        self.weather.until.clear()
        self.weather.log_down_until = self.weather.cluster_down_until = 0.0
        self.clock.mend()

    def findings(self) -> Iterator[str]:
        """What is wrong at rest with what only such a world has."""
        yield from ()

    # ---- its story -----------------------------------------------------------------------------------------

    def fault(self, name: str, text: str = "") -> None:
        """A fault of the list happened; what was done stands in the story."""
        self.weather.happened[name] += 1
        self.note(text or name)

    @property
    def happened(self) -> Counter[str]:
        """How often each fault happened, by name."""
        return self.weather.happened

    def _changed(self, _: Change) -> None:
        self.changes += 1

    def note(self, text: str) -> None:
        """Something was done to the system: part of the story that a failure prints."""
        self.notes.append(f"{self.clock.now().time().isoformat('microseconds')} {text}")

    def records(self) -> Iterator[Record]:
        """The whole log, in order."""
        yield from self.log._records

    # ---- processes ---------------------------------------------------------------------------------------

    def start(self) -> Process:
        """A controller starts; one that may still live does not know of it."""
        if self.process is not None and not self.process.task.done():
            self.process.life.superseded = True
            self._zombies.append(self.process)
        self.process = Process(self)
        return self.process

    async def keep_running(self) -> None:
        """Whenever the controller has ended it is started again, after a while."""
        while True:
            process = self.process or self.start()
            await process.ended()
            if process is self.process:
                await asyncio.sleep(self.chance.expovariate(1 / 2))
                await self.sleep_until(self.away_until.get("controller", 0.0))
                if process is self.process:
                    self.note("controller starts")
                    self.start()

    def kill(self) -> None:
        """Whatever runs is killed, and will be started again."""
        for process in self.processes().values():
            process.kill()

    async def sleep_until(self, moment: float) -> None:
        """The loop's time is `moment`, or later."""
        left = moment - asyncio.get_running_loop().time()
        if left > 0:
            await asyncio.sleep(left)

    async def end_processes(self) -> None:
        """Every controller is killed, and gone."""
        everyone = [*self._zombies, *([self.process] if self.process else [])]
        for process in everyone:
            process.kill()
        for process in everyone:
            await process.ended()
        self._zombies, self.process = [], None

    async def end_zombies(self) -> None:
        """Only the newest controller is left."""
        for zombie in self._zombies:
            zombie.kill()
            await zombie.ended()
        self._zombies = []

    # ---- users -------------------------------------------------------------------------------------------

    async def submit(self, name: str) -> None:
        """Somebody creates a job called `name`, if no other of its kind and namespace is."""
        wish = self.shape.manifest(self.chance, name)
        if len(self.namespaces) > 1:
            wish["metadata"]["namespace"] = self.chance.choice(self.namespaces)
        if wish["metadata"]["namespace"] in self.weather.going:
            return
        if self.cluster.objects.peek(Ref.of(wish)) is not None:
            return
        stored = await self.cluster.create(wish)
        self.jobs.append(Ref.of(stored))
        self.note(f"job {name} created, uid {stored['metadata']['uid']}")

    def live_jobs(self) -> list[Manifest]:
        """The job objects that exist, uncopied."""
        return [job for kind in self.shape.kinds for job in self.cluster.objects.peek_all(kind)]

    def change(self, job: Manifest, merge: Manifest) -> None:
        """Somebody edits the spec of a job; what the API server refuses is not stored."""
        name = job["metadata"]["name"]
        try:
            self.cluster.objects.patch(Ref.of(job), {"spec": merge})
        except Refused as error:
            self.note(f"edit of {name} refused: {error}")
        else:
            self.note(f"edit of {name}: {merge}")

    def delete(self, job: Manifest) -> None:
        """Somebody deletes a job."""
        self.note(f"job {job['metadata']['name']} {job['metadata']['uid']} deleted")
        self.cluster.objects.delete(Ref.of(job))

    def delete_pod(self, pod: Manifest, *, force: bool) -> None:
        """Somebody deletes a pod. By force it goes whatever holds it, and may never have been seen."""
        meta = pod["metadata"]
        how = "removed" if force else "deleted"
        self.fault(f"pod_{how}", f"pod {meta['name']} {meta['uid']} {how}{' by force' if force else ''}")
        self.pods.deleted_by_others.add(meta["uid"])
        if force:
            self.pods.forced.add(meta["uid"])
        try:
            self.cluster.delete_pod(meta["namespace"], meta["name"], force=force)
        except Missing:
            return

    def is_of_force(self, pod: PodLife) -> bool:
        """Somebody removed the pod by force, or an earlier one of its attempt whose report lay in the inbox."""
        earlier = self.pods.of_attempt(pod.key) if self.keeps_reports else [pod]
        return any(life.uid in self.pods.forced for life in earlier)

    # ---- time --------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Returns when nothing has happened for longer than anything waits."""
        loop = asyncio.get_running_loop()
        limit, since, before = loop.time() + _NEVER_QUIET, loop.time(), (-1, -1)
        while (now := (len(self.log._records), self.changes)) != before or loop.time() - since < self.quiet:
            if now != before:
                before, since = now, loop.time()
            if loop.time() > limit:
                raise Broken(f"the system does not come to rest: {self._restless(before)}")
            await asyncio.sleep(_LOOK)

    def _restless(self, before: tuple[int, int]) -> str:
        return f"{before} entries and changes, the last are {Counter(self._last_events()).most_common(5)}"

    def _last_events(self) -> Iterator[str]:
        for record in list(self.records())[-20:]:
            yield f"{record.job}: {record.body[-120:]!r}"

    def listen(self) -> logging.Handler:
        """Errors that are logged from now on are findings."""
        return Errors(self.broken, self.unreadable)

    def uids(self) -> list[JobUid]:
        """Every job that the log knows, in order of appearance."""
        return list(dict.fromkeys(record.job for record in self.records()))
