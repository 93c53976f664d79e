"""SSH keys of jobs: the adapter that creates a job's Secret makes them (ADR 0013).

They go into the Secret and nowhere else: not into the event log, a status, or a line of output.
"""

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from statemachine.owned import SSH_KEYS

SecretData = Mapping[str, str]
"""`data` of a Secret: values by key, in base64."""

Generate = Callable[[], Awaitable[SecretData]]

_CLIENT: Final = b"""\
Host *
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""
"""Replicas come and go under the same names, so a known host key proves nothing. Source: spec R15."""


async def ssh_keys() -> SecretData:
    """A new RSA pair of 2048 bits, and ssh's configuration for it. Source: spec R15.

    A thread makes it, as it takes a good part of a second, which would block the event loop.
    """
    return await asyncio.to_thread(_ssh_keys)


def _ssh_keys() -> SecretData:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return secret_data(private, public + b"\n")


def secret_data(private: bytes, public: bytes) -> SecretData:
    """The four files of a key pair, as a Secret holds them. Source: spec R15."""
    files = {"id_rsa": private, "id_rsa.pub": public, "authorized_keys": public, "config": _CLIENT}
    return {name: b64encode(content).decode("ascii") for name, content in files.items()}


GENERATORS: Final[Mapping[str, Generate]] = {SSH_KEYS: ssh_keys}
"""The data that children may ask for (`Child.generates`) → the function that makes it."""
