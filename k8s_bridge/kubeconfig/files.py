"""Kubeconfig files, merged into one, else the service account of our pod."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from statemachine.addresses import port_of
from statemachine.errors import ConfigError

_POD: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_FILES: Final = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}
"""Fields with paths, which are relative to their file."""


@dataclass(frozen=True, slots=True)
class Context:
    """A cluster and a user, with their fields as kubeconfig files have them; paths are absolute."""

    name: str
    cluster: Mapping[str, Any]
    user: Mapping[str, Any]
    namespace: str = "default"

    @property
    def server(self) -> str:
        """`https://host:port`, perhaps with a path, without a slash at the end."""
        return str(self.cluster.get("server") or "").rstrip("/")


@dataclass
class _Merged:
    """Several files as one: an earlier file wins."""

    current: str = ""
    contexts: dict[str, Any] = field(default_factory=dict)
    clusters: dict[str, Any] = field(default_factory=dict)
    users: dict[str, Any] = field(default_factory=dict)


def load(
    kubeconfig: Path | None = None,
    context: str = "",
    environ: Mapping[str, str] = os.environ,
    *,
    pod_first: bool = False,
) -> Context:
    """The context of that name, or the current one, in that file, those of KUBECONFIG, or ~/.kube/config.

    In a pod it is the service account's if none of these files exists, and always with `pod_first`.

    Raises:
        ConfigError: there is no such context, or a file cannot be read.
    """
    files = list(_files(kubeconfig, environ))
    if (
        kubeconfig is None
        and "KUBERNETES_SERVICE_HOST" in environ
        and (pod_first or not any(file.exists() for file in files))
    ):
        return _of_pod(environ)
    merged = _Merged()
    for path in files:
        try:
            _add(merged, path)
        except (AttributeError, TypeError):
            raise ConfigError(
                f"the kubeconfig {path} cannot be read: it does not have the shape of one"
            ) from None
    name = context or merged.current
    where = "the kubeconfig " + " or ".join(map(str, files))
    if not name:
        raise ConfigError(f"{where} names no current context; choose one with --context")
    if name not in merged.contexts:
        names = ", ".join(sorted(merged.contexts)) or "none"
        raise ConfigError(f'there is no context "{name}" in {where}; there is {names}')
    entry = merged.contexts[name]
    cluster, user = entry.get("cluster", ""), entry.get("user", "")
    if not (merged.clusters.get(cluster) or {}).get("server"):
        raise ConfigError(f'the cluster "{cluster}" of context "{name}" has no server in {where}')
    for key in ("server", "proxy-url"):
        _check_address(merged.clusters[cluster].get(key), f'{key} of the cluster "{cluster}" in {where}')
    return Context(
        name, merged.clusters[cluster], merged.users.get(user) or {}, entry.get("namespace") or "default"
    )


def _check_address(said: object, what: str) -> None:
    """Raises ConfigError for an address that nobody can connect to."""
    try:
        authority = urlsplit(str(said or "")).netloc
    except ValueError:
        raise ConfigError(f"{what} is no address: give one such as https://host:port") from None
    port_of(authority, what)


def _files(kubeconfig: Path | None, environ: Mapping[str, str]) -> Iterator[Path]:
    """The files to read, without those of KUBECONFIG that do not exist. Source: kubectl."""
    if kubeconfig is not None:
        yield kubeconfig.expanduser()
        return
    paths = [Path(path) for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    existing = [path for path in paths if path.exists()]
    yield from existing or paths[:1] or [Path(environ.get("HOME") or Path.home()) / ".kube" / "config"]


def _add(merged: _Merged, path: Path) -> None:
    content = _read(path)
    merged.current = merged.current or str(content.get("current-context") or "")
    for kind, into in (("context", merged.contexts), ("cluster", merged.clusters), ("user", merged.users)):
        for entry in content.get(f"{kind}s") or ():
            into.setdefault(str(entry.get("name")), _absolute(entry.get(kind) or {}, kind, path.parent))


def _read(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        content = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - it is safe
    except FileNotFoundError:
        raise ConfigError(
            f"there is no kubeconfig {path}; name one with --kubeconfig or KUBECONFIG"
        ) from None
    except (OSError, yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"the kubeconfig {path} cannot be read: {reason}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"the kubeconfig {path} cannot be read: it holds no object")
    return content


def _absolute(fields: Mapping[str, Any], kind: str, folder: Path) -> dict[str, Any]:
    values = dict(fields)
    for name in _FILES.get(kind, ()):
        if values.get(name):
            values[name] = str(folder.absolute() / values[name])
    program = (values.get("exec") or {}).get("command", "")
    if os.sep in program:
        values["exec"] = {**values["exec"], "command": str(folder.absolute() / program)}
    return values


def _of_pod(environ: Mapping[str, str]) -> Context:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        namespace = (_POD / "namespace").read_text().strip()
    except OSError:
        namespace = ""
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Context(
        "in-cluster",
        {"server": server, "certificate-authority": str(_POD / "ca.crt")},
        {"tokenFile": str(_POD / "token")},
        namespace or "default",
    )
