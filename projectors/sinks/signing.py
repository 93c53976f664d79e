"""Signatures of web hooks: keys in files → the header `webhook-signature`.

A file holds one key: `whsec_` and the base64 of 24 to 64 bytes (HMAC-SHA256, `v1`), or `whsk_` and the base64 of an
Ed25519 seed of 32 bytes (`v1a`), alone or with its public key behind it. Files are read for every attempt, so a key
that is replaced is used at once; receivers accept a message if one of its signatures fits, so old and new key stand
side by side during a rotation. Source: Standard Webhooks 1.0.
"""

import base64
import binascii
import hashlib
import hmac
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from statemachine.errors import ConfigError

_SHARED: Final = "whsec_"
_OWN: Final = "whsk_"
_SHORTEST, _LONGEST = 24, 64
_SEED: Final = 32

log = logging.getLogger(__name__)


class Key(Protocol):
    """What one key signs with."""

    def sign(self, content: bytes) -> str:
        """The signature of the content, with its version in front."""


class Secret:
    """A key that sender and receiver share."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, content: bytes) -> str:
        """`v1,` and the HMAC-SHA256 in base64."""
        return "v1," + base64.b64encode(hmac.digest(self._secret, content, hashlib.sha256)).decode()


class PrivateKey:
    """A key whose public part the receiver has."""

    def __init__(self, seed: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(seed)

    def sign(self, content: bytes) -> str:
        """`v1a,` and the Ed25519 signature in base64."""
        return "v1a," + base64.b64encode(self._key.sign(content)).decode()


def key(text: str) -> Key:
    """The key that the text of a file holds. Raises ValueError, which never quotes the text."""
    text = text.strip()
    prefix = _SHARED if text.startswith(_SHARED) else _OWN if text.startswith(_OWN) else ""
    if not prefix:
        raise ValueError("must begin with whsec_ (HMAC) or whsk_ (Ed25519)")
    try:
        raw = base64.b64decode(text.removeprefix(prefix), validate=True)
    except binascii.Error:
        raise ValueError(f"must hold base64 behind {prefix}") from None
    if prefix == _OWN:
        if len(raw) not in {_SEED, 2 * _SEED}:
            raise ValueError(f"must hold 32 or 64 bytes behind {prefix}, not {len(raw)}")
        return PrivateKey(raw[:_SEED])
    if not _SHORTEST <= len(raw) <= _LONGEST:
        raise ValueError(f"must hold {_SHORTEST} to {_LONGEST} bytes behind {prefix}, not {len(raw)}")
    return Secret(raw)


class Keys:
    """The keys in these files. Raises ConfigError where one of them cannot be used at the start."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._keys = {file: _read(file) for file in files}

    def signature(self, id_: str, timestamp: int, body: bytes) -> str:
        """One signature a key, with blanks between them. `timestamp`: seconds since 1970 of this attempt.

        A file that cannot be read while it is replaced leaves the key that it held before in use.
        """
        self._renew()
        content = b"%b.%d.%b" % (id_.encode(), timestamp, body)
        return " ".join(used.sign(content) for used in self._keys.values())

    def _renew(self) -> None:
        for file in self._keys:
            try:
                self._keys[file] = _read(file)
            except ConfigError:
                log.warning(
                    "the file of a key cannot be used; the key that it held stays in use",
                    extra={"action": "key", "file": str(file)},
                )


def _read(file: Path) -> Key:
    try:
        return key(file.read_text(encoding="ascii"))
    except OSError as error:
        raise ConfigError(f"the key file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"the key file {file} holds no text of a key") from None
    except ValueError as error:
        raise ConfigError(f"the key file {file} {error}") from None
