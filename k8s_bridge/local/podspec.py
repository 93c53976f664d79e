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

from k8s_bridge.local.containers import MARKER, Launch
from k8s_bridge.local.expansion import expanded
from k8s_bridge.local.mounts import Mount, Roots, Volume, mounts, rewriter, unsupported, volumes
from k8s_bridge.local.names import Entry, Names, Ports
from k8s_bridge.local.values import ADDRESS, Capacity, Lookup, from_objects, from_source
from k8s_bridge.port import Manifest
from statemachine.errors import Refused
from statemachine.kinds.pytorchjob.templates import WAITING

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Host:
    """This machine as pods see it.

    `env`: what every process gets. `which`: a program's path by name and PATH, None if there is none.
    `python`: a Python that is to be used for `python`, `python3` and `torchrun`; empty: those on the PATH.
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

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])


def plan(pod: Manifest, host: Host, roots: Roots, services: Mapping[str, Ports], find: Lookup) -> PodPlan:
    """What to run. Raises NotYet (an object is missing), Refused."""
    scene = _Scene(pod, host, volumes(pod, roots, find, host.capacity), services, find)
    spec = pod.get("spec") or {}
    init = [_launch(_at_once(each), scene) for each in spec.get("initContainers") or ()]
    main = [_launch(each, scene) for each in spec.get("containers") or ()]
    found = tuple(mount for _, its in (*init, *main) for mount in its)
    return PodPlan(tuple(each for each, _ in init), tuple(each for each, _ in main), scene.volumes, found)


def _at_once(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Nobody waits for a Service's name to be known: addresses are put in place of names before anything starts."""
    return {**raw, "command": ["true"]} if raw.get("name") == WAITING else raw


def _launch(raw: Mapping[str, Any], scene: _Scene) -> tuple[Launch, tuple[Mount, ...]]:
    names = Names(scene.services, scene.pod["metadata"].get("namespace") or "default")
    entries, rename = names.env(raw.get("env") or [])
    env = dict(_env(entries, raw, scene))
    its = mounts(raw, scene.volumes, env, scene.host.is_folder)
    move = rewriter(its)
    env = {name: move(value) for name, value in env.items()} | {each.variable: each.here for each in its}
    elsewhere = from_objects(iter(raw.get("envFrom") or ()), scene.find)
    variables = {name: move(rename(value)) for name, value in elsewhere.items()} | env
    words = [*(raw.get("command") or ()), *(raw.get("args") or ())]
    argv = [expanded(move(rename(str(each))), variables) for each in words]
    folder = expanded(move(str(raw.get("workingDir") or scene.host.folder)), variables)
    name = str(raw.get("name"))
    process_env = _process_env(variables, name, scene)
    process_env |= _rendezvous(argv, process_env, scene)
    return Launch(name, _resolved(argv, process_env["PATH"], scene.host), process_env, folder), its


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


def _process_env(variables: Mapping[str, str], container: str, scene: _Scene) -> dict[str, str]:
    env = {**scene.host.env, "HOSTNAME": scene.name}
    if scene.host.python:
        env["PATH"] = f"{scene.host.python.rpartition('/')[0]}:{env.get('PATH', '')}"
    env |= variables
    env.setdefault("PATH", "/usr/bin:/bin")
    env[MARKER] = f"{scene.pod['metadata']['uid']}/{container}"
    return env


def _rendezvous(argv: Sequence[str], env: Mapping[str, str], scene: _Scene) -> dict[str, str]:
    """What torchrun must be told where all nodes are one: its address, and whether it serves the rendezvous.

    It would find out by comparing names and addresses, and those are the same for every pod here: a worker
    might serve in the master's place, and everybody would lose it when that worker is restarted.
    """
    said = " ".join(argv)
    if "--rdzv_endpoint" in said or "--rdzv-endpoint" in said:
        endpoint = said
    elif "PET_RDZV_ENDPOINT" in env:
        endpoint = env["PET_RDZV_ENDPOINT"]
    else:
        return {}
    found = {} if "PET_LOCAL_ADDR" in env else {"PET_LOCAL_ADDR": ADDRESS}
    told = "--rdzv_conf" in said or "--rdzv-conf" in said or "PET_RDZV_CONF" in env
    servers = [name for name, ports in scene.services.items() if _names_one(endpoint, ports)]
    if servers and not told:
        found["PET_RDZV_CONF"] = f"is_host={str(scene.name in servers).lower()}"
    return found


def _names_one(text: str, ports: Ports) -> bool:
    return any(re.search(rf"{re.escape(ADDRESS)}:{port}(?!\d)", text) for port in ports.values())


def _resolved(argv: Sequence[str], path: str, host: Host) -> tuple[str, ...]:
    """The arguments with a Python that exists in front, where Python or torchrun was asked for.

    Where the PATH has no torchrun, the Python runs the module that torchrun is.
    """
    first, *rest = argv
    if first in ("python", "python3"):
        return (_python(first, path, host), *rest)
    if first == "torchrun" and not host.which(first, path):
        return (_python("python3", path, host), "-m", "torch.distributed.run", *rest)
    return tuple(argv)


def _python(name: str, path: str, host: Host) -> str:
    if host.python:
        return host.python
    other = "python" if name == "python3" else "python3"
    return next((each for each in (name, other) if host.which(each, path)), host.fallback)
