"""Any entry at all: hypothesis strategies made from the models' annotations, for laws that hold for every one."""

import types
from datetime import UTC, datetime
from enum import EnumType
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin

from hypothesis import strategies as st
from msgspec import structs

from statemachine.errors import Problem
from statemachine.events import Event
from statemachine.log.entry import Entry
from statemachine.log.sharing import version
from statemachine.observations import Observation
from statemachine.wire import Wire

TEXTS = st.text(max_size=12)
INSTANTS = st.datetimes(timezones=st.just(UTC))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
_PLAIN: dict[object, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(-(2**70), 2**70),
    bool: st.booleans(),
    datetime: INSTANTS,
    Any: JSON_VALUES,
    type(None): st.none(),
    Problem: st.builds(Problem, TEXTS, TEXTS, TEXTS),
}


def arbitrary(annotation: Any) -> st.SearchStrategy[Any]:
    """Any value of the annotated type, as far as the wire models use types."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, NewType):
        return arbitrary(annotation.__supertype__)
    if isinstance(annotation, EnumType):
        return st.sampled_from(list(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        fields = structs.fields(annotation)
        return st.builds(annotation, **{field.name: st.deferred(_of(field.type)) for field in fields})
    return _composed(get_origin(annotation), get_args(annotation))


def _composed(origin: Any, arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin is Annotated:
        return arbitrary(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in {Union, types.UnionType}:
        return st.one_of(*map(arbitrary, arguments))
    if origin is tuple:
        return st.lists(arbitrary(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(arbitrary(arguments[0]), arbitrary(arguments[1]), max_size=3)
    raise AssertionError(f"no strategy for {origin}")


def _of(annotation: Any) -> Any:
    return lambda: arbitrary(annotation)


EVENTS = arbitrary(Event)
OBSERVATIONS = arbitrary(Observation)
ENTRIES: st.SearchStrategy[Entry] = arbitrary(Entry).map(
    lambda entry: entry.changed(v=version(entry.cause, entry.events))
)
