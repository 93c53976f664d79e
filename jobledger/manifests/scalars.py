"""What a scalar of YAML means: as Kubernetes has it, whatever edition of YAML says otherwise.

Source: kubernetes-sigs/yaml, goyaml.v2 resolve.go. Base 60 is no number there, a date is text.
"""

import math
import re
from typing import Final

from statemachine.errors import JobledgerError

_WORDS: Final[dict[str, bool | None]] = {
    spelling: value
    for words, value in (
        (("true", "yes", "on", "y"), True),
        (("false", "no", "off", "n"), False),
        (("null",), None),
    )
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
} | {"": None, "~": None}

_INT: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST: Final = 400
"""Digits beyond which a number is not worth reading; the largest float has 309."""

_CORE: Final = "tag:yaml.org,2002:"
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "null": (type(None),),
}

Scalar = str | int | float | bool | None


class Odd(JobledgerError):
    """A part of a document is not allowed; the message says why, and the reader knows where."""


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted `text`.

    Raises:
        Odd: a number that JSON cannot hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _NOT_FINITE.fullmatch(text):
        raise Odd(f"{text} is no JSON value; put it in quotes to make it a string")
    digits = text.replace("_", "")
    whole = _INT.fullmatch(digits)
    if whole and len(digits) <= _LONGEST:
        base, number = next((b, n) for b, n in zip(_BASES, whole.groups()[1:], strict=True) if n is not None)
        return -int(number, base) if whole[1] == "-" else int(number, base)
    return _decimal(digits) if _FLOAT.fullmatch(digits) else text


def _decimal(digits: str) -> float:
    number = float(digits) if len(digits) <= _LONGEST else math.inf
    if not math.isfinite(number):
        raise Odd(f"the number {digits:.20}… is too large")
    return number


def tagged(text: str, tag: str | None, *, plain: bool) -> Scalar:
    """The value of a scalar with its tag, if it has one; `plain`: it is neither quoted nor tagged.

    Raises:
        Odd: the tag is not one of JSON's types, or the text is not of the type.
    """
    if plain:
        return plain_scalar(text)
    name = (tag or "!").removeprefix(_CORE)
    if name in ("!", "str", "timestamp"):
        return unicode(text)
    if name not in _TYPES:
        raise Odd(f"the tag {tag} is not allowed; plain YAML needs no tags")
    value = plain_scalar(text)
    if not isinstance(value, _TYPES[name]) or (name != "bool" and isinstance(value, bool)):
        raise Odd(f'"{text:.40}" is no {name}')
    return float(value) if name == "float" and isinstance(value, int) else value


def unicode(text: str) -> str:
    """`text`, if it can be written as UTF-8 at all.

    Raises:
        Odd: half of a character stands in it.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise Odd("a text holds half of a Unicode character (a lone surrogate)")
    return text


def field_name(value: object) -> str:
    """The name of the field that a key of this value stands for.

    Raises:
        Odd: a key that JSON has no name for.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case None:
            raise Odd("a field has no name")
        case _:
            raise Odd("an object or a list cannot be the name of a field")
