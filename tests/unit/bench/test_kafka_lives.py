"""The entries that benchmarks on Kafka read: as the rules of today write them."""

from statemachine.evolve import fold
from statemachine.log.codec import decode, decode_state, entry_hash
from statemachine.log.entry import GENESIS
from statemachine.state import JobState
from tests.bench.kafka.lives import LENGTH, LongLife, lives, uid


def test_a_long_life_has_as_many_entries_as_wanted_each_of_which_changes_something() -> None:
    life = LongLife.of(200)
    drafts = list(life.drafts(uid(7)))
    state, head = JobState(uid(7)), GENESIS
    for seq, draft in enumerate(drafts, 1):
        entry = decode(draft.body)
        assert (entry.job, entry.seq, entry.prev) == (uid(7), seq, head)
        assert entry.events
        state, head = fold(state, entry.events), entry_hash(draft.body)
    assert len(drafts) == 200
    assert decode_state(life.snapshot(drafts[-1]).body) == state


def test_lives_are_about_as_many_observations_as_wanted() -> None:
    assert len(lives(1000)) == 1000 // LENGTH * LENGTH
