"""The benchmarks of decide measure what they say."""

from statemachine.decide import decide
from tests.bench.core import repeats
from tests.bench.histories import history

MOMENTS = [moment for number in range(2) for moment in history(number)]


def test_decide_is_measured_with_observations_that_say_something() -> None:
    assert all(decide(moment.before, moment.observation) for moment in MOMENTS)


def test_repeats_are_decided_on_the_state_of_the_same_job_and_say_nothing() -> None:
    again = repeats(MOMENTS)
    assert [moment.observation for moment in again] == [moment.observation for moment in MOMENTS]
    assert all(moment.before.uid == moment.observation.job for moment in again)
    assert [decide(moment.before, moment.observation) for moment in again] == [()] * len(MOMENTS)
