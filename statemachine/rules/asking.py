"""Which rules of a life are asked about an observation: those that can answer it, in their order.

A rule says by `answers` to which observations, and in which phases of a job, it may have something to say. That only
spares the question: a rule that is asked in vain says nothing, and one that declares nothing is always asked.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar, get_args

from statemachine.events import Event
from statemachine.evolve import fold
from statemachine.kind import Kind, LifeRule
from statemachine.observations import Observation
from statemachine.phases import Phase
from statemachine.state import JobState

R = TypeVar("R", bound=LifeRule)
Rules = tuple[LifeRule, ...]
Turn = tuple[LifeRule, int]
"""A rule, and the place behind it among its rules."""


@dataclass(frozen=True, slots=True)
class Interest:
    """What a rule can answer: observations of these types, of a job that is in one of these phases."""

    observations: frozenset[type[Observation]] = frozenset(get_args(Observation))
    phases: frozenset[Phase] = frozenset(Phase)

    def covers(self, type_: type[Observation], phase: Phase) -> bool:
        """A rule of this interest is asked about an observation of this type in this phase."""
        return type_ in self.observations and phase in self.phases


ALL: Final = Interest()
"""Of a rule that declares nothing, and of one that looks at the state alone."""

_DECLARED: Final = "interest"


def answers(*observations: type[Observation], phases: frozenset[Phase] = ALL.phases) -> Callable[[R], R]:
    """The rule has nothing to say to other observations (none named: to each it may), or in other phases."""
    interest = Interest(frozenset(observations) or ALL.observations, phases)

    def declared(rule: R) -> R:
        setattr(rule, _DECLARED, interest)
        return rule

    return declared


def interest_of(rule: LifeRule) -> Interest:
    """What the rule has declared."""
    interest: Interest = getattr(rule, _DECLARED, ALL)
    return interest


def in_turn(
    rules: Rules, kind: Kind, state: JobState, observation: Observation
) -> tuple[tuple[Event, ...], JobState]:
    """What `rules` say to `observation`, each to the state that the ones before it left; and the state after all."""
    whose = turns(rules, type(observation))
    events: list[Event] = []
    turn = whose[state.phase][0]
    while turn is not None:
        rule, behind = turn
        if said := tuple(rule(kind, state, observation)):
            state = fold(state, said)
            events += said
        turn = whose[state.phase][behind]
    return tuple(events), state


@lru_cache(maxsize=1024)
def turns(rules: Rules, type_: type[Observation]) -> Mapping[Phase, tuple[Turn | None, ...]]:
    """In each phase, for each place among `rules`: whose turn it is from there on; None: nobody's."""
    return {phase: tuple(reversed([*_backwards(rules, type_, phase)])) for phase in Phase}


def _backwards(rules: Rules, type_: type[Observation], phase: Phase) -> Iterator[Turn | None]:
    turn: Turn | None = None
    yield turn
    for behind in range(len(rules), 0, -1):
        rule = rules[behind - 1]
        if interest_of(rule).covers(type_, phase):
            turn = rule, behind
        yield turn
