"""The port in an address that a user gives: of a web hook, a server, a broker, a database.

Libraries differ in what they make of one that does not exist: they raise while they connect, or not at all. So it is
refused where the address is read, and in one sentence everywhere.
"""

from typing import Final

from statemachine.errors import ConfigError

_PORTS: Final = range(1, 65536)
_DIGITS: Final = 5


def port_of(authority: str, what: str) -> int | None:
    """The port in `[user@]host[:port]`, which is of `what`; None if it names none.

    Raises ConfigError, whose message does not quote it: what stands there may be a part of a password.
    Source: RFC 3986, 3.2.
    """
    text = authority.rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    if not text:
        return None
    is_number = text.isascii() and text.isdigit() and len(text) <= _DIGITS
    if not is_number or int(text) not in _PORTS:
        raise ConfigError(f"{what} has a port that does not exist: ports are numbers from 1 to 65535")
    return int(text)
