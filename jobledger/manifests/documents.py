"""YAML or JSON text → documents of plain JSON values, with the lines they stand on.

Reads what kubectl reads, and as it reads it: `yes`, `on` and `y` are booleans, `0x1F` and `1_000` numbers,
dates stay text, `1:` is the field "1". Source: kubernetes-sigs/yaml. JSON is tried first where a text begins
like it, because JSON's escapes are not all YAML's. What can hurt a reader is refused (see `yaml_tree`).
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, Final

import yaml

from jobledger.manifests.places import Marks, of_json, of_token
from jobledger.manifests.tree import MAX_DEPTH, TOO_DEEP, Builder, Document, Unreadable

__all__ = ["MAX_DEPTH", "Document", "Unreadable", "documents"]

MAX_DOCUMENTS: Final = 1000
"""JSON documents in a row; more of them are data, not manifests."""

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNPRINTABLE: Final = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACE: Final = re.compile(r"\s*")

_SENTENCES: Final = {
    "mapping values are not allowed": 'a ":" is not expected here; quote the text, or mend the indentation',
    "could not find expected ':'": 'a ":" is missing behind the name of a field',
    "did not find expected key": "this line fits nothing above it; mend the indentation",
    "expected <block end>": "this line fits nothing above it; mend the indentation",
    "did not find expected '-' indicator": "this line fits nothing above it; mend the indentation",
    "found unexpected end of stream": "a quote or a bracket is opened and never closed",
    "cannot start any token": "a text must not begin with this character; put it in quotes",
    "found undefined tag handle": "the tag is not declared; plain YAML needs no tags",
}
"""What the parser says, in part → what we say."""


def documents(text: str, limit: int) -> Iterator[Document]:
    """The documents of `text` that are not empty, one by one, as far as they can be read.

    `limit`: how many characters a document may have once its aliases are expanded.

    Raises:
        Unreadable: the text is wrong from here on.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            values = list(_json(text))
        except ValueError:  # it may still be YAML, which also finds the line of a repeated field
            pass
        else:
            yield from values
            return
    yield from _yaml(text, limit)


def _json(text: str) -> Iterator[Document]:
    """One JSON document or several in a row. Raises ValueError if it is anything else."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_constant=partial(_no_number, text),
        parse_float=partial(_finite, text),
    )
    place, line, number = _space(text, 0), 1 + text.count("\n", 0, _space(text, 0)), 0
    while place < len(text):
        try:
            value, end = decoder.raw_decode(text, place)
        except RecursionError:
            raise Unreadable(TOO_DEEP, line) from None
        if _depth(value) > MAX_DEPTH:
            raise Unreadable(TOO_DEEP, line)
        number += 1
        if number > MAX_DOCUMENTS:
            raise Unreadable(f"holds more than {MAX_DOCUMENTS} documents")
        yield Document(number, line, value, later=_marks_of(text, place, value))
        after = _space(text, end)
        place, line = after, line + text.count("\n", place, after)


def _marks_of(text: str, begin: int, value: Any) -> Callable[[], Marks]:
    """The places in a JSON document, looked for once."""
    return cache(lambda: of_json(text, begin, value))


def _space(text: str, place: int) -> int:
    """Where the white space that begins at `place` ends."""
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a field is repeated")
    return result


def _no_number(text: str, name: str) -> float:
    raise Unreadable(f"{name} is no JSON value; put it in quotes to make it a string", *of_token(text, name))


def _finite(text: str, digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Unreadable(f"the number {digits:.20} is too large", *of_token(text, digits))
    return number


def _depth(value: object) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        inner: list[object] = []
        for nested in level:
            if isinstance(nested, dict):
                inner.extend(nested.values())
            elif isinstance(nested, list):
                inner.extend(nested)
        level = inner if depth <= MAX_DEPTH else []
    return depth - 1


def _yaml(text: str, limit: int) -> Iterator[Document]:
    odd = _UNPRINTABLE.search(text)
    if odd:
        line, column = _place(text, odd.start())
        raise Unreadable(f"the character U+{ord(odd[0]):04X} is not allowed in YAML", line, column)
    builder = Builder(limit)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            document = builder.take(event)
            if document is not None:
                yield document
    except yaml.MarkedYAMLError as error:
        raise _translated(error, text) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # escapes of impossible characters
        raise Unreadable(f"the YAML cannot be read: {_one_line(str(error))}") from error


def _place(text: str, index: int) -> tuple[int, int]:
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _translated(error: yaml.MarkedYAMLError, text: str) -> Unreadable:
    said, mark = error.problem or "the YAML cannot be read", error.problem_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    lines = text.split("\n")
    if "cannot start any token" in said and "\t" in lines[line - 1][: column + 1]:
        return Unreadable("a tab stands in the indentation; YAML wants spaces there", line, column)
    ours = (sentence for part, sentence in _SENTENCES.items() if part in said)
    return Unreadable(next(ours, _one_line(said)), line, column)


def _one_line(text: str) -> str:
    return " ".join(text.split())
