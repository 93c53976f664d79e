"""Specs that were admitted, as their model: also where a later release would not take them any more.

A job lives by the spec that it was admitted with. What a release asks of new specs is no reason to stop looking after
those that were there before, so a value that its field would refuse today stays as it is, and only that one.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from statemachine.schema.fields import SpecPart
from statemachine.schema.tables import FieldShape, fields

S = TypeVar("S", bound=SpecPart)


def stored(model: type[S], spec: Mapping[str, Any]) -> S:
    """The model's instance of a spec in its canonical form, whatever its fields ask for today.

    A field that is required today and was not then is None.
    """
    try:
        return model.model_validate(spec)
    except ValidationError:
        return _part(model, spec)


def _part(model: type[S], raw: Mapping[str, Any]) -> S:
    known = fields(model)
    values = {
        shape.attribute: _value(model, shape, raw[name]) for name, shape in known.items() if name in raw
    }
    missing = {
        shape.attribute: None
        for shape in known.values()
        if shape.attribute not in values and shape.info.is_required()
    }
    strangers = {name: value for name, value in raw.items() if name not in known}
    extra = strangers if model.model_config.get("extra") == "allow" else {}
    return cast("S", model.model_construct(**values, **missing, **extra))


def _value(model: type[SpecPart], shape: FieldShape, raw: Any) -> Any:
    try:
        return _adapter(model, shape.attribute).validate_python(raw)
    except ValidationError:
        if shape.part is not None and isinstance(raw, Mapping):
            return stored(shape.part, raw)
        if shape.part is not None and shape.many and isinstance(raw, list):
            return [stored(shape.part, each) for each in raw]
        return raw


@cache
def _adapter(model: type[SpecPart], attribute: str) -> TypeAdapter[Any]:
    info = model.model_fields[attribute]
    said: Any = info.annotation
    return TypeAdapter(Annotated[said, *info.metadata] if info.metadata else said)
