"""Who gets the key of snapshots, and which files are none."""

import stat
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from jobledger.wiring import embedded
from jobledger.wiring.keys import _make, beside, key_of
from jobledger.wiring.ledger import ledger_of
from jobledger.wiring.roles import ALL, Role
from statemachine.errors import ConfigError, StoreUnusable


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def test_it_is_made_beside_the_store_for_its_owner_alone(store: Path) -> None:
    key = key_of(None, store, ALL)
    assert key is not None
    assert len(key) == 64
    assert stat.S_IMODE(beside(store).stat().st_mode) == 0o600
    assert key_of(None, store, ALL) == key
    assert [path.name for path in store.parent.iterdir()] == ["ledger.db.key"]


@pytest.mark.parametrize("role", [Role.BRIDGE, Role.FRONT])
def test_a_role_that_needs_none_gets_none_and_makes_none(store: Path, role: Role) -> None:
    assert key_of(None, store, frozenset({role})) is None
    assert key_of(store.with_name("not-there"), store, frozenset({role})) is None
    assert not beside(store).exists()


@pytest.mark.parametrize("role", [Role.ENGINE, Role.PROJECTORS])
def test_an_engine_and_projectors_have_the_same(store: Path, role: Role) -> None:
    assert key_of(None, store, frozenset({role})) == key_of(None, store, ALL)


def test_a_log_in_kafka_has_one_if_it_is_given_one(store: Path) -> None:
    assert key_of(None, None, ALL) is None
    given = store.with_name("given")
    given.touch(0o440)
    given.chmod(0o640)
    given.write_bytes(b"k" * 32 + b"\n")
    assert key_of(given, None, ALL) == b"k" * 32
    assert key_of(given, store, ALL) == b"k" * 32
    assert not beside(store).exists()


@pytest.mark.parametrize("mode", [0o604, 0o606, 0o620, 0o644, 0o601])
def test_one_that_others_may_read_or_change_is_refused(store: Path, mode: int) -> None:
    key_of(None, store, ALL)
    beside(store).chmod(mode)
    with pytest.raises(ConfigError, match=f"others can read or change .*mode {mode:04o}.*chmod 0600"):
        key_of(None, store, ALL)


def test_one_that_is_short_is_refused(store: Path) -> None:
    given = store.with_name("given")
    given.touch(0o600)
    given.write_bytes(b"\n" * 40 + b"k" * 31)
    with pytest.raises(ConfigError, match="has 31 bytes, and needs 32 at least"):
        key_of(given, None, ALL)


def test_one_that_is_named_and_not_there_is_reported(store: Path) -> None:
    with pytest.raises(ConfigError, match=r"given, cannot be read \(No such file.*SNAPSHOT_KEY_FILE"):
        key_of(store.with_name("given"), store, ALL)


def test_where_none_can_be_made_is_reported() -> None:
    with pytest.raises(StoreUnusable, match=r"ledger\.db\.key, cannot be made: "):
        key_of(None, Path("/proc/ledger.db"), ALL)  # even root makes no file there


def test_a_folder_that_is_not_there_is_left_to_the_store_to_tell(tmp_path: Path) -> None:
    assert key_of(None, tmp_path / "absent" / "ledger.db", ALL) is None


def test_who_comes_second_with_a_key_takes_the_first_ones(store: Path) -> None:
    """Both have looked, and there was none."""
    file = beside(store)
    _make(file)
    key = file.read_bytes()
    _make(file)
    assert file.read_bytes() == key
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_those_who_make_it_at_once_agree(store: Path) -> None:
    code = "import sys; from pathlib import Path; from jobledger.wiring.keys import key_of; "
    code += "from jobledger.wiring.roles import ALL; print(key_of(None, Path(sys.argv[1]), ALL))"
    running = [Popen([sys.executable, "-c", code, str(store)], stdout=PIPE) for _ in range(4)]
    assert len({process.communicate()[0] for process in running}) == 1
    assert [path.name for path in store.parent.iterdir()] == ["ledger.db.key"]


async def test_a_controller_of_one_machine_has_one(store: Path) -> None:
    async with embedded(store):
        assert beside(store).exists()


async def test_the_front_of_a_file_leaves_the_key_alone(store: Path) -> None:
    async with ledger_of(store, frozenset({Role.ENGINE, Role.BRIDGE})):
        beside(store).chmod(0o666)
    async with ledger_of(store, frozenset({Role.FRONT})) as ledger:
        assert len(ledger.partitions.logs) == 1
    with pytest.raises(ConfigError, match="others can read"):
        async with ledger_of(store, frozenset({Role.PROJECTORS})):
            pass
