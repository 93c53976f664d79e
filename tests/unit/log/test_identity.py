"""What a ledger in a file is called."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from statemachine.errors import ConfigError, StoreUnusable
from statemachine.log.identity import identity
from statemachine.log.storefile import open_owner


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    opened = open_owner(path)
    opened.connection.close()
    if opened.lock:
        opened.lock.release()
    return path


def test_a_ledger_without_a_name_is_called_by_the_beginning_of_its_id(store: Path) -> None:
    made = identity(store)
    assert made.name == made.id.replace("-", "")[:12]
    assert identity(store) == made


def test_a_name_is_written_once_and_stays(store: Path) -> None:
    assert identity(store, "prod-1").name == "prod-1"
    assert identity(store).name == "prod-1"
    with pytest.raises(ConfigError, match="is called prod-1"):
        identity(store, "prod-2")


def test_a_store_that_cannot_be_written_keeps_its_name_and_gets_none(store: Path) -> None:
    other = store.with_name("copy.db")
    made = identity(store, "prod-1")
    other.write_bytes(store.read_bytes())
    with sqlite3.connect(other) as connection:
        connection.execute("DELETE FROM meta WHERE key LIKE 'ledger %'")
    connection.close()
    store.chmod(0o400)
    assert identity(store) == made


def test_those_who_come_at_once_agree(store: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: identity(store), range(16)))
    assert len(made) == 1


def test_there_is_no_name_without_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="there is no store"):
        identity(tmp_path / "none.db")
