"""Decisions for which every rule is asked: one that has declared that it has nothing to say has to say nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from statemachine import decide
from statemachine.events import Event
from statemachine.evolve import fold
from statemachine.kind import Kind, LifeRule
from statemachine.kinds.pytorchjob import in_place
from statemachine.observations import Observation
from statemachine.rules.asking import interest_of
from statemachine.state import JobState


@contextmanager
def all_asked() -> Iterator[list[str]]:
    """Decisions ask all rules; the list gets a line for each that answers although it would not have been asked."""
    surprises: list[str] = []

    def in_turn(
        rules: tuple[LifeRule, ...], kind: Kind, state: JobState, observation: Observation
    ) -> tuple[tuple[Event, ...], JobState]:
        events: list[Event] = []
        for rule in rules:
            said = tuple(rule(kind, state, observation))
            if said and not interest_of(rule).covers(type(observation), state.phase):
                surprises.append(f"{rule.__name__} to {observation} in {state.phase}: {said}")
            state = fold(state, said)
            events += said
        return tuple(events), state

    with patch.object(decide, "in_turn", in_turn), patch.object(in_place, "in_turn", in_turn):
        yield surprises
