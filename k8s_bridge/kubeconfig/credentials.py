"""The credentials of a kubeconfig's user: a token, a certificate or a password, perhaps from a program.

Source: Kubernetes, "Organizing Cluster Access Using kubeconfig Files" and "client-go credential plugins".
"""

import base64
import binascii
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from k8s_bridge.kubeconfig.files import Context
from statemachine.errors import ConfigError

_PATIENCE: Final = 180.0
"""Seconds for a credential program: it may send the user to a browser."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, PEM."""

    certificate: bytes
    key: bytes


class Credentials:
    """The credentials of a context. Programs run, and files are read, at the first use."""

    def __init__(self, context: Context) -> None:
        self._context, self._user = context, context.user

    def headers(self) -> list[tuple[str, str]]:
        """The headers with the user, and an impersonated one; a certificate needs no Authorization."""
        headers = []
        if token := self.token:
            headers.append(("Authorization", f"Bearer {token}"))
        elif self._user.get("username"):
            pair = f"{self._user['username']}:{self._user.get('password') or ''}"
            headers.append(("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"))
        return [*headers, *self._played()]

    def _played(self) -> Iterator[tuple[str, str]]:
        """The headers of the impersonated user. Source: Kubernetes, "User impersonation"."""
        if self._user.get("as"):
            yield "Impersonate-User", str(self._user["as"])
            for group in self._user.get("as-groups") or ():
                yield "Impersonate-Group", str(group)
            if self._user.get("as-uid"):
                yield "Impersonate-Uid", str(self._user["as-uid"])
            for name, values in (self._user.get("as-user-extra") or {}).items():
                yield from ((f"Impersonate-Extra-{quote(name, safe='')}", str(value)) for value in values)

    @cached_property
    def token(self) -> str:
        """The bearer token; empty if the user has none. Raises ConfigError."""
        if path := self._user.get("tokenFile"):
            return self._file(path, "token").decode(errors="replace").strip()
        if self._user.get("auth-provider"):
            return _of_provider(self._context)
        return str(self._user.get("token") or self._from_program.get("token") or "").strip()

    @cached_property
    def pair(self) -> Pair | None:
        """The client certificate, if the user has one. Raises ConfigError."""
        certificate = self._bytes("client-certificate")
        key = self._bytes("client-key")
        if certificate and key:
            return Pair(certificate, key)
        status = self._from_program
        if status.get("clientCertificateData") and status.get("clientKeyData"):
            return Pair(status["clientCertificateData"].encode(), status["clientKeyData"].encode())
        return None

    @property
    def authority(self) -> bytes:
        """The certificates that the server is checked against, PEM; empty: this machine's. Raises ConfigError."""
        return self._bytes("certificate-authority", self._context.cluster)

    def _bytes(self, name: str, fields: Mapping[str, Any] | None = None) -> bytes:
        """The value of `name-data`, else the content of the file in `name`."""
        of = self._user if fields is None else fields
        if inline := of.get(f"{name}-data"):
            try:
                return base64.b64decode(inline, validate=False)
            except (binascii.Error, TypeError, ValueError):
                raise ConfigError(f'{name}-data in context "{self._context.name}" is not base64') from None
        return self._file(of[name], name) if of.get(name) else b""

    def _file(self, path: str, what: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise ConfigError(
                f'the {what} of context "{self._context.name}" cannot be read: {path}: {error.strerror}'
            ) from None

    @cached_property
    def _from_program(self) -> Mapping[str, Any]:
        """The status of the ExecCredential that the user's credential program prints."""
        config = self._user.get("exec")
        return _run(config, self._context) if config else {}


def _of_provider(context: Context) -> str:
    """The token of an auth-provider (OIDC, for example), refreshed by the client library: only it still has them."""
    try:
        from kubernetes.client import Configuration
        from kubernetes.config import load_kube_config_from_dict
    except ImportError:
        raise ConfigError(
            f'context "{context.name}" logs in through an auth-provider; install `jobledger[kubernetes]` for it'
        ) from None
    config = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": dict(context.cluster)}],
        "users": [{"name": "it", "user": dict(context.user)}],
    }
    configuration = Configuration()
    try:
        load_kube_config_from_dict(config, client_configuration=configuration)  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 - the library passes on whatever its HTTP clients raise
        reason = " ".join(str(error).split())
        raise ConfigError(f'the auth-provider of context "{context.name}" gave no token: {reason}') from None
    token = str(configuration.api_key.get("BearerToken") or "").removeprefix("Bearer ").strip()
    if not token:
        name = (context.user["auth-provider"] or {}).get("name")
        raise ConfigError(
            f'the auth-provider "{name}" of context "{context.name}" gave no token; '
            "use the credential plugin of your provider (users[].user.exec)"
        )
    return token


def _run(config: Mapping[str, Any], context: Context) -> Mapping[str, Any]:
    program = str(config.get("command") or "")
    interactive = config.get("interactiveMode") != "Never" and sys.stdin.isatty()
    spec: dict[str, Any] = {"interactive": interactive}
    if config.get("provideClusterInfo"):
        spec["cluster"] = _about(context.cluster)
    request = {"apiVersion": config.get("apiVersion"), "kind": "ExecCredential", "spec": spec}
    variables = {str(variable["name"]): str(variable["value"]) for variable in config.get("env") or ()}
    try:
        done = subprocess.run(
            [program, *map(str, config.get("args") or ())],
            env={**os.environ, **variables, "KUBERNETES_EXEC_INFO": json.dumps(request)},
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # its standard error is the user's: it says how to log in
            timeout=_PATIENCE,
            check=True,
        )
        status: Mapping[str, Any] = json.loads(done.stdout)["status"]
    except FileNotFoundError:
        hint = config.get("installHint")
        more = f": {' '.join(str(hint).split())}" if hint else ""
        raise ConfigError(
            f'the credential program {program} of context "{context.name}" is not there{more}'
        ) from None
    except subprocess.CalledProcessError as error:
        raise ConfigError(
            f"the credential program {program} failed with exit code {error.returncode}"
        ) from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"the credential program {program} did not end within {_PATIENCE:.0f} s") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"the credential program {program} gave no credential: {error}") from None
    return status


def _about(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster as credential programs get it; the names are those of kubeconfig files."""
    names = (
        "server",
        "tls-server-name",
        "insecure-skip-tls-verify",
        "certificate-authority-data",
        "proxy-url",
    )
    return {name: cluster[name] for name in names if cluster.get(name)}
