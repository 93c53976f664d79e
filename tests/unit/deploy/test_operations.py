"""Commands in docs/operations.md that can be run without a cluster do what is said of them."""

import asyncio
import re
import shlex
import subprocess
import sys
from pathlib import Path

from statemachine.log.sqlite import SqliteLog
from tests.support.stores import writing

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"

PLACE = "/var/lib/jobledger"
"""Where the log is in the controller's pod."""


def commands(section: str) -> list[list[str]]:
    """The commands of the first block of a section, in words."""
    match = re.search(
        rf"^## {section}\n.*?^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert match, section
    return [shlex.split(line, comments=True) for line in match[1].replace("\\\n", "").splitlines()]


def in_the_pod(command: list[str], folder: Path) -> list[str]:
    """What `kubectl exec` runs there, to be run here."""
    words = [word.replace(PLACE, str(folder)) for word in command[command.index("--") + 1 :]]
    return [sys.executable, *words[1:]] if words[0] == "python" else words


async def last_position(path: Path) -> int:
    """Of the store at `path`, opened as one."""
    log = await SqliteLog.open(path, read_only=True)
    try:
        return await log.end()
    finally:
        await log.close()


def test_a_copy_of_a_log_that_is_being_written_holds_everything_acknowledged_before(tmp_path: Path) -> None:
    copy, *_ = commands("Back up the log")
    with writing(tmp_path / "ledger.db") as (_, positions):
        before = max(int(next(positions)) for _ in range(200))
        subprocess.run(in_the_pod(copy, tmp_path), check=True)
        assert int(next(positions)) > 0
    assert asyncio.run(last_position(tmp_path / "copy.db")) >= before
