"""docs/consume.md does what it says: its commands and programs are run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.consumers.conftest import Published
from tests.integration.consumers.published import CONSUMERS, ROOT, exported, ledger, running
from tests.integration.ports import free_port

pytestmark = pytest.mark.integration

PAGE = (ROOT / "docs" / "consume.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def shell(commands: str, folder: Path, **more: str) -> str:
    """What the commands print, run where the paths of the checkout hold and files are made in `folder`."""
    for name in (".venv", "examples"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name if name != ".venv" else Path(sys.prefix))
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_job_is_run_and_its_events_are_counted(tmp_path: Path) -> None:
    run, *_ = blocks("sh")
    count, _ = blocks("python")
    said = shell(run, tmp_path)
    assert "events in events.jsonl" in said
    (tmp_path / "count.py").write_text(count)
    counted = shell(f"{sys.executable} count.py", tmp_path)
    assert "'dev.jobledger.job.succeeded.v1': 1" in counted


def test_events_are_posted_to_a_receiver(tmp_path: Path) -> None:
    *_, receive = blocks("sh")
    lines = exported(ledger(tmp_path))
    wait = "timeout 60 sh -c 'until curl -s -o /dev/null http://127.0.0.1:9000/; do sleep 0.1; done'\n"
    background, rest = receive.split("&\n")
    stop = "\nkill %1; wait %1 || true"
    posted = shell(f"set -m\n{background}&\n{wait}{rest}{stop}".replace("9000", str(free_port())), tmp_path)
    assert f"{len(lines)} events sent" in posted


def test_ten_lines_read_the_topic(published: Published, tmp_path: Path) -> None:
    _, follow = blocks("python")
    (tmp_path / "follow.py").write_text(follow)
    command = (sys.executable, str(tmp_path / "follow.py"), published.servers, published.topic)
    with running(*command) as lines:
        printed = [lines.until(bool) for _ in published.lines]
    assert sum("dev.jobledger.job.created.v1" in line for line in printed) == 3


def test_every_example_is_on_the_page_and_every_link_of_it_leads_to_a_file() -> None:
    linked = {target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", PAGE)}
    for target in linked:
        assert target.startswith("https://") or (ROOT / "docs" / target).exists(), target
    names = {f"../examples/consumers/{path.name}" for path in CONSUMERS.iterdir() if path.is_file()}
    assert names <= linked
