"""Log windows in a real browser: what comes while they are open."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives the browser")

from playwright.sync_api import Browser, Page, Route, expect

from tests.integration.browser import PATIENCE, browser
from tests.integration.cli_words import Place, script
from tests.integration.ports import free_port

pytestmark = pytest.mark.integration

WAITS = r"""
import pathlib, sys, time
once = pathlib.Path("failed-once")
print("attempt", 2 if once.exists() else 1)
sys.stdout.buffer.write(bytes(range(256)) * 4 + b"\n")
print("\x1b]0;a title\x07\x1b[2J\x1b[31mred\x1b[0m")
while not pathlib.Path("fail").exists() or once.exists():
    time.sleep(0.1)
once.touch()
sys.exit(3)
"""


BESIDE = "echo from beside; while [ ! -e fail ]; do sleep 0.1; done"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def log(place: Place) -> Iterator[str]:
    """The address of worker-0's log, of a job that is paused until somebody resumes it."""
    port = free_port()
    job = script("train", WAITS, runMode={"pause": {"enabled": True}}, runPolicy={"backoffLimit": 1})
    containers = job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    containers.append({"name": "beside", "image": "none", "command": ["sh", "-c", BESIDE]})
    with place.server("--listen", f"127.0.0.1:{port}"):
        place.ok("submit", place.write("train.yaml", job))
        place.ok("wait", "train", "--for", "phase=Paused", "--timeout", "50s")
        yield f"http://127.0.0.1:{port}/jobs/default/PyTorchTrainingJob/train/log?replica=worker-0"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def page(chrome: Browser) -> Iterator[Page]:
    with chrome.new_page(locale="en-GB") as page:
        page.set_default_timeout(PATIENCE)
        yield page


def test_a_window_opens_follows_and_tells_of_a_restart_without_being_loaded_again(
    place: Place, log: str, page: Page
) -> None:
    page.goto(log)
    expect(page.locator("#piece > .bad-news")).to_be_visible()
    page.evaluate("window.stillHere = true")
    place.ok("resume", "train")
    expect(page.locator("#log-lines")).to_contain_text("attempt 1")
    lines = page.locator("#log-lines > li")
    expect(lines.nth(1)).to_have_text(re.compile(r"^⟨\d+ bytes that are no text⟩$"))
    expect(lines.last).to_have_text("red")
    expect(page.locator("#log-follow")).to_be_checked()
    (place.folder / "fail").touch()
    expect(page.locator("#log-state")).to_have_text("The log has ended.")
    expect(page.locator("#log-newer")).to_contain_text("It has been started again since.")
    assert page.evaluate("window.stillHere") is True
    page.locator("#log-newer a").click()
    expect(page.locator("#log-lines")).to_contain_text("attempt 2")
    expect(page.locator("#log-newer")).to_be_empty()


def test_another_container_is_chosen_in_the_window(place: Place, log: str, page: Page) -> None:
    place.ok("resume", "train")
    place.ok("wait", "train", "--for", "phase=Running", "--timeout", "50s")
    page.goto(log)
    expect(page.locator("#log-lines")).to_contain_text("attempt 1")
    page.get_by_label("Container").select_option("beside")
    expect(page.locator("#log-lines > li")).to_have_text(["from beside"])
    page.get_by_label("Container").select_option("python")
    expect(page.locator("#log-lines")).to_contain_text("attempt 1")


def test_a_stream_that_breaks_is_taken_up_again_without_a_line_twice(
    place: Place, log: str, page: Page
) -> None:
    place.ok("resume", "train")
    place.ok("wait", "train", "--for", "phase=Running", "--timeout", "50s")
    asked: list[str] = []
    page.add_init_script("delete window.SharedWorker")  # whose requests playwright does not see

    def answer(route: Route) -> None:
        """What a cluster does that only streams: every connection begins with the last lines."""
        if "log=" not in route.request.url:  # before the window follows
            route.fulfill(status=200, content_type="text/event-stream", body="event: changed\ndata: 1\n\n")
            return
        asked.append(route.request.url)
        if len(asked) == 2:
            route.fulfill(status=502, body="no server behind the proxy")
            return
        lines = ["one", "two", "three"][: 1 + len(asked)]
        news = {"log": 0, "end": 8, "lines": lines, "tail": "", "skipped": 0, "ended": len(asked) > 2}
        body = f'event: begin\ndata: {{"log": 0}}\n\nevent: log\ndata: {json.dumps(news)}\n\n'
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    def streaming(route: Route) -> None:
        answered = route.fetch()
        route.fulfill(response=answered, body=answered.text().replace('data-stream=""', 'data-stream="1"'))

    page.route(re.compile(r"/live(\?|$)"), answer)
    page.route("**/log?**", streaming)
    page.goto(log)
    expect(page.locator("#log-lines")).to_contain_text("three")
    assert page.locator("#log-lines > li").all_text_contents() == ["one", "two", "three"]
    assert len(asked) == 3
