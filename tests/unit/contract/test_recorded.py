"""Public events of all recorded lives: valid, in order, the same each time, and read by somebody else's program."""

import json
from collections.abc import Mapping, Sequence

import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka_event
from cloudevents.core.formats.json import JSONFormat
from jsonschema import Draft202012Validator

from projectors.contract.binding import Mode, record
from projectors.contract.catalogue import CATALOGUE, TYPES, short_name
from projectors.contract.envelope import problem, structured
from projectors.contract.page import PublicEvent
from projectors.contract.schemas import schema
from projectors.contract.stream import Publisher
from statemachine.log.codec import entry_hash
from statemachine.log.port import Record
from statemachine.phases import Phase
from tests.contract.lives import PUBLICATION, Life, events_of, lives, recorded
from tests.support.logs import chain, entered, placed
from tests.support.newer import newer_cause
from tests.support.scenario import Story, workers
from tests.support.seeds import chance
from tests.unit.contract.made import of_story

FEW = tuple(recorded())

Events = Mapping[str, Sequence[PublicEvent]]
"""The public events of lives, by their names."""


@pytest.fixture(scope="module")
def published() -> Events:
    """The public events of all lives: working them out takes longer than most that is tried of them here."""
    return {life.name: events_of(life) for life in lives()}


def test_every_event_of_every_recorded_life_is_valid_and_every_type_is_among_them(published: Events) -> None:
    validators = {
        public_type.name: Draft202012Validator(schema(public_type, closed=True)) for public_type in CATALOGUE
    }
    met, few = set(), {life.name for life in FEW}
    for life, events in published.items():
        for event in events:
            name = short_name(str(event.attributes["type"]))
            met.add(name)
            assert problem(structured(event)) == ""
            if life in few:
                validators[name].validate(json.loads(event.data))
    assert met == set(TYPES)


@pytest.mark.parametrize("life", FEW, ids=lambda life: life.name)
def test_the_official_sdk_reads_the_same_attributes_and_data(published: Events, life: Life) -> None:
    for event in published[life.name]:
        read = JSONFormat().read(None, structured(event))
        attributes = {name: _text(value) for name, value in read.get_attributes().items()}
        assert attributes == {name: _text(value) for name, value in event.attributes.items()}
        assert read.get_data() == json.loads(event.data)


@pytest.mark.parametrize("mode", ["binary", "structured"])
@pytest.mark.parametrize("life", FEW, ids=lambda life: life.name)
def test_the_official_sdk_reads_the_same_of_a_record_in_kafka(
    published: Events, life: Life, mode: Mode
) -> None:
    for event in published[life.name]:
        key, value, said = record(event, mode)
        read = from_kafka_event(KafkaMessage(dict(said), key, value))
        attributes = {name: _text(attribute) for name, attribute in read.get_attributes().items()}
        assert attributes == {name: _text(attribute) for name, attribute in event.attributes.items()}
        assert read.get_data() == json.loads(event.data)
        assert key.decode() == event.attributes["partitionkey"]


def _text(value: object) -> str:
    if hasattr(value, "strftime"):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # type: ignore[no-any-return]
    return str(value)


def test_ids_are_unique_and_sequences_grow_within_a_job(published: Events) -> None:
    for events in published.values():
        ids = [event.attributes["id"] for event in events]
        sequences = [str(event.attributes["sequence"]) for event in events]
        assert len(set(ids)) == len(ids)
        assert sequences == sorted(set(sequences))
        assert len({event.attributes["source"] for event in events}) == 1


def test_the_first_event_of_an_entry_is_named_as_the_cause_of_the_others(published: Events) -> None:
    for life in FEW:
        firsts: dict[str, object] = {}
        for event in published[life.name]:
            entry = str(event.attributes["id"]).rpartition("/")[0]
            if (first := firsts.get(entry)) is None:
                assert "causationid" not in event.attributes
                firsts[entry] = event.attributes["id"]
            else:
                assert event.attributes["causationid"] == first


def test_a_publisher_that_ends_at_any_place_has_given_the_same_bytes_as_one_that_goes_on(
    published: Events,
) -> None:
    random = chance(20)
    whole = {life: [structured(event) for event in events] for life, events in published.items()}
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


def test_an_entry_whose_cause_is_of_a_newer_release_holds_all_that_follows_it_in_its_job() -> None:
    publisher = Publisher(PUBLICATION)
    first, second, _ = newer_cause()
    third = chain([entered(Phase.RUNNING)], after=2, prev=entry_hash(second.body))
    records = placed([first, second, *third])
    events = list(publisher.all(iter(records)))
    assert publisher.held == {records[0].job: 2}
    assert events == list(Publisher(PUBLICATION).all(iter(records[:1])))
    assert events
