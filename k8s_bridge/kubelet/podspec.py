"""A pod's manifest → the programs to run on this machine, in order. Pure: files are looked at by `Host`.

Init containers run one after the other, then all containers at once, as with a kubelet. Images are ignored,
so every container has to say its command. What else a local run ignores or does in its own way is said in
`notices`, which the cluster tells the user once a job.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k8s_bridge.kubelet import ssh
from k8s_bridge.kubelet.containers import MARKER, Launch
from k8s_bridge.kubelet.expansion import expanded
from k8s_bridge.kubelet.mounts import Mount, Roots, Volume, mounts, rewriter, unsupported, volumes
from k8s_bridge.kubelet.names import Entry, Names, Ports
from k8s_bridge.kubelet.programs import PROGRAMS
from k8s_bridge.kubelet.ssh import Ssh
from k8s_bridge.kubelet.values import ADDRESS, Capacity, Lookup, from_objects, from_source
from k8s_bridge.port import Manifest
from statemachine.errors import Refused
from statemachine.programs import OneHost

_LOOKUP = re.compile(r"\bnslookup(?=\s+127\.)")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Host:
    """This machine as pods see it.

    `env`: what every process gets. `which`: a program's path by name and PATH, None if there is none.
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
    """What to run for a pod. `mounts` are all that its containers have."""

    init: tuple[Launch, ...]
    main: tuple[Launch, ...]
    volumes: tuple[Volume, ...]
    mounts: tuple[Mount, ...]
    ssh: Ssh | None = None


def check(pod: Manifest) -> None:
    """Nothing, unless the pod can never be run here. Raises Refused with all reasons."""
    spec = pod.get("spec") or {}
    problems = list(unsupported(pod))
    if not spec.get("containers"):
        problems.append("spec.containers: Required value: at least one container")
    for field in ("initContainers", "containers"):
        for at, each in enumerate(spec.get(field) or ()):
            if not _NAME.fullmatch(str(each.get("name"))):
                problems.append(f"spec.{field}[{at}].name: must be a DNS label")
            if not each.get("command"):
                problems.append(
                    f"spec.{field}[{at}].command: Required value: a local run does not use images, "
                    f'so it cannot know what container "{each.get("name")}" would start'
                )
    if problems:
        raise Refused(422, "Invalid", "; ".join(problems))


def encode_secret(secret: Manifest) -> None:
    """`stringData` becomes part of `data`, as an API server does it."""
    for key, value in (secret.pop("stringData", None) or {}).items():
        encoded = base64.b64encode(str(value).encode()).decode()
        secret["data"] = {**(secret.get("data") or {}), key: encoded}


@dataclass(frozen=True, slots=True)
class _Scene:
    """What all containers of a pod have in common."""

    pod: Manifest
    host: Host
    volumes: tuple[Volume, ...]
    services: Mapping[str, Ports]
    find: Lookup
    ssh: Ssh | None

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])


def plan(pod: Manifest, host: Host, roots: Roots, services: Mapping[str, Ports], find: Lookup) -> PodPlan:
    """What to run. Raises NotYet (an object is missing), Refused."""
    its_ssh, its_volumes = ssh.found(pod, volumes(pod, roots, find, host.capacity), services)
    scene = _Scene(pod, host, its_volumes, services, find, its_ssh)
    spec = pod.get("spec") or {}
    init = [_launch(each, scene) for each in spec.get("initContainers") or ()]
    main = [_launch(each, scene) for each in spec.get("containers") or ()]
    found = tuple(mount for _, its in (*init, *main) for mount in its)
    if its_ssh is not None:
        with_keys = next(each for each in spec.get("containers") or () if its_ssh.concerns(each))
        session = _own_env(str(with_keys.get("name")), scene, its_ssh)
        its_volumes = (*its_volumes, ssh.tools(its_ssh, pod, services, host.which, session))
    launches = [tuple(each for each, _ in those) for those in (init, main)]
    return PodPlan(launches[0], launches[1], its_volumes, found, its_ssh)


def _launch(raw: Mapping[str, Any], scene: _Scene) -> tuple[Launch, tuple[Mount, ...]]:
    has_ssh = scene.ssh if scene.ssh is not None and scene.ssh.concerns(raw) else None
    addresses = has_ssh.addresses if has_ssh else {}
    names = Names(scene.services, scene.pod["metadata"].get("namespace") or "default", addresses)
    entries, rename = names.env(raw.get("env") or [])
    env = dict(_env(entries, raw, scene))
    its = mounts(raw, scene.volumes, env, scene.host.is_folder)
    to_folders = rewriter(its)

    def move(text: str) -> str:
        return to_folders(has_ssh.rewritten(text) if has_ssh else text)

    env = {name: move(value) for name, value in env.items()} | {each.variable: each.here for each in its}
    elsewhere = from_objects(iter(raw.get("envFrom") or ()), scene.find)
    variables = {name: move(rename(value)) for name, value in elsewhere.items()} | env
    words = names.master_ports(
        [str(each) for each in (*(raw.get("command") or ()), *(raw.get("args") or ()))]
    )
    name = str(raw.get("name"))
    if has_ssh and ssh.needs_server(words):
        _check_server(name, scene)
    argv = [expanded(_no_lookup(move(rename(each))), variables) for each in words]
    folder = expanded(move(str(raw.get("workingDir") or scene.host.folder)), variables)
    process_env = _process_env(variables, name, scene, has_ssh)
    here = OneHost(ADDRESS, scene.services, scene.name)
    for program in PROGRAMS:
        process_env |= program.variables(argv, process_env, here)
    return Launch(name, _resolved(argv, process_env["PATH"], scene.host), process_env, folder), its


def _no_lookup(text: str) -> str:
    """Whoever waits until a Service's name can be looked up need not: an address has taken its place."""
    return _LOOKUP.sub(":", text)


def _check_server(container: str, scene: _Scene) -> None:
    """Raises Refused if no SSH server can be started here."""
    if ssh.sshd(scene.host.which, scene.host.env.get("PATH", "")) is None:
        raise Refused(
            422,
            "Invalid",
            f'container "{container}" starts sshd, which this machine does not have; '
            "install an OpenSSH server (its service need not run), or run the job on a cluster",
        )


def _env(entries: Sequence[Entry], container: Mapping[str, Any], scene: _Scene) -> Iterator[tuple[str, str]]:
    """Names and values of the `env` list; a value may refer to those before it."""
    known: dict[str, str] = {}
    for entry in entries:
        name = str(entry.get("name"))
        if entry.get("valueFrom"):
            value = from_source(entry["valueFrom"], scene.pod, container, scene.find, scene.host.capacity)
        else:
            value = expanded(str(entry.get("value") or ""), known)
        if value is not None:
            known[name] = value
            yield name, value


def _process_env(
    variables: Mapping[str, str], container: str, scene: _Scene, has_ssh: Ssh | None
) -> dict[str, str]:
    env = _own_env(container, scene, has_ssh)
    own = {name: env[name] for name in (MARKER,)}
    env |= variables
    if has_ssh and "PATH" in variables:
        env["PATH"] = has_ssh.on_path(variables["PATH"])
    return env | own


def _own_env(container: str, scene: _Scene, has_ssh: Ssh | None) -> dict[str, str]:
    """What a process of the container gets without its manifest having said so."""
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
    """The arguments with a Python that exists in front, where one was asked for.

    It runs the module, too, that a program is which the PATH does not have.
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
    return next((each for each in (name, other) if host.which(each, path)), host.fallback)
