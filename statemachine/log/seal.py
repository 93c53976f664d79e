"""MACs of snapshots: a reader that holds the key believes only what a holder of the key has saved.

A snapshot is believed instead of the entries that it stands for, so anybody who may write snapshots could state
anything of a job.
An adapter with a `Seal` keeps a MAC beside what it saves, and drops what has none that holds: as if somebody had
deleted it, so the entries are folded.

A MAC for every snapshot would still let an older one of the same job be put back. So the record that says what all of
them cover has a MAC over the set of them, too: the sum of numbers that only holders of the key can compute, one for
every snapshot, which is kept up with a subtraction and an addition for every one that is replaced. Nobody else ever
learns a number or a sum, so no other set with the same sum can be searched for. Source: RFC 2104 (HMAC); Clarke et
al., Incremental Multiset Hash Functions, 2003.
"""

import hmac
import logging
from typing import Final, NamedTuple

log = logging.getLogger(__name__)

LEAST: Final = 32
"""Bytes of a key, at least."""

_HALF: Final = 32
_SUMS: Final = 1 << 256


class Mark(NamedTuple):
    """`mac` stands beside what is saved; `member` stands for it in the sum, and is never written anywhere."""

    mac: bytes
    member: int


class Seal:
    """Makes and checks MACs with `key`, for what is saved in `scope`: what was saved elsewhere does not hold."""

    def __init__(self, key: bytes, scope: str) -> None:
        self._key = hmac.digest(key, b"snapshot " + scope.encode(), "sha512")
        self._whole = hmac.digest(key, b"covered " + scope.encode(), "sha512")

    def mark(self, key: bytes, value: bytes) -> Mark:
        """Of what is saved as `value` under `key`."""
        digest = hmac.digest(self._key, b"%d %b%b" % (len(key), key, value), "sha512")
        return Mark(digest[:_HALF], int.from_bytes(digest[_HALF:]))

    def whole(self, value: bytes, total: int) -> bytes:
        """The MAC of the record that says what is covered, and of the set whose members sum up to `total`."""
        return hmac.digest(self._whole, (total % _SUMS).to_bytes(_HALF) + value, "sha512")[:_HALF]


def holds(said: object, mac: bytes) -> bool:
    """`said`, which anybody may have written, is `mac`. Takes as long whatever it is."""
    return isinstance(said, bytes) and hmac.compare_digest(said, mac)


def warn_of_refused(count: int, where: str) -> int:
    """`count`: so many snapshots there are not used, and the log says so if there are any."""
    if count:
        fields = {"action": "snapshots-refused", "count": count, "where": where}
        log.warning("snapshots are not used: no holder of our key has made them", extra=fields)
    return count
