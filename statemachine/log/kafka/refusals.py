"""Why brokers do not take a client, or the client does not trust them: user and password, TLS, a certificate.

aiokafka keeps that to itself, or to its logs. So brokers are asked once more, and what they say is raised.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from aiokafka.conn import create_conn
from aiokafka.errors import KafkaConnectionError, UnsupportedSaslMechanismError

from statemachine.log.kafka.failures import FAILURES, UNKNOWN
from statemachine.log.kafka.privates import connections, protocol, security

_ANSWER: Final = 5_000
"""Milliseconds for a broker's answer."""

_GOODBYE: Final = 2.0
"""Seconds for a handshake, or to say goodbye."""


class OtherProtocol(KafkaConnectionError):  # type: ignore[misc]  # aiokafka has no types
    """Brokers speak TLS to a client that does not, or the reverse; the message says which setting is wrong."""

    def __str__(self) -> str:
        return str(self.args[0])


@asynccontextmanager
async def saying_why(client: Any) -> AsyncIterator[None]:
    """That `client` reaches no broker says why, if brokers do not believe who it is, or it does not believe them.

    It says so, too, if only one of both speaks TLS: brokers close such a connection without a word.
    """
    try:
        yield
    except KafkaConnectionError as error:
        if (reason := await _refusal(connections(client))) is not None:
            raise reason from error
        raise


async def _refusal(connected: Any) -> Exception | None:
    """What the first broker that answers has against user and password or TLS, or we against its certificate.

    None if there is nothing, or none answers.
    """
    spoken = protocol(connected)
    plain = "PLAINTEXT" in spoken
    for host, port, _ in connected.hosts:
        if await (_speaks_tls(host, port) if plain else _speaks_plainly(host, port)):
            return _other_protocol(f"{host}:{port}", spoken, plain=plain)
        if spoken == "PLAINTEXT":
            continue
        try:
            made = await create_conn(host, port, request_timeout_ms=_ANSWER, **security(connected))
        except (*UNKNOWN, UnsupportedSaslMechanismError, ssl.SSLError) as error:
            reason: Exception = error
            return reason
        except FAILURES:
            continue
        await asyncio.wait({made.close()}, timeout=_GOODBYE)  # over TLS, brokers have to say goodbye, too
        return None
    return None


def _other_protocol(broker: str, protocol: str, *, plain: bool) -> OtherProtocol:
    if not plain:
        better = protocol.replace("SSL", "PLAINTEXT")
        return OtherProtocol(
            f"{broker} does not speak TLS, and kafka.protocol is {protocol}: {better} would reach it"
        )
    better = "SASL_SSL" if protocol.startswith("SASL") else "SSL, or SASL_SSL with a user"
    return OtherProtocol(f"{broker} expects TLS, and kafka.protocol is {protocol}: it should be {better}")


async def _speaks_tls(host: str, port: int) -> bool:
    """The server there completes the handshake, whatever the certificate: nothing is sent to them."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(_GOODBYE):
            _, writer = await asyncio.open_connection(host, port, ssl=trusting)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


async def _speaks_plainly(host: str, port: int) -> bool:
    """A broker there answers which versions it knows, without TLS; nobody is asked who they are for that."""
    try:
        async with asyncio.timeout(_GOODBYE):
            made = await create_conn(host, port, request_timeout_ms=_ANSWER)
    except FAILURES:
        return False
    await asyncio.wait({made.close()}, timeout=_GOODBYE)
    return True
