"""What must not be shown: values of environment variables that look like secrets (design rule 8).

They stand in pod templates, and those are in the log as the user wrote them; whoever prints from it comes
through here.
"""

import re
from typing import Any, Final

REDACTED: Final = "<redacted>"

_NAME: Final = re.compile(
    r"SECRET|TOKEN(?!IZER)|PASSW|PASSPHRASE|PASS$|_PASS_|PWD(?<!^PWD)(?<!^OLDPWD)|KEY|CREDENTIAL|AUTH|PRIVATE"
    r"|CERT|COOKIE|SESSION|SIGNATURE|SALT$|DSN$|WEBHOOK",
    re.IGNORECASE,
)
_URL: Final = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""A password inside of an address."""


def is_secret(name: str, value: object = "") -> bool:
    """The environment variable `name` (or its value) looks like a secret."""
    return bool(_NAME.search(name)) or (isinstance(value, str) and bool(_URL.search(value)))


def redacted(value: Any) -> Any:
    """A copy of plain data in which no secret stands: every `env` list, and maps called `env`, are looked at."""
    if isinstance(value, dict):
        return {key: _env(inner) if key == "env" else redacted(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(each) for each in value]
    return value


def _env(env: Any) -> Any:
    if isinstance(env, dict):
        return {
            name: REDACTED if is_secret(str(name), each) else redacted(each) for name, each in env.items()
        }
    if isinstance(env, list):
        return [_entry(each) for each in env]
    return env


def _entry(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    value, name = entry.get("value"), entry.get("name")
    if value in (None, "") or not is_secret(name if isinstance(name, str) else "", value):
        return redacted(entry)
    return {**redacted(entry), "value": REDACTED}
