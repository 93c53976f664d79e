"""What is observed of random jobs, from a seed: lives that end, fail, start anew, are paused, refused and deleted."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from statemachine.observations import Observation
from tests.support.scenario import Story, workers

_DEADLINES: Final = (4, 12, 40)


class Life(Story):
    """A job, and all that was observed of it, also what changed nothing."""

    observed: list[Observation]

    def __init__(self, spec: dict[str, Any], uid: str) -> None:
        super().__init__(spec, name=uid, uid=uid)
        self.observed = []

    def see(self, observation: Observation) -> "Life":
        """See Story."""
        self.observed.append(observation)
        return super().see(observation)


def life(chance: Random, uid: str, begin: float) -> list[Observation]:
    """All that is observed of one job, which is submitted `begin` seconds after the start."""
    policy: dict[str, Any] = {"backoffLimit": chance.randint(0, 3)}
    if chance.random() < 0.4:
        policy["activeDeadlineSeconds"] = chance.choice(_DEADLINES)
    restarts = chance.choice(("OnFailure", "Never", "Always"))
    story = Life(workers(chance.randint(1, 3), policy=restarts, runPolicy=policy), uid)
    story.at(begin).submit()
    for _ in range(chance.randint(3, 14)):
        story.at(round(story.clock + chance.expovariate(1 / 2), 3))
        chance.choice(_STEPS)(chance, story)
    if chance.random() < 0.7:
        story.at(round(story.clock + 1, 3)).delete()
        for name in story.state.running_plan.replicas():
            story.gone(name)
    return story.observed


def _replica(chance: Random, story: Life) -> str:
    return chance.choice(list(story.state.running_plan.replicas()))


def _run(chance: Random, story: Life) -> None:
    story.pod(_replica(chance, story), chance.choice(("Pending", "Running", "Running")))


def _run_all(_: Random, story: Life) -> None:
    story.all_pods("Running")


def _end(chance: Random, story: Life) -> None:
    code = chance.choice((0, 1, 137, 143))
    story.pod(_replica(chance, story), "Failed" if code else "Succeeded", exit_code=code)


def _vanish(chance: Random, story: Life) -> None:
    story.gone(_replica(chance, story))


def _pause(_: Random, story: Life) -> None:
    paused = story.spec.get("runMode", {}).get("pause", {}).get("enabled", False)
    if paused:
        story.resume()
    else:
        story.pause()


def _refuse(_: Random, story: Life) -> None:
    story.refused(status_=403)


def _repeat(chance: Random, story: Life) -> None:
    story.see(chance.choice(story.observed))


_STEPS: Final[tuple[Callable[[Random, Life], None], ...]] = (
    _run,
    _run_all,
    _run_all,
    _end,
    _end,
    _vanish,
    _pause,
    _refuse,
    _repeat,
)
