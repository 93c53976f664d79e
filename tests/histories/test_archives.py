"""Hundreds of recorded lives fold, chain and replay as they did when they were recorded."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from projectors.verify import redecided
from statemachine.events import Announced
from statemachine.evolve import fold
from statemachine.kinds import KINDS
from statemachine.log import sharing
from statemachine.log.codec import decode, decode_events, encode
from statemachine.phases import Phase
from statemachine.state import JobState
from statemachine.upcasters import upcast
from tests.histories import archive, record_simulated
from tests.histories.archive import Life, archives, life_of, read
from tests.histories.checking import problems
from tests.histories.choosing import chosen
from tests.histories.features import census
from tests.histories.lives import restarted
from tests.simulation.shapes import PYTORCH

CHUNK = 50


@cache
def lives(path: Path) -> Sequence[Life]:
    """The lives of an archive, unpacked once."""
    return tuple(read(path))


CHUNKS = [(path, first) for path in archives() for first in range(0, len(lives(path)), CHUNK)]


@pytest.mark.parametrize(("path", "first"), CHUNKS, ids=lambda value: getattr(value, "name", value))
def test_archived_lives_are_chained_and_fold_and_are_decided_as_they_were(path: Path, first: int) -> None:
    assert [text for life in lives(path)[first : first + CHUNK] for text in problems(life)] == []


def test_there_are_hundreds_of_lives_of_every_kind_and_their_names_tell_them_apart() -> None:
    recorded = [(path.name, life) for path in archives() for life in lives(path)]
    kinds = Counter(life.kind.lower() for _, life in recorded)
    assert len(recorded) >= 500
    assert len({(name, life.name) for name, life in recorded}) == len(recorded)
    of_lifecycles: dict[object, int] = {}  # kinds with the same rules share their lives
    for kind in KINDS:
        of_lifecycles[kind.lifecycle] = of_lifecycles.get(kind.lifecycle, 0) + kinds[kind.names.singular]
    assert min(of_lifecycles.values()) >= 100
    of_before = ("pytorchtrainingjob", "deepspeedjob", "colossalaijob", "pytorchjob", "genericjob")
    assert [name for name in of_before if kinds[name] < 100] == []


def test_the_archives_are_small() -> None:
    assert sum(path.stat().st_size for path in archives()) < 3_000_000


def test_simulated_lives_show_every_phase_and_most_of_what_can_be_refused_and_fire() -> None:
    table = census(life.bodies for path in archives() for life in lives(path))
    entered = {word.split(">")[1] for word in table["phase"] if ">" in word}
    assert entered == {phase.value for phase in Phase} - {Phase.NEW.value}
    assert set(table["timer"]) >= {"retry", "deadline", "backoff", "expiry", "unreadable"}
    least = {"cause": 18, "event": 28, "refusal": 20, "ignored": 5, "reason": 25, "decision": 250}
    assert {name: len(table[name]) for name, number in least.items() if len(table[name]) < number} == {}


def test_every_entry_of_the_present_versions_is_written_again_to_the_byte() -> None:
    bodies = [body for path in archives() for life in lives(path) for body in life.bodies]
    entries = [(body, decode(body)) for body in bodies]
    whole = [(body, entry) for body, entry in entries if _is_of_the_present_versions(body)]
    assert len(whole) > 10_000
    assert [body for body, entry in whole if encode(entry) != body] == []


def test_recorded_specs_are_the_same_written_once_and_decided_again_to_the_byte() -> None:
    """Of two thousand entries of older policies that wrote them twice, as their clusters ordered the keys."""
    written, decided_again = 0, 0
    for life in (life for path in archives() for life in lives(path)):
        state = JobState(decode(life.bodies[0]).job)
        for body in life.bodies:
            before, entry = state, decode_events(body)
            state = fold(before, entry.events)
            if b'"cause":{"type":"JobObserved"' not in body:
                continue
            recorded = decode(body)
            once = recorded.changed(v=sharing.version(recorded.cause, recorded.events))
            if once.v == recorded.v:
                continue
            shared = encode(once)
            again = decode(shared)
            assert again == once
            assert len(shared) < len(body)
            written += 1
            decided_again += redecided(again, before, shared) is None
    assert written > 1_900
    assert decided_again == written


def _is_of_the_present_versions(body: bytes) -> bool:
    raw = json.loads(body)
    return bool(upcast(raw, raw["v"]) == raw)


# ---- what the check notices --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound() -> Life:
    """A life of several entries, as today's policy decides it."""
    return life_of("restarted", restarted().bodies)


def test_a_phase_that_is_another_now_is_a_problem(sound: Life) -> None:
    other = replace(sound, phases=("Unknown", *sound.phases[1:]))
    assert any("phase Unknown behind entry 1 is" in text for text in problems(other))


def test_a_status_that_is_another_now_is_a_problem(sound: Life) -> None:
    other = replace(sound, statuses=(*sound.statuses[:-1], "0" * 16))
    assert any(f"behind entry {len(sound.bodies)} is another one now" in text for text in problems(other))


def test_an_event_that_is_not_decided_today_is_a_problem(sound: Life) -> None:
    last = decode(sound.bodies[-1])
    more = encode(last.changed(events=(*last.events, Announced(reason="R", message="m"))))
    other = life_of(sound.name, [*sound.bodies[:-1], more])
    assert list(problems(other)) == [f"{sound.name}: entry {len(sound.bodies)}: fewer events are decided now"]


def test_an_archive_is_written_once_and_read_as_it_was_written(tmp_path: Path, sound: Life) -> None:
    path = tmp_path / f"simulated-9{archive.SUFFIX}"
    archive.write(path, [sound, replace(sound, name="again")])
    assert [life.name for life in read(path)] == [sound.name, "again"]
    assert next(read(path)) == sound
    with pytest.raises(FileExistsError):
        archive.write(path, [])


# ---- recording ---------------------------------------------------------------------------------------------------


def test_the_same_seeds_record_the_same_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(archive, "FOLDER", tmp_path)
    monkeypatch.setattr(record_simulated, "FAMILIES", {"pytorchtrainingjob": PYTORCH})
    for version in ("9.9.8", "9.9.9"):
        record_simulated.main([version, "--seeds", "3", "--lives", "5"])
    first, second = (path.read_bytes() for path in archives())
    assert first == second
    assert capsys.readouterr().out.startswith("simulated-9.9.8.jsonl.xz: 5 lives, ")
    with pytest.raises(SystemExit):
        record_simulated.main(["9.9.9", "--seeds", "1"])
    assert "never written again" in capsys.readouterr().err


def test_a_life_that_shows_something_rare_is_chosen_before_one_that_shows_nothing_new() -> None:
    candidates = list(record_simulated.candidates_of("pytorchtrainingjob", range(6)))
    few = chosen(candidates, 4)
    both = census(life.bodies for life in few), census(life.bodies for life in candidates[:4])
    assert len(few) == 4
    assert len(both[0]["event"]) >= len(both[1]["event"])
