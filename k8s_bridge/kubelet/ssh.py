"""SSH between local pods: a server for each pod that starts one, and a client that finds them. Pure.

A pod with the job's SSH keys gets a folder as its HOME: the keys and a client's `config` in `.ssh`, wrappers for ssh,
scp and sshd in `bin`, which come first on the PATH and pass the right files to the machine's own programs. Each sshd
listens on the port of 127.0.0.1 that stands for port 22 of its Service; the job's id_rsa is also its host key. It
needs no root, and does not use the machine's own sshd and ~/.ssh. Source: spec R15.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from k8s_bridge.kubelet.mounts import LocalVolume
from k8s_bridge.kubelet.names import Ports
from k8s_bridge.kubelet.programs import HOME_FILES
from k8s_bridge.kubelet.values import ADDRESS
from k8s_bridge.port import Manifest

_PORT: Final = 22
_ATTEMPTS: Final = 10
"""Tries of a client, a second apart: a worker counts as ready before its server listens."""

_KEYS: Final = ("id_rsa", "authorized_keys")
"""The files of a Secret that has the keys of a job."""

_SBIN: Final = "/usr/local/sbin:/usr/sbin:/sbin"
"""Folders of servers besides the PATH."""

_SSHD: Final = re.compile(r"(?<![\w./-])(?!/(?:var/)?run/)(?:/[\w.-]+)+/sshd(?![\w./-])")
_RUN: Final = re.compile(r"(?<![\w./-])/(?:var/)?run/sshd(?![\w.-])")

Which = Callable[[str, str], str | None]


@dataclass(frozen=True, slots=True)
class PodSsh:
    """The SSH of a pod. `volume` has the keys, which are mounted at `mounted_at` and are in `home`/.ssh here.

    `addresses`: Service → an address of this machine that stands for its name.
    """

    volume: str
    mounted_at: str
    home: str
    addresses: Mapping[str, str]

    @property
    def keys(self) -> str:
        """The folder of the keys."""
        return f"{self.home}/.ssh"

    def concerns(self, container: Mapping[str, Any]) -> bool:
        """The container has the keys."""
        return any(mount.get("name") == self.volume for mount in container.get("volumeMounts") or ())

    def rewritten(self, text: str) -> str:
        """`text` with this machine's paths of the SSH server, and of files beside the keys that programs read."""
        text = _RUN.sub(f"{self.home}/run", _SSHD.sub(f"{self.home}/bin/sshd", text))
        parent, _, last = self.mounted_at.rpartition("/")
        if last != ".ssh":
            return text
        names = "|".join(map(re.escape, HOME_FILES))
        file = re.compile(rf"(?<![\w./-]){re.escape(parent)}/({names})(?![\w.-])")
        return file.sub(lambda match: f"{self.home}/{match[1]}", text) if names else text

    def env(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables that a process of this machine gets in place of, or besides, those in `env`.

        Packages of Python and caches stay below the user's own home.
        """
        variables = {"HOME": self.home}
        if home := env.get("HOME"):
            variables |= {"PYTHONUSERBASE": f"{home}/.local", "XDG_CACHE_HOME": f"{home}/.cache"}
        return variables

    def on_path(self, path: str) -> str:
        """`path` with the wrappers first."""
        return f"{self.home}/bin:{path}"

    def off_path(self, path: str) -> str:
        """`path` without the wrappers."""
        return ":".join(folder for folder in path.split(":") if folder.rstrip("/") != f"{self.home}/bin")


def needs_server(words: Sequence[str]) -> bool:
    """A command starts sshd."""
    return any(_SSHD.search(word) for word in words)


def ssh_of(
    pod: Manifest, volumes: Sequence[LocalVolume], services: Mapping[str, Ports]
) -> tuple[PodSsh | None, tuple[LocalVolume, ...]]:
    """The SSH of a pod with the keys of its job, and its volumes with the keys in their place."""
    spec = pod.get("spec") or {}
    everyone = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    keys = {
        volume.name: volume for volume in volumes if volume.private and {*_KEYS} <= {*(volume.files or ())}
    }
    for mount in (mount for container in everyone for mount in container.get("volumeMounts") or ()):
        if mount.get("name") in keys and not mount.get("subPath"):
            volume = keys[mount["name"]]
            addresses = {name: _address(ports[_PORT]) for name, ports in services.items() if _PORT in ports}
            ssh = PodSsh(volume.name, str(mount.get("mountPath")).rstrip("/"), volume.path, addresses)
            return ssh, tuple(_placed(volume, ssh, pod, services) for volume in volumes)
    return None, tuple(volumes)


def tools(
    ssh: PodSsh, pod: Manifest, services: Mapping[str, Ports], which: Which, session: Mapping[str, str]
) -> LocalVolume:
    """The wrappers and the server's config; `session` is the environment of SSH sessions.

    The PATH of a session may begin with the wrappers already: a wrapper that found itself as the machine's program
    would execute itself for ever.
    """
    path = ssh.off_path(session.get("PATH", ""))
    files = {
        f"bin/{name}": _client(real, f"{ssh.keys}/config").encode()
        for name in ("ssh", "scp")
        if (real := which(name, path))
    }
    port = services.get(str(pod["metadata"]["name"]), {}).get(_PORT)
    server = sshd(which, path)
    if not port:
        files["bin/sshd"] = _NOBODY.encode()
    elif server:
        files["bin/sshd"] = _SERVER.format(real=server, config=f"{ssh.home}/sshd_config").encode()
        files["sshd_config"] = _server_config(ssh, port, session).encode()
    modes = {name: 0o700 for name in files if name.startswith("bin/")}
    return LocalVolume(f"{ssh.volume}.home", ssh.home, files, private=True, shared=True, modes=modes)


def sshd(which: Which, path: str) -> str | None:
    """The machine's SSH server."""
    return which("sshd", f"{path}:{_SBIN}")


def _address(port: int) -> str:
    """The loopback address for a port, which differs for every Service of this machine."""
    return f"127.{port >> 8}.{port & 255}.1"


def _placed(volume: LocalVolume, ssh: PodSsh, pod: Manifest, services: Mapping[str, Ports]) -> LocalVolume:
    """The volume of a pod with SSH: keys where a client looks for them, a hostfile with addresses."""
    files = dict(volume.files or {})
    if volume.name == ssh.volume:
        namespace = str(pod["metadata"].get("namespace") or "default")
        ours = "".join(_hosts(ssh, services, namespace)).encode()
        return replace(
            volume, path=ssh.keys, files=files | {"config": ours + files.get("config", b""), **_pem(files)}
        )
    if not volume.private and "hostfile" in files:
        return replace(volume, files=files | {"hostfile": _hostfile(files["hostfile"], ssh.addresses)})
    return volume


def _pem(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The private key with a line end at its end, without which ssh refuses it."""
    key = files["id_rsa"]
    return {} if key.endswith(b"\n") else {"id_rsa": key + b"\n"}


def _hosts(ssh: PodSsh, services: Mapping[str, Ports], namespace: str) -> Iterator[str]:
    for name, address in ssh.addresses.items():
        yield f"Host {name} {name}.{namespace} {name}.{namespace}.svc {address}\n"
        yield f"    HostName {ADDRESS}\n    Port {services[name][_PORT]}\n"
    yield f'Host *\n    IdentityFile "{ssh.keys}/id_rsa"\n    IdentitiesOnly yes\n'
    yield "    StrictHostKeyChecking no\n    UserKnownHostsFile /dev/null\n    LogLevel ERROR\n"
    yield f"    ConnectionAttempts {_ATTEMPTS}\n"


def _hostfile(content: bytes, addresses: Mapping[str, str]) -> bytes:
    """The hostfile with addresses as hosts: this machine cannot look up names of Services."""
    lines = content.decode("utf-8", "replace").splitlines(keepends=True)
    return "".join(
        re.sub(r"^\S+", lambda host: addresses.get(host[0], host[0]), line) for line in lines
    ).encode()


def _client(real: str, config: str) -> str:
    return f'#!/bin/sh\nexec "{real}" -F "{config}" "$@"\n'


_SERVER: Final = """\
#!/bin/sh
# The machine's sshd with the config of this pod. It stays in the pod's process group, so that it ends with it.
if [ "$(id -u)" = 0 ]; then mkdir -p /run/sshd; fi
for word in "$@"; do
    case $word in
    -*[Dd]*) exec "{real}" -e -f "{config}" "$@" ;;
    esac
done
"{real}" -D -e -f "{config}" "$@" &
"""


_NOBODY: Final = """\
#!/bin/sh
echo "no Service leads to port 22 of this pod, so on this machine nobody could reach an SSH server of its own" >&2
exec sleep 2147483647
"""


def _server_config(ssh: PodSsh, port: int, session: Mapping[str, str]) -> str:
    lines = [
        f"ListenAddress {ADDRESS}:{port}",
        f'HostKey "{ssh.keys}/id_rsa"',
        f'AuthorizedKeysFile "{ssh.keys}/authorized_keys"',
        "StrictModes no",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "PidFile none",
        "MaxStartups 1000",
        "PrintMotd no",
        "LogLevel ERROR",
        "Subsystem sftp internal-sftp",
        f"SetEnv {' '.join(map(_quoted, session.items()))}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _quoted(variable: tuple[str, str]) -> str:
    text = "=".join(variable).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{text}"'
