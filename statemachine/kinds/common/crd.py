"""The CustomResourceDefinition of a kind, from its model and its rules.

Source: Kubernetes, "Structural schemas" and "Validation rules"; spec R2. What the API server cannot take from
a pydantic schema is rewritten: references are put in place, titles and nulls go, old spellings become fields.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from statemachine.kind import Names
from statemachine.owned import Manifest
from statemachine.rulebook import Layer, Rule
from statemachine.schema.fields import INT32_MAX, INT64_MAX, NamedParts, SpecPart
from statemachine.schema.tables import FieldShape, fields

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Served:
    """What the API server shows of a kind besides its spec.

    `about`: what `kubectl explain` says first. `status`: schema of the status. `columns`: printer columns.
    `scale`: the scale subresource, None if the kind has none. `deprecation`: the API server's warning at
    every use of a kind that only exists for old manifests.
    """

    about: str
    status: Schema
    columns: tuple[Mapping[str, Any], ...] = ()
    scale: Mapping[str, str] | None = None
    deprecation: str = ""


def crd(names: Names, model: type[SpecPart], rules: tuple[Rule, ...], served: Served) -> Manifest:
    """The kind's CRD. Source: spec R1, R2, R7."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{names.group}"},
        "spec": {
            "group": names.group,
            "names": _names(names),
            "scope": "Namespaced",
            "versions": [_version(names, _root(model, rules, served), served)],
        },
    }


def _names(names: Names) -> Schema:
    schema: Schema = {
        "kind": names.kind,
        "listKind": names.list_kind,
        "plural": names.plural,
        "singular": names.singular,
    }
    return (
        schema
        | ({"shortNames": list(names.short)} if names.short else {})
        | {"categories": ["all", "jobledger", "training"]}
    )


def _version(names: Names, root: Schema, served: Served) -> Schema:
    schema: Schema = {"name": names.version, "served": True, "storage": True}
    if served.deprecation:
        schema |= {"deprecated": True, "deprecationWarning": served.deprecation}
    subresources: Schema = {"status": {}}
    if served.scale:
        subresources["scale"] = dict(served.scale)
    return schema | {
        "additionalPrinterColumns": [dict(column) for column in served.columns],
        "subresources": subresources,
        "schema": {"openAPIV3Schema": root},
    }


def _root(model: type[SpecPart], rules: tuple[Rule, ...], served: Served) -> Schema:
    spec = object_schema(model) | _validations(rules, "spec")
    return {
        "type": "object",
        "description": served.about,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": served.status,
        },
    } | _validations(rules, "")


def _validations(rules: tuple[Rule, ...], at: str) -> Schema:
    here = [rule for rule in rules if rule.layer is Layer.CEL and rule.cel and rule.cel_at == at]
    return {"x-kubernetes-validations": [_validation(rule) for rule in here]} if here else {}


def _validation(rule: Rule) -> Schema:
    schema = {"rule": expanded(rule.cel), "message": rule.text}
    return schema | ({"messageExpression": rule.cel_message} if rule.cel_message else {})


_ON: Final = re.compile(r"\bon\(([A-Za-z.]+)\)")


def expanded(cel: str) -> str:
    """A CEL expression with `on(x)` written out: x is switched on, by its new or its old name (spec R2)."""
    return _ON.sub(
        r"(has(\1.enabled) ? \1.enabled : (has(\1.enable) ? \1.enable : false))", " ".join(cel.split())
    )


def object_schema(model: type[SpecPart], *, in_list: bool = False) -> Schema:
    """The structural schema of a spec part; one that is `in_list` is an entry of a list, or part of one.

    There the API server fills in no defaults: `kubectl apply` compares lists as a whole, and would send one that the
    user has not changed at every run. The controller fills them in when it reads a job.
    """
    if issubclass(model, NamedParts):
        return _map_schema(model)
    leaves = model.model_json_schema(by_alias=True)["properties"]
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for shape in fields(model).values():
        schema = _field(shape, leaves[shape.name], in_list=in_list)
        properties[shape.name] = schema
        if shape.was:
            properties[shape.was] = schema | {"description": f"Deprecated: use {shape.name}."}
        if shape.info.is_required():
            required.append(shape.name)
    whole: Schema = {"type": "object"}
    if model.__doc__:
        whole["description"] = _one_line(model.__doc__)
    if required:
        whole["required"] = required
    if model.model_config.get("extra") == "allow":
        whole["x-kubernetes-preserve-unknown-fields"] = True
    extra = model.model_config.get("json_schema_extra")
    if isinstance(extra, dict) and "maxProperties" in extra:
        whole["maxProperties"] = extra["maxProperties"]
    return whole | {"properties": properties}


_MOST_NAMES: Final = 8
"""Entries of a map whose names may be written in any case: CEL wants to know how many it may have to compare."""


def _map_schema(model: type[NamedParts]) -> Schema:
    """A map: the API server knows names in one case only, so that a rule has to say which there may be."""
    part = next(shape.part for shape in fields(model).values())
    inner = {"type": "object"} if part is None else object_schema(part)
    return {"type": "object", "maxProperties": _MOST_NAMES, "additionalProperties": inner}


def _field(shape: FieldShape, leaf: Schema, *, in_list: bool) -> Schema:
    about = {"description": _one_line(shape.info.description or "")}
    if shape.ignored is not None:
        about = {"description": f"Deprecated and ignored: use {shape.ignored.removeprefix('spec.')}."}
    if shape.moved:
        about = {"description": f"Deprecated: use {shape.moved}."}
    if shape.opaque:
        inner = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return about | ({"type": "array", "items": inner} if shape.many else inner)
    if shape.read is not None:
        return about | dict(shape.read.schema)
    if shape.as_words:
        return about | {"x-kubernetes-preserve-unknown-fields": True}
    if shape.part is None:
        schema = _with_default_told(about | _leaf(shape, leaf))
        return {key: schema[key] for key in schema if key != "default" or not (shape.filled_in or in_list)}
    inner = object_schema(shape.part, in_list=in_list or shape.many)
    if not shape.many:
        return inner | about
    return about | {"type": "array", **_limits(_not_null(leaf)), "items": inner}


def _leaf(shape: FieldShape, leaf: Schema) -> Schema:
    """A scalar or a list of scalars. No default for a field with an old name: it would hide the old one."""
    schema = _cleaned(_not_null(leaf))
    if shape.as_text:
        schema = {"x-kubernetes-int-or-string": True} | {
            key: schema[key] for key in ("pattern", "maxLength") if key in schema
        }
    default = leaf.get("default")
    if isinstance(default, str | int) and not shape.was:
        schema["default"] = default
    return schema


def _with_default_told(schema: Schema) -> Schema:
    """The schema whose description says the default: `kubectl explain` shows nothing else of it."""
    if "default" not in schema:
        return schema
    value = schema["default"]
    default = json.dumps(value) if isinstance(value, bool) else value
    return schema | {"description": f"{schema['description']} Default: {default}."}


def _not_null(schema: Schema) -> Schema:
    """The schema's branch that is not null."""
    branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    return branches[0] if branches else schema


def _cleaned(schema: Schema) -> Schema:
    """The keywords of a structural schema; bounds that the format says already are left out."""
    kept: Schema = {key: schema[key] for key in _KEYWORDS if key in schema}
    if kept.get("maximum") in (INT32_MAX, INT64_MAX):
        del kept["maximum"]
    if kept.get("minimum") == -INT32_MAX - 1:
        del kept["minimum"]
    if "items" in schema:
        kept["items"] = _cleaned(schema["items"])
    return kept


_KEYWORDS: Final = (
    *("type", "format", "enum", "pattern", "minLength", "maxLength"),
    *("minimum", "maximum", "minItems", "maxItems"),
)


def _limits(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("minItems", "maxItems") if key in schema}


def _one_line(text: str) -> str:
    return " ".join(text.split())
