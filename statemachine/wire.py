"""What is written to the log: the base of its records, and the one way to write and read their JSON (ADR 0044).

Records are read, written and copied millions of times, so they are structs of msgspec: read straight from the stored
bytes, small, and not looked at by the garbage collector (a record never refers back to itself). A constructor checks
nothing, the types of the code are what it relies on; reading bytes checks every field.
"""

from typing import Any, Self, TypeVar, dataclass_transform

from msgspec import Struct, StructMeta, field, structs, to_builtins

T = TypeVar("T")


def always_written(*, default: T) -> T:
    """A field that is written also when it holds its default."""
    made: T = field(default_factory=lambda: default)
    return made


class _WireMeta(StructMeta):
    """Makes the fields of every class keywords, so that those with a default may stand before those without."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        return super().__new__(mcs, name, bases, namespace, **{"kw_only": True, **options})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field, always_written))
class Wire(
    Struct, metaclass=_WireMeta, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """Base of everything that is written to the log: immutable, and strict about fields it does not know.

    A field that holds its default is not written, so defaults are only ever empty values ("", None, False,
    ()): those will mean the same for ever, where a default of 3 might one day be another number. A class with
    `tag=True` is one of a union: its name stands first in its JSON, as `type`.
    """

    def changed(self, **fields: Any) -> Self:
        """A copy with these fields replaced."""
        return structs.replace(self, **fields)


def version_of(record: type[Wire]) -> int:
    """The version that records of this class are written in: the default of their `v`."""
    made: int = next(known.default_factory() for known in structs.fields(record) if known.name == "v")
    return made


def plain(record: Wire) -> dict[str, Any]:
    """The record as its JSON is read: dicts, lists, texts and numbers."""
    fields: dict[str, Any] = to_builtins(record)
    return fields
