"""What public events say of jobs whose stories stand here."""

from datetime import timedelta

import pytest

from projectors.contract.binding import line_of, record
from projectors.contract.catalogue import short_name
from projectors.contract.envelope import problem, structured
from projectors.contract.publication import Actors, Publication
from projectors.contract.stream import Publisher
from statemachine.log.port import Record
from statemachine.observations import ActorSource
from tests.contract.lives import PUBLICATION, recorded
from tests.histories.lives import boarded
from tests.support.scenario import START, Story, workers
from tests.unit.contract.made import data_of, of_story

FIRST = next(recorded()).records[0]


def test_a_restart_names_replica_pod_cause_and_what_it_cost() -> None:
    story = Story(workers(2, runPolicy={"backoffLimit": 3})).submit().all_pods("Running")
    story.pod("worker-1", "Failed", exit_code=137)
    [data] = data_of(of_story(story), "replica.restart_scheduled")
    assert data["replica"]["name"] == "worker-1"
    assert data["replica"]["attempt"] == 1
    assert data["replica"]["pod"]["name"] == story.pod_name("worker-1")
    assert data["cause"]["class"] == "ApplicationExit"
    assert (data["cause"]["exitCode"], data["cause"]["signal"]) == (137, 9)
    assert data["budget"] == {"spent": 1, "limit": 3, "before": 3, "after": 2}


def test_a_new_attempt_has_no_pod_and_no_node_yet() -> None:
    story = Story(workers(1, runPolicy={"backoffLimit": 3})).submit().pod("worker-0", "Running", node="n1")
    story.pod("worker-0", "Failed", exit_code=1, node="n1").gone("worker-0")
    events = of_story(story)
    first, second = data_of(events, "replica.requested")
    assert [data["replica"]["attempt"] for data in (first, second)] == [1, 2]
    assert (second["replica"]["pod"]["uid"], second["replica"]["pod"]["node"]) == (None, None)
    assert data_of(events, "replica.failed")[0]["replica"]["pod"]["node"] == "n1"


def test_a_phase_says_where_the_job_comes_from_and_how_its_replicas_are() -> None:
    events = of_story(Story(workers(2)).submit().all_pods("Running"))
    [data] = data_of(events, "job.running")
    assert data["phase"] == {
        "from": "Pending",
        "to": "Running",
        "trigger": "replicas_up",
        "rule": "T7",
        "start": 1,
    }
    assert data["counts"]["running"] == 2


@pytest.mark.parametrize(("exhausted", "reason"), [(True, "BackoffLimitExceeded"), (False, "ReplicaFailed")])
def test_why_a_job_failed_is_said_in_a_word(exhausted: bool, reason: str) -> None:
    policy = "OnFailure" if exhausted else "Never"
    story = Story(workers(1, policy=policy, runPolicy={"backoffLimit": 0})).submit().all_pods("Running")
    events = of_story(story.pod("worker-0", "Failed", exit_code=1))
    [data] = data_of(events, "job.failed")
    assert data["reason"] == reason
    severity = {
        short_name(str(event.attributes["type"])): event.attributes["severitytext"] for event in events
    }
    assert severity["job.failed"] == "ERROR"
    assert severity["replica.restart_denied"] == ("ERROR" if exhausted else "WARN")


def test_a_refused_job_is_published_with_what_is_wrong_with_it() -> None:
    events = of_story(Story(workers(-1)).submit())
    [created], [failed] = data_of(events, "job.created"), data_of(events, "job.failed")
    assert created["accepted"] is False
    assert created["plan"] is None
    assert [bool(wrong["message"]) for wrong in created["problems"]] == [True]
    assert failed["reason"] == "InvalidSpec"


def test_a_change_of_labels_is_an_update_of_its_own_only_where_nothing_else_changed() -> None:
    story = Story(workers(1)).submit().label(team="a").pause()
    first, second = data_of(of_story(story), "job.updated")
    assert first["changed"] == ["metadata.labels"]
    assert first["job"]["labels"] == {"team": "a"}
    assert second["changed"] == ["spec.runMode.pause.enabled"]
    assert first["specDigest"] == first["specDigestBefore"]


def test_only_labels_leave_whose_keys_are_to() -> None:
    story = Story(workers(1)).submit().label(team="a", secret="b")
    publications = (PUBLICATION, Publication("l", ("te*",)), Publication("l", ()))
    shown = [
        data_of(of_story(story, publication), "job.updated")[0]["job"]["labels"]
        for publication in publications
    ]
    assert shown == [{"team": "a", "secret": "b"}, {"team": "a"}, {}]


ACTORS = [
    ("", ActorSource.RECORDED, "plain", {"authtype": "system"}),
    ("alice", ActorSource.RECORDED, "plain", {"authtype": "unknown", "authid": "alice"}),
    ("alice", ActorSource.VERIFIED, "plain", {"authtype": "user", "authid": "alice"}),
    ("alice", ActorSource.VERIFIED, "none", {"authtype": "user"}),
    (
        "system:serviceaccount:a:b",
        ActorSource.VERIFIED,
        "plain",
        {"authtype": "service_account", "authid": "system:serviceaccount:a:b"},
    ),
]


@pytest.mark.parametrize(("actor", "source", "how", "attributes"), ACTORS)
def test_an_actor_is_named_as_configured(
    actor: str, source: ActorSource, how: Actors, attributes: dict[str, str]
) -> None:
    entry = Story(workers(1)).submit().entries[0].changed(actor=actor, actor_source=source)
    assert Publication("l", actors=how).author(entry) == attributes


def test_a_hashed_actor_is_always_the_same_and_does_not_say_its_name() -> None:
    entry = Story(workers(1)).submit().entries[0].changed(actor="alice")
    author = Publication("l", actors="hash").author(entry)
    assert author == Publication("other", actors="hash").author(entry)
    assert len(author["authid"]) == 64
    assert "alice" not in author["authid"]


def test_a_classification_stands_in_every_event_of_a_ledger_that_has_one() -> None:
    story = Story(workers(1)).submit().all_pods("Running").delete()
    classified = of_story(story, PUBLICATION._replace(classification="internal"))
    for event, plain in zip(classified, of_story(story), strict=True):
        assert event.attributes == {**plain.attributes, "dataclassification": "internal"}
        assert event.data == plain.data
        assert problem(structured(event)) == ""
        assert ("ce_dataclassification", b"internal") in record(event).headers
        assert line_of(*record(event)) == structured(event)


def test_positions_know_another_classification_as_another_setting() -> None:
    marks = {PUBLICATION._replace(classification=word).fingerprint for word in ("", "internal", "public")}
    assert len(marks) == 3


def test_a_trace_goes_along() -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    [event, *_] = Publisher(PUBLICATION).all(iter([Record(1, FIRST.job, 1, FIRST.body, trace=trace)]))
    assert event.attributes["traceparent"] == trace


def test_time_is_when_it_happened_and_recordedtime_when_the_ledger_got_to_know() -> None:
    story = Story(workers(1)).submit().all_pods("Running").at(60)
    story.pod("worker-0", "Succeeded", happened_at=START + timedelta(seconds=50))
    times = {
        (event.attributes["time"], event.attributes["recordedtime"])
        for event in of_story(story)
        if event.attributes["recordedtime"] != "2024-01-09T15:00:00.000000Z"
    }
    assert times == {("2024-01-09T15:00:50.000000Z", "2024-01-09T15:01:00.000000Z")}


def test_labels_of_a_job_that_is_observed_for_the_first_time_are_no_update() -> None:
    story = Story(workers(1))
    story.labels = {"team": "a"}
    events = of_story(story.submit())
    assert data_of(events, "job.created")[0]["job"]["labels"] == {"team": "a"}
    assert data_of(events, "job.updated") == []


def test_a_new_generation_that_changes_nothing_is_no_rejection() -> None:
    story = Story(workers(1)).submit()
    story.generation += 1
    assert data_of(of_story(story.submit()), "job.update_rejected") == []
    story.edit(replicaSpecs=workers(2)["replicaSpecs"])
    assert len(data_of(of_story(story), "job.update_rejected")) == 1


def test_a_child_that_is_no_gang_stays_private() -> None:
    story = boarded()
    assert "ChildChanged" in {event.type for entry in story.entries for event in entry.events}
    assert data_of(of_story(story), "job.pod_group_changed") == []
