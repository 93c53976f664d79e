"""Resource monitoring: panels over what a Prometheus-compatible server answers, over HTTP."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from jobledger.api import create
from jobledger.console.details.monitoring import failed
from jobledger.console.frame import ConsoleOptions
from jobledger.console.monitoring.chart import ceiling, chart, value
from jobledger.console.monitoring.panels import Line, MeasuredJob, Monitor, ShownPanel
from jobledger.console.monitoring.queries import POINTS, TimeRange, expression, panels, quoted, selector, span
from jobledger.console.monitoring.source import MetricsSource, SourceFailed
from jobledger.console.vocabulary.monitoring import MONITORING
from jobledger.settings.loading import load
from jobledger.web.reviews import Reviews
from statemachine.errors import ConfigError
from tests.unit.api.kubernetes import FakeReviews
from tests.unit.api.test_cluster_guard import BASE, only
from tests.unit.api.words import app_in_memory, gone, job, phase, written
from tests.unit.console.prometheus import Prometheus, prometheus
from tests.unit.console.words import KIND, Browser, console

TRAIN = f"/jobs/default/{KIND}/train"
NOON = datetime(2024, 5, 17, 12, tzinfo=UTC)

CPU = "container_cpu_usage_seconds_total"
MEMORY = "container_memory_working_set_bytes"
RECEIVE = "container_network_receive_bytes_total"
GPU = "DCGM_FI_DEV_GPU_UTIL"


def measuring_job() -> dict[str, Any]:
    manifest = job(replicas=2)
    container = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {
        "requests": {"cpu": "1", "memory": "1Gi"},
        "limits": {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": 1, "amd.com/gpu": 1},
    }
    return manifest


@asynccontextmanager
async def measured(folder: Path, source: Prometheus) -> AsyncIterator[tuple[Browser, list[str]]]:
    """A job of two replicas that runs, and the names of its pods."""
    async with console(folder, ConsoleOptions(metrics=source.url)) as browser:
        await browser.submit(measuring_job())
        manifest = await phase(browser.app, "train", "Running")
        yield browser, [replica["name"] for replica in manifest["status"]["tasks"][0]["replicas"]]


def of(pod: str, namespace: str = "default", **more: str) -> dict[str, str]:
    return {"pod": pod, "namespace": namespace, "container": "pytorch", **more}


def panel(page: str, name: str) -> str:
    """The part of a page that is about one panel."""
    match = re.search(rf'<details [^>]*id="panel-{name}".*?</details>', page, re.DOTALL)
    assert match, page
    return match[0]


def legend(page: str) -> list[str]:
    """What the legend says, line by line."""
    entries = re.findall(r"<li[ >].*?</li>", page, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", " ", item).split()) for item in entries]


# ---- the page ----------------------------------------------------------------------------------------------


async def test_every_panel_shows_usage_request_and_limit(tmp_path: Path) -> None:
    with prometheus() as source:
        async with measured(tmp_path, source) as (browser, (one, two)):
            source.series = {
                CPU: [
                    (of(one), 0.5),
                    (of(two), 0.75),
                    (of("train-of-others"), 9.0),
                    (of(one, "elsewhere"), 9.0),
                ],
                MEMORY: [(of(one), 2.0**30), (of(two, container=""), 9.0)],
                RECEIVE: [(of(one, container=""), 2048.0)],
                GPU: [(of("dcgm", exported_namespace="default", exported_pod=one), 50.0), (of(two), 25.0)],
            }
            answer = await browser.get(f"{TRAIN}/monitoring")
            assert answer.status_code == 200
            page = answer.text
            assert "no metrics source configured" not in page
            cpu = panel(page, "cpu")
            assert legend(cpu) == ["worker 1.25, at most 1.25", "Request 2.00", "Limit 4.00"]
            assert cpu.count('class="mc-line mc-1"') == 2  # in the picture and in its legend
            assert 'class="mc-limit"' in cpu
            assert legend(panel(page, "memory"))[0] == "worker 1.00 GiB, at most 1.00 GiB"
            assert legend(panel(page, "network")) == ["worker · receive 2.00 KiB/s, at most 2.00 KiB/s"]
            assert "No data" in panel(page, "storage")
            device = panel(page, "nvidia_com_gpu")
            assert legend(device) == ["worker 0.75, at most 0.75", "Request 2", "Limit 2"]
            assert "Usage of this resource is not measured." in panel(page, "amd_com_gpu")
            per_pod = panel((await browser.get(f"{TRAIN}/monitoring?by=pod&range=15m")).text, "cpu")
            assert legend(per_pod) == [
                f"{one} 0.50, at most 0.50",
                f"{two} 0.75, at most 0.75",
                "Request 1.00",
                "Limit 2.00",
            ]


async def test_a_job_that_is_gone_keeps_its_panels_and_ends_when_it_did(tmp_path: Path) -> None:
    with prometheus() as source:
        async with measured(tmp_path, source) as (browser, (one, two)):
            source.series = {CPU: [(of(one), 0.5), (of(two), 0.75)]}
            await browser.app.delete(await browser.app.job("default", "train"), "alice")
            await gone(browser.app, "train")
            cpu = panel((await browser.get(f"{TRAIN}/monitoring")).text, "cpu")
            assert legend(cpu) == ["worker 1.25, at most 1.25", "Request 2.00", "Limit 4.00"]


async def test_a_panel_is_refreshed_alone(tmp_path: Path) -> None:
    with prometheus() as source:
        async with measured(tmp_path, source) as (browser, (one, _)):
            source.series = {CPU: [(of(one), 0.5)]}
            page = panel((await browser.get(f"{TRAIN}/monitoring?range=1h")).text, "cpu")
            (again,) = re.findall(r'hx-get="([^"]*)"', page)
            assert 'data-keep="open"' in page  # a fold survives it
            piece = await browser.piece(again.replace("&amp;", "&"))
            assert piece.text.lstrip().startswith("<details")
            assert piece.text.count("<details") == 1
            assert legend(piece.text)[0].startswith("worker 0.50")
            whole = await browser.get(f"{TRAIN}/monitoring/panel?panel=cpu")
            assert "<html" in whole.text
            assert (await browser.get(f"{TRAIN}/monitoring/panel?panel=nothing")).status_code == 404


async def test_two_who_look_at_the_same_have_it_asked_for_once(tmp_path: Path) -> None:
    with prometheus() as source:
        async with measured(tmp_path, source) as (browser, _):
            since = datetime.now(UTC)
            await browser.get(f"{TRAIN}/monitoring")
            first = len(source.asked)
            await browser.get(f"{TRAIN}/monitoring")
            grid = {request["end"] for request in source.asked}
            assert len(source.asked) == first * len(grid) or datetime.now(UTC) - since > timedelta(seconds=10)


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("broken", "The metrics source answers with status 500."),
        ("refuses", "The metrics source refuses the query: parse error: unexpected character"),
        ("other", "The metrics source answers with something that is not Prometheus&#39; HTTP API."),
        ("huge", "The metrics source answers with more than 8 MiB; choose a shorter time range."),
        ("elsewhere", "The metrics source answers with status 302."),
    ],
)
async def test_what_goes_wrong_is_a_sentence_in_the_panel(tmp_path: Path, mode: str, sentence: str) -> None:
    with prometheus() as source:
        async with measured(tmp_path, source) as (browser, _):
            source.mode = mode
            answer = await browser.get(f"{TRAIN}/monitoring")
            assert answer.status_code == 200
            cpu = panel(answer.text, "cpu")
            assert sentence in cpu
            assert legend(cpu) == ["Request 2.00", "Limit 4.00"]
            assert cpu.count('role="alert"') == 1
            source.mode = ""  # a failure is not kept
            assert "No data" in panel((await browser.get(f"{TRAIN}/monitoring")).text, "cpu")


async def test_a_source_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with prometheus() as source:
        pass
    async with measured(tmp_path, source) as (browser, _):
        page = (await browser.get(f"{TRAIN}/monitoring")).text
        assert "The metrics source cannot be reached:" in panel(page, "cpu")


async def test_the_page_speaks_chinese_and_needs_nothing_that_the_policy_refuses(tmp_path: Path) -> None:
    with prometheus() as source:
        async with measured(tmp_path, source) as (browser, (one, _)):
            source.series = {CPU: [(of(one), 0.5)]}
            answer = await browser.get(f"{TRAIN}/monitoring", Accept_Language="zh")
            for word in ("时间范围", "按类型汇总", "网络带宽", "请求值", "刷新"):
                assert word in answer.text
            assert " style=" not in answer.text
            assert re.findall(r"<script(?! src=)", answer.text) == []
            assert (await browser.get("/static/monitoring.css")).status_code == 200


@pytest.mark.parametrize("query", ["range=2h", "by=node", "range="])
async def test_a_range_that_is_none_is_refused(tmp_path: Path, query: str) -> None:
    with prometheus() as source:
        async with measured(tmp_path, source) as (browser, _):
            assert (await browser.get(f"{TRAIN}/monitoring?{query}")).status_code == 400
            assert not source.asked


async def test_without_a_source_requests_and_limits_are_shown_with_a_notice(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(measuring_job())
        page = (await browser.get(f"{TRAIN}/monitoring")).text
        assert "no metrics source configured" in page
        assert "2.00 GiB" in page
        answer = (await browser.get(f"/api/jobs/{KIND}/train/metrics")).json()
        assert (answer["source"], answer["panels"]) == (False, [])
        assert answer["sums"]["cpu"] == {"request": 2.0, "limit": 4.0}
        assert answer["sums"]["nvidia.com/gpu"] == {"request": 2.0, "limit": 2.0}  # as Kubernetes has it


async def test_the_same_is_there_as_json(tmp_path: Path) -> None:
    with prometheus() as source:
        async with measured(tmp_path, source) as (browser, (one, _)):
            source.series = {CPU: [(of(one), 0.5)]}
            answer = (await browser.get(f"/api/jobs/{KIND}/train/metrics?by=pod&range=1h")).json()
            assert (answer["source"], answer["range"], answer["by"]) == (True, "1h", "pod")
            cpu = answer["panels"][0]
            assert (cpu["name"], cpu["unit"], cpu["limit"], cpu["error"]) == ("cpu", "cores", 2.0, "")
            (line,) = cpu["lines"]
            assert (line["name"], line["metric"]) == (one, "usage")
            assert {value for _, value in line["points"]} == {0.5}
            source.mode = "broken"
            broken = (await browser.get(f"/api/jobs/{KIND}/train/metrics?range=6h")).json()
            assert broken["panels"][0]["error"] == "The metrics source answers with status 500."


async def test_who_may_not_list_pods_learns_nothing_of_them() -> None:
    fake = FakeReviews({"alices": "alice"}, alice=only("get"))
    with prometheus() as source:
        async with app_in_memory() as app:
            await app.submit(written(measuring_job()), "tests")
            await phase(app, "train", "Running")
            api = create(app, fake.closing, Reviews(fake), ConsoleOptions(metrics=source.url))
            headers = {"X-Jobledger-Token": "alices"}
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(api), base_url=BASE, headers=headers
            ) as client:
                page = await client.get(f"{TRAIN}/monitoring")
                assert page.status_code == 200
                assert "pods" in page.text
                assert "2.00 GiB" in page.text
                for path in (f"{TRAIN}/monitoring/panel?panel=cpu", f"/api/jobs/{KIND}/train/metrics"):
                    assert (await client.get(path)).status_code == 403
        assert not source.asked


# ---- the source --------------------------------------------------------------------------------------------

SPAN = TimeRange(1000 * 15, 1004 * 15, 15)


async def test_points_that_are_no_numbers_are_left_out() -> None:
    with prometheus(up=[({"pod": "a"}, 1.0)]) as source:
        (series,) = await MetricsSource(source.url).range('up{pod="a"}', SPAN)
        assert series.pod == "a"
        assert [at for at, _ in series.points] == [15000.0, 15030.0, 15045.0, 15060.0]


async def test_a_source_that_says_nothing_is_given_up() -> None:
    with prometheus() as source:
        source.mode = "silent"
        with pytest.raises(SourceFailed) as error:
            await MetricsSource(f"{source.url}/", seconds=0.1).range("up", SPAN)
        assert (error.value.key, error.value.values) == ("metrics.late", {"seconds": "0.1"})


async def test_a_job_of_many_pods_is_one_short_query_and_few_lines() -> None:
    pods = {f"train-worker-{number}": "worker" for number in range(500)}
    series = [(of(name), float(number)) for number, name in enumerate(pods)]
    with prometheus(**{CPU: series}) as source:
        job = MeasuredJob("default", "u", pods, {"cpu": Decimal(500)}, {}, 500)
        shown = await Monitor(MetricsSource(source.url)).shown(job, panels(())[0], SPAN, "pod")
        assert (len(shown.lines), shown.of, shown.request) == (20, 500, 1.0)
        assert {line.last for line in shown.lines} == set(map(float, range(480, 500)))
        assert len(source.asked) == 1
        assert len(source.asked[0]["query"]) < 300


def test_every_failure_has_words_in_both_languages() -> None:
    for key, said in MONITORING.items():
        assert len(said) == 2, key
    shown = ShownPanel(panels(())[0], None, None, SPAN, failure=SourceFailed("late", seconds=5))
    assert failed("zh", shown) == "监测数据源在 5 秒内没有响应。"


# ---- queries -----------------------------------------------------------------------------------------------


def test_names_in_queries_are_escaped() -> None:
    assert quoted('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert selector("de", ["a.b-1"]) == 'namespace="de",pod="a.b-1"'
    assert selector("de", ["a.b-1", "a.b-12", "a.b-2"]) == 'namespace="de",pod=~"a\\\\.b\\\\-.*"'


def test_a_rate_is_taken_over_at_least_three_minutes_and_two_steps() -> None:
    cpu = panels(())[0].metrics[0]
    assert "[180s]" in expression(cpu, "de", ["a"], 15)
    assert "[600s]" in expression(cpu, "de", ["a"], 300)


def test_panels_are_those_of_all_jobs_and_one_for_each_device() -> None:
    names = [panel.name for panel in panels(["memory", "nvidia.com/gpu", "cpu", "nvidia.com/gpu"])]
    assert names == ["cpu", "memory", "nvidia.com/gpu", "network", "storage"]


@pytest.mark.parametrize("length", [0, 1, 59, 3600, 86400, 86400 * 400])
@pytest.mark.parametrize("chosen", ["all", "6h", "1h", "15m"])
def test_a_span_is_bounded_in_its_points(length: int, chosen: str) -> None:
    time_range = span(NOON, NOON + timedelta(seconds=length), chosen)
    assert time_range.start % time_range.step == time_range.end % time_range.step == 0
    assert 1 <= (time_range.end - time_range.start) / time_range.step <= POINTS + 2
    assert time_range.start >= NOON.timestamp() - time_range.step
    end = NOON.timestamp() + length
    assert end - time_range.step < time_range.end <= end  # the last point on the grid that is not to come


# ---- the picture -------------------------------------------------------------------------------------------


def test_a_line_is_broken_where_points_are_missing_and_text_is_escaped() -> None:
    points = [(15000.0, 1.0), (15015.0, 2.0), (15060.0, 4.0)]
    shown = ShownPanel(panels(())[0], None, 4.0, SPAN, [Line("<b>", "usage", points)], 1)
    drawn = str(chart(shown, "CPU", str))
    assert 'd="M0.0 112.5 h0.8 L250.0 75.0 M1000.0 0.0 h0.8"' in drawn
    assert "<b>" not in drawn
    assert 'd="M0 0.0 H1000"' in drawn  # the limit


@pytest.mark.parametrize(
    ("most", "binary", "top"),
    [
        (0, False, 1),
        (0.3, False, 0.4),
        (4, False, 4),
        (9, False, 10),
        (0.5, True, 0.5),
        (3 * 2**30, True, 2**32),
    ],
)
def test_an_axis_ends_at_a_round_number(most: float, binary: bool, top: float) -> None:
    assert ceiling(most, binary=binary) == pytest.approx(top)


def test_values_are_shown_in_their_units() -> None:
    assert [value("count", number) for number in (0, 10, 2.5, None)] == ["0", "10", "2.5", "–"]
    assert value("bytes/s", 2048) == "2.00 KiB/s"


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://x", "http://u:p@x", "http://x?a=b", "http://x /"])
def test_a_source_has_to_be_an_address_without_a_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBLEDGER_CONSOLE__METRICS", url)
    with pytest.raises(ConfigError):
        load()
