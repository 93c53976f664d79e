"""What is said below the fields of classes, wherever a class stands."""

from dataclasses import dataclass, make_dataclass
from typing import NamedTuple

from statemachine.docstrings import field_docs


@dataclass
class Base:
    name: str
    """What it is
    called."""

    silent: int = 0


@dataclass
class Derived(Base):
    class Inner(NamedTuple):
        depth: int
        """How deep."""

    size: int = 1
    """How large."""
    name: str = "it"
    """Another name."""


if Base is not None:

    @dataclass
    class Conditional:
        when: str
        """At what time."""


def test_a_docstring_is_one_line_and_a_field_without_one_has_none() -> None:
    assert field_docs(Base) == {"name": "What it is called."}


def test_what_is_inherited_is_said_too_unless_it_is_said_anew() -> None:
    assert field_docs(Derived) == {"name": "Another name.", "size": "How large."}


def test_classes_in_classes_conditions_and_functions_have_theirs() -> None:
    class Local(NamedTuple):
        here: int
        """In a function."""

    assert field_docs(Derived.Inner) == {"depth": "How deep."}
    assert field_docs(Conditional) == {"when": "At what time."}
    assert field_docs(Local) == {"here": "In a function."}


def test_a_class_without_source_has_none() -> None:
    assert field_docs(make_dataclass("Made", [("name", str)])) == {}
    assert field_docs(make_dataclass("Made", [("name", str)], bases=(Base,))) == {
        "name": "What it is called."
    }
