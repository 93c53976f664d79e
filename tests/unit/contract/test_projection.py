"""Public events of all recorded lives: valid, in order, the same each time, and read by somebody else's program."""

import json

import pytest
from cloudevents.core.formats.json import JSONFormat
from jsonschema import Draft202012Validator

from projectors.contract.catalogue import CATALOGUE, TYPES, short_name
from projectors.contract.envelope import problem, structured
from projectors.contract.publication import Actors, Publication
from projectors.contract.schemas import schema
from projectors.contract.stream import Publisher
from statemachine.log.port import Record
from statemachine.observations import ActorSource
from tests.contract.lives import PUBLICATION, Life, events_of, lives, recorded
from tests.support.scenario import Story, workers
from tests.support.seeds import chance
from tests.unit.contract.made import data_of, of_story

FEW = tuple(recorded())


def test_every_event_of_every_recorded_life_is_valid_and_every_type_is_among_them() -> None:
    validators = {
        public_type.name: Draft202012Validator(schema(public_type, closed=closed))
        for public_type in CATALOGUE
        for closed in (True,)
    }
    met = set()
    for life in lives():
        for event in events_of(life):
            name = short_name(str(event.attributes["type"]))
            met.add(name)
            assert problem(structured(event)) == ""
            if life in FEW:
                validators[name].validate(json.loads(event.data))
    assert met == set(TYPES)


@pytest.mark.parametrize("life", FEW, ids=lambda life: life.name)
def test_the_official_sdk_reads_the_same_attributes_and_data(life: Life) -> None:
    for event in events_of(life):
        read = JSONFormat().read(None, structured(event))
        attributes = {name: _text(value) for name, value in read.get_attributes().items()}
        assert attributes == {name: _text(value) for name, value in event.attributes.items()}
        assert read.get_data() == json.loads(event.data)


def _text(value: object) -> str:
    if hasattr(value, "strftime"):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # type: ignore[no-any-return]
    return str(value)


def test_ids_are_unique_and_sequences_grow_within_a_job() -> None:
    for life in lives():
        events = events_of(life)
        ids = [event.attributes["id"] for event in events]
        sequences = [str(event.attributes["sequence"]) for event in events]
        assert len(set(ids)) == len(ids)
        assert sequences == sorted(set(sequences))
        assert len({event.attributes["source"] for event in events}) == 1


def test_the_first_event_of_an_entry_is_named_as_the_cause_of_the_others() -> None:
    for life in FEW:
        firsts: dict[str, object] = {}
        for event in events_of(life):
            entry = str(event.attributes["id"]).rpartition("/")[0]
            if (first := firsts.get(entry)) is None:
                assert "causationid" not in event.attributes
                firsts[entry] = event.attributes["id"]
            else:
                assert event.attributes["causationid"] == first


def test_a_publisher_that_ends_at_any_place_has_given_the_same_bytes_as_one_that_goes_on() -> None:
    random = chance(20)
    whole = {life.name: [structured(event) for event in events_of(life)] for life in lives()}
    for _ in range(1000):
        life = random.choice(lives())
        stop = random.randrange(1, len(life.records) + 1)
        events = Publisher(PUBLICATION).all(iter(life.records[:stop]))
        given = [structured(event) for event in events]
        assert given
        assert given == whole[life.name][: len(given)]


def test_an_entry_that_cannot_be_read_holds_its_job_alone() -> None:
    first, second = FEW[0].records, Story(workers(1), uid="other").submit().all_pods("Running")
    others = [Record(seq, second.uid, seq, body) for seq, body in enumerate(second.bodies, 1)]
    broken = Record(3, first[0].job, 3, b"{damaged")
    publisher = Publisher(PUBLICATION)
    events = list(publisher.all(iter([*first[:2], broken, *first[3:], *others])))
    assert publisher.held == {first[0].job: 3}
    assert events == [*Publisher(PUBLICATION).all(iter([*first[:2]])), *of_story(second)]


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


def test_a_new_attempt_has_no_pod_yet() -> None:
    story = Story(workers(1, runPolicy={"backoffLimit": 3})).submit().all_pods("Running")
    story.pod("worker-0", "Failed", exit_code=1).gone("worker-0")
    first, second = data_of(of_story(story), "replica.requested")
    assert [data["replica"]["attempt"] for data in (first, second)] == [1, 2]
    assert second["replica"]["pod"]["uid"] is None


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
    entry = Story(workers(1)).submit().entries[0].model_copy(update={"actor": actor, "actor_source": source})
    assert Publication("l", actors=how).author(entry) == attributes


def test_a_hashed_actor_is_always_the_same_and_does_not_say_its_name() -> None:
    entry = Story(workers(1)).submit().entries[0].model_copy(update={"actor": "alice"})
    author = Publication("l", actors="hash").author(entry)
    assert author == Publication("other", actors="hash").author(entry)
    assert len(author["authid"]) == 64
    assert "alice" not in author["authid"]


def test_a_trace_goes_along() -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    record = FEW[0].records[0]
    [event, *_] = Publisher(PUBLICATION).all(iter([Record(1, record.job, 1, record.body, trace=trace)]))
    assert event.attributes["traceparent"] == trace
