"""What is wrong with a spec, in the API server's sentences: `Required value`, `Invalid value: …`."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from statemachine.errors import Problem
from statemachine.rulebook import Layer, Rule
from statemachine.schema.fields import SpecPart
from statemachine.schema.tables import fields

S = TypeVar("S", bound=SpecPart)

GENERIC = "schema error"
"""Text of a layer S rule that has no sentence of its own."""

_PATH: Final = re.compile(r"(?P<path>[A-Za-z0-9.\[\]]+): (?P<text>.*)", re.DOTALL)


def problem(rule: str, sentence: str) -> Problem:
    """A problem from its whole sentence: `<path>: <text>` is taken apart, anything else stays whole."""
    match = _PATH.fullmatch(sentence)
    return Problem(rule, match["path"], match["text"]) if match else Problem(rule, "", sentence)


def shown(value: object) -> str:
    """A value as error texts show it: strings quoted, long ones cut, objects and lists by their type."""
    match value:
        case dict():
            return '"object"'
        case list():
            return '"array"'
        case str() if len(value) > 80:
            return json.dumps(f"{value[:79]}…", ensure_ascii=False)
        case _:
            return json.dumps(value, ensure_ascii=False)


def parsed(model: type[S], spec: object, root: str = "spec") -> tuple[S | None, list[Problem]]:
    """The model's instance, or None and what keeps it from being one (rule ids empty)."""
    try:
        return model.model_validate(spec), []
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=True)
        return None, [Problem("", _path(root, fault["loc"]), _sentence(fault)) for fault in errors]


def _path(root: str, loc: Sequence[int | str]) -> str:
    return root + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc)


def _sentence(error: ErrorDetails) -> str:
    limits: dict[str, Any] = error.get("ctx", {})
    value = error["input"]
    match error["type"]:
        case "missing" | "string_too_short":
            return "Required value"
        case _ if value is None:
            return "Required value"
        case "literal_error":
            return f"Unsupported value: {shown(value)}: supported values: {_choices(limits['expected'])}"
        case "greater_than_equal":
            return f"Invalid value: {shown(value)}: must be greater than or equal to {limits['ge']}"
        case "less_than_equal":
            return f"Invalid value: {shown(value)}: must be less than or equal to {limits['le']}"
        case "string_pattern_mismatch":
            return f"Invalid value: {shown(value)}: must match '{limits['pattern']}'"
        case "string_too_long":
            return f"Too long: may not be more than {limits['max_length']} characters"
        case "too_long":
            return f"Too many: {limits['actual_length']}: must have at most {limits['max_length']} items"
        case "too_short":
            return f"Too few: {limits['actual_length']}: must have at least {limits['min_length']} items"
        case name:
            return f"Invalid value: {shown(value)}: {_TYPES.get(name, error['msg'])}"


_TYPES: Final = {
    "int_type": "must be of type integer",
    "string_type": "must be of type string",
    "bool_type": "must be of type boolean",
    "list_type": "must be of type array",
    "dict_type": "must be of type object",
    "model_type": "must be of type object",
    "model_attributes_type": "must be of type object",
}


def _choices(expected: str) -> str:
    """`'a', 'b' or 'c'` as `"a", "b", "c"`."""
    return ", ".join(f'"{choice}"' for choice in re.findall(r"'([^']*)'", expected))


def by_rule(problems: Iterable[Problem], rules: Iterable[Rule]) -> list[Problem]:
    """Layer S problems with the ids, and the texts if any, of the rules whose fields they are in."""
    owners = {path: rule for rule in rules if rule.layer is Layer.SCHEMA for path in rule.fields}
    return [_owned(broken, owners.get(re.sub(r"\[[0-9]+\]", "[*]", broken.path))) for broken in problems]


def _owned(broken: Problem, rule: Rule | None) -> Problem:
    if rule is None:
        return broken
    own = problem(rule.id, rule.text).text
    return Problem(rule.id, broken.path, broken.text if own == GENERIC else own)


def in_field_order(model: type[SpecPart], problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems without repetition, `metadata` first, then in the order of the model's fields (R2)."""
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: _rank(model, str(problem))))


def _rank(model: type[SpecPart], sentence: str) -> tuple[int, ...]:
    """Place of the field that a sentence begins with; steps that the model does not know count as first."""
    path = re.match(r"[A-Za-z0-9.\[\]]*", sentence)
    steps = re.findall(r"[A-Za-z0-9]+", path[0] if path else "")
    if not steps or steps[0] != "spec":
        return ()
    ranks: list[int] = []
    part: type[SpecPart] | None = model
    for step in steps[1:]:
        known = list(fields(part)) if part is not None else []
        if step in known and part is not None:
            ranks.append(known.index(step))
            part = fields(part)[step].part
        else:
            ranks.append(int(step) if step.isdecimal() else 0)
    return tuple(ranks)
