"""Bearer tokens for brokers that take OAUTHBEARER: from a file that somebody else keeps fresh."""

import asyncio
import base64
import json
from datetime import UTC, datetime
from pathlib import Path

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import SaslAuthenticationFailed


class TokenFile(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    """The token in a file, read at every connection: kubelets and agents put a new one there before one expires."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        """See AbstractTokenProvider.

        Raises:
            SaslAuthenticationFailed: there is none, or it has expired. A broker says so in an answer that aiokafka
                does not look at, and closes the connection after that.
        """
        token = await asyncio.to_thread(self.read)
        expires = _expiry(token)
        if expires is not None and expires <= datetime.now(UTC):
            raise SaslAuthenticationFailed(f"that in {self._path} expired at {expires:%Y-%m-%dT%H:%M:%SZ}")
        return token

    def read(self) -> str:
        """The token as it is now. Raises SaslAuthenticationFailed."""
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SaslAuthenticationFailed(f"kafka.token_file cannot be read: {error}") from error
        if not token or not token.isascii() or any(character.isspace() for character in token):
            raise SaslAuthenticationFailed(f"kafka.token_file {self._path} holds no token")
        return token


def _expiry(token: str) -> datetime | None:
    """When a JWT expires; None if it does not say, or is another kind of token. Source: RFC 7519, section 4.1.4."""
    _, _, rest = token.partition(".")
    claims = rest.partition(".")[0]
    try:
        said = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return datetime.fromtimestamp(said["exp"], UTC)
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return None
