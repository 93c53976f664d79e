"""The simulation of the partitioned log can fail: with a broken contract or a broken product, promises break."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

from projectors.contract.stream import PublishedEntry
from projectors.sinks.feeding import Feeder
from projectors.sinks.kafka import KafkaSink
from projectors.sinks.resuming import PublicTail
from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.commits import Commits
from statemachine.ids import Position
from statemachine.log.inbox import Post
from statemachine.log.kafka.snapshots import Snapshots
from statemachine.log.positions import SinkPosition
from tests.simulation.kafka import invariants
from tests.simulation.kafka.run import simulate
from tests.simulation.world import Broken

Breaking = Callable[[pytest.MonkeyPatch], None]

_ENOUGH = 30


def observations_are_acknowledged_before_they_are_decided(patch: pytest.MonkeyPatch) -> None:
    """The product is broken: what was in hand when an engine was killed is lost."""
    put = Assignment.put

    async def early(self: Assignment, partition: int, first: Position, posts: Sequence[Post]) -> None:
        await put(self, partition, first, posts)
        self._acked(partition, first + len(posts) - 1)

    patch.setattr(Assignment, "put", early)


def nobody_acknowledges(patch: pytest.MonkeyPatch) -> None:
    """The product is broken: no group ever says that it is at the end."""

    async def nothing(_: Commits) -> None:
        return

    patch.setattr(Commits, "commit", nothing)


def snapshots_claim_more_than_they_cover(patch: pytest.MonkeyPatch) -> None:
    """The product is broken: who recovers leaves out entries that are in no snapshot."""
    save = Snapshots.save

    async def more(
        self: Snapshots, writer: Any, position: Position, snapshots: Any, source: Position
    ) -> None:
        await save(self, writer, position + 3, snapshots, source)

    patch.setattr(Snapshots, "save", more)


def marks_of_transactions_are_passed_only_with_entries(patch: pytest.MonkeyPatch) -> None:
    """The product is broken: a sink that has everything says that it has not."""
    more = PublicTail.more

    async def only_with_entries(self: PublicTail) -> AsyncIterator[PublishedEntry | None]:
        since, has_grown = self._position, False
        async for published in more(self):
            has_grown = True
            yield published
        if not has_grown:
            self._position = since

    patch.setattr(PublicTail, "more", only_with_entries)


def a_publisher_ignores_its_position(patch: pytest.MonkeyPatch) -> None:
    """The product is broken: the heir of a partition publishes all of it."""

    async def nothing(self: KafkaSink, partition: int) -> None:
        await position(self, partition)

    position = KafkaSink.position
    patch.setattr(KafkaSink, "position", nothing)


def a_position_is_kept_before_what_it_covers_is_delivered(patch: pytest.MonkeyPatch) -> None:
    """The product is broken: what a publisher had in hand when it was killed never reaches a web hook."""
    settle = Feeder._settle

    async def early(self: Feeder, upto: SinkPosition, entries: Sequence[PublishedEntry]) -> None:
        await self._save(upto)
        await settle(self, upto, entries)

    patch.setattr(Feeder, "_settle", early)


@pytest.mark.parametrize(
    ("breaking", "law"),
    [
        (marks_of_transactions_are_passed_only_with_entries, "not all was published"),
        (a_publisher_ignores_its_position, "no_event_is_published_twice"),
        (a_position_is_kept_before_what_it_covers_is_delivered, "every_event_is_received"),
        (observations_are_acknowledged_before_they_are_decided, "every_observation_is_decided_once"),
        (nobody_acknowledges, "not all was decided in"),
        (snapshots_claim_more_than_they_cover, "snapshots|numbers_go_on|not all was decided"),
    ],
)
def test_what_is_broken_breaks_a_promise(
    breaking: Breaking, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking(monkeypatch)
    with pytest.raises(Broken, match=law):
        _simulate_many()


def test_without_fencing_in_the_model_a_zombie_writes_a_second_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where nobody compares epochs: that is what fencing is for."""
    monkeypatch.setattr(invariants, "AT_ANY_TIME", (invariants.numbers_go_on,))
    assert any("numbers_go_on" in wrong for wrong in _without_fencing())


def test_without_fencing_in_the_model_an_epoch_has_two_writers() -> None:
    assert any("an_epoch_has_one_writer" in wrong for wrong in _without_fencing())


def _without_fencing() -> Iterator[str]:
    """What is wrong, seed by seed; publishers, too, count on brokers that fence."""
    for seed in range(_ENOUGH):
        try:
            simulate(seed, fences=False)
        except Broken as error:
            yield str(error)


def _simulate_many() -> None:
    for seed in range(_ENOUGH):
        simulate(seed)
