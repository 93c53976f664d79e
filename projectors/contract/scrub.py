"""Texts that leave in public events, without secrets, and the digest of a spec without them. Pure.

Beside what `statemachine.redact` knows for a secret, nothing of what a spec hands to its programs is shown again:
values of variables, commands, arguments and annotations are taken out of every text, also where a value is harmless.
Source: docs/events.md, "What never leaves".
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from statemachine.redact import REDACTED, Same, redacted_text, secrets_of
from statemachine.state import JobState

LONGEST: Final = 512
"""Characters of a text."""

_CUT: Final = "…"
_SHORTEST: Final = 4
"""Characters from which on a value is taken out where it stands again."""

_ENCODED: Final = 8
"""From which on it is taken out in other spellings, too: what is shorter stands in every other word."""

_PROGRAMS: Final = re.compile(r"(?i)(?:args|command|options|conf|annotations|env|httpHeaders)$")
"""Fields of a spec whose values are for programs."""

_WITHHELD: Final = re.compile(f"{_PROGRAMS.pattern}|^volumes$")
"""What a digest does not cover."""

_PART: Final = re.compile(r"(?=[\w.+~-]*\d)(?=[\w.+~-]*[A-Za-z])[\w.+~-]{8,}")
"""What may be a secret inside of a longer value, such as a script: with a digit and a letter."""

_PATTERNS: Final = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"(?<=://)[^/\s@'\"]+(?=@)", 0),
        (r"\b(?:basic|bearer)\s+(?P<value>[\w.~+/=-]{8,})", re.IGNORECASE),
        (r"\beyJ[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*)?", 0),
        (r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL),
        (r"\bA[KS]IA[0-9A-Z]{12,}", 0),
        (
            r"(?:pass(?:word|wd)?|token|secret|key)[\"']?\s*[=:]\s*[\"']?(?P<value>[^\s\"',;)]{4,})",
            re.IGNORECASE,
        ),
        (
            r"\b(?:pass(?:word|wd)?|token|secret|key)\s+(?P<value>(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[\w.~+/=-]{8,})",
            re.IGNORECASE,
        ),
    )
)
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{32,}={0,2}")
_SOLID: Final = re.compile(r"[A-Za-z0-9]{32,}")


Specs = tuple[Same, ...]
"""Those that a job has had; looked through once, not for every text."""


def specs_of(*states: JobState) -> Specs:
    """The specs of these states."""
    return tuple(dict.fromkeys(Same(state.spec) for state in states if state.spec))


@lru_cache(maxsize=8192)
def scrubbed(text: str, specs: Specs = ()) -> str:
    """The text without secrets, and without what the specs hand to programs. Not cut."""
    if not text or text.isalpha():  # a word, such as a reason of the kubelet's
        return text
    for spec in specs:
        if (given := _given(spec)) is not None:
            text = given.sub(REDACTED, text)
    text = redacted_text(text, *(secrets_of(spec.held) for spec in specs))
    for pattern in _PATTERNS:
        text = pattern.sub(_hidden, text)
    known = [image for spec in specs for image in _images(spec)]
    return _LONG_RUN.sub(lambda run: run[0] if _is_harmless(run[0], known) else REDACTED, text)


def cut(text: str) -> str:
    """The text in as many characters as one may have."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + _CUT


def _hidden(match: re.Match[str]) -> str:
    if "value" not in match.re.groupindex:
        return REDACTED
    start = match.start("value") - match.start()
    if match["value"].startswith("<redacted"):
        return match[0]
    return f"{match[0][:start]}{REDACTED}{match[0][start + len(match['value']) :]}"


def _is_harmless(run: str, known: Iterable[str]) -> bool:
    """A path, a name in words with hyphens, or (a part of) something that is known, such as an image's digest."""
    if any(run in text for text in known):
        return True
    if _SOLID.search(run):
        return not any(map(str.isdigit, run)) and (run.islower() or run.isupper())
    return not (any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run)))


@lru_cache(maxsize=1024)
def _images(spec: Same) -> tuple[str, ...]:
    return tuple(_named("image", spec.held))


def _named(field: str, tree: object) -> Iterator[str]:
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from (value,) if key == field and isinstance(value, str) else _named(field, value)
    elif isinstance(tree, list | tuple):
        for item in tree:
            yield from _named(field, item)


@lru_cache(maxsize=1024)
def _given(spec: Same) -> re.Pattern[str] | None:
    """What the spec hands to programs, the longest first, in every spelling that a message may quote it in."""
    given = set(values_for_programs(spec.held))
    given |= {part for value in given for part in _PART.findall(value)} | secrets_of(spec.held)
    spellings = {spelling for value in given for spelling in _spellings(value.strip())}
    longest = sorted(spellings, key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, longest))) if longest else None


def _spellings(value: str) -> Iterator[str]:
    if len(value) < _SHORTEST or REDACTED in value:
        return
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    if len(value) >= _ENCODED:
        raw = value.encode(errors="surrogatepass")
        yield quote(raw, safe="")
        yield base64.b64encode(raw).decode()
        yield raw.hex()
        yield raw.hex().upper()


def values_for_programs(tree: object, given: bool = False) -> Iterator[str]:
    """Every text below a field of the spec that is for programs; of `NAME=value`, `--name=value` also the value."""
    if isinstance(tree, str) and given:
        yield tree
        name, equals, value = tree.partition("=")
        if equals and re.fullmatch(r"[-+]{0,2}[\w.-]+", name):
            yield value
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            if not (given and _says_which(key, tree)):
                yield from values_for_programs(value, given or bool(_PROGRAMS.search(str(key))))
    elif isinstance(tree, list | tuple):
        for item in tree:
            yield from values_for_programs(item, given)


def _says_which(key: object, tree: Mapping[str, Any]) -> bool:
    """The field is the name of a variable, or where its value comes from: none of that is a value."""
    return key in {"name", "valueFrom"} and bool(tree.keys() & {"value", "valueFrom"})


def strict(tree: Any, given: bool = False) -> Any:
    """A copy of a spec without secrets, and without anything that it hands to programs or that volumes are given."""
    if isinstance(tree, Mapping):
        return {
            key: value
            if given and _says_which(key, tree)
            else strict(value, given or bool(_WITHHELD.search(str(key))))
            for key, value in tree.items()
        }
    if isinstance(tree, list | tuple):
        return [strict(item, given) for item in tree]
    return REDACTED if given and not isinstance(tree, bool) else tree


_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=1024)
def _digest(spec: Same) -> str:
    text = _CANONICAL.encode(strict(spec.held))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def spec_digest(spec: Mapping[str, Any]) -> str:
    """SHA-256 over the spec without what is hidden, as canonical JSON. Specs of states, which nobody changes."""
    return _digest(Same(spec))
