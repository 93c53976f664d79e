"""Where a history in PostgreSQL is, as a URL says it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import SplitResult, unquote, urlsplit

from statemachine.errors import ConfigError

EXAMPLE: Final = "postgresql://USER@HOST:5432/DATABASE"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is, shown without its password: that is in `url`, in a file, or where libpq looks for it."""

    url: str
    password_file: Path | None
    shown: str

    @classmethod
    def of(cls, url: str, password_file: Path | None = None) -> Self:
        """The address that `url` says. Raises ConfigError, without repeating it: there may be a password in it."""
        try:
            parts = urlsplit(url)
            host = _host(parts)
        except ValueError:
            raise ConfigError(
                f"--history needs a URL such as {EXAMPLE}: host or port cannot be read"
            ) from None
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
        return f"Address({self.shown})"

    @property
    def database(self) -> str:
        """Its name."""
        return unquote(urlsplit(self.url).path.removeprefix("/"))

    def password(self) -> str:
        """What is in the file now. Raises OSError."""
        return self.password_file.read_text(encoding="utf-8").strip() if self.password_file else ""


def _host(parts: SplitResult) -> str:
    """Without a host libpq's variables say it, or it is a socket of this machine. Raises ValueError."""
    host, port = parts.hostname or "", parts.port
    return f"{f'[{host}]' if ':' in host else host}:{port or 5432}" if host else ""
