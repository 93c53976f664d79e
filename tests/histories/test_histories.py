"""Histories recorded by earlier releases fold, chain and replay as they did then."""

import json
from pathlib import Path
from typing import get_args

import pytest

from statemachine.decide import POLICY, decide
from statemachine.events import Event
from statemachine.evolve import fold
from statemachine.log.codec import decode, encode, entry_hash
from statemachine.log.entry import GENESIS
from statemachine.observations import Observation
from statemachine.state import JobState
from tests.histories import record
from tests.histories.record import HERE, LIVES, folded

RECORDED = sorted(HERE.glob("*/*.jsonl"))


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_history_folds_to_the_same_states(path: Path) -> None:
    bodies = lines(path)
    expected = json.loads(path.with_name(f"{path.stem}.expected.json").read_text())
    assert folded(decode(bodies[0]).job, bodies) == expected


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_history_is_chained_and_decided_again_to_the_byte(path: Path) -> None:
    state, previous = JobState(decode(lines(path)[0]).job), GENESIS
    for body in lines(path):
        entry = decode(body)
        assert entry.prev == previous
        if entry.policy == POLICY:
            again = entry.changed(events=decide(state, entry.cause))
            assert encode(again) == body
        state, previous = fold(state, entry.events), entry_hash(body)


def test_every_life_has_been_recorded() -> None:
    recorded = {path.stem for path in RECORDED}
    assert {life.__name__ for life in LIVES} <= recorded


def test_every_event_and_every_observation_is_in_a_history() -> None:
    entries = [decode(body) for path in RECORDED for body in lines(path)]
    assert {*get_args(Event)} <= {type(event) for entry in entries for event in entry.events}
    assert {*get_args(Observation)} <= {type(entry.cause) for entry in entries}


def test_lives_that_are_named_are_recorded_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(record, "HERE", tmp_path)
    record.main(["9.9.9", "deadline"])
    names = {path.name for path in (tmp_path / "9.9.9").iterdir()}
    assert names == {"deadline.jsonl", "deadline.expected.json"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["9.9.9"], "there are histories of 9.9.9 already"),
        (["9.9.10", "deadline", "dedline"], "no such life: dedline; there are succeeded, "),
    ],
)
def test_what_cannot_be_recorded_is_said_and_nothing_is_written(
    arguments: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(record, "HERE", tmp_path)
    (tmp_path / "9.9.9").mkdir()
    with pytest.raises(SystemExit):
        record.main(arguments)
    assert says in capsys.readouterr().err
    assert not list(tmp_path.glob("*/*"))
    assert [path.name for path in tmp_path.iterdir()] == ["9.9.9"]
