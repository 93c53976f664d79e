"""Which input a field of a model gets, and how its values are written into one and read back. Pure."""

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import yaml
from pydantic import TypeAdapter

from jobledger.console.forms.tree import Control
from statemachine.errors import Problem
from statemachine.schema.json_values import unreadable
from statemachine.schema.tables import FieldShape


class Typed(NamedTuple):
    """A value that was typed, or why it cannot be one; `is_set` is False for an input that was left empty."""

    value: Any = None
    is_set: bool = False
    problem: str = ""


class Input(NamedTuple):
    """How a field is asked for."""

    control: Control
    choices: Sequence[str] = ()
    placeholder: str = ""


@cache
def _schema(shape_id: int, annotation: Any) -> Mapping[str, Any]:
    schema = TypeAdapter(annotation).json_schema(by_alias=True)
    return next((branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"), schema)


def input_of(shape: FieldShape) -> Input:
    """The input for a field that is neither an object with a model nor a pod template."""
    if shape.opaque:
        return Input("yaml")
    schema = _schema(id(shape), shape.info.rebuild_annotation())
    default = shape.info.default
    usual = "" if shape.info.is_required() or default is None else str(default)
    if "enum" in schema:
        return Input("select", tuple(map(str, schema["enum"])), usual)
    match schema.get("type"):
        case "boolean":
            return Input("switch")
        case "integer" | "number" if not shape.as_text:
            return Input("number", placeholder=usual)
        case "array" if (schema.get("items") or {}).get("type") == "string":
            return Input("words")
        case "array" | "object":
            return Input("yaml")
        case "string":
            return Input("text", placeholder=usual)
        case _:
            return Input("text" if shape.as_text else "yaml", placeholder=usual)


def written(control: Control, value: Any) -> str:
    """A value as the input shows it; what does not fit is shown as it is, so that it is not lost."""
    if control == "switch":
        return "on" if value is True else ""
    if value is None:
        return ""
    if control == "words" and isinstance(value, list) and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    if control == "yaml":
        return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000) if value else ""
    return value if isinstance(value, str) else yaml.safe_dump(value).removesuffix("...\n").strip()


def typed(control: Control, text: str) -> Typed:
    """What was typed, as the manifest has it. A number that is none stays a text: the rules say so."""
    if control == "switch":
        return Typed(text == "on", is_set=text == "on")
    text = text if control == "yaml" else text.strip()
    if not text.strip():
        return Typed()
    match control:
        case "number":
            try:
                return Typed(int(text), is_set=True)
            except ValueError:
                return Typed(text, is_set=True)
        case "words":
            try:
                return Typed(shlex.split(text), is_set=True)
            except ValueError:
                return Typed([text], is_set=True, problem="Invalid value: a quotation mark is not closed")
        case "yaml":
            try:
                value = yaml.safe_load(text)
            except (yaml.YAMLError, RecursionError) as error:
                mark = getattr(error, "problem_mark", None)
                where = f" in line {mark.line + 1}" if mark else ""
                return Typed(text, is_set=True, problem=f"Invalid value: no YAML{where}")
            fault = unreadable(value)  # aliases make much out of little
            return Typed(text, is_set=True, problem=fault.text) if fault else Typed(value, is_set=True)
        case _:
            return Typed(text, is_set=True)


def problem(path: str, text: str) -> Problem:
    """A problem of what was typed, before any rule looks at it."""
    return Problem("", path, text)
