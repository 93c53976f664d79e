"""MACs of snapshots: a reader with the key uses only snapshots that a holder of the key has saved.

A reader uses a snapshot instead of its entries, so a writer of snapshots could forge any state of a job. An adapter
with a `Seal` keeps a MAC beside every snapshot, and drops those without a valid one: then the entries are folded.

A MAC for every snapshot would still let an attacker put back an older one of the same job. So the record of what all
snapshots cover has a MAC over their set, too: the sum of numbers that only holders of the key can compute, one for
every snapshot. Replacing a snapshot costs one subtraction and one addition. The numbers and the sum stay secret, so
no other set with the same sum can be searched for. Source: RFC 2104 (HMAC); Clarke et al., Incremental Multiset Hash
Functions, 2003.
"""

import hashlib
import hmac
import logging
from typing import Final, NamedTuple

log = logging.getLogger(__name__)

LEAST: Final = 32
"""The least number of bytes of a key."""

_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))
"""What the bytes of the key become in the two hashes of HMAC. Source: RFC 2104, section 2."""

_HALF: Final = 32
_SUMS: Final = 1 << 256


class MacPair(NamedTuple):
    """`mac` is saved beside a snapshot; `member` is its number in the sum, and is never written."""

    mac: bytes
    member: int


class Seal:
    """Makes and checks MACs with `key` for snapshots in `scope`: those of another scope are invalid."""

    def __init__(self, key: bytes, scope: str) -> None:
        self._snapshot = _Hmac(hmac.digest(key, b"snapshot " + scope.encode(), "sha512"))
        self._covered = _Hmac(hmac.digest(key, b"covered " + scope.encode(), "sha512"))

    def mark(self, key: bytes, value: bytes) -> MacPair:
        """The mark of `value`, which is saved under `key`."""
        digest = self._snapshot.digest(b"%d %b%b" % (len(key), key, value))
        return MacPair(digest[:_HALF], int.from_bytes(digest[_HALF:]))

    def whole(self, value: bytes, total: int) -> bytes:
        """The MAC of the record of what is covered, and of the set whose members sum up to `total`."""
        return self._covered.digest((total % _SUMS).to_bytes(_HALF) + value)[:_HALF]


class _Hmac:
    """HMAC-SHA-512 of many short messages with one key, two and a half times as fast as `hmac.digest`.

    The blocks of the key are hashed once. Source: RFC 2104, section 4.
    """

    def __init__(self, key: bytes) -> None:
        block = key.ljust(hashlib.sha512().block_size, b"\0")
        self._inner = hashlib.sha512(block.translate(_INNER))
        self._outer = hashlib.sha512(block.translate(_OUTER))

    def digest(self, message: bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()


def holds(claimed: object, mac: bytes) -> bool:
    """`claimed`, which an attacker may have written, is `mac`. Compares in constant time."""
    return isinstance(claimed, bytes) and hmac.compare_digest(claimed, mac)


def warn_of_refused(count: int, where: str) -> int:
    """Logs a warning if there are snapshots that are not used. Returns their number, `count`."""
    if count:
        fields = {"action": "snapshots-refused", "count": count, "where": where}
        log.warning("snapshots are not used: no holder of our key has made them", extra=fields)
    return count
