"""Where things stand beside a store: the folder of what pods write, and the socket of its server."""

import hashlib
import os
import pwd
import tempfile
from pathlib import Path
from typing import Final

from jobledger.settings.values import default_store
from statemachine.errors import StoreUnusable

_LONGEST: Final = 100
"""Bytes of a socket's path. The kernel takes 108 on Linux and 104 on macOS, an end mark included."""


def make_default_folder(store: Path) -> None:
    """The folder of `store` exists, if it is the default one; any other is the user's to make.

    Raises:
        StoreUnusable: it cannot be made.
    """
    if store != default_store():
        return
    try:
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnusable(
            f"the folder {store.parent} cannot be made ({error.strerror}); name a store elsewhere with --store"
        ) from error


def data_folder(store: Path) -> Path:
    """Logs, states and volumes of the pods that run as processes."""
    return store.with_name(store.name + ".data")


def socket_path(store: Path) -> Path:
    """Where the server of the store listens: next to it, or, if that path is too long, in a private folder."""
    store = store.resolve()
    beside = store.with_name(store.name + ".sock")
    if len(os.fsencode(beside)) <= _LONGEST:
        return beside
    short = hashlib.sha256(os.fsencode(store)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"jobledger-{os.getuid()}" / f"{short}.sock"


def user_name() -> str:
    """The name of the user of this process; its number if it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
