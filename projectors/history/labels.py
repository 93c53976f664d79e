"""The labels of a job as SQL filters by them: in a table to find the few that have one, as marks to scan all. Pure.

A mark is 13 letters and digits for a key or a value: 64 bits of its BLAKE2b. A job's marks stand in the one index
that the list is scanned in, where labels as they are written could outgrow what PostgreSQL lets an index hold, and
SQLite's LIKE would take capital letters for small ones (ADR 0015).
"""

import base64
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Final

from k8s_bridge.selectors import Requirement

FEW: Final = 10_000
"""If no more jobs than this have a label, they are looked up one by one; otherwise all jobs are scanned.

At a fifth of 50,000 jobs the two cost the same in SQLite; PostgreSQL prefers to look up more than that.
"""

_MARKS: Final = 4
"""Of more values than this, the table is asked job by job: to look for each in the marks would take longer."""

_COUNT: Final = "SELECT count(*) FROM"
_LABELLED: Final = "SELECT 1 FROM history_labels WHERE"
_UIDS: Final = "SELECT uid FROM history_labels WHERE"

Place = Callable[[object], str]
"""Keeps a value for a statement, and says its place there."""


def marks(labels: Mapping[str, str]) -> str:
    """The marks of all labels, each ` ` + key + value."""
    return "".join(f" {_mark(key)}{_mark(value)}" for key, value in labels.items())


def meets(wanted: Requirement, place: Place) -> str:
    """The condition that a row of `history_listing` meets the requirement."""
    if wanted.values is not None and len(wanted.values) > _MARKS:
        found = f"EXISTS ({_LABELLED} uid = history_listing.uid AND {_has(wanted, place)})"
    else:
        sought = [""] if wanted.values is None else map(_mark, wanted.values)
        places = [place(f"% {_mark(wanted.key)}{each}%") for each in sought]
        found = f"({' OR '.join(f'labels LIKE {each}' for each in places)})"
    return f"NOT {found}" if wanted.negated else found


def count_to_few(wanted: Requirement, place: Place) -> str:
    """The query for how many jobs meet the requirement, which is not negated; of more than `FEW`, one more."""
    return f"{_COUNT} ({_LABELLED} {_has(wanted, place)} LIMIT {FEW + 1}) AS few"


def is_of_few(wanted: Requirement, place: Place) -> str:
    """The same condition as `meets`, for a requirement that few jobs meet: these are looked for first."""
    return f"uid IN ({_UIDS} {_has(wanted, place)})"


def _has(wanted: Requirement, place: Place) -> str:
    """The condition that a row of `history_labels` is what is required."""
    key = f"key = {place(wanted.key)}"
    return key if wanted.values is None else f"{key} AND value IN ({', '.join(map(place, wanted.values))})"


def _mark(text: str) -> str:
    digest = blake2b(text.encode(), digest_size=8).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()
