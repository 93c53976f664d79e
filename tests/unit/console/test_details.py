"""What the pages of a job are made of: lives, moments, facts, rows of replicas. Without a server."""

from datetime import UTC, datetime, timedelta

import pytest

from jobledger.console.details.lives import KeptLife
from jobledger.console.details.overview import address_of, claims, containers, modes
from jobledger.console.details.picturing import PictureQuery, scale_of, seq_at, timeline_of
from jobledger.console.details.point_in_time import described_entries, moment, view, whole
from jobledger.console.details.replicas import described, table
from jobledger.console.timeline.build import timeline
from projectors.explain import explain
from projectors.explain.model import IncidentKind
from projectors.history import EntryRow
from statemachine.errors import ConfigError
from statemachine.evolve import fold
from statemachine.ids import JobUid
from statemachine.kinds import KINDS
from statemachine.log.port import Record
from statemachine.phases import Phase
from statemachine.state import JobState
from tests.support.scenario import START, Story, workers
from tests.unit.console.test_timeline import restarted, running


def life_of(story: Story) -> KeptLife:
    life = KeptLife(story.uid)
    life.add(Record(seq, story.uid, seq, body) for seq, body in enumerate(story.bodies, 1))
    return life


def long_story() -> Story:
    story = running()
    for number in range(150):
        story.at(100 + number).edit(runPolicy={"backoffLimit": 10 + number})
    return story


# ---- lives -------------------------------------------------------------------------------------------------


def test_the_state_at_any_moment_is_what_folding_up_to_it_gives() -> None:
    story = long_story()
    life, state = life_of(story), JobState(story.uid)
    assert len(life) > 128  # more than two kept states
    for count, entry in enumerate(story.entries, 1):
        state = fold(state, entry.events)
        assert life.state(count) == state


def test_a_life_that_cannot_be_read_on_says_why_and_keeps_what_it_has() -> None:
    story = restarted()
    life = KeptLife(story.uid)
    life.add(
        Record(seq, story.uid, seq, body if seq != 5 else b"{}") for seq, body in enumerate(story.bodies, 1)
    )
    assert len(life) == 4
    assert life.doubt.startswith("entry 5: ")


def test_a_timeline_is_drawn_again_only_when_something_was_added() -> None:
    story = restarted()
    life = life_of(story)
    first = life.timeline()
    assert life.timeline() is first
    story.at(60).pause()
    life.add([Record(99, story.uid, len(story.bodies), story.bodies[-1])])
    assert life.timeline().bands[-1].phase is Phase.PAUSED


def test_what_is_added_entry_by_entry_is_what_all_entries_give_at_once() -> None:
    story = restarted().at(60).pause().gone("worker-0").at(90).delete()
    life = KeptLife(story.uid)
    for seq, body in enumerate(story.bodies, 1):
        life.add([Record(seq, story.uid, seq, body)])
        steps = story.steps[:seq]
        assert life.explained("zh") == explain(steps, "zh")
        assert life.timeline() == timeline(steps)
    for seq in range(1, len(life) + 1):
        assert view(life, str(seq)).why == explain(story.steps[:seq])


def test_attempts_are_shown_with_their_numbers() -> None:
    attempts = life_of(restarted()).attempts()
    assert [(attempt.replica, attempt.number, attempt.uid) for attempt in attempts] == [
        ("worker-0", 1, "worker-0.1"),
        ("worker-1", 1, "worker-1.1"),
        ("worker-1", 2, "worker-1.2"),
    ]


# ---- moments -----------------------------------------------------------------------------------------------


def test_a_moment_shows_status_conditions_and_children_as_they_were() -> None:
    life = life_of(restarted())
    moment = view(life, "6")  # worker-1 has just failed
    assert [(pod.name, pod.phase.value, pod.attempt) for pod in moment.pods] == [
        ("worker-0", "Running", 1),
        ("worker-1", "Failed", 1),
    ]
    assert moment.state.phase is Phase.RUNNING
    assert (moment.left, moment.follows) == (2, False)
    assert {condition["type"]: condition["status"] for condition in moment.status["conditions"]}[
        "ReplicaFailure"
    ] == "True"
    assert [mark.kind for mark in moment.marks] == [IncidentKind.RESTART]
    assert "1 abnormal incident, not made good" in moment.why.answer
    assert view(life, "5").left == 3


def test_the_present_is_what_is_shown_without_a_moment() -> None:
    life = life_of(restarted())
    moment = view(life, "")
    assert (moment.count, moment.of, moment.follows) == (len(life), len(life), True)


@pytest.mark.parametrize(
    ("at", "count"), [("1", 1), ("2024-01-09T15:00:10Z", 5), ("2024-01-09T16:00:10+01:00", 5), ("", 9)]
)
def test_a_moment_is_a_number_or_a_time(at: str, count: int) -> None:
    assert moment(life_of(restarted()), at) == count


@pytest.mark.parametrize("at", ["0", "10", "soon", "1999-01-01", "-9999999h"])
def test_a_moment_that_never_was_is_one_sentence(at: str) -> None:
    with pytest.raises(ConfigError) as error:
        moment(life_of(restarted()), at)
    assert "--at" not in str(error.value)


@pytest.mark.parametrize("axis", ["time", "entries"])
def test_the_slider_moved_to_an_entry_is_at_that_moment(axis: str) -> None:
    life = life_of(restarted().at(600).pause())
    part = PictureQuery(
        "", axis, "1", str(len(life))
    )  # the story is years ago, and its whole picture ends now
    moments = life.timeline().moments
    for seq in range(1, len(life) + 1):
        seq_there = seq_at(life, part, scale_of(life, part, datetime.now(UTC)).x(moments[seq - 1]))
        assert moments[seq_there - 1].at == moments[seq - 1].at
        assert axis == "time" or seq_there == seq
    assert seq_at(life, part, 100.0) == len(life)


def test_between_two_entries_the_slider_is_at_the_earlier_one() -> None:
    life = life_of(running().at(600).pause())
    part = PictureQuery("", "time", "1", str(len(life)))
    before = sum(instant.at < START + timedelta(seconds=600) for instant in life.timeline().moments)
    assert seq_at(life, part, 90.0) == before
    assert 0 < before < len(life)


def test_the_slider_of_a_part_stays_in_it() -> None:
    life = life_of(restarted())
    part = PictureQuery("", "entries", "2", "4")
    assert [seq_at(life, part, place) for place in (0.0, 50.0, 100.0)] == [2, 3, 4]


def test_an_entry_is_shown_with_its_cause_actor_and_effect_on_the_phase() -> None:
    life = life_of(running().at(9).pause())
    (entry,) = described_entries(life, len(life), len(life))
    assert entry.cause == "job, generation 2 by alice"
    assert entry.actor == "alice"
    assert (entry.before, entry.after) == ("Running", "Paused")
    assert "worker-0 dismissed (pause)" in entry.events
    assert described_entries(life, len(life), len(life)) == [entry]
    assert [entry_there.seq for entry_there in described_entries(life, 2, 4)] == [2, 3, 4]


def test_what_was_observed_late_says_how_late() -> None:
    story = running().at(50)
    story.pod("worker-1", "Failed", exit_code=7, happened_at=START + timedelta(seconds=20))
    life = life_of(story)
    assert described_entries(life, len(life), len(life))[0].delay == timedelta(seconds=30)


def test_a_whole_entry_shows_no_secret() -> None:
    spec = workers(1)
    container = spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "API_TOKEN", "value": "hunter2"}]
    text = whole(Story(spec).submit().entries[0])
    assert "API_TOKEN" in text
    assert "hunter2" not in text


# ---- facts -------------------------------------------------------------------------------------------------

POD = {
    "kind": "Pod",
    "metadata": {"name": "mnist-7ac1b-worker-1", "uid": "worker-1.2", "labels": {"b": "2", "a": "1"}},
    "spec": {
        "containers": [
            {
                "name": "pytorch",
                "image": "pytorch:2",
                "command": ["python", "a file.py"],
                "args": ["--x=$HOME"],
                "resources": {
                    "requests": {"cpu": "4", "memory": "8Gi"},
                    "limits": {"cpu": 8, "memory": "16Gi", "nvidia.com/gpu": 4},
                },
            }
        ]
    },
}


def test_a_container_says_what_it_starts_and_may_use() -> None:
    (row,) = containers(POD)
    assert row.command == "python 'a file.py' '--x=$HOME'"
    assert (row.cpu, row.memory, row.others) == (("4", "8"), ("8Gi", "16Gi"), ("nvidia.com/gpu 4",))


def test_the_replica_table_has_a_row_for_each_with_what_was_wrong() -> None:
    life = life_of(restarted())
    first, second = table(life.state(), life.timeline().marks)
    assert (first.name, first.error, first.restarts, first.primary) == ("worker-0", "", 0, True)
    assert (second.name, second.restarts, second.attempt) == ("worker-1", 1, 2)
    assert "exit code 7" in second.error
    second = described(second, POD)
    assert second.labels == ("a=1", "b=2")
    assert second.containers[0].cpu == ("4", "8")


def test_a_deleted_replica_stays_listed() -> None:
    story = running().at(9).pause().gone("worker-0").gone("worker-1")
    life = life_of(story)
    assert [(row.phase, row.uid) for row in table(life.state(), ())] == [("Deleted", "")] * 2


def test_claims_and_modes_are_collected_wherever_the_spec_has_them() -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "tutorial"}}
    spec = {
        "replicaSpecs": [{"template": {"spec": {"volumes": [volume, volume, {"name": "x"}]}}}],
        "runMode": {"debug": {"enabled": True}},
    }
    assert claims(spec) == ["tutorial"]
    assert modes(KINDS[0], spec, None) == ["debug"]
    assert modes(KINDS[0], {}, running().state.plan) == []
    assert modes(KINDS[0], {}, running().pause().state.plan) == ["pause"]


@pytest.mark.parametrize(
    ("status", "address"),
    [
        ({"url": "https://board.example/x"}, "https://board.example/x"),
        ({"address": "/apps/board"}, "/apps/board"),
        ({"url": "javascript:alert(1)"}, ""),
        ({"url": "//evil.example"}, ""),
        ({"url": "//[", "address": "http://[x"}, "http://[x"),
        ({}, ""),
    ],
)
def test_a_tensorboard_is_linked_only_where_a_browser_should_go(status: dict[str, str], address: str) -> None:
    assert address_of({"status": status}) == address


# ---- what only the history view knows --------------------------------------------------------------------------


def test_rows_of_the_history_view_make_phases_and_marks() -> None:
    def row(seq: int, phase: Phase, *types: str) -> EntryRow:
        at = START + timedelta(seconds=seq)
        return EntryRow(
            0, seq, JobUid("u"), seq, at, None, "alice", "PodObserved", phase, types, f"entry {seq}"
        )

    drawn = timeline_of(
        [
            row(1, Phase.PENDING, "JobAdmitted", "PhaseEntered"),
            row(2, Phase.RUNNING, "ReplicaStarted", "PhaseEntered"),
            row(3, Phase.RUNNING, "ReplicaFailed", "RestartScheduled"),
            row(4, Phase.FAILED, "PhaseEntered"),
        ]
    )
    assert [(band.phase, band.begin.seq) for band in drawn.bands] == [
        (Phase.PENDING, 1),
        (Phase.RUNNING, 2),
        (Phase.FAILED, 4),
    ]
    assert [(mark.kind, mark.when.seq, mark.says) for mark in drawn.marks] == [
        (IncidentKind.RESTART, 3, "entry 3")
    ]
    assert not drawn.open
