"""A real Chromium, driven by playwright: found, started, and asked for what a user sees."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

ROOT: Final = Path(__file__).resolve().parents[2]
AXE: Final = "4.14.1"
"""The release of axe-core that looks for what keeps people out."""
_PROGRAMS: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""What a Chromium is called; the first has no windows: 22 tests of pages take 63 s of
processor time with it, and 89 with the second."""
PATIENCE: Final = 90_000
"""Milliseconds until a page has failed to show something: no measure of speed, as machines are shared."""


def chromium() -> str:
    """The path of the browser. Skips where there is none."""
    if find_spec("playwright") is None:
        pytest.skip("playwright is not installed: it drives the browser")
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip("no chromium on the PATH: install Debian's package chromium-headless-shell, or chromium")
    return program


@contextmanager
def browser() -> "Iterator[Browser]":
    """A browser without a window."""
    path = chromium()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    # in a container root has no sandbox of its own; the pages are ours
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield opened
        finally:
            opened.close()


def held(page: "Page", address: str) -> "list[Route]":
    """The next request for the address, which waits until `continue_` lets it go; empty until it is made."""
    routes: list[Route] = []

    def hold(asked: "Route") -> None:
        routes.append(asked)

    page.route(address, hold, times=1)
    return routes


def once_made(page: "Page", waiting: "list[Route]") -> "Route":
    """The request that `held` waits for, as soon as the page makes it."""
    while not waiting:
        page.wait_for_timeout(20)
    return waiting[0]


def axe() -> str:
    """The script of axe-core, kept beside the other tools. Skips where it cannot be had."""
    folder = Path(os.environ.get("JOBLEDGER_TOOLS") or Path.home() / ".cache" / "jobledger-tools")
    script = folder / f"axe-core-{AXE}" / "package" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm: it fetches axe-core")
        script.parents[1].mkdir(parents=True, exist_ok=True)
        fetched = subprocess.run(
            [npm, "pack", "--silent", f"axe-core@{AXE}"],
            cwd=script.parents[1],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if fetched.returncode:
            pytest.skip(f"axe-core cannot be fetched: {fetched.stderr.strip()[-200:]}")
        shutil.unpack_archive(script.parents[1] / fetched.stdout.split()[-1], script.parents[1], "gztar")
    return script.read_text()


_AT_REST: Final = """async () => {
  const changing = ".htmx-request, .htmx-swapping, .htmx-settling";
  while (document.readyState !== "complete" || document.querySelector(changing))
    await new Promise((go) => setTimeout(go, 20));
  await Promise.allSettled(document.getAnimations().map((animation) => animation.finished));
  await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
}"""
"""Nothing loads, nothing moves, and what was last changed has been painted."""


def barriers(page: "Page", script: str) -> list[str]:
    """What axe-core calls serious or critical on the page, with the colours and sizes it measured.

    It reads styles over several turns of the event loop, so a page that changes meanwhile is measured half before and
    half after: what it complains of counts if it does so again a second later.
    """
    page.evaluate(script)  # by the debugger's hand: the page's policy lets no script in
    complaints = _complaints(page)
    if complaints:
        page.wait_for_timeout(1_000)
        again = _complaints(page)
        complaints = [complaint for complaint in complaints if complaint in again]
    return complaints


def _complaints(page: "Page") -> list[str]:
    page.evaluate(_AT_REST)
    result: Any = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']}, {node['failureSummary']}"
        for rule in result["violations"]
        for node in rule["nodes"]
        if rule["impact"] in ("serious", "critical")
    ]
