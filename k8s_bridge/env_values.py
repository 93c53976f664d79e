"""Literal values of environment variables, kept out of the log: references go in (ADR 0022).

The bridge conceals a job's spec before any other part gets it. The projector that makes a pod reads the job object,
and puts back each value whose hash the log has. Keys are in a file that only bridges and projectors read.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from statemachine.concealed import is_reference, reference, variables, with_variables
from statemachine.errors import ConfigError
from statemachine.observations import JobObserved

_BYTES = 32
"""The length of a key that is made here."""

_SHORTEST = 16
"""The least characters of a key: a shorter one could be guessed."""


class Unresolved(Exception):
    """The job object has lost values that its pods need; `names` are the variables."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(dict.fromkeys(names))
        super().__init__(
            "the job's env has other values than at its creation, and the log has none of them: "
            f"{', '.join(self.names)}; put them back (or the key that privacy.key_file held), "
            "or delete and create the job again"
        )


@dataclass(frozen=True, slots=True)
class EnvValues:
    """References for values, and values for references. The first of the `keys` makes new ones, all resolve them.

    With `conceals` off no new values are concealed; jobs with concealed ones still get theirs.
    """

    keys: tuple[bytes, ...] = field(default=(), repr=False)
    conceals: bool = False

    @classmethod
    def of(cls, file: Path | None, *, conceals: bool, fallback: Path | None = None) -> Self:
        """Reads keys from `file`, one a line; without one from the file `fallback`, which is made if needed.

        Raises:
            ConfigError: there is no key, or no valid one.
        """
        path = file or fallback
        if path is None:
            if conceals:
                raise ConfigError(
                    "privacy.env_values is off, and no key is there: name its file with privacy.key_file"
                )
            return cls()
        if file is None and not path.exists():
            if not conceals:
                return cls()
            _make(path)
        return cls(_read(path), conceals)

    def concealed(self, job: JobObserved) -> JobObserved:
        """The observation without literal values of environment variables."""
        if not self.conceals:
            return job

        def change(name: str, value: Any) -> Any:
            if isinstance(value, str):
                return self._reference(self.keys[0], job.job, name, value)
            return type(value)() if isinstance(value, bool | int | float | list | dict) else None

        return job.changed(spec=with_variables(dict(job.spec), change))

    def resolved(
        self,
        manifest: dict[str, Any],
        values: Mapping[str, str],
        expand: Callable[[str], str] | None = None,
    ) -> dict[str, Any]:
        """The manifest with values (see `values`), expanded, in the places of references. Raises Unresolved."""
        lost: list[str] = []

        def change(name: str, value: Any) -> Any:
            if is_reference(value) and value not in values:
                lost.append(name)
            if not is_reference(value) or value not in values:
                return value
            return expand(values[value]) if expand else values[value]

        result: dict[str, Any] = with_variables(manifest, change)
        if lost:
            raise Unresolved(lost)
        return result

    def values(self, job: Mapping[str, Any]) -> Mapping[str, str]:
        """The values of the job object's environment variables, by reference."""
        if not self.keys:
            return {}
        return {
            self._reference(key, job["metadata"]["uid"], name, value): value
            for name, value in variables(job.get("spec") or {})
            if isinstance(value, str)
            for key in self.keys
        }

    def _reference(self, key: bytes, uid: str, name: str, value: str) -> str:
        """The reference of a value of one job and variable: equal values of two of them have different ones."""
        message = "\0".join((uid, name, value)).encode("utf-8", "surrogatepass")
        digest = hmac.new(key, message, hashlib.sha256).hexdigest()[:32]
        return reference(_name(key), digest, several_lines="\n" in value)


def needs_values(manifest: Mapping[str, Any]) -> bool:
    """The manifest has references."""
    return any(is_reference(value) for _, value in variables(manifest))


def _name(key: bytes) -> str:
    return hmac.new(key, b"name", hashlib.sha256).hexdigest()[:8]


def _make(path: Path) -> None:
    """Makes a file with a new key, which only its owner may read, unless another process was quicker."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise ConfigError(f"the key for env values cannot be written to {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(_BYTES) + "\n")


def _read(path: Path) -> tuple[bytes, ...]:
    try:
        keys = tuple(line.strip() for line in path.read_bytes().splitlines() if line.strip())
    except OSError as error:
        raise ConfigError(f"the key for env values cannot be read from {path}: {error.strerror}") from error
    if not keys or min(map(len, keys)) < _SHORTEST:
        raise ConfigError(
            f"{path} must hold keys for env values, one a line, of {_SHORTEST} characters or more"
        )
    return keys
