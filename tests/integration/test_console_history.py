"""The history of a job with 5,000 entries in a real browser: what a move asks for, and what doing nothing brings."""

import asyncio
import re
from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives the browser")

from playwright.sync_api import Browser, Page, Response, expect

from tests.integration.browser import PATIENCE, browser
from tests.integration.cli_words import Place
from tests.integration.ports import free_port
from tests.support.long_life import PAGE, long_life, write

pytestmark = pytest.mark.integration

PARTS = 4
"""Of the page that refresh by themselves: the name above all tabs, the picture, the moment, the entries."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place, port = Place(tmp_path_factory.mktemp("long")), free_port()
    asyncio.run(write(long_life(), place.store))
    with place.server("--listen", f"127.0.0.1:{port}"):
        yield f"http://127.0.0.1:{port}{PAGE}"


@pytest.fixture(scope="module")
def chrome(address: str) -> Iterator[Browser]:
    """Opened behind the history: the loop of playwright, which lasts as long, lets no other run."""
    with browser() as opened:
        yield opened


@pytest.fixture
def page(chrome: Browser) -> Iterator[Page]:
    with chrome.new_page(viewport={"width": 1440, "height": 1000}, locale="en-GB") as made:
        made.set_default_timeout(PATIENCE)
        yield made


QUIET = "localStorage.setItem('auto-refresh', 'off')"
"""No refresh comes between."""


def heard(page: Page) -> list[Response]:
    """What the server answers from now on; the icon is in the browser's cache."""
    answers: list[Response] = []
    page.on("response", lambda answer: None if "/static/" in answer.url else answers.append(answer))
    return answers


def parts(answers: list[Response]) -> list[str]:
    """Which parts of the page were answered."""
    return [answer.url.partition("/history")[2].partition("?")[0] for answer in answers]


def cursor(page: Page) -> float:
    return float((page.locator("svg.tl-cursor").get_attribute("x") or "").rstrip("%"))


def test_a_move_is_one_request_of_15_kilobytes_at_most_and_moves_all_that_tells_the_moment(
    address: str, page: Page
) -> None:
    page.add_init_script(QUIET)
    page.goto(f"{address}?at=2450")
    expect(page.locator("tr.current")).to_have_id("entry-2450")
    page.evaluate("document.querySelector('svg.tl-plot').stillHere = true")
    page.evaluate("document.addEventListener('htmx:beforeHistorySave', () => { window.copied = true; })")
    answers, place = heard(page), cursor(page)
    for step in range(1, 6):
        page.locator("#slider").press("ArrowRight")
        expect(page.locator("#moment")).to_have_attribute("data-seq", str(2450 + step))
        expect(page.locator("tr.current")).to_have_id(f"entry-{2450 + step}")
        expect(page).to_have_url(re.compile(rf"/history\?.*\bat={2450 + step}\b"))
        assert cursor(page) > place
        assert cursor(page) == float(page.locator("#slider").get_attribute("data-place") or "")
        place = cursor(page)
    assert parts(answers) == ["/moment"] * 5
    assert all(len(answer.body()) <= 15_000 for answer in answers)
    assert page.evaluate("document.querySelector('svg.tl-plot').stillHere") is True
    assert page.evaluate("window.copied") is None  # of the whole page, for htmx' own history


def test_entries_of_another_page_are_fetched_once_the_slider_rests(address: str, page: Page) -> None:
    page.add_init_script(QUIET)
    page.goto(f"{address}?at=2450")
    expect(page.locator("tr.current")).to_have_id("entry-2450")
    answers = heard(page)
    page.locator("#slider").press("Home")
    expect(page.locator("tr.current")).to_have_id("entry-1")
    assert parts(answers) == ["/moment", "/entries"]
    assert answers[-1].url.endswith("&at=1")


def test_all_fields_of_an_entry_come_when_they_are_unfolded_and_follow_the_slider(
    address: str, page: Page
) -> None:
    page.add_init_script(QUIET)
    page.goto(f"{address}?at=2450")
    expect(page.locator("tr.current")).to_have_id("entry-2450")
    page.locator("#slider").press("ArrowRight")
    expect(page.locator("#moment")).to_have_attribute("data-seq", "2451")
    page.locator("#raw summary").click()
    expect(page.locator("#raw pre")).to_contain_text("seq: 2451")
    page.locator("#slider").press("ArrowRight")
    expect(page.locator("#raw pre")).to_contain_text("seq: 2452")
    with page.expect_response(lambda answer: "/moment" in answer.url) as refreshed:
        page.locator("#refresh").click()
    assert refreshed.value.status == 200  # the same moment, without the fields
    page.wait_for_timeout(300)
    expect(page.locator("#raw pre")).to_contain_text("seq: 2452")


def test_a_page_of_a_job_to_which_nothing_happens_learns_so_and_nothing_else(
    address: str, page: Page
) -> None:
    page.goto(f"{address}?at=2450")
    answers = heard(page)
    while len({answer.url for answer in answers if answer.status == 304}) < PARTS:
        page.wait_for_timeout(100)
    later = len(answers)
    while len(answers) < later + 2 * PARTS:
        page.wait_for_timeout(100)
    assert {answer.status for answer in answers[later:]} == {304}
