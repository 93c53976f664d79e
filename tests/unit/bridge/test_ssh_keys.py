"""The keys that a job's Secret is created with."""

import asyncio
import subprocess
from base64 import b64decode
from pathlib import Path
from shutil import which

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from k8s_bridge.ssh_keys import ssh_keys


async def files() -> dict[str, bytes]:
    return {name: b64decode(content) for name, content in (await ssh_keys()).items()}


async def test_a_pair_of_2048_bits_belongs_together() -> None:
    data = await files()
    assert list(data) == ["id_rsa", "id_rsa.pub", "authorized_keys", "config"]
    private = load_ssh_private_key(data["id_rsa"], password=None)
    assert isinstance(private, RSAPrivateKey)
    assert private.key_size == 2048
    public = load_ssh_public_key(data["id_rsa.pub"])
    assert private.public_key().public_numbers() == public.public_numbers()  # type: ignore[union-attr]
    assert data["authorized_keys"] == data["id_rsa.pub"]
    assert data["id_rsa.pub"].endswith(b"\n")


async def test_each_job_has_its_own() -> None:
    assert (await files())["id_rsa"] != (await files())["id_rsa"]


async def test_hosts_are_not_asked_who_they_are() -> None:
    assert (await files())["config"].decode().split() == [
        *("Host", "*", "StrictHostKeyChecking", "no", "UserKnownHostsFile", "/dev/null", "LogLevel", "ERROR")
    ]


@pytest.mark.skipif(which("ssh-keygen") is None, reason="there is no ssh-keygen")
def test_openssh_reads_the_private_key(tmp_path: Path) -> None:
    data = asyncio.run(files())
    key = tmp_path / "id_rsa"
    key.write_bytes(data["id_rsa"])
    key.chmod(0o600)
    said = subprocess.run(["ssh-keygen", "-y", "-f", key], capture_output=True, check=True).stdout
    assert said.split()[:2] == data["id_rsa.pub"].split()[:2]
