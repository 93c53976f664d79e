"""Who we are for which API server: kubeconfig or the service account of our pod, through `kubernetes.aio`.

Only the configuration of that client is used; requests are plain JSON over one aiohttp session (ADR 0008).
"""

import base64
import os
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config
from yaml import YAMLError

from statemachine.errors import ConfigError

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which API server: that of a kubeconfig (its current context, or the one named), else our pod's own."""

    kubeconfig: Path | None = None
    context: str = ""


class Access:
    """An API server's address, how to trust it, and the headers that say who asks."""

    def __init__(self, wanted: Wanted, configuration: Configuration, namespace: str) -> None:
        self._wanted = wanted
        self._configuration = configuration
        self.namespace = namespace
        """Of the kubeconfig's context, or of our pod; `default` if neither says."""

    @classmethod
    async def load(cls, wanted: Wanted) -> Self:
        """Access to the API server that is `wanted`. Raises ConfigError when that cannot be read."""
        configuration = Configuration()
        return cls(wanted, configuration, await _load(wanted, configuration))

    async def renew(self) -> None:
        """Credentials are read anew: tokens expire, and files of a pod's token change. Raises ConfigError."""
        await _load(self._wanted, self._configuration)

    @property
    def server(self) -> str:
        """`https://host:port`, perhaps with a path, without a slash at the end."""
        return str(self._configuration.host).rstrip("/")

    @property
    def proxy(self) -> str | None:
        """The HTTP proxy that the kubeconfig names."""
        return self._configuration.proxy or None

    @property
    def server_name(self) -> str | None:
        """The name that the server's certificate has, where it is not the address."""
        return self._configuration.tls_server_name or None

    def headers(self) -> dict[str, str]:
        """Who asks; empty where a client certificate says so."""
        settings = self._configuration
        refresh: Callable[[Configuration], None] | None = settings.refresh_api_key_hook
        if refresh is not None:
            with suppress(ConfigException, OSError):  # a file that is being replaced; what we have may do
                refresh(settings)
        if token := settings.api_key.get("BearerToken"):
            scheme, _, secret = token.strip().partition(" ")
            return {"Authorization": f"{scheme.capitalize()} {secret}" if secret else f"Bearer {token}"}
        if settings.username:
            pair = f"{settings.username}:{settings.password or ''}"
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        return {}

    def tls(self) -> ssl.SSLContext:
        """How the server is trusted, and our client certificate if there is one. Raises ConfigError."""
        settings = self._configuration
        try:
            context = ssl.create_default_context(cafile=settings.ssl_ca_cert, cadata=settings.ca_cert_data)
            if settings.cert_file:
                context.load_cert_chain(settings.cert_file, keyfile=settings.key_file)
        except OSError as error:
            raise ConfigError(
                f"the certificates in {_called(self._wanted)} cannot be read: {error}"
            ) from error
        if not settings.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


async def _load(wanted: Wanted, configuration: Configuration) -> str:
    """Fill `configuration`; the namespace that goes with it."""
    try:
        if wanted.kubeconfig is None and not wanted.context and "KUBERNETES_SERVICE_HOST" in os.environ:
            load_incluster_config(configuration)  # type: ignore[no-untyped-call]
            return _own_namespace()
        if wanted.kubeconfig is not None and not wanted.kubeconfig.is_file():
            raise ConfigError(f"there is no kubeconfig {wanted.kubeconfig}")
        file = None if wanted.kubeconfig is None else str(wanted.kubeconfig)
        loader = await load_kube_config(  # type: ignore[no-untyped-call]
            file, wanted.context or None, configuration, persist_config=False
        )
    except (ConfigException, YAMLError, OSError, ValueError, TypeError) as error:
        why = " ".join(str(error).split())
        raise ConfigError(f"{_called(wanted)} is of no use: {why}") from error
    context: Mapping[str, Any] = loader.current_context["context"]
    return str(context.get("namespace") or "default")


def _own_namespace() -> str:
    try:
        return (_SERVICE_ACCOUNT / "namespace").read_text().strip() or "default"
    except OSError:
        return "default"


def _called(wanted: Wanted) -> str:
    if wanted.kubeconfig is not None:
        return f"kubeconfig {wanted.kubeconfig}"
    return "the kubeconfig (KUBECONFIG, else ~/.kube/config)"
