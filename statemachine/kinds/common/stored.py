"""Specs as their model, each version parsed once; also specs that a later release would not take any more.

A job lives by the spec that it was admitted with. What a release asks of new specs is no reason to abandon a job that
was there before, so a value that its field would refuse today stays as it is, and only that one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, Final, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from statemachine.errors import Problem
from statemachine.ids import JobUid
from statemachine.schema.fields import SpecPart
from statemachine.schema.problems import parsed
from statemachine.schema.tables import FieldShape, fields

S = TypeVar("S", bound=SpecPart)

KEPT: Final = 256
"""Versions whose model is kept: more than the jobs that change at one time, and a few megabytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Version(Generic[S]):
    """The spec that a job had or may get. Two are the same if they hold the same values, not only equal ones.

    An event holds a copy of the mapping with the values of it: 1 and true are equal, and not the same to a field.
    """

    model: type[S]
    job: JobUid
    spec: Mapping[str, Any]

    def __hash__(self) -> int:
        # By identity, as the comparison: by the job alone, a look-up would compare all versions of that job.
        return hash((self.job, sum(map(id, self.spec.values()))))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Version) or (self.model, self.job) != (other.model, other.job):
            return False
        spec, others = self.spec, other.spec
        return spec is others or (
            len(spec) == len(others) and all(others.get(key, self) is spec[key] for key in spec)
        )

    def parsed(self) -> tuple[S | None, list[Problem]]:
        """See `problems.parsed`. What no job has yet is parsed each time."""
        model, problems = _parsed(self) if self.job else parsed(self.model, self.spec)
        return cast("S | None", model), list(problems)

    def stored(self) -> S:
        """See `stored`."""
        model, _ = self.parsed()
        if model is not None:
            return model
        return cast("S", _lenient(self)) if self.job else _part(self.model, self.spec)


@lru_cache(maxsize=KEPT)
def _parsed(version: Version[SpecPart]) -> tuple[SpecPart | None, list[Problem]]:
    return parsed(version.model, version.spec)


@lru_cache(maxsize=KEPT)
def _lenient(version: Version[SpecPart]) -> SpecPart:
    return _part(version.model, version.spec)


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
            return [stored(shape.part, item) for item in raw]
        return raw


@cache
def _adapter(model: type[SpecPart], attribute: str) -> TypeAdapter[Any]:
    info = model.model_fields[attribute]
    said: Any = info.annotation
    return TypeAdapter(Annotated[said, *info.metadata] if info.metadata else said)
