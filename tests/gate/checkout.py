"""Another revision in a folder of its own, for what compares it with this tree."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.gate.changed import ROOT


class NoRevision(LookupError):
    """git has no such revision here; it has said so on standard error."""


@contextmanager
def checkout(revision: str, root: Path = ROOT) -> Iterator[Path]:
    """A worktree of `revision`, gone when the block ends.

    Raises:
        NoRevision: git does not know it, as `HEAD~1` in a clone of depth 1.
    """
    with tempfile.TemporaryDirectory(prefix="jobledger-checkout-") as folder:
        tree = Path(folder) / "tree"
        added = subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], cwd=root, check=False
        )
        if added.returncode:
            raise NoRevision(revision)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=root, check=False)
