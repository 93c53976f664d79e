"""The sockets that the API answers on."""

import socket

import pytest

from jobledger.api.server import tcp_socket
from statemachine.errors import ConfigError


def test_an_address_takes_callers_from_the_moment_it_is_told() -> None:
    with (
        tcp_socket("127.0.0.1", 0) as found,
        socket.create_connection(found.getsockname(), timeout=5) as caller,
    ):
        assert caller.getpeername() == found.getsockname()


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_two_colons_are_all_addresses_of_both_families() -> None:
    with tcp_socket("::", 0) as found:
        port = found.getsockname()[1]
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, port), timeout=5).close()


def test_an_address_that_is_taken_is_said() -> None:
    with tcp_socket("127.0.0.1", 0) as found:
        port = found.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}"):
            tcp_socket("127.0.0.1", port)
