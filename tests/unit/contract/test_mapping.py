"""Every internal event and observation has its place in the contract."""

import ast
import inspect
import json
from collections.abc import Callable
from typing import Any, get_args

import pytest

from projectors.contract import of_jobs, of_parts, of_replicas, project
from projectors.contract.catalogue import CATALOGUE, PARTLY, PRIVATE, RESERVED, TYPES
from projectors.contract.model.parts import CauseClassName, CauseName, JobData, ReplicaData
from projectors.contract.page import cause_name
from statemachine.events import CauseClass, Event
from statemachine.log.codec import decode
from statemachine.observations import Observation
from statemachine.upcasters import OBSERVATIONS, UPCASTERS
from tests.contract.lives import lives

EVENTS = {event.type for event in get_args(Event)}
SEEN = {observation.type for observation in get_args(Observation)}


def named_in(function: Callable[..., object]) -> set[str]:
    """The tags that the cases of a function's `match` name."""
    tree = ast.parse(inspect.getsource(function))
    patterns = [pattern for pattern in ast.walk(tree) if isinstance(pattern, ast.MatchValue)]
    return {pattern.value.value for pattern in patterns if isinstance(pattern.value, ast.Constant)}  # type: ignore[misc]


def extensible(annotation: Any) -> set[str]:
    return set(annotation.__metadata__[0].json_schema_extra["x-extensible-enum"])


def test_every_internal_event_is_the_anchor_of_a_type_or_private_with_a_reason() -> None:
    anchors = {anchor for public_type in CATALOGUE for anchor in public_type.anchors}
    assert anchors | set(PRIVATE) == EVENTS
    assert not anchors & set(PRIVATE)
    assert set(PARTLY) <= anchors


def test_the_projection_names_every_internal_event_and_has_no_default() -> None:
    assert named_in(project._draft) == EVENTS
    assert "case _" not in inspect.getsource(project._draft)


def test_every_observation_has_a_name_for_users() -> None:
    assert named_in(cause_name) == SEEN
    source = inspect.getsource(cause_name)
    assert {f'return "{name}"' in source for name in extensible(CauseName)} == {True}


def test_every_class_of_causes_has_a_name_for_users() -> None:
    assert {of_parts._class_name(kind) for kind in CauseClass} == extensible(CauseClassName)


def test_types_have_names_of_their_own_and_the_data_that_their_subject_says() -> None:
    assert len(TYPES) == len(CATALOGUE)
    assert not set(TYPES) & set(RESERVED)
    for public_type in CATALOGUE:
        wanted = JobData if public_type.name.startswith("job.") else ReplicaData
        assert issubclass(public_type.model, wanted)


def test_every_type_that_is_made_is_in_the_catalogue() -> None:
    sources = inspect.getsource(of_jobs) + inspect.getsource(of_replicas)
    made = {name for name in TYPES if f'"{name}"' in sources}
    phases = {public_type.name for public_type in CATALOGUE if public_type.anchors == ("PhaseEntered",)}
    assert made | phases == set(TYPES)


@pytest.mark.parametrize(("type_", "version"), UPCASTERS)
def test_an_upcaster_of_an_event_gives_one_event(type_: str, version: int) -> None:
    lifted = UPCASTERS[type_, version]({"type": type_, "v": version})
    assert isinstance(lifted, dict)
    assert isinstance(lifted["type"], str)


def test_reading_an_old_entry_keeps_the_number_and_the_order_of_its_events() -> None:
    renamed = {"TensorBoardChanged": "ChildChanged", "PodGroupChanged": "ChildChanged"}
    compared = 0
    for life in lives():
        for record in life.records:
            stored = [event["type"] for event in json.loads(record.body)["events"]]
            assert [event.type for event in decode(record.body).events] == [
                renamed.get(type_, type_) for type_ in stored
            ]
            compared += any(type_ in renamed for type_ in stored)
    assert compared
    assert OBSERVATIONS
