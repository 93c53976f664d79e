"""What must hold, whatever happened: when each invariant is examined, and what does not hold.

After every entry (`of_entries`) and every change of the cluster (`of_changes`), at rest (`at_rest`), and when every
job was deleted. `Watch` follows a world from its beginning.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from k8s_bridge.port import Change
from k8s_bridge.stored import controller
from statemachine.ids import JobUid
from tests.simulation.at_rest import OF_JOBS, OF_THE_END, OF_THE_WHOLE, announced_once, in_the_way
from tests.simulation.histories import Story
from tests.simulation.of_changes import OF_CHANGES, OF_OTHER_CHANGES, Sight
from tests.simulation.of_entries import OF_ENTRIES, OF_HISTORIES
from tests.simulation.verdicts import Tally
from tests.simulation.world import Broken, World

INVARIANTS: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(rule.__name__ for rule in (*OF_ENTRIES, *OF_CHANGES, *OF_JOBS, *OF_THE_WHOLE, *OF_THE_END))
)
"""All of them, by name."""


class Watch:
    """Examines every step of a world; `failed` is done as soon as something does not hold."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.tally = Tally()
        self.stories: dict[JobUid, Story] = {}
        self.failed: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._sight = Sight()
        self._read = 0
        world.weather.passages.stepped = self.entries
        world.cluster.objects.subscribe(self._changed)

    def entries(self) -> None:
        """Examine the entries that the log has got since."""
        records = self._world.log._records
        while self._read < len(records):
            record = records[self._read]
            self._read += 1
            if record.job in self._world.untold:
                continue
            story = self.stories.get(record.job) or self.stories.setdefault(record.job, Story(record.job))
            step, about = story.add(record), f"entry {record.seq} of {record.job}"
            for rule in OF_ENTRIES:
                self._demand(about, rule, rule(self._world, story, step))

    def _changed(self, change: Change) -> None:
        self.entries()
        meta = change.object["metadata"]
        if (controller(change.object) or meta["uid"]) in self._world.untold:
            return  # the histories that these rules know end before what a newer release wrote
        kind = change.object["kind"]
        about = f"{change.verb} {kind} {meta['name']}"
        for rule in OF_CHANGES if kind == "Pod" else OF_OTHER_CHANGES:
            self._demand(about, rule, rule(self._world, self.stories, change, self._sight))

    def _demand(self, what: str, rule: Any, verdicts: Any) -> None:
        try:
            wrong = self.tally.judge(rule, what, verdicts)
        except Exception as error:  # noqa: BLE001 - who called is the system, which would cope with it
            wrong = [f"{rule.__name__}: {what}: {error!r}"]
        if wrong and not self.failed.done():
            self.failed.set_result([f"after a step at {self._world.clock.now():%H:%M:%S.%f}:", *wrong])

    def _readable(self) -> dict[JobUid, Story]:
        """The histories that can be read whole."""
        return {job: story for job, story in self.stories.items() if job not in self._world.untold}

    def namesakes(self) -> set[str]:
        """The uids of those whose children have names that other jobs wait for."""
        stories = self._readable().values()
        return {owner for story in stories for owner in in_the_way(self._world, story.state).values()}

    def check_rest(self, when: str) -> None:
        """Raise Broken with all that is wrong with a system at rest."""
        self.entries()
        wrong: list[str] = []
        for rule in OF_THE_WHOLE:
            wrong += self.tally.judge(rule, "the system", rule(self._world, self._readable()))
        wrong += self._world.findings()
        for job, story in self._readable().items():
            for of_job in OF_JOBS:
                wrong += self.tally.judge(of_job, f"job {job}", of_job(self._world, story))
        demand(when, wrong)

    def check_end(self, when: str) -> None:
        """Raise Broken with all that is wrong when every job object has been deleted."""
        self.entries()
        wrong: list[str] = []
        for rule in OF_THE_END:
            wrong += self.tally.judge(rule, "the system", rule(self._world, self._readable()))
        wrong += self._world.findings()
        for job, story in self._readable().items():
            wrong += self.tally.judge(announced_once, f"job {job}", announced_once(self._world, story))
        demand(when, wrong)


def check_log(world: World, stories: Mapping[JobUid, Story]) -> list[str]:
    """All that is wrong with whole histories, read from a log of whatever system."""
    tally, wrong = Tally(), []
    for job, story in stories.items():
        again = Story(job)
        for record in story.records:
            entry = again.add(record)
            for rule in OF_HISTORIES:
                wrong += tally.judge(rule, f"entry {record.seq} of {job}", rule(world, again, entry))
    return wrong


def demand(when: str, wrong: list[str]) -> None:
    """Nothing is wrong.

    Raises:
        Broken: something is; it names the invariants.
    """
    if wrong:
        raise Broken("\n".join([f"{when}:", *wrong]))
