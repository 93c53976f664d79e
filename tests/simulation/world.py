"""The whole system on simulated time: real controllers, a log and a cluster in memory, and users."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Final

from jobledger.wiring import Controller
from k8s_bridge.admission import admit
from k8s_bridge.env_values import EnvValues
from k8s_bridge.memory import MemoryCluster
from k8s_bridge.objects import Admit
from k8s_bridge.port import Change, Manifest, Ref
from k8s_bridge.ssh_keys import SecretData, secret_data
from statemachine.errors import LogUnavailable, Missing, Refused
from statemachine.ids import JobUid
from statemachine.kind import SSH_KEYS
from statemachine.log.memory import MemoryLog
from statemachine.log.port import Record
from tests.simulation.pods import PodRegister
from tests.simulation.shapes import NAMESPACE, PYTORCH, Shape
from tests.simulation.steps import Chance, Diary
from tests.support.faults import FaultyCluster, FaultyLog, JumpingClock, Life, Odds, Weather

START: Final = datetime(2024, 1, 9, 15, 0, tzinfo=UTC)

_QUIET: Final = 306.0
"""Seconds after which nothing more comes: longer than the longest wait between two tries, and of a pod that is made
again (300 s)."""

_NEVER_QUIET: Final = 4000.0


async def _no_keys() -> SecretData:
    return secret_data(b"private", b"public")


GENERATORS: Final = {SSH_KEYS: _no_keys}
"""Real keys would take most of the time of a simulation, and be others each time."""


ENV_VALUES: Final = EnvValues((b"the key of every simulation",), conceals=True)


class Broken(AssertionError):
    """The system did something that it must never do."""


class Process:
    """One run of a controller, from its start to its end."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.life = Life(world.weather, self._fell)
        self.controller = Controller(
            FaultyLog(world.log, self.life),
            FaultyCluster(world.cluster, self.life),
            world.clock,
            evidence=world.evidence,
            workers=world.workers,
            jitter=Random(world.chance.random()),
            generators=GENERATORS,
            keeps=0,
            env_values=ENV_VALUES if world.conceals else EnvValues(),
        )
        self.task = asyncio.get_running_loop().create_task(self._run(), name="controller")

    async def _run(self) -> None:
        try:
            await self.controller.run()
        except LogUnavailable as error:
            self._world.note(f"controller gave up: {error}")
        except Exception as error:  # noqa: BLE001 - whatever ends a controller is a finding
            self._world.broken.append(f"controller died: {_told(error)}")

    def _fell(self) -> None:
        self._world.note("controller crashed in the middle of a call")
        self.task.cancel()

    def kill(self) -> None:
        """As `kill -9`: what it was doing is not finished, nothing is cleaned up."""
        self.life.kill()
        self.task.cancel()

    def stop(self) -> None:
        """As `kill -15`: it may finish what is in hand, and saves its states."""
        self.task.cancel()

    async def ended(self) -> None:
        """Returns when nothing of it runs any more."""
        await asyncio.wait([self.task])


def _told(error: BaseException) -> str:
    inner = [_told(each) for each in error.exceptions] if isinstance(error, BaseExceptionGroup) else []
    return "; ".join(inner) or repr(error)


class _Errors(logging.Handler):
    """Whatever is logged as an error is a finding."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        error = record.exc_info[1] if record.exc_info else None
        self._found.append(f"logged: {record.getMessage()}: {error!r}")


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
        self.clock = JumpingClock(START)
        self.log = MemoryLog()
        self.evidence = chance.random() < 0.75
        self.workers = chance.choice((1, 2, 8))
        self.weather = Weather(chance, Odds())
        self._admit: Admit | None = admit if chance.random() < 0.6 else None
        fates = self.shape.fates(self.seed, chance.choice((0.1, 0.5, 0.9)))
        self.cluster = MemoryCluster(
            clock=self.clock.now, script=fates.script, admit=self._admit, written=self.clock.true
        )
        self.cluster.disturbance = self.weather.delays
        self.pods = PodRegister(self.log, self.weather)
        self.cluster.objects.subscribe(self.pods.changed)
        self.cluster.objects.subscribe(self._changed)
        self.changes = 0
        self.harmed = False
        """An object that no controller watches was made or deleted behind its back: only the next visit sees it."""
        self.usurped = False
        """For a while there were two controllers."""
        self.process: Process | None = None
        self._zombies: list[Process] = []

    def _changed(self, _: Change) -> None:
        self.changes += 1

    def note(self, text: str) -> None:
        """Something was done to the system: part of the story that a failure prints."""
        self.notes.append(f"{self.clock.now():%H:%M:%S.%f} {text}")

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
                if process is self.process:
                    self.note("controller starts")
                    self.start()

    async def end_processes(self) -> None:
        """Every controller is killed, and gone."""
        everyone = [*self._zombies, *([self.process] if self.process else [])]
        for each in everyone:
            each.kill()
        for each in everyone:
            await each.ended()
        self._zombies, self.process = [], None

    async def end_zombies(self) -> None:
        """Only the newest controller is left."""
        for each in self._zombies:
            each.kill()
            await each.ended()
        self._zombies = []

    # ---- users -------------------------------------------------------------------------------------------

    async def submit(self, name: str) -> None:
        """Somebody creates a job called `name`, if the name is free."""
        spelled = [Ref(self.shape.api, kind, NAMESPACE, name) for kind in self.shape.kinds]
        if any(self.cluster.objects.peek(ref) is not None for ref in spelled):
            return
        wish = self.shape.manifest(self.chance, name)
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
        self.note(f"pod {meta['name']} {meta['uid']} deleted{' by force' if force else ''}")
        self.pods.deleted_by_others.add(meta["uid"])
        if force:
            self.pods.forced.add(meta["uid"])
        try:
            self.cluster.delete_pod(meta["namespace"], meta["name"], force=force)
        except Missing:
            return

    # ---- time --------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Returns when nothing has happened for longer than anything waits."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + _NEVER_QUIET
        before = -1, -1
        while (now := (len(self.log._records), self.changes)) != before:
            before = now
            await asyncio.sleep(_QUIET)
            if loop.time() > limit:
                raise Broken(f"the system does not come to rest: {self._restless(before)}")

    def _restless(self, before: tuple[int, int]) -> str:
        return f"{before} entries and changes, the last are {Counter(self._last_events()).most_common(5)}"

    def _last_events(self) -> Iterator[str]:
        for record in list(self.records())[-20:]:
            yield f"{record.job}: {record.body[-120:]!r}"

    def listen(self) -> logging.Handler:
        """Errors that are logged from now on are findings."""
        return _Errors(self.broken)

    def uids(self) -> list[JobUid]:
        """Every job that the log knows, in order of appearance."""
        return list(dict.fromkeys(record.job for record in self.records()))
