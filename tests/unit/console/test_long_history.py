"""The history of a job with 5,000 entries: what a move of the slider sends, and what nothing new sends."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from xml.etree import ElementTree as ET

import httpx
import pytest

from jobledger.console.timeline.bars import PictureStyle
from jobledger.console.timeline.build import timeline
from jobledger.console.timeline.merging import LEAST, REACH, merged
from jobledger.console.timeline.picture import picture
from jobledger.console.timeline.scale import whole
from jobledger.service.app import App
from jobledger.wiring import running
from statemachine.engine.clock import WallClock
from tests.support.controllers import controller_of
from tests.support.long_life import ENTRIES, PAGE, drafts, long_life
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story
from tests.unit.console.test_details_pages import browsing
from tests.unit.console.words import HTMX

PIXELS = 1_430
"""The widest plot: `main` has 100rem at most, of which labels and margins take some."""


@pytest.fixture(scope="module")
def story() -> Story:
    return long_life()


@asynccontextmanager
async def console(story: Story) -> AsyncIterator[httpx.AsyncClient]:
    log = MemoryLog()
    await log.append(drafts(story))
    controller = controller_of(log, MemoryCluster(), WallClock())
    async with running(controller), browsing(App(controller)) as client:
        yield client


def parts(page: str) -> Iterator[str]:
    """The addresses of the parts that refresh themselves."""
    for tag in re.findall(r'<[^>]* hx-get="[^"]*"[^>]*hx-trigger="refresh from:body[^>]*>', page):
        yield re.search(r'hx-get="([^"]*)"', tag)[1].replace("&amp;", "&")  # type: ignore[index]


async def test_a_move_of_the_slider_sends_the_moment_alone_in_15_kilobytes(story: Story) -> None:
    async with console(story) as client:
        for query in ("place=0", "place=33.3", "place=71", "place=100", "at=2500&axis=entries", "at=17"):
            for language in ("en", "zh-CN"):
                headers = {**HTMX, "Accept-Language": language}
                answer = await client.get(f"{PAGE}/moment?{query}", headers=headers)
                assert answer.status_code == 200
                assert 'id="moment"' in answer.text
                assert "tl-plot" not in answer.text
                assert 'id="entries"' not in answer.text
                assert len(answer.content) <= 15_000, f"{query} in {language}"


async def test_what_is_the_same_is_answered_with_304_and_nothing_else(story: Story) -> None:
    async with console(story) as client:
        page = (await client.get(f"{PAGE}?at=2500")).text
        asked = list(parts(page))
        assert {re.split(r"[?]", address)[0].rpartition("/")[2] for address in asked} >= {
            "moment",
            "picture",
            "entries",
            "header",
        }
        for address in asked:
            first = await client.get(address, headers=HTMX)
            again = await client.get(address, headers={**HTMX, "If-None-Match": first.headers["etag"]})
            assert (again.status_code, again.content) == (304, b""), address
            other = await client.get(address, headers={**HTMX, "If-None-Match": '"something else"'})
            assert (other.status_code, other.text) == (200, first.text), address


async def test_the_picture_is_the_same_for_all_moments(story: Story) -> None:
    async with console(story) as client:
        pages = [(await client.get(f"{PAGE}?at={at}")).text for at in (17, 2500)]
        pictures = [next(part for part in parts(page) if "/picture" in part) for page in pages]
        assert pictures[0] == pictures[1]


async def test_all_fields_of_an_entry_are_an_answer_of_their_own_after_a_move(story: Story) -> None:
    async with console(story) as client:
        moment = (await client.get(f"{PAGE}/moment?at=2500", headers=HTMX)).text
        asks = re.search(r'<pre class="raw"[^>]* hx-get="([^"]*)"[^>]*></pre>', moment)
        assert asks
        raw = (await client.get(asks[1].replace("&amp;", "&"), headers=HTMX)).text
        assert raw in (await client.get(f"{PAGE}?at=2500")).text
        assert "seq: 2500" in raw
        assert (await client.get(f"{PAGE}/raw?at=99999", headers=HTMX)).status_code == 404


def test_a_picture_of_5000_entries_has_no_more_bars_in_a_row_than_pixels(story: Story) -> None:
    drawn = timeline(story.steps)
    svg = picture(drawn, PictureStyle(whole(drawn, drawn.last.at), link=lambda seq: f"/history?at={seq}"))
    assert len(story.entries) >= ENTRIES
    root = ET.fromstring(svg)  # noqa: S314 - our own
    rows = [row for row in root.iter("g") if "tl-single" in row.get("class", "")]
    assert len(rows) == 8
    for row, lane in zip(rows, drawn.lanes, strict=True):
        bars = [float(bar.attrib["x"].rstrip("%")) for bar in row.iter("rect")]
        assert len(bars) < len(lane.spans) * 0.6
        assert len(bars) <= 100 / LEAST < PIXELS
        assert any("tl-many" in bar.attrib["class"] for bar in row.iter("rect"))


def test_narrow_bars_close_together_are_one_that_says_how_many_there_are() -> None:
    bars = merged([(0.0, 50.0, "wide"), (50.0, 50.01, "a"), (50.02, 50.05, "b"), (50.1, 90.0, "far")])
    assert [bar.items for bar in bars] == [("wide",), ("a", "b"), ("far",)]
    assert (bars[1].begin, bars[1].end) == (50.0, 50.05)


def test_merged_bars_do_not_reach_far() -> None:
    step = LEAST / 3
    bars = merged([(number * step, (number + 1) * step, number) for number in range(600)])
    assert all(bar.end - bar.begin <= REACH for bar in bars)
    assert [item for bar in bars for item in bar.items] == list(range(600))
    assert len(bars) < 2 * 600 * step / REACH


def test_narrow_bars_far_from_each_other_stay_as_they_are() -> None:
    bars = merged([(number * 1.0, number + 0.01, number) for number in range(5)])
    assert [bar.items for bar in bars] == [(0,), (1,), (2,), (3,), (4,)]
