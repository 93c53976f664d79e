"""The list of jobs: what a row says, filters, order, pages, columns."""

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from jobledger.console.frame import ConsoleOptions
from jobledger.console.listing import listable
from jobledger.console.queries import COLUMNS, ListQuery, columns
from jobledger.program.errors import NoRight
from jobledger.web.reviews import Reviews
from k8s_bridge.port import Ref
from statemachine.kinds import KNOWN, SERVED
from tests.unit.api.kubernetes import FakeReviews
from tests.unit.api.words import elastic, gone, job
from tests.unit.console.words import KIND, console, names, row


def rich(name: str, replicas: int = 4) -> dict[str, Any]:
    """A job with resources, a queue and a GPU."""
    manifest = job(name, replicas=replicas, scheduler={"t9kScheduler": {"queue": "night", "priority": 7}})
    (container,) = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    container["resources"] = {
        "requests": {"cpu": "4", "memory": "8Gi"},
        "limits": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": 2},
    }
    return manifest


async def test_an_empty_list_says_so_in_both_languages(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        assert "No data" in (await browser.get("/jobs")).text
        assert "暂无数据" in (await browser.get("/jobs", Accept_Language="zh")).text


async def test_the_root_leads_to_the_list(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        answer = await browser.get("/")
        assert (answer.status_code, answer.headers["location"]) == (303, "/jobs")


async def test_a_row_has_the_sums_over_all_replicas(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(rich("train"))
        row = await browser.listed("train", "Running")
        assert "16.00 / 32.00" in row
        assert "32.00 GiB / 64.00 GiB" in re.sub(r"<[^>]*>", "", row)
        assert "4 Running" in row
        assert "The job has been initialized successfully." in row


async def test_columns_are_chosen_and_remembered(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(rich("train"))
        page = (await browser.get("/jobs?columns=name,gpu,queue,priority,restarts")).text
        for says in ("nvidia.com/gpu 8", "night", ">\n7", "0 / 3"):
            assert says in page.replace("        ", ""), says
        assert "32.00 GiB" not in page
        assert "night" in row((await browser.get("/jobs")).text, "train")


async def test_filters_are_joined_by_and_their_values_by_or(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(
            job("running"), job("paused", runMode={"pause": {"enabled": True}}), rich("gpu-running")
        )
        for name, says in (("running", "Running"), ("paused", "Paused"), ("gpu-running", "Running")):
            await browser.listed(name, says)
        for query, expected in (
            ("phase=Running", {"running", "gpu-running"}),
            ("phase=Running&phase=Paused", {"running", "gpu-running", "paused"}),
            ("phase=Running&resource=nvidia.com/gpu", {"gpu-running"}),
            ("resource=nvidia.com/g", set()),
            ("queue=night", {"gpu-running"}),
            ("scheduler=default", {"running", "paused"}),
            (f"kind={KIND}&q=PAU", {"paused"}),
            ("q=%25", set()),
            ("q=_", set()),
            ("phase=Error", set()),
            ("kind=NoSuchKind", set()),
        ):
            assert set(names((await browser.piece(f"/jobs?{query}")).text)) == expected, query


def labelled(name: str, **labels: str) -> dict[str, Any]:
    manifest = job(name)
    manifest["metadata"]["labels"] = labels
    return manifest


async def test_a_row_shows_two_labels_and_all_of_them_when_asked(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(labelled("many", team="a", tier="gold", batch="7"), labelled("none"))
        first_row = await browser.listed("many")
        shown, _, more = first_row.partition("<details")
        assert re.findall(r'class="badge" title="([^"]*)"', shown) == ["batch=7", "team=a"]
        assert "show all" in more
        assert more.count(">tier=gold</span>") == 2  # unfolded in its column, and in the row below
        assert '<details id="labels' not in await browser.listed("none")
        page = (await browser.get("/jobs?columns=name,kind")).text
        assert row(page, "many").count(">tier=gold</span>") == 1


async def test_jobs_are_filtered_by_labels_as_they_are_now(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(
            labelled("first", team="a", tier="gold"), labelled("second", team="b"), labelled("third")
        )
        for query, expected in (
            ("label=team", {"first", "second"}),
            ("label=team=a", {"first"}),
            ("label=team%3DA", set()),
            ("label=team=a&label=team=b", {"first", "second"}),
            ("label=team%3Da%2C+team+%3D+b", {"first", "second"}),
            ("label=team,tier", {"first"}),
            ("label=tier=", set()),
            ("label=+", {"first", "second", "third"}),
            ("label=team+in+(a,b),tier", {"first"}),
            ("label=!tier", {"second", "third"}),
            ("label=team!=a&label=team", {"second"}),
            ("label=team=a,team=b,team!=b", {"first"}),
            ("label=team&q=sec", {"second"}),
        ):
            assert set(names((await browser.piece(f"/jobs?{query}")).text)) == expected, query
        ref = Ref("batch.tensorstack.dev/v1beta1", KIND, "default", "third")
        await browser.app.cluster.patch(ref, {"metadata": {"labels": {"team": "late"}}})
        await browser.listed("third", "team=late")
        assert names((await browser.piece("/jobs?label=team=late")).text) == ["third"]


async def test_what_is_no_label_selector_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for query, sentence in (
            ("team+in+(a", "&#34;team in (a&#34; is no label selector: "),
            (",".join(f"l{number}" for number in range(101)), "a list is filtered by 100 labels at most"),
        ):
            for path, headers in (("/jobs", {}), ("/jobs", {"HX-Request": "true"}), ("/api/jobs", {})):
                answer = await browser.client.get(f"{path}?label={query}", headers=headers)
                assert answer.status_code == 400
                said = answer.json()["detail"] if path == "/api/jobs" else answer.text
                assert sentence.replace("&#34;", '"') in said.replace("&#34;", '"')


async def test_the_field_for_labels_says_what_is_filtered_by_and_chips_take_it_away(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        page = (await browser.get("/jobs?label=team=a,tier&q=x")).text
        assert 'name="label" value="team=a, tier"' in page
        assert "Label: team=a" in page
        assert 'href="/jobs?q=x&amp;label=tier"' in page
        assert 'href="/jobs?q=x&amp;label=team%3Da"' in page


async def test_a_filter_in_use_is_a_chip_that_takes_it_away(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        page = (await browser.get("/jobs?phase=Running&phase=Paused&q=a")).text
        assert 'href="/jobs?q=a&amp;phase=Paused"' in page
        assert 'href="/jobs?phase=Running&amp;phase=Paused"' in page
        assert "Status: Running" in page


async def test_a_failure_is_a_badge_with_its_message_and_listed_as_error(tmp_path: Path) -> None:
    broken = job("broken", replicas=0)
    broken["spec"]["replicaSpecs"][0]["replicas"] = 1
    annotations = {"sim.jobledger.dev/run-seconds": "0", "sim.jobledger.dev/exit-code": "3"}
    broken["spec"]["replicaSpecs"][0]["template"]["metadata"]["annotations"] = annotations
    broken["spec"]["runPolicy"] = {"backoffLimit": 0}
    async with console(tmp_path) as browser:
        await browser.submit(broken, job("well"))
        row = await browser.listed("broken", "Failed")
        assert 'class="badge error"' in row
        assert "exited with code 3" in row
        assert names((await browser.piece("/jobs?phase=Error")).text) == ["broken"]
        assert 'class="badge error"' not in await browser.listed("well")


async def test_jobs_are_in_order_and_on_pages(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(*(job(f"job-{number:02}") for number in range(12)))
        first = (await browser.get("/jobs?sort=name&way=asc&size=10")).text
        assert names(first) == [f"job-{number:02}" for number in range(10)]
        assert "1–10 of 12" in first
        second = (await browser.get("/jobs?sort=name&way=asc&size=10&page=2")).text
        assert names(second) == ["job-10", "job-11"]
        assert "11–12 of 12" in second
        assert names((await browser.get("/jobs?sort=name&way=desc&size=10")).text)[0] == "job-11"
        assert "No data" in (await browser.get("/jobs?page=9")).text


async def test_only_jobs_of_the_consoles_namespace_are_listed(tmp_path: Path) -> None:
    async with console(tmp_path, ConsoleOptions(namespace="team-b")) as browser:
        await browser.app.submit(
            (await _written(job("here"), "team-b")) + (await _written(job("there"), "team-a")), "test"
        )
        await browser.listed("here")
        assert names((await browser.get("/jobs")).text) == ["here"]
        assert (await browser.get(f"/jobs/team-a/{KIND}/there/yaml")).status_code == 404


async def _written(manifest: dict[str, Any], namespace: str) -> tuple[Any, ...]:
    from tests.unit.api.words import written

    manifest["metadata"]["namespace"] = namespace
    return written(manifest)


async def test_a_job_that_is_gone_is_not_in_the_list(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job("train"))
        await browser.app.delete(await browser.app.job("default", "train"), "test")
        await gone(browser.app, "train")

        async def empty() -> bool:
            return "No data" in (await browser.piece("/jobs")).text

        from tests.unit.api.words import until

        await until(empty)


async def test_the_menu_offers_what_the_job_can_do_now(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(elastic("grows"), job("paused", runMode={"pause": {"enabled": True}}))
        running = await browser.listed("grows", "Running")
        paused = await browser.listed("paused", "Paused")
        assert "/grows/pause" in running
        assert "/grows/scale" in running
        assert "/grows/resume" not in running
        assert "/paused/resume" in paused
        assert "/paused/pause" not in paused
        assert "/paused/scale" not in paused


async def test_what_a_job_says_is_text_and_no_markup(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        page = (await browser.get('/jobs?q=<script>alert(1)</script>&queue="><b>&label="><b>')).text
        assert "<script>alert" not in page
        assert "<b>" not in page


@pytest.mark.parametrize(
    "said",
    [
        "page=0&size=7&sort=age&way=up",
        "page=-1",
        "page=x&size=",
        "page=99999999999999999999",
        "page=" + "9" * 5000,
        "",
    ],
)
def test_a_query_that_makes_no_sense_is_the_usual_one(said: str) -> None:
    query = ListQuery.of(QueryParams(said))
    assert (query.sort, query.descending, query.size) == ("created", True, 20)
    assert 1 <= query.page <= 10**9


@pytest.mark.parametrize(("said", "page"), [("7", 7), ("0" * 5000 + "7", 7), ("9" * 5000, 10**9)])
def test_the_number_of_a_page_is_read_however_long_it_is(said: str, page: int) -> None:
    assert ListQuery.of(QueryParams({"page": said})).page == page


@pytest.mark.parametrize("kind", KNOWN)
def test_who_may_not_list_a_kind_sees_none_of_it_whatever_older_names_they_may_list(kind: str) -> None:
    may = [names.kind for names in SERVED if names.kind != kind]
    assert set(ListQuery().wanted(may, "").kinds or ()) == {*KNOWN} - {kind}
    assert ListQuery().wanted([names.kind for names in SERVED], "").kinds is None


async def test_a_kind_is_offered_as_a_filter_once(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        kinds = re.findall(r'name="kind" value="([^"]*)"', (await browser.get("/jobs")).text)
        assert kinds == [*KNOWN]


def test_a_query_is_written_as_it_is_read() -> None:
    said = "q=a+b&phase=Running&phase=Error&queue=x%26y&label=team%3Da&label=tier&sort=name&way=asc&page=3&size=50"
    assert ListQuery.of(QueryParams(said)).address == said


def test_the_name_is_always_among_the_columns() -> None:
    assert columns("") == COLUMNS
    assert columns("gpu,nonsense") == ["name", "gpu"]


async def test_going_back_in_the_browser_gives_a_whole_page(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
        assert "<html" in (await browser.client.get("/jobs?q=a", headers=headers)).text


def test_a_name_of_before_makes_up_for_no_kind_that_may_not_be_listed() -> None:
    """A caller who may list every kind but one, and one under two names, has as many rights as there are kinds."""
    allowed = [names.kind for names in SERVED if names.kind != "PyTorchJob"]
    assert len(allowed) == len(KNOWN)
    assert ListQuery().wanted(allowed, "").kinds == [name for name in KNOWN if name != "PyTorchJob"]
    assert ListQuery().wanted([names.kind for names in SERVED], "").kinds is None


async def test_the_kinds_that_may_be_listed_have_their_present_names() -> None:
    fake = FakeReviews({"alices": "alice"}, alice=lambda asked: asked["resource"].startswith("deepspeed"))
    caller = await Reviews(fake).caller("alices")
    assert await listable(caller, "default") == ["DeepSpeedJob"]
    with pytest.raises(NoRight):
        await listable(await Reviews(FakeReviews({"x": "x"}, x=lambda _: False)).caller("x"), "default")
