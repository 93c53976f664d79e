"""A spec as the user wrote it → its canonical form: old spellings rewritten, what nobody knows taken out.

Defaults are not filled in: whether a user said 3 or nothing stays visible. Objects come out in the model's
field order, so that two spellings of a spec give the same bytes. Source: spec R2, aliases.
"""

import difflib
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from statemachine.errors import Problem
from statemachine.rulebook import UNKNOWN_FIELD, Notice
from statemachine.schema.fields import NamedParts, SpecPart
from statemachine.schema.problems import problem, shown
from statemachine.schema.tables import FieldShape, fields


@dataclass(slots=True)
class Reading:
    """A canonical spec and the notices that normalization gave.

    `renamed`: canonical path → path as written, of every field that came under its old name.
    """

    spec: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A spec whose older form has been turned into the present one; otherwise as it was.

    `renamed`: path now → path as written, of everything that was moved.
    """

    spec: Mapping[str, Any]
    notices: tuple[Notice, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


Modern = Callable[[Mapping[str, Any]], Rewritten]
"""A kind's way from the older form of its specs to the present one."""


def read(model: type[SpecPart], raw: Mapping[str, Any], modern: Modern | None = None) -> Reading:
    """The canonical form of `raw`. Values of a wrong type are left as they are.

    `modern` turns an older form of the whole spec, if the kind has one, into the present form.
    """
    given = modern(raw) if modern else Rewritten(raw)
    reading = Reading(notices=list(given.notices), renamed=dict(given.renamed))
    reading.spec = _object(model, given.spec, "spec", reading)
    return reading


def _object(model: type[SpecPart], raw: Mapping[str, Any], path: str, reading: Reading) -> dict[str, Any]:
    known = fields(model)
    if issubclass(model, NamedParts):
        raw = _respelled(list(known), raw, path, reading)
    result: dict[str, Any] = {}
    for shape in known.values():
        value = _renamed(shape, raw, path, reading) if shape.was else raw.get(shape.name)
        if value is None:
            continue
        here = f"{path}.{shape.name}"
        if shape.ignored is not None:
            reading.notices.append(deprecated(here, shape.ignored))
        else:
            result[shape.name] = _value(shape, value, here, reading)
    spellings = _spellings(model)
    strangers = {name: value for name, value in raw.items() if name not in spellings}
    if model.model_config.get("extra") == "allow" or issubclass(model, NamedParts):
        return result | strangers
    reading.notices.extend(_unknown(f"{path}.{name}", name, list(known)) for name in strangers)
    return result


@cache
def _spellings(model: type[SpecPart]) -> frozenset[str]:
    """Every name that a field of `model` has, or had."""
    return frozenset(name for shape in fields(model).values() for name in (shape.name, shape.was) if name)


def _respelled(known: list[str], raw: Mapping[str, Any], path: str, reading: Reading) -> dict[str, Any]:
    """`raw` with the names that are known in their usual case; the second of two that are alike stays as it is."""
    usual = {name.lower(): name for name in known}
    result: dict[str, Any] = {}
    for written, value in raw.items():
        name = usual.get(written.lower(), written)
        if name != written and (name in raw or name in result):
            name = written
        if name != written:
            reading.renamed[f"{path}.{name}"] = f"{path}.{written}"
        result[name] = value
    return result


def _renamed(shape: FieldShape, raw: Mapping[str, Any], path: str, reading: Reading) -> Any:
    """The field's value, from its old name if need be. A null is no value, as for the API server."""
    value, old = raw.get(shape.name), raw.get(shape.was)
    if old is None:
        return value
    now, was = f"{path}.{shape.name}", f"{path}.{shape.was}"
    reading.notices.append(deprecated(was, now))
    if value is None:
        reading.renamed[now] = was
        return old
    if type(value) is not type(old) or value != old:
        reading.problems.append(problem("G12", f"{was} is a deprecated alias of {now}; set only one"))
    return value


def _value(shape: FieldShape, value: Any, path: str, reading: Reading) -> Any:
    if shape.as_text and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if shape.as_words and isinstance(value, str):
        return _words(value, path, reading)
    if shape.read is not None:
        return shape.read.canonical(value)
    if shape.part is None:
        return value
    if shape.many and isinstance(value, list):
        return [_item(shape.part, item, f"{path}[{index}]", reading) for index, item in enumerate(value)]
    return _item(shape.part, value, path, reading) if not shape.many else value


def _words(line: str, path: str, reading: Reading) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        reading.problems.append(Problem("", path, f"Invalid value: {shown(line)}: a quote is not closed"))
        return [line]


def _item(part: type[SpecPart], value: Any, path: str, reading: Reading) -> Any:
    return _object(part, value, path, reading) if isinstance(value, Mapping) else value


def deprecated(old: str, use: str) -> Notice:
    """The warning that a field is used under an old name. Source: spec R2, aliases."""
    return Notice("DeprecatedField", f"{old} is deprecated, use {use}")


def _unknown(path: str, name: str, known: list[str]) -> Notice:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return Notice(UNKNOWN_FIELD, f"{path} is no known field and is ignored{hint}")


def as_written(path: str, renamed: Mapping[str, str]) -> str:
    """A canonical path as the user wrote it."""
    for now, was in renamed.items():
        if path == now or path.startswith((f"{now}.", f"{now}[")):
            return was + path[len(now) :]
    return path


def aliases(model: type[SpecPart], path: str = "spec") -> Iterator[tuple[str, str]]:
    """Every field with an old name: paths of the old and the canonical one; `[]` stands for any index."""
    for shape in fields(model).values():
        here = f"{path}.{shape.name}"
        if shape.was:
            yield f"{path}.{shape.was}", here
        if shape.part is not None:
            yield from aliases(shape.part, f"{here}[]" if shape.many else here)
