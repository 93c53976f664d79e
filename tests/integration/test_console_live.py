"""Many pages of one browser: they share a stream, whatever they show; and what they say when there is none."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives the browser")

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.harness import wait_for
from tests.integration.browser import PATIENCE, browser
from tests.integration.cli_words import Place, environment, script
from tests.integration.ports import free_port

pytestmark = pytest.mark.integration

TABS = 10
JOB = "/jobs/default/PyTorchTrainingJob/train"
TALKER = "import pathlib, time\nprint('begun')\nwhile not pathlib.Path('say').exists(): time.sleep(0.1)\n"
TALKER += "print('said to all')\ntime.sleep(600)"
WAYS = {
    "a SharedWorker": "",
    "an elected page": "delete window.SharedWorker",
    "pages alone": "delete window.SharedWorker; delete window.BroadcastChannel",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A server there holds one stream."""
    return Place(tmp_path, environment(JOBLEDGER_CONSOLE__LISTENERS="1"))


@pytest.fixture
def address(place: Place) -> Iterator[str]:
    port = free_port()
    with place.server("--listen", f"127.0.0.1:{port}"):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def context(chrome: Browser) -> Iterator[BrowserContext]:
    with chrome.new_context(locale="en-GB") as made:
        made.set_default_timeout(PATIENCE)
        yield made


def streams(address: str) -> int:
    """How many streams the server, which holds one, has."""
    with httpx.stream("GET", f"{address}/live") as answer:
        return int(answer.status_code == 429)


def opened(context: BrowserContext, *addresses: str) -> list[Page]:
    pages = []
    for address in addresses:
        page = context.new_page()
        page.goto(address, wait_until="domcontentloaded")
        pages.append(page)
    return pages


def shown(page: Page, state: str) -> None:
    """The page becomes hidden, or visible again, for its scripts; a browser without windows hides none."""
    page.evaluate(
        "state => { Object.defineProperty(document, 'visibilityState', {get: () => state, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        state,
    )


@pytest.mark.parametrize("way", ["a SharedWorker", "an elected page"])
def test_ten_tabs_share_one_stream_and_all_show_a_change_at_once(
    place: Place, address: str, context: BrowserContext, way: str
) -> None:
    context.add_init_script(WAYS[way])
    pages = opened(context, *[f"{address}/jobs"] * TABS)
    for page in pages:
        page.get_by_text("No data").wait_for()
    wait_for("a stream", lambda: streams(address) == 1, 60)
    place.ok("submit", place.write("train.yaml", script("train", TALKER)))
    for page in pages:
        page.locator("table.jobs span.phase", has_text="Running").wait_for()
        expect(page.locator("#offline")).to_be_hidden()
    assert streams(address) == 1


@pytest.mark.parametrize("way", ["a SharedWorker", "an elected page"])
def test_ten_log_windows_are_followed_through_one_stream(
    place: Place, address: str, context: BrowserContext, way: str
) -> None:
    context.add_init_script(WAYS[way])
    place.ok("submit", place.write("train.yaml", script("train", TALKER, replicas=2)))
    place.ok("wait", "train", "--for", "phase=Running", "--timeout", "50s")
    logs = [f"{address}{JOB}/log?replica=worker-{number % 2}" for number in range(TABS)]
    pages = opened(context, *logs)
    for page in pages:
        expect(page.locator("#log-lines")).to_contain_text("begun")
    (place.folder / "say").touch()
    for page in pages:
        expect(page.locator("#log-lines > li")).to_have_text(["begun", "said to all"])
        expect(page.locator("#offline")).to_be_hidden()
    assert streams(address) == 1


def test_the_stream_ends_while_all_pages_are_hidden_and_comes_back_with_one(
    place: Place, address: str, context: BrowserContext
) -> None:
    pages = opened(context, *[f"{address}/jobs"] * 2)
    wait_for("a stream", lambda: streams(address) == 1, 60)
    shown(pages[0], "hidden")
    place.ok("submit", place.write("train.yaml", script("train", TALKER)))
    pages[1].locator("table.jobs span.phase", has_text="Running").wait_for()
    assert streams(address) == 1
    asked: list[str] = []
    for page in pages:
        page.on("request", lambda request: asked.append(request.url))
    shown(pages[1], "hidden")
    wait_for("no stream", lambda: streams(address) == 0, 60)
    asked.clear()
    place.ok("delete", "train")
    pages[1].wait_for_timeout(6_000)  # longer than from one look of a visible page to the next
    assert asked == []
    shown(pages[0], "visible")
    pages[0].get_by_text("No data").wait_for()
    wait_for("a stream", lambda: streams(address) == 1, 60)


def test_a_page_that_is_closed_leaves_the_stream(address: str, context: BrowserContext) -> None:
    first, second = opened(context, *[f"{address}/jobs"] * 2)
    wait_for("a stream", lambda: streams(address) == 1, 60)
    first.close()
    second.goto("about:blank")
    wait_for("no stream", lambda: streams(address) == 0, 60)


def test_a_page_without_a_stream_says_why_goes_on_asking_and_is_live_as_soon_as_there_is_one(
    place: Place, address: str, context: BrowserContext
) -> None:
    with httpx.stream("GET", f"{address}/live") as taken:
        assert taken.status_code == 200
        [page] = opened(context, f"{address}/jobs")
        banner = page.locator("#offline")
        expect(banner).to_contain_text("This page is not live")
        expect(banner).to_contain_text("console.listeners")
        place.ok("submit", place.write("train.yaml", script("train", TALKER)))
        page.locator("table.jobs span.phase", has_text="Running").wait_for()
        expect(banner).to_be_visible()
    expect(banner).to_be_hidden()
    assert streams(address) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_starts_again_is_missed_in_a_banner_until_it_is_back(
    place: Place, context: BrowserContext, way: str
) -> None:
    port = free_port()
    context.add_init_script(WAYS[way])
    with ExitStack() as servers:
        server = servers.enter_context(place.server("--listen", f"127.0.0.1:{port}"))
        [page] = opened(context, f"http://127.0.0.1:{port}/jobs")
        page.get_by_text("No data").wait_for()
        wait_for("a stream", lambda: streams(f"http://127.0.0.1:{port}") == 1, 60)
        expect(page.locator("#offline")).to_be_hidden()
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        expect(page.locator("#offline")).to_contain_text("The server does not answer")
        servers.close()
        servers.enter_context(place.server("--listen", f"127.0.0.1:{port}"))
        expect(page.locator("#offline")).to_be_hidden()
        assert streams(f"http://127.0.0.1:{port}") == 1
