"""Other versions of Python on this machine, each with an environment that has what the projection needs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tests.gate.flaky import OUT

_LEAST: Final = (3, 11)
_NEEDED: Final = ("msgspec", "pydantic", "pydantic-core", "transitions")
_INTERPRETER: Final = re.compile(r"python3\.(\d+)$")


def others() -> Iterator[Path]:
    """Interpreters of other versions that jobledger runs on, one of each; each has an environment of its own."""
    of_version: dict[tuple[int, int], Path] = {}
    for folder in (*os.get_exec_path(), *map(str, _of_pyenv())):
        for path in sorted(Path(folder).glob("python3.*")):
            if (match := _INTERPRETER.match(path.name)) and _is(path, number := (3, int(match[1]))):
                of_version.setdefault(number, path)
    for number, path in sorted(of_version.items()):
        if number >= _LEAST and number != sys.version_info[:2]:
            yield _environment(path)


def _of_pyenv() -> list[Path]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return sorted(root.glob("versions/*/bin"))


def _is(path: Path, number: tuple[int, int]) -> bool:
    """The file runs, as this version: what is installed for another project may only say that it does not."""
    asked = [str(path), "-c", "import sys; print(*sys.version_info[:2])"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.split() == [str(part) for part in number]


def _environment(python: Path) -> Path:
    """The interpreter of an environment with the versions that this one has; made once."""
    folder = OUT / "pythons" / python.name
    own = folder / "bin" / "python"
    needed = [f"{name}=={version(name)}" for name in _NEEDED]
    mark = folder / "needed"
    if not mark.exists() or mark.read_text().split() != needed:
        subprocess.run([str(python), "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(own), "-m", "pip", "install", "--quiet", *needed], check=True)
        mark.write_text("\n".join(needed))
    return own
