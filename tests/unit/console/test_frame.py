"""The frame of the console: languages, headers, who may send a form, errors as pages."""

import re
from pathlib import Path

import pytest

from jobledger.console import assets, listing, live
from jobledger.console.frame import Console
from jobledger.console.words import WORDS
from jobledger.web.streams import Closing
from tests.unit.api.words import app_in_memory
from tests.unit.console.words import HTMX, KIND, console

TEMPLATES = Path(assets.__file__).parent / "templates"


async def test_nothing_inline_and_nothing_from_elsewhere_is_in_any_template() -> None:
    for path in TEMPLATES.rglob("*.html"):
        text = path.read_text()
        assert not re.search(r"\sstyle=|\son[a-z]+=|<style|<script(?! src=)|https?://", text), path


async def test_every_page_forbids_what_is_not_ours(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for path in ("/jobs", "/about", f"/jobs/new/{KIND}", "/static/console.js", "/nowhere-at-all"):
            answer = await browser.get(path, Accept="text/html")
            assert "default-src 'none'" in answer.headers["content-security-policy"], path
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"


async def test_every_static_file_is_there_and_is_not_sent_twice(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for name, type_ in assets.TYPES.items():
            answer = await browser.get(f"/static/{name}")
            assert (answer.status_code, answer.headers["content-type"]) == (200, type_)
            again = await browser.client.get(
                f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]}
            )
            assert (again.status_code, again.content) == (304, b"")
        for name in ("frame.py", "..%2fframe.py", "x"):
            assert (await browser.get(f"/static/{name}")).status_code == 404


async def test_the_language_is_the_browsers_until_one_is_chosen(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        assert "关于" in (await browser.get("/about", Accept_Language="de;q=0.9, zh-CN")).text
        assert "Version" in (await browser.get("/about", Accept_Language="zh;q=0.1, en;q=0.9")).text
        answer = await browser.post("/language", {"language": "zh", "back": "/about?x=1"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/about?x=1")
        assert "版本" in (await browser.get("/about")).text
        assert 'lang="zh-CN"' in (await browser.get("/jobs")).text


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example", ""])
async def test_choosing_a_language_leads_to_no_other_site(tmp_path: Path, back: str) -> None:
    async with console(tmp_path) as browser:
        await browser.get("/about")
        answer = await browser.post("/language", {"language": "zh", "back": back})
        assert answer.headers["location"] == "/"


def test_every_word_is_there_in_both_languages_with_the_same_places_for_values() -> None:
    for key, (english, chinese) in WORDS.items():
        assert english, key
        assert chinese, key
        assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{(\w+)\}", chinese)), key


def test_every_word_that_a_template_asks_for_by_name_is_there() -> None:
    for path in TEMPLATES.rglob("*.html"):
        for key in re.findall(r"""\bt\(["']([a-z.-]+)["'][,)]""", path.read_text()):
            assert key in WORDS, f"{path.name}: {key}"


async def test_the_session_cookie_is_kept_from_scripts_and_other_sites(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        cookie = (await browser.get("/about")).headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert "set-cookie" not in (await browser.get("/about")).headers


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({}, ""),
        ({}, "0" * 64),
        ({"Sec-Fetch-Site": "cross-site"}, None),
        ({"Sec-Fetch-Site": "same-site"}, None),
    ],
)
async def test_a_form_of_somebody_else_changes_nothing(
    tmp_path: Path, headers: dict[str, str], token: str | None
) -> None:
    async with console(tmp_path) as browser:
        await browser.get("/about")
        token = browser.token if token is None else token
        fields = {"_token": token, "language": "zh"}
        answer = await browser.client.post("/language", data=fields, headers=headers)
        assert answer.status_code == 403
        assert "Version" in (await browser.get("/about")).text


async def test_a_form_without_its_cookie_changes_nothing(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.get("/about")
        browser.client.cookies.clear()
        assert (await browser.post("/language", {"language": "zh"})).status_code == 403


async def test_pages_of_another_origin_and_other_hosts_are_refused(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "http://["}, {"Host": "evil.example"}):
            assert (await browser.client.get("/jobs", headers=headers)).status_code == 403


async def test_an_error_is_a_page_with_one_sentence_and_a_notice_where_htmx_asks(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        path = f"/jobs/default/{KIND}/nobody/yaml"
        whole = await browser.get(path)
        assert whole.status_code == 404
        assert "<h1>" in whole.text
        assert "nobody" in whole.text
        piece = await browser.client.get(path, headers=HTMX)
        assert piece.status_code == 404
        assert "<h1>" not in piece.text
        assert piece.headers["hx-retarget"] == "#notices"


async def test_an_address_that_nobody_knows_is_a_page_and_a_problem_for_a_program(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for path in ("/nowhere", "/jobs/new", "/jobs/default"):
            whole = await browser.get(path, Accept="text/html,*/*")
            assert (whole.status_code, "<h1>" in whole.text) == (404, True), path
            assert f"GET {path} is nothing that this server knows" in whole.text
            assert (await browser.get(path)).json()["code"] == "bad-request"
        for path in ("/v1/nowhere", "/api/nowhere"):
            assert (await browser.get(path, Accept="text/html")).json()["status"] == 404
        assert (await browser.client.put("/jobs", headers=HTMX)).headers["hx-retarget"] == "#notices"


async def test_a_bug_is_a_page_and_a_notice_where_htmx_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(listing, "listable", broken)
    async with console(tmp_path, raises=False) as browser:
        whole = await browser.get("/jobs", Accept="text/html")
        assert (whole.status_code, "<h1>" in whole.text) == (500, True)
        assert "KeyError" in whole.text
        assert "Traceback" not in whole.text
        piece = await browser.piece("/jobs")
        assert (piece.status_code, piece.headers["hx-retarget"]) == (500, "#notices")


async def test_a_server_without_a_read_model_says_what_is_missing() -> None:
    from httpx import ASGITransport, AsyncClient

    from jobledger.api import create

    async with (
        app_in_memory() as app,
        AsyncClient(transport=ASGITransport(create(app)), base_url="http://localhost") as client,
    ):
        answer = await client.get("/jobs")
        assert answer.status_code == 503
        assert "no database for the history is configured" in answer.text


async def test_what_changes_in_the_read_model_reaches_every_open_page(tmp_path: Path) -> None:
    from tests.unit.api.words import job

    async with console(tmp_path) as browser:
        beat = live.Beat(Console(browser.app, Closing()))
        one, other = beat.changes(), beat.changes()
        assert await anext(one) == await anext(other)
        await browser.submit(job())
        assert await anext(one) > 0
        assert await anext(other) > 0
        await one.aclose()  # type: ignore[attr-defined]
        await other.aclose()  # type: ignore[attr-defined]
