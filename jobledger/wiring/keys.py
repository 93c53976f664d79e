"""The key of snapshots: a file that only engines and projectors can read (ADR 0020)."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from jobledger.wiring.roles import Role, Roles
from statemachine.errors import ConfigError, StoreUnusable
from statemachine.log.seal import LEAST

_HOLDERS: Final = frozenset({Role.ENGINE, Role.PROJECTORS})

_LARGEST: Final = 64 << 10


def key_of(file: Path | None, store: Path | None, roles: Roles) -> bytes | None:
    """What is in `file`; without one in the file beside `store`, made if there is none. None for other roles.

    Without a file and a store (a log in Kafka) there is no key.

    Raises:
        ConfigError: the file cannot be read, others may read it, or it is too short.
        StoreUnusable: none can be made beside the store.
    """
    if not roles & _HOLDERS:
        return None
    if file is None and store is not None:
        file = beside(store)
        if not file.parent.is_dir():
            return None  # the store cannot be there either, and says so
        if not file.exists():
            _make(file)
    return _read(file) if file is not None else None


def beside(store: Path) -> Path:
    """Where the key of a store is if nobody says."""
    store = store.resolve()
    return store.with_name(store.name + ".key")


def _read(file: Path) -> bytes:
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        with file.open("rb") as opened:
            key = opened.read(_LARGEST).strip()
    except OSError as error:
        raise ConfigError(
            f"the key of snapshots, {file}, cannot be read ({error.strerror}); "
            "JOBLEDGER_SNAPSHOT_KEY_FILE says where it is"
        ) from error
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise ConfigError(
            f"others can read or change the key of snapshots, {file} (mode {mode:04o}); "
            f"`chmod 0600 {file}`, or defaultMode 0440 where it is a Secret"
        )
    if len(key) < LEAST:
        raise ConfigError(
            f"the key of snapshots, {file}, has {len(key)} bytes, and needs {LEAST} at least; "
            f"`head -c {LEAST} /dev/urandom | base64 >{file}` makes one"
        )
    return key


def _make(file: Path) -> None:
    """Whole or not there: another process may look for it in the same moment, and the first one's stays."""
    made = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    try:
        with open(made, "xb", opener=_private) as opened:
            opened.write(secrets.token_hex(LEAST).encode() + b"\n")
            opened.flush()
            os.fsync(opened.fileno())
        with suppress(FileExistsError):
            os.link(made, file)
    except OSError as error:
        raise StoreUnusable(f"the key of snapshots, {file}, cannot be made: {error.strerror}") from error
    finally:
        made.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
