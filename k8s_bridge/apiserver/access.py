"""The access of a controller to an API server: it reads credentials again when they change."""

import asyncio
import os
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from k8s_bridge.kubeconfig.credentials import Credentials
from k8s_bridge.kubeconfig.files import Context, load
from k8s_bridge.kubeconfig.trust import tls
from statemachine.errors import ConfigError

_REREAD: Final = 60.0
"""Seconds after which a token in a file is read again: kubelets replace those of service accounts."""


@dataclass(frozen=True, slots=True)
class ApiServerChoice:
    """Which API server: that of a kubeconfig (its current context, or the one named), else our pod's own."""

    kubeconfig: Path | None = None
    context: str = ""

    def read(self) -> Context:
        """The context in the files now; in a pod only these names take precedence over its service account."""
        named = self.kubeconfig is not None or bool(self.context)
        return load(self.kubeconfig, self.context, os.environ, pod_first=not named)


class Access:
    """An API server's address, its trust, and the headers with our credentials."""

    def __init__(self, wanted: ApiServerChoice, context: Context) -> None:
        self._wanted, self._context = wanted, context
        self._credentials = Credentials(context)
        self._headers: list[tuple[str, str]] = []
        self._read_at = time.monotonic()

    @classmethod
    async def load(cls, wanted: ApiServerChoice) -> Self:
        """Access to the API server that is `wanted`. Raises ConfigError when that cannot be read."""
        access = cls(wanted, wanted.read())
        await access.renew()
        return access

    async def renew(self) -> None:
        """Reads credentials anew: tokens expire, and files of a pod's token change. Raises ConfigError."""
        context = self._wanted.read()
        credentials = Credentials(context)
        self._headers = await asyncio.to_thread(credentials.headers)  # a program may have to be run for them
        self._context, self._credentials, self._read_at = context, credentials, time.monotonic()

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context, or of our pod; else `default`."""
        return self._context.namespace

    @property
    def server(self) -> str:
        """`https://host:port`, perhaps with a path, without a slash at the end."""
        return self._context.server

    @property
    def proxy(self) -> str | None:
        """The HTTP proxy that the kubeconfig names."""
        return self._context.cluster.get("proxy-url") or None

    @property
    def server_name(self) -> str | None:
        """The name in the server's certificate, if it is not the address."""
        return self._context.cluster.get("tls-server-name") or None

    def headers(self) -> list[tuple[str, str]]:
        """The headers with the user, and an impersonated one; a client certificate needs no Authorization."""
        if "tokenFile" in self._context.user and time.monotonic() - self._read_at > _REREAD:
            self._read_at = time.monotonic()
            with suppress(ConfigError):  # the file is being replaced; the present token may do
                self._headers = Credentials(self._context).headers()
        return self._headers

    def tls(self) -> ssl.SSLContext:
        """The TLS context with the server's trust, and our client certificate if there is one. Raises ConfigError."""
        return tls(self._context, self._credentials)
