"""What the rule of attempts lets pass: one that another controller made, and nothing that was there before."""

from typing import Any
from unittest.mock import patch

from statemachine.events import ReplicaAdopted
from statemachine.ids import ReplicaName, Seq
from statemachine.log.port import Record
from statemachine.rules import pods
from tests.simulation.histories import Story
from tests.simulation.of_entries import attempts_count_up
from tests.simulation.world import World
from tests.support.scenario import Story as Scenario
from tests.support.scenario import workers


def adopted_then_lost() -> Scenario:
    """The log has asked for attempt 1; attempt 4 is there, and goes."""
    scenario = Scenario(workers(1)).submit()
    scenario.pod("worker-0", "Running", attempt=4)
    return scenario.gone("worker-0")


def verdicts(scenario: Scenario) -> list[object]:
    bodies = enumerate(scenario.bodies, start=1)
    story = Story.of(Record(seq, scenario.uid, Seq(seq), body) for seq, body in bodies)
    fresh = Story(scenario.uid)
    return [verdict for step in story.steps for verdict in attempts_count_up(World(0), fresh, step)]


def test_the_attempt_behind_an_adopted_one_follows_it() -> None:
    scenario = adopted_then_lost()
    assert scenario.state.replicas[ReplicaName("worker-0")].attempt == 5
    assert verdicts(scenario) == [None, None, None]


def test_an_attempt_that_was_there_before_is_not_adopted() -> None:
    adopt = ReplicaAdopted

    def earlier(**fields: Any) -> ReplicaAdopted:
        return adopt(**fields | {"attempt": 1})

    with patch.object(pods, "ReplicaAdopted", earlier):
        assert "worker-0 adopted attempt 1 after 1" in verdicts(adopted_then_lost())
