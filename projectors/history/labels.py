"""The labels of jobs, as SQL filters by them: a table to look up few jobs, marks to scan all of them. Pure.

A mark is 13 letters and digits for a key or a value: 64 bits of its BLAKE2b. A job's marks stand in the one index
that a scan of the list reads. Labels themselves could exceed the size of an index entry in PostgreSQL, and SQLite's
LIKE does not distinguish capital letters from small ones (ADR 0015).
"""

import base64
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Final

from k8s_bridge.selectors import Requirement

FEW: Final = 10_000
"""If no more jobs than this have a label, the query looks them up one by one; otherwise it scans all jobs.

At a fifth of 50,000 jobs the two cost the same in SQLite; PostgreSQL prefers to look up more than that.
"""

_MARKS: Final = 4
"""Of more values than this, the query asks the table job by job: a search in the marks takes longer."""

_COUNT: Final = "SELECT count(*) FROM"
_LABELLED: Final = "SELECT 1 FROM history_labels WHERE"
_UIDS: Final = "SELECT uid FROM history_labels WHERE"

Place = Callable[[object], str]
"""Keeps a value for a statement, and returns its place in it."""


def marks(labels: Mapping[str, str]) -> str:
    """The marks of all labels, each ` ` + key + value."""
    return "".join(f" {_mark(key)}{_mark(value)}" for key, value in labels.items())


def meets(requirement: Requirement, place: Place) -> str:
    """The condition that a row of `history_listing` meets the requirement."""
    if requirement.values is not None and len(requirement.values) > _MARKS:
        condition = f"EXISTS ({_LABELLED} uid = history_listing.uid AND {_has(requirement, place)})"
    else:
        sought = [""] if requirement.values is None else map(_mark, requirement.values)
        places = [place(f"% {_mark(requirement.key)}{mark}%") for mark in sought]
        condition = f"({' OR '.join(f'labels LIKE {mark}' for mark in places)})"
    return f"NOT {condition}" if requirement.negated else condition


def count_to_few(requirement: Requirement, place: Place) -> str:
    """The query for the number of jobs that meet the requirement, which is not negated; it counts to `FEW` + 1."""
    return f"{_COUNT} ({_LABELLED} {_has(requirement, place)} LIMIT {FEW + 1}) AS few"


def is_of_few(requirement: Requirement, place: Place) -> str:
    """The same condition as `meets`, for a requirement that few jobs meet: the database looks these up first."""
    return f"uid IN ({_UIDS} {_has(requirement, place)})"


def _has(requirement: Requirement, place: Place) -> str:
    """The condition that a row of `history_labels` fits the requirement."""
    key = f"key = {place(requirement.key)}"
    return (
        key
        if requirement.values is None
        else f"{key} AND value IN ({', '.join(map(place, requirement.values))})"
    )


def _mark(text: str) -> str:
    digest = blake2b(text.encode(), digest_size=8).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()
