"""Literal values of environment variables, kept out of the log: references go in (ADR 0022).

The bridge conceals a job's spec before anybody else gets it. Who makes a pod reads the job object, and puts back each
value whose hash is the one that the log has. Keys are in a file that only bridges and projectors read.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from statemachine.concealed import is_reference, reference, with_variables
from statemachine.errors import ConfigError
from statemachine.observations import JobObserved

_BYTES = 32
"""Of a key that is made here."""

_SHORTEST = 16
"""Characters of a key: what can be tried out is none."""


class Unresolved(Exception):
    """The job object does not have values any more that pods of it need; `names` are the variables."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(dict.fromkeys(names))
        super().__init__(
            "the job's env has other values than at its creation, and the log has none of them: "
            f"{', '.join(self.names)}; put them back (or the key that privacy.key_file held), "
            "or delete and create the job again"
        )


@dataclass(frozen=True, slots=True)
class EnvValues:
    """References for values, and values for references. With the first of the `keys` new ones are made.

    What was made with any of them is understood. With `conceals` off nothing new is concealed: jobs that were, still
    get their values.
    """

    keys: tuple[bytes, ...] = field(default=(), repr=False)
    conceals: bool = False

    @classmethod
    def of(cls, file: Path | None, *, conceals: bool, made: Path | None = None) -> Self:
        """With the keys in `file`, one a line; where none is named, in the file `made`, which is made if needed.

        Raises:
            ConfigError: there is no key, or none that is one.
        """
        path = file or made
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

    def concealed(self, seen: JobObserved) -> JobObserved:
        """The observation without literal values of environment variables."""
        if not self.conceals:
            return seen

        def change(name: str, value: Any) -> Any:
            if isinstance(value, str):
                return self._reference(self.keys[0], seen.job, name, value)
            return type(value)() if isinstance(value, bool | int | float | list | dict) else None

        return seen.model_copy(update={"spec": with_variables(dict(seen.spec), change)})

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

        found: dict[str, Any] = with_variables(manifest, change)
        if lost:
            raise Unresolved(lost)
        return found

    def values(self, job: Mapping[str, Any]) -> Mapping[str, str]:
        """What the references to values of the job object stand for."""
        found: dict[str, str] = {}

        def note(name: str, value: Any) -> Any:
            if isinstance(value, str):
                for key in self.keys:
                    found[self._reference(key, job["metadata"]["uid"], name, value)] = value
            return value

        with_variables(job.get("spec") or {}, note)
        return found

    def _reference(self, key: bytes, uid: str, name: str, value: str) -> str:
        """Of one job and variable: equal values of two do not show that they are equal."""
        said = "\0".join((uid, name, value)).encode("utf-8", "surrogatepass")
        digest = hmac.new(key, said, hashlib.sha256).hexdigest()[:32]
        return reference(_name(key), digest, several_lines="\n" in value)


def needs_values(manifest: Mapping[str, Any]) -> bool:
    """References stand in it."""
    found: list[bool] = []

    def note(_: str, value: Any) -> Any:
        found.append(is_reference(value))
        return value

    with_variables(manifest, note)
    return any(found)


def _name(key: bytes) -> str:
    return hmac.new(key, b"name", hashlib.sha256).hexdigest()[:8]


def _make(path: Path) -> None:
    """A new key is in the file, which nobody but its owner may read; unless somebody was quicker."""
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise ConfigError(f"the key for env values cannot be written to {path}: {error.strerror}") from error
    with os.fdopen(made, "w") as file:
        file.write(secrets.token_hex(_BYTES) + "\n")


def _read(path: Path) -> tuple[bytes, ...]:
    try:
        found = tuple(each.strip() for each in path.read_bytes().splitlines() if each.strip())
    except OSError as error:
        raise ConfigError(f"the key for env values cannot be read from {path}: {error.strerror}") from error
    if not found or min(map(len, found)) < _SHORTEST:
        raise ConfigError(
            f"{path} must hold keys for env values, one a line, of {_SHORTEST} characters or more"
        )
    return found
