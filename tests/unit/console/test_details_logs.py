"""Log windows that wait for a log, and that say when the replica has begun anew."""

import re

from tests.unit.api.words import gone
from tests.unit.console.test_details_pages import PATH, one_job, text

PIECE = re.compile(r'<div id="piece" class="log-window"[^>]*>')


def piece(page: str) -> str:
    """The tag of the window."""
    match = PIECE.search(page)
    assert match, page
    return match[0]


async def test_a_log_that_is_not_there_yet_is_looked_for_again() -> None:
    async with one_job() as (_, client):
        page = await text(client, f"{PATH}/log?replica=worker-0&attempt=7")
        assert "has no attempt 7" in page
        assert 'hx-trigger="refresh from:body"' in piece(page)
        assert f"{PATH}/log?replica=worker-0&amp;attempt=7" in piece(page)


async def test_a_window_that_is_open_is_not_drawn_anew() -> None:
    async with one_job() as (_, client):
        page = await text(client, f"{PATH}/log?replica=worker-0")
        assert 'id="log-lines"' in page
        assert "hx-" not in piece(page)


async def test_a_window_says_when_its_replica_has_begun_anew() -> None:
    async with one_job() as (_, client):
        page = await text(client, f"{PATH}/log?replica=worker-0")
        asks = re.search(r'<div id="log-newer" hx-get="([^"]*)"', page)
        assert asks
        address = asks[1].replace("&amp;", "&")
        assert "has been started again" not in page
        assert "has been started again" not in await text(client, address, headers={"HX-Request": "true"})
        before = address.replace("since=1", "since=9")
        assert before != address
        said = await text(client, before, headers={"HX-Request": "true"})
        assert "It has been started again since." in said
        assert f'href="{PATH}/log?replica=worker-0' in said
        assert f'hx-get="{before.replace("&", "&amp;")}"' in said  # it goes on asking
        older = await text(client, f"{PATH}/log?replica=worker-0&attempt=1&previous=1")
        assert "log-newer" not in older


async def test_the_window_of_a_job_that_is_gone_has_its_notice_under_its_uid() -> None:
    async with one_job() as (app, client):
        job = await app.job("default", "train")
        await app.delete(job, "alice")
        await gone(app, "train")
        page = await text(client, f"{PATH}/log?replica=worker-0&attempt=7")
        assert f"uid={job['metadata']['uid']}" in piece(page)
