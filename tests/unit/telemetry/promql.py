"""What a PromQL expression asks for: metric names, the labels it matches, the labels it groups by.

A reader of the part of PromQL that dashboards and alerts here are written in; anything else is an error. Source:
Prometheus documentation, "Querying basics" and "Operators".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

FUNCTIONS: Final = {
    *("absent", "delta", "histogram_quantile", "increase", "min_over_time", "rate"),
    *("count", "max", "min", "sum"),
}
_GROUPING: Final = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_WORDS: Final = {"and", "or", "unless", "bool", "offset"}

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<braces>\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\})
      | (?P<range>\[(?:\d+[smhdw]|\$__rate_interval)\])
      | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<sign>==|!=|>=|<=|[-+*/%^<>(),])""",
    re.VERBOSE,
)
_MATCHER: Final = re.compile(r'\s*(?P<label>\w+)\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"\s*(?:,|$)')


class Wrong(ValueError):
    """The expression cannot be read."""


@dataclass
class Query:
    """`selected`: metric → labels that are matched; `grouped`: labels that are kept, dropped or joined on."""

    selected: list[tuple[str, list[str]]] = field(default_factory=list)
    grouped: set[str] = field(default_factory=set)


def query(expr: str) -> Query:
    """What `expr` asks for. Raises Wrong."""
    query, tokens = Query(), list(_tokens(expr))
    depth = 0
    at = 0
    while at < len(tokens):
        kind, text = tokens[at]
        following = tokens[at + 1][1] if at + 1 < len(tokens) else ""
        if kind == "name" and text in _GROUPING:
            at, labels = _list(tokens, at + 1)
            query.grouped |= labels
            continue
        if kind == "name" and following == "(":
            if text not in FUNCTIONS:
                raise Wrong(f"{text} is no function: {expr}")
        elif kind == "name" and following in _GROUPING and text in FUNCTIONS:
            pass  # `sum by (…) (…)`
        elif kind == "name" and text not in _WORDS:
            matched = list(_matchers(following)) if following.startswith("{") else []
            query.selected.append((text, matched))
            at += bool(matched) or following.startswith("{")
        elif kind == "braces":
            raise Wrong(f"{text} belongs to no metric: {expr}")
        depth += {"(": 1, ")": -1}.get(text, 0)
        if depth < 0:
            break
        at += 1
    if depth:
        raise Wrong(f"parentheses do not match: {expr}")
    return query


def _tokens(expr: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(expr):
        match = _TOKEN.match(expr, at)
        if match is None:
            raise Wrong(f"cannot be read from here on: {expr[at:]}")
        if match.lastgroup != "space":
            yield str(match.lastgroup), match.group()
        at = match.end()


def _list(tokens: list[tuple[str, str]], at: int) -> tuple[int, set[str]]:
    """The labels in the parentheses that begin at `at`, and where what follows them begins."""
    if at >= len(tokens) or tokens[at][1] != "(":
        raise Wrong("labels to group by are missing")
    labels: set[str] = set()
    for end in range(at + 1, len(tokens)):
        kind, text = tokens[end]
        if text == ")":
            return end + 1, labels
        if kind == "name":
            labels.add(text)
        elif text != ",":
            raise Wrong(f"{text} is no label")
    raise Wrong("labels to group by do not end")


def _matchers(braces: str) -> Iterator[str]:
    inside, at = braces[1:-1], 0
    while at < len(inside):
        match = _MATCHER.match(inside, at)
        if match is None:
            raise Wrong(f"cannot be read: {braces}")
        yield match["label"]
        at = match.end()
