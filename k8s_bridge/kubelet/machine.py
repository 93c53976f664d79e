"""This machine as local pods see it, read once at the start."""

import os
import shutil
import sys
from pathlib import Path

from k8s_bridge.kubelet.podspec import Host
from k8s_bridge.kubelet.values import Capacity

_PASSED_ON = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "SSL_CERT_FILE",
)
"""The part of jobledger's own environment that processes get: what programs need to be found and to run."""


def this_machine(folder: Path, python: str = "") -> Host:
    """The host of a local cluster whose processes start in `folder`."""
    return Host(
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        which=_which,
        is_folder=os.path.isdir,
        capacity=Capacity(os.cpu_count() or 1, _memory()),
        folder=str(folder),
        fallback=sys.executable,
        python=python,
    )


def _which(program: str, path: str) -> str | None:
    return shutil.which(program, path=path)


def _memory() -> int:
    """Bytes of physical memory; 0 if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
