"""Which names say that their value is a secret. Pure.

Environment variables are judged by what stands anywhere in their names: one too many that is hidden costs little.
Flags, fields and keys of configuration are judged word by word, because `--max-tokens`, `--sort-key` and
`--tokenizer` are what people look for.
"""

import re
from functools import lru_cache
from typing import Final

_VARIABLE: Final = re.compile(
    r"SECRET|TOKEN(?!IZER)|PASSW|PASSPHRASE|PASS$|_PASS_|PWD(?<!^PWD)(?<!^OLDPWD)|KEY|CREDENTIAL|AUTH|PRIVATE"
    r"|CERT|COOKIE|SESSION|SIGNATURE|SALT$|DSN$|WEBHOOK",
    re.IGNORECASE,
)
_URL: Final = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""A password inside of an address."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_ALWAYS: Final = re.compile(
    r"secret|passw|passphrase|passcode|credential|apikey|accesskey|privatekey|authkey|sshkey|authtoken|accesstoken"
)
"""In a word anywhere."""

_LAST: Final = frozenset(
    {"pwd", "pw", "auth", "authorization", "bearer", "cookie", "dsn", "sig", "signature", "webhook", "salt"}
)
"""As the last word."""

_HARMLESS_LAST: Final = re.compile(
    r"file|files|path|paths|dir|directory|folder|name|names|namespace|ref|refs|type|kind|class|mode|"
    r"provider|providers|ttl|expiry|expiration|seconds|timeout|count|limit|budget|length|len|size|enabled|"
    r"required|policy|env|var|method|format|host|port|url|uri|endpoint|version|manager|store|backend|"
    r"rotation|interval|service|account"
)
"""What says something about a secret, or where it is."""

_BEFORE_PASS: Final = re.compile(
    r"db|database|user|admin|root|login|smtp|ftp|http|proxy|mysql|postgres|pg|redis|mongo|registry|key|"
    r"ldap"
)

_NO_TOKEN: Final = re.compile(
    r"pad|eos|bos|unk|mask|sep|cls|stop|start|end|special|image|max|min|num|per|next|first|last|new|begin|"
    r"boi|eoi|eot|pred|word|sub|sequence|decoder|encoder|prefix|suffix|each|video|audio|visual|class|"
    r"media|separator|fim|space|forced|trigger|placeholder"
)
"""Words before `token` that make it one of a vocabulary."""

_TOKENS: Final = re.compile(r"api|auth|access|refresh|secret|session|bearer")

_NO_KEY: Final = re.compile(
    r"sort|text|label|image|input|output|primary|foreign|partition|routing|data|feature|target|prompt|"
    r"column|json|dict|metric|state|cache|hot|group|public|batch|loss|value|topology|index|row|field|item|"
    r"meta|metadata|config|map|join|order|query|head|num|video|audio|caption|response|answer|question|"
    r"message|messages|model|weight|param|dataset|split|train|eval|test|val|id|name|by|per|first|last|"
    r"score|reward|chosen|rejected|completion|instruction|monitor|tensor|checkpoint|module|layer|lr|step|"
    r"idempotency|object|the|a|no"
)
"""Words before `key` that make it one of a table."""

_AFTER_KEY: Final = re.compile(r"id|data|material|pem|base64|value")


def is_secret(name: str, value: object = "") -> bool:
    """The environment variable `name` (or its value) looks like a secret."""
    return bool(_VARIABLE.search(name)) or (isinstance(value, str) and bool(_URL.search(value)))


@lru_cache(maxsize=4096)
def is_secret_key(name: str) -> bool:
    """The flag, field or key `name` has a secret for its value."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and (words[-1].isdigit() or words[-1] == "value"):
        words.pop()
    if not words or _HARMLESS_LAST.fullmatch(words[-1]):
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _LAST or any(map(_ALWAYS.search, words)):
        return True
    match last:
        case "token":
            return not _NO_TOKEN.fullmatch(before)
        case "tokens":
            return bool(_TOKENS.fullmatch(before))
        case "pass":
            return not before or bool(_BEFORE_PASS.fullmatch(before))
        case "key":
            return _has_key(words)
        case _:
            return _has_key(words[:-1]) and bool(_AFTER_KEY.fullmatch(last))


def _has_key(words: list[str]) -> bool:
    """The words end in a key that something is unlocked with."""
    return len(words) > 1 and words[-1] == "key" and not _NO_KEY.fullmatch(words[-2])
