"""The files of the pods of a local cluster, in one data folder that only its owner can enter.

pods/<uid>/pod.json             the pod: namespace, name, job, containers in order
pods/<uid>/<container>.log      the container's log; stays when the pod is gone
pods/<uid>/<container>.1.log    the log after its first restart in the pod, and so on
pods/<uid>/state/<container>/   see `shim`; stays too
pods/<uid>/state/<container>/1/ the same of the run after its first restart, and so on
pods/<uid>/volumes/<volume>/    goes with the pod
volumes/<namespace>/<claim>/    persistent volume claims; jobledger never deletes them
"""

import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from k8s_bridge.kubelet.containers import MARKER, ContainerFolder
from k8s_bridge.kubelet.mounts import LocalVolume, Mount, Roots
from k8s_bridge.kubelet.shim import FOR_GOOD

_UID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")


class NotMountable(Exception):
    """A hostPath is not what its type says; the message is for the user."""


@dataclass(frozen=True, slots=True)
class About:
    """The pod of a folder. `containers`: the main ones first, so that the first is the default for logs."""

    namespace: str
    name: str
    job: str
    containers: tuple[str, ...]


class DataFolder:
    """The data folder of a local cluster."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def open(self) -> None:
        """Makes the folder, for its owner only."""
        for folder in (self.root, self.root / "pods", self.root / "volumes"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def pod(self, uid: str) -> "PodFolder":
        """The folder of the pod `uid`, made or not."""
        return PodFolder(self.root / "pods" / uid, uid)

    def existing(self, uid: str) -> "PodFolder | None":
        """The folder of a pod that has, or had, one; None for any other `uid`, which may be any text."""
        if not _UID.fullmatch(uid):
            return None
        folder = self.pod(uid)
        return folder if folder.about() else None

    def claims(self, namespace: str) -> str:
        """The folder for the persistent claims of a namespace."""
        return str(self.root / "volumes" / namespace)


class PodFolder:
    """The folder of one pod."""

    def __init__(self, path: Path, uid: str) -> None:
        self.path, self.uid = path, uid

    def make(self, about: About) -> None:
        """Makes everything but the volumes. Raises OSError."""
        for name in about.containers:
            (self.path / "state" / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(self.path / "pod.json", json.dumps(asdict(about)).encode(), 0o600)

    def about(self) -> About | None:
        """The pod of the folder; None without a folder."""
        try:
            fields = json.loads((self.path / "pod.json").read_bytes())
            return About(fields["namespace"], fields["name"], fields["job"], tuple(fields["containers"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def restarts(self, name: str) -> int:
        """The number of the container's restarts, which is the number of its last run: runs begin at 0."""
        try:
            entries = [entry.name for entry in (self.path / "state" / name).iterdir()]
        except FileNotFoundError:
            return 0
        return max((int(entry) for entry in entries if entry.isdecimal()), default=0)

    def begin_again(self, name: str) -> None:
        """Begins another run of the container, which no shim has claimed yet. Raises OSError."""
        self.container(name, self.restarts(name) + 1).folder.mkdir(mode=0o700)

    def container(self, name: str, run: int | None = None) -> ContainerFolder:
        """The state of a container: of its last run, or of another."""
        number = self.restarts(name) if run is None else run
        folder = self.path / "state" / name
        marker = f"{MARKER}={self.uid}/{name}"
        return ContainerFolder(folder / str(number) if number else folder, self.log(name, number), marker)

    def log(self, container: str, run: int | None = None) -> Path:
        """The log of a container: of its last run, or of another."""
        number = self.restarts(container) if run is None else run
        return self.path / (f"{container}.{number}.log" if number else f"{container}.log")

    def roots(self, claims: str) -> Roots:
        """The folders of the pod's volumes."""
        return Roots(str(self.path / "volumes"), claims)

    def make_volumes(
        self, volumes: tuple[LocalVolume, ...], mounts: tuple[Mount, ...], starting: Collection[str]
    ) -> None:
        """Makes every volume, with its files, and the mounts of the containers that are `starting`.

        Raises NotMountable, OSError.
        """
        for volume in volumes:
            if volume.check is not None:
                _check_host_path(volume)
                continue
            Path(volume.path).mkdir(mode=0o700, parents=True, exist_ok=True)
            if volume.files is not None and not volume.shared:
                _drop_others(Path(volume.path), volume.files)
            for name, content in (volume.files or {}).items():
                _put(Path(volume.path, name), content, volume.mode(name))
        by_name = {volume.name: volume for volume in volumes}
        for mount in mounts:
            if mount.part and mount.container in starting:
                _copy(by_name[mount.volume], mount)
        made_here = {volume.name for volume in volumes if volume.check is None and volume.files is None}
        for mount in mounts:
            if mount.volume in made_here and mount.moved:
                Path(mount.here).mkdir(mode=0o700, parents=True, exist_ok=True)

    def drop_volumes(self) -> None:
        """Deletes the pod's own volumes, and nothing else."""
        shutil.rmtree(self.path / "volumes", ignore_errors=True)


def _drop_others(folder: Path, files: Collection[str]) -> None:
    """Deletes the folder's files that are not in `files`."""
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in files:
            path.unlink(missing_ok=True)


def _copy(volume: LocalVolume, mount: Mount) -> None:
    """Copies the mounted part of the volume to the place of the mount."""
    for name, content in (volume.files or {}).items():
        if name == mount.part or name.startswith(f"{mount.part}/"):
            _put(Path(mount.here + name.removeprefix(mount.part)), content, volume.mode(name))


def _put(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, content, mode)


def _write(path: Path, content: bytes, mode: int) -> None:
    """Writes the file's content atomically. Raises OSError."""
    new = path.with_name(f".{path.name}.new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with open(handle, "wb") as file:  # noqa: PTH123 - an open descriptor, so that the mode is right from the start
        file.write(content)
    new.replace(path)


_CHECKS: dict[str, tuple[Callable[[int], bool], str]] = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def _check_host_path(volume: LocalVolume) -> None:
    path, kind = Path(volume.path), volume.check or ""
    test = _CHECKS.get(kind.removesuffix("OrCreate"))
    try:
        if kind == "DirectoryOrCreate":
            path.mkdir(parents=True, exist_ok=True)
        elif kind == "FileOrCreate" and not path.exists():
            path.touch()
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise NotMountable(
            f'volume "{volume.name}": hostPath {path} does not exist on this machine'
        ) from None
    except OSError as error:
        if error.errno not in FOR_GOOD:
            raise
        raise NotMountable(f'volume "{volume.name}": hostPath {path}: {error.strerror}') from error
    if test is not None and not test[0](mode):
        raise NotMountable(f'volume "{volume.name}": hostPath {path} is not {test[1]}')
