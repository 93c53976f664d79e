"""A pod's manifest → the programs to run on this machine, in order. Pure: `Host` looks at files.

Init containers run one after the other, then all containers at once, as with a kubelet. Images are ignored, so each
container needs a command. `notices` has what else a local run ignores or does in its own way, which the cluster
reports once a job.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k8s_bridge.kubelet import ssh
from k8s_bridge.kubelet.containers import MARKER, ContainerLaunch
from k8s_bridge.kubelet.expansion import expanded
from k8s_bridge.kubelet.mounts import LocalVolume, Mount, Roots, mounts, rewriter, unsupported, volumes
from k8s_bridge.kubelet.names import Entry, Ports, ServiceNames
from k8s_bridge.kubelet.programs import PROGRAMS
from k8s_bridge.kubelet.ssh import PodSsh
from k8s_bridge.kubelet.values import ADDRESS, Capacity, Lookup, from_objects, from_source
from k8s_bridge.port import Manifest
from statemachine.errors import Refused
from statemachine.programs import OneHost

_LOOKUP = re.compile(r"\bnslookup(?=\s+127\.)")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Host:
    """This machine as pods see it.

    `env`: the variables of every process. `which`: a program's path by name and PATH, None if there is none.
    `python`: a Python for `python`, `python3` and modules that are programs; empty: those on the PATH.
    `fallback`: a Python for machines without one on the PATH. `folder`: where processes start.
    """

    env: Mapping[str, str]
    which: Callable[[str, str], str | None]
    is_folder: Callable[[str], bool]
    capacity: Capacity
    folder: str
    fallback: str
    python: str = ""


@dataclass(frozen=True, slots=True)
class PodPlan:
    """The programs of a pod. `mounts` are those of all its containers."""

    init: tuple[ContainerLaunch, ...]
    main: tuple[ContainerLaunch, ...]
    volumes: tuple[LocalVolume, ...]
    mounts: tuple[Mount, ...]
    ssh: PodSsh | None = None


def check(pod: Manifest) -> None:
    """Refuses a pod that can never run here. Raises Refused with all reasons."""
    spec = pod.get("spec") or {}
    problems = list(unsupported(pod))
    if not spec.get("containers"):
        problems.append("spec.containers: Required value: at least one container")
    for field in ("initContainers", "containers"):
        for at, container in enumerate(spec.get(field) or ()):
            if not _NAME.fullmatch(str(container.get("name"))):
                problems.append(f"spec.{field}[{at}].name: must be a DNS label")
            if not container.get("command"):
                problems.append(
                    f"spec.{field}[{at}].command: Required value: a local run does not use images, "
                    f'so it cannot know what container "{container.get("name")}" would start'
                )
    if problems:
        raise Refused(422, "Invalid", "; ".join(problems))


def encode_secret(secret: Manifest) -> None:
    """Moves `stringData` to `data`, as an API server does."""
    for key, value in (secret.pop("stringData", None) or {}).items():
        encoded = base64.b64encode(str(value).encode()).decode()
        secret["data"] = {**(secret.get("data") or {}), key: encoded}


@dataclass(frozen=True, slots=True)
class _Scene:
    """The parts that all containers of a pod share."""

    pod: Manifest
    host: Host
    volumes: tuple[LocalVolume, ...]
    services: Mapping[str, Ports]
    find: Lookup
    ssh: PodSsh | None

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])


def plan(pod: Manifest, host: Host, roots: Roots, services: Mapping[str, Ports], find: Lookup) -> PodPlan:
    """The programs to run. Raises NotYet (an object is missing), Refused."""
    its_ssh, its_volumes = ssh.ssh_of(pod, volumes(pod, roots, find, host.capacity), services)
    scene = _Scene(pod, host, its_volumes, services, find, its_ssh)
    spec = pod.get("spec") or {}
    init = [_launch(container, scene) for container in spec.get("initContainers") or ()]
    main = [_launch(container, scene) for container in spec.get("containers") or ()]
    mounted = tuple(mount for _, its in (*init, *main) for mount in its)
    if its_ssh is not None:
        with_keys = next(
            container for container in spec.get("containers") or () if its_ssh.concerns(container)
        )
        session = _own_env(str(with_keys.get("name")), scene, its_ssh)
        its_volumes = (*its_volumes, ssh.tools(its_ssh, pod, services, host.which, session))
    launches = [tuple(launch for launch, _ in those) for those in (init, main)]
    return PodPlan(launches[0], launches[1], its_volumes, mounted, its_ssh)


def _launch(raw: Mapping[str, Any], scene: _Scene) -> tuple[ContainerLaunch, tuple[Mount, ...]]:
    has_ssh = scene.ssh if scene.ssh is not None and scene.ssh.concerns(raw) else None
    addresses = has_ssh.addresses if has_ssh else {}
    names = ServiceNames(scene.services, scene.pod["metadata"].get("namespace") or "default", addresses)
    entries, rename = names.env(raw.get("env") or [])
    env = dict(_env(entries, raw, scene))
    its = mounts(raw, scene.volumes, env, scene.host.is_folder)
    to_folders = rewriter(its)

    def move(text: str) -> str:
        return to_folders(has_ssh.rewritten(text) if has_ssh else text)

    env = {name: move(value) for name, value in env.items()} | {mount.variable: mount.here for mount in its}
    elsewhere = from_objects(iter(raw.get("envFrom") or ()), scene.find)
    variables = {name: move(rename(value)) for name, value in elsewhere.items()} | env
    words = names.master_ports(
        [str(word) for word in (*(raw.get("command") or ()), *(raw.get("args") or ()))]
    )
    name = str(raw.get("name"))
    if has_ssh and ssh.needs_server(words):
        _check_server(name, scene)
    argv = [expanded(_no_lookup(move(rename(word))), variables) for word in words]
    folder = expanded(move(str(raw.get("workingDir") or scene.host.folder)), variables)
    process_env = _process_env(variables, name, scene, has_ssh)
    here = OneHost(ADDRESS, scene.services, scene.name)
    for program in PROGRAMS:
        process_env |= program.variables(argv, process_env, here)
    _check_program(name, argv[0], process_env["PATH"], scene.host)
    return ContainerLaunch(name, _resolved(argv, process_env["PATH"], scene.host), process_env, folder), its


def _no_lookup(text: str) -> str:
    """The command without look-ups of Services' names, for which it would wait: addresses replace them."""
    return _LOOKUP.sub(":", text)


def _check_server(container: str, scene: _Scene) -> None:
    """Raises Refused if this machine cannot start an SSH server."""
    if ssh.sshd(scene.host.which, scene.host.env.get("PATH", "")) is None:
        raise Refused(
            422,
            "Invalid",
            f'container "{container}" starts sshd, which this machine does not have; '
            "install an OpenSSH server (its service need not run), or run the job on a cluster",
        )


def _check_program(container: str, command: str, path: str, host: Host) -> None:
    """Raises Refused if a kind's program is not on this machine and its users can be advised."""
    name = command.rpartition("/")[2]
    advice = next((program.install for program in PROGRAMS if program.name == name), "")
    if advice and not host.which(command, path):
        raise Refused(
            422,
            "Invalid",
            f'container "{container}" starts {command}, which this machine does not have; {advice}, '
            "or run the job on a cluster",
        )


def _env(entries: Sequence[Entry], container: Mapping[str, Any], scene: _Scene) -> Iterator[tuple[str, str]]:
    """Names and values of the `env` list; a value may refer to those before it."""
    values: dict[str, str] = {}
    for entry in entries:
        name = str(entry.get("name"))
        if entry.get("valueFrom"):
            value = from_source(entry["valueFrom"], scene.pod, container, scene.find, scene.host.capacity)
        else:
            value = expanded(str(entry.get("value") or ""), values)
        if value is not None:
            values[name] = value
            yield name, value


def _process_env(
    variables: Mapping[str, str], container: str, scene: _Scene, has_ssh: PodSsh | None
) -> dict[str, str]:
    env = _own_env(container, scene, has_ssh)
    own = {name: env[name] for name in (MARKER,)}
    env |= variables
    if has_ssh and "PATH" in variables:
        env["PATH"] = has_ssh.on_path(variables["PATH"])
    return env | own


def _own_env(container: str, scene: _Scene, has_ssh: PodSsh | None) -> dict[str, str]:
    """The variables of the container's processes that are not in its manifest."""
    env = {**scene.host.env, "HOSTNAME": scene.name}
    if scene.host.python:
        env["PATH"] = f"{scene.host.python.rpartition('/')[0]}:{env.get('PATH', '')}"
    env.setdefault("PATH", "/usr/bin:/bin")
    if has_ssh:
        env |= has_ssh.env(env)
        env["PATH"] = has_ssh.on_path(env["PATH"])
    env[MARKER] = f"{scene.pod['metadata']['uid']}/{container}"
    return env


def _resolved(argv: Sequence[str], path: str, host: Host) -> tuple[str, ...]:
    """The arguments, with an existing Python in place of a Python that they begin with.

    If the PATH does not have a program that is a Python module, this Python runs the module.
    """
    first, *rest = argv
    if first in ("python", "python3"):
        return (_python(first, path, host), *rest)
    module = next((program.module for program in PROGRAMS if program.name == first), "")
    if module and not host.which(first, path):
        return (_python("python3", path, host), "-m", module, *rest)
    return tuple(argv)


def _python(name: str, path: str, host: Host) -> str:
    if host.python:
        return host.python
    other = "python" if name == "python3" else "python3"
    return next((command for command in (name, other) if host.which(command, path)), host.fallback)
