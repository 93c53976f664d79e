"""A port that does not exist is refused wherever a user gives an address, and in one sentence."""

import pytest

from jobledger.client.connection import Server
from jobledger.client.server import Client
from jobledger.plugin.controller import at_address
from projectors.http_get import GetFailed, GetLimits, get
from statemachine.addresses import port_of
from statemachine.errors import ConfigError

SENTENCE = "has a port that does not exist: ports are numbers from 1 to 65535$"
WRONG = [":0", ":00000", ":65536", ":-1", ":+1", ":a", ":²", ":1:2", f":{'9' * 5000}"]


@pytest.mark.parametrize(
    ("authority", "port"),
    [
        ("one", None),
        ("one:", None),
        ("one:1", 1),
        ("one:65535", 65535),
        ("me:pa:ss@one:80", 80),
        ("me:70000@one", None),
        ("[::1]", None),
        ("[::1]:80", 80),
        ("", None),
    ],
)
def test_a_port_is_read_where_there_is_one(authority: str, port: int | None) -> None:
    assert port_of(authority, "it") == port


@pytest.mark.parametrize("rest", WRONG)
@pytest.mark.parametrize("host", ["one", "[::1]", "me:secret@one"])
def test_one_that_does_not_exist_is_refused_and_not_quoted(host: str, rest: str) -> None:
    with pytest.raises(ConfigError, match=f"^it {SENTENCE}"):
        port_of(host + rest, "it")


@pytest.mark.parametrize("port", [0, 65536])
def test_clients_refuse_it_before_they_ask_anybody(port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    with pytest.raises(ConfigError, match=SENTENCE):
        Client(url)
    with pytest.raises(ConfigError, match=SENTENCE):
        Server(url, "the server")
    with pytest.raises(ConfigError, match=f"^the proxy proxy {SENTENCE}"):
        Server("https://one", "the server", proxy=f"http://me:secret@proxy:{port}")
    with pytest.raises(ConfigError, match=SENTENCE), at_address(url, "token"):
        pass


@pytest.mark.parametrize("url", ["http://[::1", "https://[one"])
def test_brackets_that_do_not_close_are_no_address(url: str) -> None:
    with pytest.raises(ConfigError, match="is no address"), at_address(url, "token"):
        pass
    with pytest.raises(ConfigError, match="is no address"):
        Server("https://one", "the server", proxy=url)


@pytest.mark.parametrize("port", [0, 65536])
async def test_a_get_of_it_fails_without_a_connection(port: int) -> None:
    with pytest.raises(GetFailed, match=SENTENCE):
        await get(f"http://127.0.0.1:{port}/x", GetLimits(seconds=60.0, most_bytes=1))
