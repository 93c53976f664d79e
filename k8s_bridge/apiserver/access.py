"""Who we are for which API server, for as long as a controller runs: credentials that change are read again."""

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
        """What the files say now; in a pod nothing but these names goes before its service account."""
        named = self.kubeconfig is not None or bool(self.context)
        return load(self.kubeconfig, self.context, os.environ, pod_first=not named)


class Access:
    """An API server's address, how to trust it, and the headers that say who asks."""

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
        """Credentials are read anew: tokens expire, and files of a pod's token change. Raises ConfigError."""
        context = self._wanted.read()
        credentials = Credentials(context)
        self._headers = await asyncio.to_thread(credentials.headers)  # a program may have to be run for them
        self._context, self._credentials, self._read_at = context, credentials, time.monotonic()

    @property
    def namespace(self) -> str:
        """Of the kubeconfig's context, or of our pod; `default` if neither says."""
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
        """The name that the server's certificate has, where it is not the address."""
        return self._context.cluster.get("tls-server-name") or None

    def headers(self) -> list[tuple[str, str]]:
        """Who asks, and whom they play; no Authorization where a client certificate says who."""
        if "tokenFile" in self._context.user and time.monotonic() - self._read_at > _REREAD:
            self._read_at = time.monotonic()
            with suppress(ConfigError):  # a file that is being replaced; what we have may do
                self._headers = Credentials(self._context).headers()
        return self._headers

    def tls(self) -> ssl.SSLContext:
        """How the server is trusted, and our client certificate if there is one. Raises ConfigError."""
        return tls(self._context, self._credentials)
