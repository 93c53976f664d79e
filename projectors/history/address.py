"""Where a history in PostgreSQL is, as a URL says it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import SplitResult, unquote, urlsplit

from statemachine.addresses import port_of
from statemachine.errors import ConfigError

EXAMPLE: Final = "postgresql://USER@HOST:5432/DATABASE"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The address of a database. The password is in `url`, in a file, or where libpq finds it; `shown` has none."""

    url: str
    password_file: Path | None
    shown: str

    @classmethod
    def of(cls, url: str, password_file: Path | None = None) -> Self:
        """The address in `url`. Raises ConfigError, whose message omits the URL, as it may have a password in it."""
        try:
            parts = urlsplit(url)
        except ValueError:
            raise ConfigError(f"--history needs a URL such as {EXAMPLE}: the host cannot be read") from None
        host = _host(parts)
        name = parts.path.removeprefix("/")
        if parts.scheme not in {"postgresql", "postgres"} or not name:
            raise ConfigError(f"--history needs a URL such as {EXAMPLE}, with the name of the database")
        if set(name) & set("/@"):
            raise ConfigError(
                f"--history needs a URL such as {EXAMPLE}: / and @ in names are written %2F and %40"
            )
        if password_file is not None and not password_file.is_file():
            raise ConfigError(f"there is no file {password_file} with the password of the history's database")
        user = f"{parts.username}@" if parts.username else ""
        return cls(url, password_file, f"postgresql://{user}{host}/{name}")

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown})"

    @property
    def database(self) -> str:
        """The database's name."""
        return unquote(urlsplit(self.url).path.removeprefix("/"))

    def password(self) -> str:
        """The present content of the password file. Raises OSError."""
        return self.password_file.read_text(encoding="utf-8").strip() if self.password_file else ""


def _host(parts: SplitResult) -> str:
    """Host and port; empty where libpq's variables name the host, or a socket is used. Raises ConfigError."""
    host, port = (
        parts.hostname or "",
        port_of(parts.netloc, f"--history needs a URL such as {EXAMPLE}: this one"),
    )
    return f"{f'[{host}]' if ':' in host else host}:{port or 5432}" if host else ""
