"""What a ledger is called: written once, when somebody first publishes of it, and never changed.

Public events name it in their `source`, so that two with equal source and id are one (ADR 0035). Here are ledgers in
files; `statemachine.log.kafka.identity` has those in Kafka.
"""

import sqlite3
from pathlib import Path
from typing import Final, NamedTuple, Self
from uuid import uuid4

from statemachine.errors import ConfigError, StoreUnusable
from statemachine.log.storefile import OpenedFile, open_beside, open_reader, translated

_ID: Final = "ledger id"
_NAME: Final = "ledger name"

_SHORT: Final = 12
"""Hex digits of its id by which a ledger is called that was given no name."""


class Identity(NamedTuple):
    """`id` is the ledger's own, also among copies of it; `name` is what users call it."""

    id: str
    name: str

    @classmethod
    def new(cls, name: str = "") -> Self:
        """That of a ledger which has none yet."""
        id_ = str(uuid4())
        return cls(id_, name or id_.replace("-", "")[:_SHORT])

    def agreed(self, name: str, where: str) -> Self:
        """Itself, of the ledger in `where`, if that is called `name` or none is given. Raises ConfigError."""
        if name and self.name != name:
            raise ConfigError(
                f"the ledger in {where} is called {self.name}, and a name stays; leave out the setting ledger.name, "
                f"which says {name}"
            )
        return self


def identity(path: Path, name: str = "") -> Identity:
    """The identity of the store at `path`, made now if it has none; `name`: what it is to be called.

    Raises:
        ConfigError: it is called otherwise, for good.
        StoreUnusable: there is no store; or it has no identity, and cannot be written.
    """
    known = known_identity(path)
    if known is None:
        try:
            known = _made(path, name)
        except StoreUnusable as error:
            raise StoreUnusable(f"store {path} has no name yet, and cannot be given one: {error}") from error
    return known.agreed(name, str(path))


def known_identity(path: Path) -> Identity | None:
    """The identity that the store at `path` has; None without one. Raises StoreUnusable."""
    opened = open_reader(path)
    try:
        return _of(opened)
    except sqlite3.Error as error:
        raise translated(error, path) from error
    finally:
        opened.connection.close()


def _made(path: Path, name: str) -> Identity:
    """Two that come at once agree: the first one's rows stay."""
    opened, new = open_beside(path), Identity.new(name)
    try:
        opened.connection.execute("BEGIN IMMEDIATE")
        if _of(opened) is None:
            opened.connection.executemany(
                "INSERT INTO meta VALUES (?, ?)", [(_ID, new.id), (_NAME, new.name)]
            )
        opened.connection.execute("COMMIT")
        return _of(opened) or new
    except sqlite3.Error as error:
        raise translated(error, path) from error
    finally:
        opened.connection.close()


def _of(opened: OpenedFile) -> Identity | None:
    rows = dict(
        opened.connection.execute("SELECT key, value FROM meta WHERE key IN (?, ?)", (_ID, _NAME)).fetchall()
    )
    return Identity(rows[_ID], rows[_NAME]) if _ID in rows else None
