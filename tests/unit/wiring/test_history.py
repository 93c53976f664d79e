"""Where a history is, as its URL says it: what is refused, and that no password is ever shown."""

from pathlib import Path

import pytest

from jobledger.settings.model import Settings
from jobledger.wiring.history import history_of, shown, where_of
from jobledger.wiring.ledger import ledger_of
from jobledger.wiring.roles import Role
from projectors.history import HistoryProjector
from projectors.history.address import PostgresAddress
from statemachine.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://me:secret@db.example:6543/ledger", "postgresql://me@db.example:6543/ledger"),
        ("postgres://me:secret@[::1]/ledger", "postgresql://me@[::1]:5432/ledger"),
        ("postgresql://db/ledger?sslmode=require&password=secret", "postgresql://db:5432/ledger"),
        ("postgresql:///ledger?host=/run/postgresql&user=secret", "postgresql:///ledger"),
        ("postgresql://me:sec%2Fret%40@db/a%20b", "postgresql://me@db:5432/a%20b"),
        ("sqlite:///var/lib/history.db", "sqlite:///var/lib/history.db"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, says: str) -> None:
    where = where_of(url)
    assert shown(where) == says
    assert "sec" not in repr(where)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:secret@db/ledger",
        "secret",
        "postgresql://me:secret@db",
        "postgresql://me:secret@db/",
        "postgresql://me:secret@db:port/ledger",
        "postgresql://me:secret@db:0/ledger",
        "postgresql://me:secret@db:65536/ledger",
        "postgresql://me:secret@one:5432,two:5433/ledger",
        "postgresql://me:sec#ret@db/ledger",
        "postgresql://me:sec/ret@db/ledger",
        "postgresql://me:sec?ret@db/ledger",
        "postgresql://me:secret@[::1/ledger",
        "sqlite://secret",
        "sqlite:",
    ],
)
def test_what_is_no_url_of_a_history_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="--history needs a URL such as") as refused:
        where_of(url)
    assert "sec" not in str(refused.value)


def test_settings_never_show_the_url() -> None:
    settings = Settings.model_validate({"history": "postgresql://me:secret@db/ledger"})
    assert "secret" not in repr(settings)
    assert "secret" not in str(settings)


def test_a_file_with_the_password_has_to_be_there(tmp_path: Path) -> None:
    said = {"history": "postgresql://me@db/ledger", "history_password_file": tmp_path / "no"}
    with pytest.raises(ConfigError, match="there is no file"):
        history_of(Settings.model_validate(said))


def test_the_password_is_the_file_without_its_line_end(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("open-sesame\n", encoding="utf-8")
    assert PostgresAddress.of("postgresql://me@db/ledger", file).password() == "open-sesame"


def test_a_client_that_is_not_installed_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jobledger.wiring.history.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"install `jobledger\[postgresql\]`"):
        history_of(Settings.model_validate({"history": "postgresql://me@db/ledger"}))
    assert history_of(Settings.model_validate({"history": "sqlite:///x/history.db"})) == Path("/x/history.db")


async def test_a_front_by_itself_shows_the_history_that_is_configured(tmp_path: Path) -> None:
    log, elsewhere = tmp_path / "ledger.db", tmp_path / "history.db"
    async with ledger_of(log, frozenset({Role.ENGINE, Role.BRIDGE}), elsewhere):
        assert not elsewhere.exists()  # neither of them has anything to do with it
    async with ledger_of(log, frozenset({Role.FRONT}), elsewhere) as ledger:
        [[projector]] = ledger.streams
        assert isinstance(projector, HistoryProjector)
        await projector.history.prepare()
        assert elsewhere.exists()
