"""Worlds in which nothing can be decided of some jobs any more: what is reported of them are dead letters.

Somebody sends them to the engine again (`jobledger dead-letters retry --all`), and Prometheus counts them.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from jobledger.telemetry.page import MetricsPage
from statemachine.errors import LogUnavailable
from statemachine.log.codec import decode_observation
from statemachine.log.inbox import Inbox
from statemachine.log.partitions import Partitions
from statemachine.log.retrying import retry
from statemachine.observations import Observation, PodObserved
from statemachine.wire import plain
from tests.simulation import at_rest, chaos, versions
from tests.simulation.crash_points import LETTERS
from tests.simulation.world import World
from tests.support.faults import FaultyLog, Life
from tests.support.spread import FaultyInbox, TellingInbox

_TIMES: Final = ("at", "happened_at", "written_at")


class LettersWorld(versions.VersionsWorld):
    """Jobs in whose histories a newer release has written what cannot be folded; their pods go on."""

    points: ClassVar[Mapping[str, int]] = LETTERS
    share: ClassVar[float] = 0.7

    def _prepare(self) -> None:
        super()._prepare()
        self.inbox = TellingInbox()

    def inbox_of(self, life: Life) -> Inbox | None:
        """See World. Nobody puts anything there but who sends letters again."""
        return FaultyInbox(self.inbox, life)

    def findings(self) -> Iterator[str]:
        """See World. A report that could not be decided is kept once, and that of what each pod is now is kept.

        One that was sent again may be kept once more.
        """
        yield from super().findings()
        letters = [letter for letter in self.log._letters if letter.job in self.unreadable]
        kept = [(letter, decode_observation(letter.observation)) for letter in letters]
        alike = Counter(
            (letter.job, letter.error, _timeless(report)) for letter, report in kept if not letter.retried_at
        )
        yield from (
            f"{count} letters of {job}: {text}" for (job, _, text), count in alike.items() if count > 1
        )
        yield from pods_without_a_letter(self)


def pods_without_a_letter(world: World, decided: Iterable[Observation] = ()) -> Iterator[str]:
    """What each pod of a job is now that nothing can be decided of stands in a letter, unless it was `decided`."""
    letters = [letter for letter in world.log._letters if letter.job in world.unreadable]
    reports = [*decided, *(decode_observation(letter.observation) for letter in letters)]
    pods = {(report.uid, report.phase) for report in reports if isinstance(report, PodObserved)}
    there = {job["metadata"]["uid"] for job in world.live_jobs()}
    for job in world.unreadable & there:
        for child in at_rest.children_of(world, job):
            now = child["metadata"]["uid"], child.get("status", {}).get("phase")
            if child["kind"] == "Pod" and now not in pods:
                yield f"no letter says of pod {now[0]} of {job} that it is {now[1]}"


async def read_metrics(world: World) -> None:
    """Prometheus reads what the controller says of itself, the number of dead letters too."""
    if (process := world.process) is not None and not process.task.done():
        await MetricsPage(process.controller).text("")


async def retry_letters(world: World) -> None:
    """Somebody sends every letter that was not sent again yet; the program may die, as any."""
    assert isinstance(world, LettersWorld)
    life = Life(world.weather, lambda: world.note("the retry of dead letters died"))
    task = asyncio.get_running_loop().create_task(_retried(world, life), name="retry")
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


async def _retried(world: LettersWorld, life: Life) -> None:
    log, inbox = FaultyLog(world.log, life), FaultyInbox(world.inbox, life)
    try:
        for letter in await log.dead_letters():
            if letter.retried_at is None:
                world.note(f"letter {letter.name} is sent again")
                await retry(letter, Partitions([log]), inbox, world.clock.now())
    except LogUnavailable as error:
        world.note(f"the retry of dead letters gave up: {error}")


LettersWorld.actions = (
    *[versions.newer_event] * 4,
    *[retry_letters] * 2,
    read_metrics,
    chaos.end_pod,
    chaos.delete_pod,
    chaos.edit_spec,
    chaos.relabel_job,
    chaos.log_down,
    chaos.stop,
)


def _timeless(report: Observation) -> str:
    """The report without its times, in which alone two reports of the same may differ."""
    return repr({name: value for name, value in plain(report).items() if name not in _TIMES})
