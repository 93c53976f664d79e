"""Label selectors in Kubernetes' syntax: text → requirements on labels. Pure.

    team=a,tier in (gold,silver),!retired

Commands read selectors before they ask a server, so this module imports almost nothing.
Source: Kubernetes, Labels and Selectors; the grammar is that of `k8s.io/apimachinery/pkg/labels`, without its
comparisons of numbers (`>` and `<`), which that page does not have either.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from statemachine.errors import ConfigError

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
KEY: Final = re.compile(rf"(?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_NAME}")
VALUE: Final = re.compile(rf"(?:{_NAME})?")
"""Valid keys and values of labels. Source: Kubernetes, Labels and Selectors, "Syntax and character set"."""

_TOKEN: Final = re.compile(r"[!=]=|[=!(),<>]|[^\s=!(),<>]+")
_SIGNS: Final = frozenset(("!=", "==", *"=!(),<>"))
_EXAMPLE: Final = "team=a,tier in (gold,silver),!retired"
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Requirement:
    """The label `key` has one of `values` (None: any value); negated: it has not, or there is no such label."""

    key: str
    values: tuple[str, ...] | None = None
    negated: bool = False

    def __str__(self) -> str:
        """The requirement in the syntax of selectors."""
        if self.values is None:
            return f"!{self.key}" if self.negated else self.key
        if len(self.values) == 1:
            return f"{self.key}{'!=' if self.negated else '='}{self.values[0]}"
        return f"{self.key} {'notin' if self.negated else 'in'} ({','.join(self.values)})"

    def is_met_by(self, labels: Mapping[str, Any]) -> bool:
        """An object with these labels meets the requirement."""
        has_label = self.key in labels and (self.values is None or labels[self.key] in self.values)
        return has_label is not self.negated


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects objects that meet all of `requirements`; without any, every object."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, text: str) -> "Selector":
        """The selector in the text.

        Raises:
            ConfigError: the text is no label selector; the message says why.
        """
        return cls(tuple(_Parser(text).requirements()))

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def selects(self, meta: Mapping[str, Any]) -> bool:
        """An object with this metadata is selected."""
        labels = meta.get("labels")
        mapping = labels if isinstance(labels, Mapping) else {}
        return all(requirement.is_met_by(mapping) for requirement in self.requirements)


EVERYTHING: Final = Selector()


class _Parser:
    """Reads a text from left to right; words such as `in` are names where a name has to be."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._at = 0

    def requirements(self) -> Iterator[Requirement]:
        """Each requirement, in order."""
        while self._next or self._at:
            yield self._requirement()
            if not self._next:
                return
            if self._next != ",":
                raise self._wrong(f'"," is missing before "{self._next}"')
            self._take()

    def _requirement(self) -> Requirement:
        absent = self._next == "!"
        if absent:
            self._take()
        key = self._word("the name of a label")
        if not KEY.fullmatch(key):
            raise self._wrong(f'"{key}" cannot be the name of a label')
        sign = self._next
        if absent or sign in ("", ","):
            return Requirement(key, None, negated=absent)
        if sign in ("<", ">"):
            raise self._wrong(f'"{sign}" compares numbers, and labels are texts')
        self._take()
        if sign in ("=", "==", "!="):
            value = "" if self._next in ("", ",") else self._word("a value")
            return Requirement(key, (self._value(value),), negated=sign == "!=")
        if sign in ("in", "notin"):
            return Requirement(key, self._values(sign), negated=sign == "notin")
        raise self._wrong(f'"{sign}" after "{key}" is none of =, ==, !=, in and notin')

    def _values(self, sign: str) -> tuple[str, ...]:
        """The values in parentheses, without duplicates; between two commas stands the empty value."""
        if self._next != "(":
            raise self._wrong(f'"(" is missing after "{sign}"')
        self._take()
        if self._next == ")":
            raise self._wrong(f'there is no value in the parentheses after "{sign}"')
        values: list[str] = []
        while True:
            values.append(self._value("" if self._next in (",", ")") else self._word("a value")))
            if self._next not in (",", ")"):
                raise self._wrong(f'"," or ")" is missing after "{sign} ({",".join(values)}"')
            if self._take() == ")":
                return tuple(dict.fromkeys(values))

    def _value(self, value: str) -> str:
        if not VALUE.fullmatch(value):
            raise self._wrong(f'"{value}" cannot be the value of a label')
        return value

    def _word(self, noun: str) -> str:
        if not self._next or self._next in _SIGNS:
            place = f'where "{self._next}" is' if self._next else "at its end"
            raise self._wrong(f"{noun} is missing {place}")
        return self._take()

    @property
    def _next(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._at]

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token

    def _wrong(self, why: str) -> ConfigError:
        shown = self._text if len(self._text) <= _SHOWN else f"{self._text[:_SHOWN]}…"
        return ConfigError(
            f'"{" ".join(shown.split())}" is no label selector: {why}; right is, say, {_EXAMPLE}'
        )
