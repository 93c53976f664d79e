"""The history of a job with 5,000 entries in a real Chromium: what a move of the slider costs, and doing nothing.

Processor time is the browser's own count of its main thread (CDP, Performance.getMetrics, TaskDuration), which is
disturbed less than the time on the clock. Compare two revisions on one machine, by their ratio.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.bench.results import Result
from tests.support.long_life import PAGE, long_life, write

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
"""What a Chromium is called; the last takes less processor time, so its figures are not those of the others."""

_MOVES: Final = 9
_IDLE: Final = 20_000
"""Milliseconds in which nothing happens: four refreshes."""


def history_in_a_browser() -> Iterator[Result]:
    """Bytes, requests and processor time of a move, and the share of a core that an idle page takes."""
    if (program := _chromium()) is None:
        sys.stderr.write("no chromium on the PATH: the benchmark `browser` is left out\n")
        return
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        store = Path(folder) / "store.db"
        asyncio.run(write(long_life(), store))
        with _serving(store) as address, _page(program) as page:
            yield from _measured(page, address + PAGE)


def _measured(page: "Page", address: str) -> Iterator[Result]:
    counted = page.context.new_cdp_session(page)
    counted.send("Performance.enable")
    got: list[int] = []
    page.on(
        "response",
        lambda answer: (
            got.append(int(answer.headers.get("content-length", 0))) if "/static/" not in answer.url else None
        ),
    )
    page.goto(f"{address}?at=2500")
    page.wait_for_timeout(8_000)  # what is refreshed for the first time is new to the page
    page.locator("#auto").uncheck()  # a refresh is no part of a move
    page.locator("#slider").focus()
    moves = [_move(page, counted, got) for _ in range(_MOVES)]
    yield Result("browser: a move, CPU", "ms", tuple(move[0] for move in moves), 30.0, "most")
    yield Result("browser: a move, bytes", "bytes", tuple(move[1] for move in moves), 15_000, "most")
    yield Result("browser: a move, requests", "requests", tuple(move[2] for move in moves), 1, "most")
    page.wait_for_timeout(2_000)
    page.locator("#auto").check()
    page.wait_for_timeout(8_000)
    got.clear()
    spent = _spent(counted)
    page.wait_for_timeout(_IDLE)
    share = (_spent(counted) - spent) * 1000 / _IDLE * 100
    yield Result("browser: idle", "% of a core", (share,), 1.0, "most")
    yield Result("browser: idle, bytes a second", "bytes", (sum(got) * 1000 / _IDLE,))


def _move(page: "Page", counted: "CDPSession", got: list[int]) -> tuple[float, float, float]:
    """Milliseconds of processor time, bytes and requests until a key has moved the cursor by an entry."""
    before, spent = page.locator("#moment").get_attribute("data-seq"), _spent(counted)
    got.clear()
    page.keyboard.press("ArrowRight")
    page.locator(f"#moment:not([data-seq='{before}'])").wait_for()
    page.wait_for_timeout(300)
    return (_spent(counted) - spent) * 1000, sum(got), len(got)


def _spent(counted: "CDPSession") -> float:
    """Seconds of processor time of the page's main thread until now."""
    got: dict[str, Any] = counted.send("Performance.getMetrics")
    return next(float(metric["value"]) for metric in got["metrics"] if metric["name"] == "TaskDuration")


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


@contextmanager
def _page(program: str) -> "Iterator[Page]":
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=flags)
        page = opened.new_page(viewport={"width": 1440, "height": 1000}, locale="en-GB")
        page.set_default_timeout(120_000)
        yield page
        opened.close()


@contextmanager
def _serving(store: Path) -> Iterator[str]:
    """A server over the store; gives its address."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("JOBLEDGER_")}
    command = [sys.executable, "-m", "jobledger", "serve", "--store", str(store), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            read: Callable[[], str] = process.stdout.readline
            address = next(
                filter(None, (re.search(r"http://127\.0\.0\.1:\d+", line) for line in iter(read, "")))
            )
            yield address[0]
        finally:
            process.send_signal(signal.SIGTERM)
