"""The families of worlds discover what is broken on purpose where only they can look."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from jobledger.wiring import streams
from jobledger.wiring.levels import Levels
from jobledger.wiring.sinks import Sinks
from jobledger.wiring.streams import Streams
from k8s_bridge.watchers import Bridge
from projectors.history import HistoryProjector
from projectors.history.database import Reached, Statement
from projectors.history.projector import Step
from projectors.made_pods import MadePods
from statemachine.engine.drain import Drain
from statemachine.engine.follower import Follower
from statemachine.engine.step import Owner
from statemachine.engine.undecided import Failure, KnownFailures
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.port import DeadLetter
from statemachine.observations import Observation
from tests.simulation import chaos, chaos_kafka, chaos_parts, versions
from tests.simulation.apart import ApartWorld
from tests.simulation.letters import LettersWorld
from tests.simulation.newer_on_kafka import NewerWorld
from tests.simulation.on_kafka import KafkaWorld
from tests.simulation.projected import ProjectedWorld
from tests.simulation.run import simulate
from tests.simulation.shapes import PYTORCH
from tests.simulation.test_faults import alone
from tests.simulation.views_on_kafka import ViewsWorld
from tests.simulation.world import Broken, World

_ENOUGH = 40


def what_was_noticed_is_acknowledged_before_it_is_decided(patch: pytest.MonkeyPatch) -> type[World]:
    step = Drain._step

    async def early(self: Drain) -> float:
        taken = await self._inbox.take(1)
        await self._inbox.ack(taken.token)

        async def again(_: int) -> object:
            return taken

        patch.setattr(self._inbox, "take", again)
        try:
            return await step(self)
        finally:
            patch.delattr(self._inbox, "take")

    patch.setattr(Drain, "_step", early)
    patch.setattr(ApartWorld, "odds", {**alone("skew").odds, "log_fails": 0.6})
    patch.setattr(ApartWorld, "possible", 1.0)
    patch.setattr(ApartWorld, "actions", (chaos.end_pod, chaos.end_pod, chaos_parts.kill_part))
    return ApartWorld


def projectors_do_not_wait_for_the_end_of_the_log(patch: pytest.MonkeyPatch) -> type[World]:
    async def at_once(_: Follower, __: JobUid) -> None:
        return

    patch.setattr(Follower, "fresh", at_once)
    patch.setattr(MadePods, "before", lambda *_: None)
    patch.setattr(ApartWorld, "actions", (*[chaos.remove_pod] * 4, chaos_parts.part_away, chaos_parts.freeze))
    return ApartWorld


def a_silent_watch_is_waited_for(patch: pytest.MonkeyPatch) -> type[World]:
    follow = Bridge._follow

    async def patient(self: Bridge) -> float:
        self.silence = None
        return await follow(self)

    patch.setattr(Bridge, "_follow", patient)
    return alone("silent")


def what_another_projector_brought_in_is_put_in_again(patch: pytest.MonkeyPatch) -> type[World]:
    statements = HistoryProjector._statements

    def all_of(
        self: HistoryProjector, steps: Sequence[Step], upto: Position, met: Reached
    ) -> Sequence[Statement]:
        return statements(self, steps, upto, met._replace(position=Position(0)))

    patch.setattr(HistoryProjector, "_statements", all_of)
    patch.setattr(ProjectedWorld, "actions", (chaos.usurp, chaos.end_pod))
    return ProjectedWorld


def an_entry_whose_cause_is_not_known_is_not_read(patch: pytest.MonkeyPatch) -> type[World]:
    patch.setattr("statemachine.log.reader.decode_events", decode)
    return alone("newer_cause")


def letters_of_before_are_not_looked_for(patch: pytest.MonkeyPatch) -> type[World]:
    async def at_once(_: KnownFailures, __: object) -> bool:
        return True

    patch.setattr(KnownFailures, "refresh", at_once)
    return LettersWorld


def a_failure_is_noted_and_no_letter_kept(patch: pytest.MonkeyPatch) -> type[World]:
    async def lost(self: Owner, failure: Failure) -> None:
        self._known_failures.note(failure)

    patch.setattr(Owner, "_keep", lost)
    return LettersWorld


def what_an_engine_on_kafka_cannot_decide_is_lost(patch: pytest.MonkeyPatch) -> type[World]:
    async def lost(_: KafkaLog, __: DeadLetter) -> None:
        return

    patch.setattr(KafkaLog, "add_dead_letter", lost)
    patch.setattr(NewerWorld, "actions", (versions.newer_event, chaos.end_pod))
    patch.setattr(NewerWorld, "share", 1.0)
    return NewerWorld


def what_brokers_did_not_take_is_not_put_again(patch: pytest.MonkeyPatch) -> type[World]:
    put = KafkaOutbox.put

    async def once(self: KafkaOutbox, observations: Sequence[Observation]) -> None:
        with suppress(LogUnavailable):
            await put(self, observations)

    patch.setattr(KafkaOutbox, "put", once)
    patch.setattr(KafkaWorld, "of_requests", {"refused": 0.9})
    patch.setattr(KafkaWorld, "actions", (chaos.end_pod, chaos.edit_spec, chaos_kafka.away, chaos_kafka.cut))
    return KafkaWorld


def what_a_projector_left_undone_is_left_by_its_heir(patch: pytest.MonkeyPatch) -> type[World]:
    patch.setattr(Levels, "shared", lambda *_: None)
    patch.setattr(KafkaWorld, "actions", (chaos.edit_spec, chaos_parts.kill_part, chaos_parts.part_away))
    return KafkaWorld


def what_was_not_published_is_left_by_the_heir(patch: pytest.MonkeyPatch) -> type[World]:
    return _not_taken_over(Sinks, patch)


def what_the_history_has_not_is_left_by_the_heir(patch: pytest.MonkeyPatch) -> type[World]:
    patch.setattr(streams, "_LOOK", 1e6)  # it would look by itself
    return _not_taken_over(Streams, patch)


def _not_taken_over(views: type[Sinks] | type[Streams], patch: pytest.MonkeyPatch) -> type[World]:
    patch.setattr(views, "shared", lambda _: None)
    patch.setattr(ViewsWorld, "actions", (chaos.edit_spec, chaos_parts.kill_part, chaos_parts.part_away))
    return ViewsWorld


Breaking = Callable[[pytest.MonkeyPatch], type[World]]


@pytest.mark.parametrize(
    "breaking",
    [
        what_was_noticed_is_acknowledged_before_it_is_decided,
        projectors_do_not_wait_for_the_end_of_the_log,
        a_silent_watch_is_waited_for,
        what_another_projector_brought_in_is_put_in_again,
        an_entry_whose_cause_is_not_known_is_not_read,
        letters_of_before_are_not_looked_for,
        a_failure_is_noted_and_no_letter_kept,
        what_an_engine_on_kafka_cannot_decide_is_lost,
        what_brokers_did_not_take_is_not_put_again,
        what_a_projector_left_undone_is_left_by_its_heir,
        what_was_not_published_is_left_by_the_heir,
        what_the_history_has_not_is_left_by_the_heir,
    ],
)
def test_what_is_broken_on_purpose_is_discovered(breaking: Breaking, monkeypatch: pytest.MonkeyPatch) -> None:
    family = breaking(monkeypatch)
    with pytest.raises(Broken, match="make sim SEED="):
        _simulate_many(family)


def _simulate_many(family: type[World]) -> None:
    for seed in range(_ENOUGH):
        simulate(seed, PYTORCH, family)
