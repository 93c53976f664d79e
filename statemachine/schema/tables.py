"""Spec models as tables: which fields a `SpecPart` has, under which names, with which markers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic.fields import FieldInfo

from statemachine.schema.fields import (
    AsText,
    AsWords,
    FilledIn,
    Ignored,
    Moved,
    Mutable,
    Opaque,
    Read,
    SpecPart,
    Was,
)


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field. `name` is the manifest's; `part` the model of an object, or of a list's items (`many`)."""

    name: str
    attribute: str
    info: FieldInfo
    part: type[SpecPart] | None
    many: bool
    was: str
    ignored: str | None
    moved: str
    mutable: Mutable | None
    opaque: str
    as_text: bool
    as_words: bool
    filled_in: bool
    read: Read | None


@cache
def fields(model: type[SpecPart]) -> Mapping[str, FieldShape]:
    """The fields of `model` by their name in a manifest, in the model's order."""
    shapes = (_shape(attribute, info) for attribute, info in model.model_fields.items())
    return {shape.name: shape for shape in shapes}


def _shape(attribute: str, info: FieldInfo) -> FieldShape:
    types = tuple(_flat(info.annotation))
    marks = [*info.metadata, *(mark for type_ in types for mark in getattr(type_, "__metadata__", ()))]
    part = next((type_ for type_ in types if isinstance(type_, type) and issubclass(type_, SpecPart)), None)
    was = next((mark.name for mark in marks if isinstance(mark, Was)), "")
    return FieldShape(
        name=info.alias or attribute,
        attribute=attribute,
        info=info,
        part=part,
        many=list in types,
        was=was,
        ignored=next((mark.use for mark in marks if isinstance(mark, Ignored)), None),
        moved=next((mark.to for mark in marks if isinstance(mark, Moved)), ""),
        mutable=next((mark for mark in marks if isinstance(mark, Mutable)), None),
        opaque=next((mark.type for mark in marks if isinstance(mark, Opaque)), ""),
        as_text=any(isinstance(mark, AsText) for mark in marks),
        as_words=any(isinstance(mark, AsWords) for mark in marks),
        filled_in=any(isinstance(mark, FilledIn) for mark in marks),
        read=next((mark for mark in marks if isinstance(mark, Read)), None),
    )


def _flat(annotation: Any) -> Iterator[Any]:
    """The annotation and every type inside it; of a generic also its origin."""
    yield annotation
    origin = getattr(annotation, "__origin__", None)
    if origin is not None:
        yield origin
    for inner in get_args(annotation):
        yield from _flat(inner)


def walk(model: type[SpecPart], path: str = "spec") -> Iterator[tuple[str, FieldShape]]:
    """Every field of a spec with its path, depth first in the model's order; `[]` stands for any index."""
    for shape in fields(model).values():
        here = f"{path}.{shape.name}"
        yield here, shape
        if shape.part is not None:
            yield from walk(shape.part, f"{here}[]" if shape.many else here)
