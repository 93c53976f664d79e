"""Building blocks of spec models: the base class, markers that say more than a type can, and common types.

A kind's spec is one tree of `SpecPart`s. Everything else is read off it: what `admit` refuses (layer S), the
CRD's schema, what may change after creation, the tables in `docs/kinds/`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class SpecPart(BaseModel):
    """An object inside a spec. Strict: a number in quotes is no number, as for the API server."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,  # a process seldom meets jobs of all kinds
    )


class OpenPart(SpecPart):
    """An object whose unknown fields are kept and handed on."""

    model_config = ConfigDict(extra="allow")


class NamedParts(SpecPart):
    """An object that holds parts of one model under a few names, which users may write in any case.

    They are rewritten to the model's spelling. What is under another name is kept: a rule says that it is wrong.
    """


@dataclass(frozen=True, slots=True)
class Was:
    """The field has an older spelling, accepted and rewritten (spec R2, aliases; G12)."""

    name: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """The field is accepted, reported as deprecated and dropped; `use` is what replaced it (spec R2)."""

    use: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The field is part of a spec's older form, which the kind rewrites before anything reads it (spec R2).

    `to` says where its values went.
    """

    to: str


@dataclass(frozen=True, slots=True)
class Mutable:
    """The field, with all below it, may change after creation (spec R2)."""

    until_finished: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A Kubernetes type that is passed on; the CRD keeps whatever is inside (spec R2)."""

    type: str


@dataclass(frozen=True, slots=True)
class FilledIn:
    """The controller fills the default in when it reads a job: the CRD has none of its own.

    So the stored object stays as the user wrote it.
    """


@dataclass(frozen=True, slots=True)
class AsText:
    """An integer is accepted and turned into a string (the CRD says int-or-string)."""


@dataclass(frozen=True, slots=True)
class AsWords:
    """The field is a list of words; a string is accepted and split as a shell would.

    CRDs have no type for that: the API server takes anything, and the controller looks.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """The field has no model: `canonical` gives the canonical form of its value, `schema` what the CRD says.

    `says` names its type in the documentation.
    """

    canonical: Callable[[Any], Any]
    schema: Mapping[str, Any]
    says: str


Count = Annotated[int, Field(ge=0, le=INT32_MAX, json_schema_extra={"format": "int32"})]
"""int32 ≥ 0."""

Positive = Annotated[int, Field(ge=1, le=INT32_MAX, json_schema_extra={"format": "int32"})]
"""int32 ≥ 1."""

MOST_REPLICAS = 10_000
"""As many replicas as a job may have. Source: spec R2, G19."""


def replica_count(least: int, asked: int | None = None) -> Any:
    """Extras of a field that counts replicas: bounds of which the CRD and a rule know (`asked`, `MOST_REPLICAS`).

    The model takes any int32 from `least` on: it reads jobs that were admitted before there were such bounds.
    """
    extras: dict[str, Any] = {"format": "int32", "maximum": MOST_REPLICAS} | (
        {} if asked is None else {"minimum": asked}
    )
    return Field(ge=least, le=INT32_MAX, json_schema_extra=extras)


Number = Annotated[int, Field(ge=-INT32_MAX - 1, le=INT32_MAX, json_schema_extra={"format": "int32"})]
"""int32 of any sign: the bounds are a CEL rule's, so that its sentence is what the user reads."""

Seconds = Annotated[int, Field(ge=1, le=INT64_MAX, json_schema_extra={"format": "int64"})]
"""int64 ≥ 1."""

Word = Annotated[str, Field(max_length=8192)]
"""One word of a command line. The length bounds what CEL may have to compare."""

PodTemplate = Annotated[dict[str, Any], Opaque("PodTemplateSpec")]
"""A pod template, as the user wrote it."""
