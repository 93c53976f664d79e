"""The pages of a job in a real browser, over `jobledger serve` and real processes."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives the browser")

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.integration.browser import PATIENCE, ROOT, axe, barriers, held, once_made
from tests.integration.browser import browser as chromium
from tests.integration.cli_words import Place, script, wait_until
from tests.integration.leftovers import end_pods
from tests.support.repetition import SCREENS

pytestmark = pytest.mark.integration

STEPS = r"""
import os, pathlib, sys, time
rank = os.environ.get("RANK", "0")
once = pathlib.Path("failed-once")
print("\x1b[32mstarting\x1b[0m rank", rank, "<b>not bold</b>")
for step in range(100000):
    print("step", step)
    time.sleep(0.1)
    if rank == "1" and step == 5 and not once.exists():
        once.touch()
        print("crash of the first attempt")
        sys.exit(7)
"""

FAILING = r"""
import os, sys, time
time.sleep(0.2)
sys.exit(3 if os.environ.get("RANK") == "0" else 9)
"""

FLOOD = r"""
import sys, time
for each in range(400000):
    sys.stdout.write("flood %07d %s\n" % (each, "x" * 90))
sys.stdout.write("the last line")
sys.stdout.flush()
time.sleep(600)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("console"))
    yield place
    end_pods(place.folder)


@pytest.fixture(scope="module")
def address(place: Place) -> Iterator[str]:
    with place.server("--listen", "127.0.0.1:0") as server:
        assert server.stdout is not None
        match = None
        while match is None:
            match = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
        yield match[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, locale="en-GB")
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page on which nothing may go wrong in the browser; requests that a new page cut short do not count."""
    page, wrong = context.new_page(), []
    page.on("console", lambda said: wrong.append(said.text) if is_wrong(said) else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    assert wrong == []


def is_wrong(said: ConsoleMessage) -> bool:
    return said.type == "error" and not said.text.startswith("htmx:")


@pytest.fixture(scope="module")
def train(place: Place, address: str) -> str:
    """A job whose worker-1 failed once and was restarted, that was paused and resumed and runs on; its page."""
    name = place.write("train.yaml", script("train", STEPS, replicas=2, runPolicy={"backoffLimit": 3}))
    place.ok("submit", name)
    place.ok("wait", "train", "--for", "jsonpath={.status.backoffCount}=1", "--timeout", "50s")
    running(place, "train")
    place.ok("pause", "train")
    wait_until(lambda: place.ok("describe", "train").count(" Deleted ") == 2, "the end of the paused pods")
    place.ok("resume", "train")
    running(place, "train")
    return f"{address}/jobs/default/PyTorchTrainingJob/train"


def running(place: Place, name: str) -> None:
    wait_until(lambda: re.search(rf"{name} +\w+ +Running +2/2", place.ok("get")), f"{name} runs again")


def entry(page: Page) -> int:
    return int(page.locator("#moment").get_attribute("data-seq") or 0)


# ---- history -----------------------------------------------------------------------------------------------


def test_the_overview_shows_the_life_of_the_job_and_its_facts(train: str, page: Page) -> None:
    page.goto(train)
    expect(page.locator("#job-status .phase")).to_have_text("Running")
    expect(page.locator(".timeline .tl-label", has_text="worker-1")).to_be_visible()
    marks = "\n".join(page.locator("a.tl-mark title").all_text_contents())  # one for those that lie close
    assert "restart 1 of 3" in marks
    assert "The job was paused" in marks
    assert "The job was resumed" in marks
    expect(page.locator("dl.facts").first).to_contain_text("1 / 3")
    expect(page.locator("section", has=page.locator("#h-events"))).to_contain_text("ReplicaRestart")
    expect(page.locator("table.conditions")).to_contain_text("Running")


def test_the_slider_goes_through_the_life_with_the_keyboard_alone(train: str, page: Page) -> None:
    page.goto(f"{train}/history")
    last = entry(page)
    slider = page.locator("#slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("#moment")).to_have_attribute("data-seq", "1")
    expect(page.locator("#moment .phase").first).to_have_text("Pending")
    expect(page.locator("#cause")).to_contain_text("job, generation 1")
    expect(page).to_have_url(re.compile(r"at=1$"))
    page.keyboard.press("ArrowRight")
    expect(page.locator("#moment")).to_have_attribute("data-seq", "2")
    assert page.evaluate("document.activeElement.id") == "slider"
    assert "Entry 2 of" in (slider.get_attribute("aria-valuetext") or "")
    page.keyboard.press("End")
    expect(page.locator("#moment")).to_have_attribute("data-seq", re.compile(rf"{last}|\d+"))
    expect(page.locator("#moment .phase").first).to_have_text("Running")


def test_the_cursor_moves_to_where_the_moment_is(train: str, page: Page) -> None:
    page.goto(f"{train}/history?at=1")
    cursor = page.locator("svg.tl-cursor").first
    first = float((cursor.get_attribute("x") or "").rstrip("%"))
    page.locator("#go-mark-after").click()
    expect(page.locator("#moment")).not_to_have_attribute("data-seq", "1")
    assert float((cursor.get_attribute("x") or "").rstrip("%")) > first


THUMB = """
() => {
  const slider = document.getElementById("slider"), box = slider.getBoundingClientRect(), half = 8;
  const cursor = document.querySelector("svg.tl-cursor").getBoundingClientRect();
  return [box.left + half + (box.width - 2 * half) * slider.value / 100, cursor.left + cursor.width / 2];
}
"""
"""Where the middle of the slider's thumb stands, and where the cursor."""


SETTLED = """
() => {
  const slider = document.getElementById("slider");
  return !slider.matches(".htmx-request") && Number(slider.value) === Number(slider.dataset.place);
}
"""


@pytest.mark.parametrize("axis", ["time", "entries"])
@pytest.mark.parametrize("at", [1, 6, 12])
def test_the_thumb_of_the_slider_stands_below_the_cursor(train: str, page: Page, axis: str, at: int) -> None:
    for width in (390, 700, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{train}/history?at={at}&axis={axis}")
        thumb, cursor = page.evaluate(THUMB)
        assert abs(thumb - cursor) < 4, (width, thumb, cursor)


def test_a_hand_moves_the_slider_and_it_ends_below_the_cursor(train: str, page: Page) -> None:
    page.goto(f"{train}/history?at=1&axis=entries")
    box = page.locator("#slider").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2, steps=5)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    expect(page.locator("#moment")).not_to_have_attribute("data-seq", "1")
    page.wait_for_function(SETTLED)
    thumb, cursor = page.evaluate(THUMB)
    assert abs(thumb - cursor) < 4
    half = box["x"] + box["width"] / 2
    moment = page.evaluate("() => ({...document.getElementById('moment').dataset})")
    assert abs(cursor - half) < box["width"] / 5, moment  # the entry that is nearest before the hand
    expect(page).to_have_url(re.compile(rf"at={entry(page)}\b"))


MOVING = """
const slider = document.getElementById("slider");
window.slide = (place) => { slider.value = place; slider.dispatchEvent(new Event("change", {bubbles: true})); };
window.slideTwice = (first, second) => {
  document.addEventListener("htmx:afterSwap", function answered(event) {
    if (event.target.id !== "moment") return;
    document.removeEventListener("htmx:afterSwap", answered);
    setTimeout(() => slide(second));
  });
  slide(first);
};
window.drag = (across, to) => {
  slider.value = across;
  slider.dispatchEvent(new Event("input", {bubbles: true}));
  slide(to);
};
"""
"""Ways to move the slider: to a place; to one and, just after its answer has come, to another; by a quick hand."""


def test_where_a_quick_hand_left_the_slider_is_shown(train: str, page: Page) -> None:
    page.goto(f"{train}/history?at=1&axis=entries")
    page.evaluate(MOVING)
    page.evaluate("drag(20, 80)")
    expect(page).to_have_url(re.compile(r"at=1[5-9]\b"))


def test_where_a_hand_left_the_slider_is_not_overtaken_by_an_earlier_place(train: str, page: Page) -> None:
    page.goto(f"{train}/history?at=1&axis=entries")
    passing = held(page, "**/history/moment*place=40*")
    page.evaluate(MOVING)
    page.evaluate("slideTwice(20, 40)")
    earlier = once_made(page, passing)
    page.wait_for_timeout(100)  # the first answer has done all that it does
    page.evaluate("slide(80)")
    expect(page).to_have_url(re.compile(r"at=1[5-9]\b"))
    chosen = entry(page)
    earlier.continue_()
    page.wait_for_timeout(1000)  # what its answer would do
    assert entry(page) == chosen
    expect(page).to_have_url(re.compile(rf"at={chosen}\b"))


def test_a_mark_shows_the_entry_behind_it_with_its_cause(train: str, page: Page) -> None:
    page.goto(f"{train}/history?axis=entries")
    mark = page.locator("a.tl-mark[data-kind=restart]").first
    expect(mark).to_have_accessible_name(re.compile("exit code 7"))
    expect(mark).not_to_have_accessible_name(re.compile("UTC"))  # in the browser's zone, as all times
    mark.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#moment .says")).to_contain_text("exit code 7")
    expect(page.locator("#cause")).to_contain_text("pod worker-1 Failed, exit code 7")
    expect(page.locator("#moment")).to_contain_text("2 of 3 restarts left")
    expect(page.locator("#moment table.children")).to_contain_text("Failed")
    expect(page.locator("#moment table.conditions")).to_contain_text("ReplicaFailure")


def test_a_link_names_the_moment(train: str, page: Page, context: BrowserContext) -> None:
    page.goto(f"{train}/history?at=8")
    link = page.locator("#permalink").get_attribute("href")
    other = context.new_page()
    other.goto(page.url.split("/jobs/")[0] + str(link))
    assert entry(other) == 8
    assert other.locator("#moment .answer").inner_text() == page.locator("#moment .answer").inner_text()
    expect(other.locator("tr.current td").first).to_have_text("8")


def test_at_a_moment_of_the_pause_the_job_had_no_pods(train: str, page: Page) -> None:
    page.goto(f"{train}/history?axis=entries")
    resume = page.locator("a.tl-mark[data-kind=resume]").get_attribute("data-seq")
    page.goto(f"{train}/history?at={int(resume or 0) - 1}")
    expect(page.locator("#moment .phase").first).to_have_text("Paused")
    expect(page.locator("#moment")).to_contain_text("The job had no pods at this moment.")


def test_a_click_on_the_picture_shows_what_was_known_then(train: str, page: Page) -> None:
    page.goto(f"{train}/history")
    box = page.locator("svg.tl-plot").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 2, box["y"] + box["height"] - 8)
    expect(page.locator("#moment")).to_have_attribute("data-seq", re.compile(r"^[1-6]$"))
    expect(page).to_have_url(re.compile(r"at=\d{4}-"))


def test_a_moment_that_never_was_is_one_sentence(train: str, page: Page) -> None:
    for at in ("99999", "nonsense", "1999-01-01T00:00:00Z"):
        page.goto(f"{train}/history?at={at}")
        expect(page.locator("#history-head > .bad-news")).to_be_visible()
        assert "Traceback" not in page.content()


def test_the_picture_can_be_drawn_by_entries_and_zoomed(train: str, page: Page) -> None:
    page.goto(f"{train}/history?at=8")
    page.get_by_role("link", name="By entries").click()
    expect(page.locator("svg.tl-plot")).to_have_attribute("data-axis", "seq")
    page.get_by_role("link", name="Zoom in here").click()
    expect(page.locator("svg.tl-plot")).not_to_have_attribute("data-begin", "1")
    assert entry(page) == 8
    page.get_by_role("link", name="Whole life").click()
    expect(page.locator("svg.tl-plot")).to_have_attribute("data-begin", "1")


# ---- live --------------------------------------------------------------------------------------------------


def test_an_open_page_follows_the_job_without_being_loaded_again(
    place: Place, address: str, page: Page
) -> None:
    place.ok("submit", place.write("live.yaml", script("live", STEPS, replicas=2)))
    running(place, "live")
    page.goto(f"{address}/jobs/default/PyTorchTrainingJob/live/history?axis=entries")
    page.evaluate("window.stillHere = true")
    place.ok("pause", "live")
    expect(page.locator("#job-status .phase")).to_have_text("Paused")
    expect(page.locator("#moment .phase").first).to_have_text("Paused")
    expect(page.locator("a.tl-mark[data-kind=pause]")).to_have_count(1)
    assert page.evaluate("window.stillHere") is True


def test_the_actions_beside_the_name_follow_the_job(place: Place, address: str, page: Page) -> None:
    place.ok("submit", place.write("toggled.yaml", script("toggled", STEPS, replicas=2)))
    running(place, "toggled")
    page.goto(f"{address}/jobs/default/PyTorchTrainingJob/toggled")
    page.evaluate("window.stillHere = true")
    actions, dialog = page.locator(".header-actions"), page.get_by_role("dialog")
    for action, then in (("Pause", "Resume"), ("Resume", "Pause")):
        actions.get_by_role("link", name=action).click()
        dialog.get_by_role("button", name=action).click()
        expect(actions.get_by_role("link", name=then)).to_have_attribute(
            "href", re.compile(f"/{then.lower()}$")
        )
        expect(actions.get_by_role("link", name=action)).to_have_count(0)  # the one with the focus, too
    actions.get_by_role("link", name="Delete").click()
    expect(dialog).to_contain_text("Delete PyTorchTrainingJob toggled?")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator("#notices")).to_contain_text("PyTorchTrainingJob toggled is being deleted.")
    expect(page.locator("#job-status")).to_contain_text("Deleted")
    expect(actions).to_have_count(0)
    assert page.evaluate("window.stillHere") is True


# ---- logs --------------------------------------------------------------------------------------------------


def log_lines(page: Page) -> list[str]:
    return [line.rstrip("\n") for line in page.locator("#log-lines > li").all_text_contents()]


def test_a_log_is_followed_and_hurts_nobody(train: str, page: Page) -> None:
    page.goto(f"{train}/log?replica=worker-0")
    expect(page.locator("#log-follow")).to_be_checked()
    before = len(log_lines(page))
    wait_until(lambda: page.locator("#log-lines > li").count() > before + 10, "lines that are added")
    first = page.locator("#log-lines > li").first
    while page.locator("#log-earlier").count():  # where much else runs, the job has come far by now
        highest = first.inner_text()
        page.locator("#log-earlier").click()
        expect(first).not_to_have_text(highest)
    shown = log_lines(page)
    assert shown[0] == "starting rank 0 <b>not bold</b>"
    steps = [int(line.split()[1]) for line in shown[1:]]
    assert steps == list(range(len(steps)))  # nothing twice, nothing lost
    page.locator("#log-follow").uncheck()
    still = len(log_lines(page))
    time.sleep(0.6)
    assert len(log_lines(page)) == still


def test_the_log_of_an_earlier_attempt_is_kept(train: str, page: Page) -> None:
    page.goto(f"{train}/replicas")
    page.get_by_role("link", name="Logs of worker-1").click()
    page.locator("select[name=attempt]").select_option("1")
    expect(page.locator("#log-lines")).to_contain_text("crash of the first attempt")
    expect(page.locator("#log-state")).to_have_text("The log has ended.")


def test_what_is_chosen_while_the_page_loads_counts(train: str, page: Page) -> None:
    late = held(page, "**/static/details.js*")
    page.goto(f"{train}/log?replica=worker-1", wait_until="commit")
    page.locator("select[name=attempt]").select_option("1")
    expect(page.locator("#log-lines")).to_contain_text("step")
    late[0].continue_()
    expect(page.locator("#log-lines")).to_contain_text("crash of the first attempt")
    expect(page.locator("select[name=attempt]")).to_have_value("1")


def test_a_log_is_searched_wrapped_and_downloaded(train: str, page: Page) -> None:
    page.goto(f"{train}/log?replica=worker-1&attempt=1")
    page.locator("input[name=q]").fill("CRASH")
    page.keyboard.press("Enter")
    expect(page.locator("#matches")).to_contain_text("crash of the first attempt")
    page.locator("#matches a").first.click()
    expect(page.locator("#log-lines .hit")).to_have_text(re.compile("crash of the first attempt"))
    page.locator("#log-wrap").uncheck()
    expect(page.locator("#log")).not_to_have_class(re.compile("wrap"))
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").click()
    data = Path(waiting.value.path()).read_bytes()
    assert data.startswith(b"\x1b[32mstarting")  # as it was written
    assert data.endswith(b"crash of the first attempt\n")


def test_a_hand_that_is_quicker_than_the_script_of_the_page_is_heeded(train: str, page: Page) -> None:
    late = held(page, "**/details.js*")
    page.goto(f"{train}/log?replica=worker-1&attempt=1", wait_until="commit")
    page.locator("#log-wrap").uncheck()
    once_made(page, late).continue_()
    page.wait_for_load_state("load")
    expect(page.locator("#log-wrap")).not_to_be_checked()
    expect(page.locator("#log")).not_to_have_class(re.compile("wrap"))


def test_forty_megabytes_do_not_choke_the_page(place: Place, address: str, page: Page) -> None:
    place.ok("submit", place.write("flood.yaml", script("flood", FLOOD)))
    wait_until(lambda: "the last line" in place.run("logs", "flood").stdout[-20:], "the flood")
    page.goto(f"{address}/jobs/default/PyTorchTrainingJob/flood/log?replica=worker-0")
    expect(page.locator("#log-open")).to_have_text("the last line")
    assert len(log_lines(page)) == 1000
    assert page.locator(".earlier").inner_text().startswith("Load earlier lines")
    page.locator("#log-earlier").click()
    expect(page.locator("#log-lines > li")).to_have_count(2000)
    numbers = [int(line.split()[1]) for line in log_lines(page)]
    assert numbers == list(range(398_000, 400_000))
    page.locator("input[name=q]").fill("flood 0000001")
    page.keyboard.press("Enter")
    first = page.locator("#matches", has_text="flood 0000001")
    more = page.get_by_role("link", name="Search earlier lines")
    for _ in range(20):  # a search ends after some time, and says so: a slow machine takes several
        expect(first.or_(more).first).to_be_visible()
        if first.count():
            break
        with page.expect_response(re.compile("/log/search")):
            more.click()
    expect(first).to_be_visible()


# ---- worked example C, and what is left of a job -------------------------------------------------------------


def test_worked_example_c_three_restarts_and_the_failure_of_the_primary(
    place: Place, address: str, page: Page
) -> None:
    spec: dict[str, Any] = {"runPolicy": {"backoffLimit": 3}}
    place.ok("submit", place.write("doomed.yaml", script("doomed", FAILING, replicas=2, **spec)))
    place.ok("wait", "doomed", "--for", "phase=Failed", "--timeout", "55s")
    page.goto(f"{address}/jobs/default/PyTorchTrainingJob/doomed")
    expect(page.locator("#job-status .phase")).to_have_text("Failed")
    expect(page.locator("#job-status .badge.error")).to_be_visible()
    cells = page.locator("section", has=page.locator("#h-events")).locator("tbody td")
    expect(cells.filter(has_text=re.compile(r"^\s*ReplicaRestart\s*$"))).to_have_count(3)
    expect(cells.filter(has_text=re.compile(r"^\s*Failed\s*$"))).not_to_have_count(0)
    page.goto(f"{address}/jobs/default/PyTorchTrainingJob/doomed/history")
    expect(page.locator("#moment .answer")).to_contain_text("the restart budget is used up")
    expect(page.locator("#moment")).to_contain_text("0 of 3 restarts left")


def test_a_job_that_was_deleted_still_has_its_pages(place: Place, address: str, page: Page) -> None:
    place.ok("submit", place.write("short.yaml", script("short", "print('it was me')")))
    place.ok("wait", "short", "--for", "phase=Succeeded", "--timeout", "50s")
    place.ok("delete", "short")
    place.ok("wait", "short", "--for", "delete")
    path = f"{address}/jobs/default/PyTorchTrainingJob/short"
    page.goto(f"{path}/history?axis=entries")
    expect(page.locator("#job-status .badge")).to_have_text("Deleted")
    expect(page.locator("a.tl-mark[data-kind=deletion]")).to_have_count(1)
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    expect(page.locator("#moment .phase").first).to_have_text("Pending")
    page.goto(path)
    expect(page.locator("dl.facts").first).to_contain_text("short")
    page.goto(f"{path}/manifest")
    expect(page.locator("pre")).to_contain_text("kind: PyTorchTrainingJob")
    page.goto(f"{path}/log?replica=worker-0")
    expect(page.locator("#log-lines")).to_contain_text("it was me")


# ---- what a reader chooses -----------------------------------------------------------------------------------


def test_the_switch_of_detailed_events_stays_while_the_page_lives(train: str, page: Page) -> None:
    page.goto(train)
    box = page.locator("#detailed-events")
    box.check()
    expect(page.locator("table.events th", has_text="About")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?events=all$"))
    page.evaluate("htmx.trigger(document.body, 'refresh')")
    expect(page.locator("table.events th", has_text="About")).to_be_visible()
    expect(box).to_be_checked()
    box.uncheck()
    expect(page.locator("table.events th", has_text="About")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("events="))


def test_conditions_are_turned_by_the_head_of_their_column(train: str, page: Page) -> None:
    page.goto(train)
    types = page.locator("table.conditions tbody tr td:first-child")
    before = types.all_inner_texts()
    page.locator("#turn-conditions").click()
    expect(page.locator("table.conditions th[aria-sort=ascending]")).to_be_visible()
    assert sorted(types.all_inner_texts()) == sorted(before)
    expect(page).to_have_url(re.compile(r"\?oldest=1$"))


def test_a_refresh_that_had_to_wait_does_not_turn_the_conditions_back(train: str, page: Page) -> None:
    page.goto(train)
    turning = held(page, "**/train?oldest=1")
    page.locator("#turn-conditions").click()
    click = once_made(page, turning)
    refreshing = held(page, "**/train*")
    page.evaluate("htmx.trigger(document.body, 'refresh')")
    click.continue_()
    refresh = once_made(page, refreshing)
    with page.expect_response("**/train*"):
        refresh.continue_()
    page.wait_for_timeout(1000)  # what the answer does
    expect(page.locator("table.conditions th[aria-sort=ascending]")).to_be_visible()
    expect(page.locator("#piece")).to_have_attribute("hx-get", re.compile(r"\?oldest=1$"))


def test_the_columns_of_the_replicas_are_chosen_and_kept(train: str, page: Page) -> None:
    page.goto(f"{train}/replicas")
    page.locator("#replica-columns summary").click()
    page.locator("#column-uid").check()
    expect(page.locator("th", has_text="UID")).to_be_visible()
    page.reload()
    expect(page.locator("th", has_text="UID")).to_be_visible()
    page.locator("#menu-worker-1 summary").click()
    page.locator("#menu-worker-1 a", has_text="Events").click()
    expect(page.locator("#pod-events")).to_be_in_viewport()


def test_of_an_environment_variable_only_what_its_source_needs_is_asked(address: str, page: Page) -> None:
    page.goto(f"{address}/jobs/new/PyTorchTrainingJob")
    page.locator("fieldset.many", has_text="Environment variables").last.locator("button.add").click()
    source = page.locator("select[name$='.source']")
    value, key = page.locator("input[name$='.env[0].value']"), page.locator("input[name$='.env[0].key']")
    expect(value).to_be_visible()
    expect(key).to_be_hidden()
    source.select_option("secretKeyRef")
    expect(value).to_be_hidden()
    expect(key).to_be_visible()


# ---- every screen ------------------------------------------------------------------------------------------


PAGES = {
    "details": "",
    "all-events": "?events=all&oldest=1",
    "history": "/history?at=8",
    "replicas": "/replicas",
    "replica": "/replicas/worker-1",
    "monitoring": "/monitoring",
    "log": "/log?replica=worker-1&attempt=1",
    "manifest": "/manifest",
}
PICTURED = ("details", "history", "replicas", "monitoring", "log")
"""Those whose pictures are in docs/console; the others would show where Python is on the machine that took them."""


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_every_page_fits_its_screen_and_is_in_nobodys_way(
    train: str, browser: Browser, width: int, scheme: Any
) -> None:
    tool = axe()
    size: Any = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme, locale="en-GB", timezone_id="UTC")
    page = context.new_page()
    for name, below in PAGES.items():
        page.goto(train + below)
        expect(page.locator("#piece")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), below
        assert barriers(page, tool) == [], below
        wanted = (width, scheme) in ((1440, "light"), (390, "dark")) and name in PICTURED
        if wanted and os.environ.get("JOBLEDGER_SCREENSHOTS"):
            page.screenshot(path=ROOT / "docs" / "console" / f"{name}-{width}-{scheme}.png")
    context.close()


def test_the_pages_speak_chinese(train: str, browser: Browser) -> None:
    context = browser.new_context(locale="zh-CN")
    page = context.new_page()
    page.goto(f"{train}/history?axis=entries")
    expect(page.locator(".tabs [aria-current=page]")).to_have_text("历史")
    expect(page.locator(".tl-label").first).to_contain_text("阶段")
    mark = page.locator("a.tl-mark[data-kind=restart]").first
    expect(mark).to_have_accessible_name(re.compile("退出码 7"))
    mark.click()
    expect(page.locator("#moment .says")).to_contain_text("退出码 7")
    expect(page.locator("#moment .answer")).to_contain_text("Job 正在运行")
    expect(page.locator(".decided", has_text="worker-1 第 1 次重启")).to_be_visible()
    page.goto(f"{train}/replicas/worker-1")
    expect(page.locator("ul.marks")).to_contain_text("将重启")
    context.close()


def test_nothing_of_a_secret_is_shown(place: Place, address: str, page: Page) -> None:
    manifest = script("secretive", "import time; time.sleep(600)")
    template = manifest["spec"]["replicaSpecs"][0]["template"]
    template["spec"]["containers"][0]["env"] = [{"name": "API_TOKEN", "value": "hunter2hunter2"}]
    place.ok("submit", place.write("secretive.yaml", manifest))
    place.ok("wait", "secretive", "--for", "phase=Running", "--timeout", "50s")
    path = f"{address}/jobs/default/PyTorchTrainingJob/secretive"
    for below in ("", "/history?at=1", "/replicas", "/replicas/worker-0", "/manifest"):
        page.goto(path + below)
        assert "hunter2" not in page.content(), below
