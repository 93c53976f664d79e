"""What the console shows as JSON, under its older name `/api`. Source: spec console.md, section 6."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import yaml

from jobledger.api import create
from jobledger.api.freshness import Freshness
from jobledger.api.logs import ended
from jobledger.console.details.log_target import Log
from jobledger.console.frame import ConsoleOptions
from jobledger.jobs.attempts import Attempt
from jobledger.web.reviews import Reviews
from k8s_bridge.port import Cluster, LogPart
from statemachine.ids import PodUid, ReplicaName
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.kubernetes import Clock, FakeReviews
from tests.unit.api.test_cluster_guard import BASE, Rules, both, only
from tests.unit.api.words import app_in_memory, elastic, gone, job, phase, until, written
from tests.unit.console.words import KIND, Browser, console

JOBS = "/api/jobs"
TRAIN = f"{JOBS}/{KIND}/train"
JSON = {"Content-Type": "application/json"}


@asynccontextmanager
async def running(folder: Path, *jobs: dict[str, Any], **options: Any) -> AsyncIterator[Browser]:
    """A server with these jobs, which run."""
    async with console(folder, ConsoleOptions(**options)) as browser:
        for raw in jobs or (job(replicas=2),):
            await browser.submit(raw)
            await phase(browser.app, raw["metadata"]["name"], "Running")
        yield browser


async def json(browser: Browser, path: str, status: int = 200) -> Any:
    answer = await browser.client.get(path)
    assert answer.status_code == status, answer.text
    return answer.json()


# ---- successors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (f"{JOBS}?q=tr", "/v1/summaries?q=tr"),
        (TRAIN, f"/v1/jobs/default/train/summary?kind={KIND}"),
        (f"{TRAIN}/history?size=2", f"/v1/jobs/default/train/entries?size=2&kind={KIND}"),
        (f"{TRAIN}/yaml?namespace=default", f"/v1/jobs/default/train/yaml?kind={KIND}"),
        (f"{TRAIN}/replicas/worker-0/log?tail=1", "/v1/jobs/default/train/logs?replica=worker-0&tail=1"),
        ("/api/queues", "/v1/queues"),
        (f"{TRAIN}/history?size=0", f"/v1/jobs/default/train/entries?size=0&kind={KIND}"),
    ],
)
async def test_an_older_address_answers_as_its_successor_and_names_it(
    tmp_path: Path, older: str, newer: str
) -> None:
    async with running(tmp_path) as browser:
        rows = (await json(browser, f"{TRAIN}/replicas"))["items"]
        cluster = cast(MemoryCluster, browser.app.cluster)
        cluster.sim_logs.write("default", rows[0]["pod"], b"one\ntwo\n")
        cluster.sim_logs.end(rows[0]["uid"])
        answer, same = await browser.client.get(older), await browser.client.get(newer)
        assert (answer.status_code, answer.text) == (same.status_code, same.text)
        assert answer.headers["deprecation"] == "@1795564800"
        assert answer.headers["link"] == f'<{newer.partition("?")[0]}>; rel="successor-version"'
        assert "deprecation" not in same.headers


@pytest.mark.parametrize(
    ("method", "path", "newer"),
    [
        ("POST", JOBS, "/v1/jobs"),
        ("PATCH", TRAIN, "/v1/jobs/default/train"),
        ("DELETE", TRAIN, "/v1/jobs/default/train"),
    ],
)
async def test_changes_keep_their_form_and_name_their_successor(
    tmp_path: Path, method: str, path: str, newer: str
) -> None:
    async with console(tmp_path, ConsoleOptions(base="/jobs-console")) as browser:
        answer = await browser.client.request(method, path, json={"spec": {}})
        assert answer.status_code >= 400
        assert answer.headers["link"] == f'</jobs-console{newer}>; rel="successor-version"'


# ---- reading -----------------------------------------------------------------------------------------------


async def test_the_list_is_that_of_the_page_with_its_filters_order_and_paging(tmp_path: Path) -> None:
    jobs = [job(f"job-{number}") for number in range(12)]
    async with running(tmp_path, *jobs, job("other")) as browser:
        answer = await json(browser, f"{JOBS}?q=JOB-&sort=name&way=asc&size=10")
        assert [item["name"] for item in answer["items"]] == sorted(f"job-{n}" for n in range(12))[:10]
        assert (answer["total"], answer["page"], answer["size"]) == (12, 1, 10)
        rest = await json(browser, f"{JOBS}?q=job-&sort=name&way=asc&size=10&page=2")
        assert [item["name"] for item in rest["items"]] == ["job-8", "job-9"]
        one = rest["items"][0]
        assert (one["kind"], one["namespace"]) == (KIND, "default")
        assert one["createdAt"].endswith("Z")
        assert one["isError"] is False
        assert (await json(browser, f"{JOBS}?phase=Failed"))["items"] == []
        assert await json(browser, f"{JOBS}?phase=rUNNING") == await json(browser, f"{JOBS}?phase=Running")
        assert (await json(browser, f"{JOBS}?kind=BeamJob"))["total"] == 0
        assert (await json(browser, f"{JOBS}?namespace=elsewhere"))["total"] == 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("size=7", 'size cannot be "7": it is one of 10, 20, 50'),
        ("page=0", 'page cannot be "0": it is a whole number from 1'),
        ("page=x", 'page cannot be "x": it is a whole number from 1'),
        ("sort=uid", 'sort cannot be "uid": it is one of name, created, phase'),
        ("way=up", 'way cannot be "up": it is one of asc, desc'),
        ("phase=Failed&phase=Done", 'phase cannot be "Done": it is one of Pending, '),
        ("labels=a", 'the list has no parameter "labels": it knows q, phase, kind, '),
    ],
)
async def test_the_list_says_what_it_does_not_understand(tmp_path: Path, asked: str, said: str) -> None:
    async with running(tmp_path) as browser:
        assert (await json(browser, f"{JOBS}?{asked}", 400))["detail"].startswith(said)
        assert (await json(browser, f"{JOBS}?page=&size=&sort="))["total"] == 1


async def test_a_job_has_canonical_spec_status_sums_restarts_and_commands(tmp_path: Path) -> None:
    manifest = job(replicas=2, runPolicy={"backoffLimit": 3})
    container = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "nvidia.com/gpu": 1}}
    container["env"] = [{"name": "API_TOKEN", "value": "hunter2"}]
    async with running(tmp_path, manifest) as browser:
        answer = await browser.client.get(TRAIN)
        assert "hunter2" not in answer.text
        view = answer.json()
        assert (view["kind"], view["name"], view["phase"], view["gone"]) == (
            KIND,
            "train",
            "Running",
            False,
        )
        assert view["sums"] == {
            "cpu": {"request": 1.0, "limit": 4.0},
            "nvidia.com/gpu": {"request": 2.0, "limit": 2.0},
        }
        assert view["restarts"] == {"count": 0, "limit": 3}
        assert view["status"]["phase"] == "Running"
        assert view["spec"]["replicaSpecs"][0]["replicas"] == 2
        assert view["commands"]["launch"] == "python train.py"
        assert list(view["commands"]["replicas"]) == ["worker-0", "worker-1"]
        assert {"pause", "delete", "clone"} <= {*view["actions"]}


async def test_the_blocks_of_a_job_are_served_one_by_one(tmp_path: Path) -> None:
    async with running(tmp_path) as browser:

        async def pending() -> bool:
            return bool((await json(browser, f"{TRAIN}/events"))["items"])

        await until(pending)
        events = (await json(browser, f"{TRAIN}/events"))["items"]
        assert {"name", "at", "type", "reason", "message"} == {*events[0]}
        history = await json(browser, f"{TRAIN}/history")
        assert [item["seq"] for item in history["items"]] == list(range(1, history["total"] + 1))
        assert history["items"][0]["actor"] == "test"
        assert history["items"][-1]["after"] == "Running"
        second = await json(browser, f"{TRAIN}/history?size=1&page=2")
        assert [item["seq"] for item in second["items"]] == [2]
        assert (await json(browser, f"{TRAIN}/history?size=10&page=99"))["items"] == []
        replicas = (await json(browser, f"{TRAIN}/replicas"))["items"]
        assert [(replica["name"], replica["phase"], replica["primary"]) for replica in replicas] == [
            ("worker-0", "Running", True),
            ("worker-1", "Running", False),
        ]
        shown = await browser.client.get(f"{TRAIN}/yaml")
        assert shown.headers["content-type"].startswith("application/yaml")
        assert yaml.safe_load(shown.text)["metadata"]["name"] == "train"


async def test_a_job_that_is_gone_is_still_served(tmp_path: Path) -> None:
    async with running(tmp_path) as browser:
        await browser.app.delete(await browser.app.job("default", "train"), "alice")
        await gone(browser.app, "train")
        view = await json(browser, TRAIN)
        assert (view["gone"], view["actions"]) == (True, [])
        assert (await json(browser, f"{TRAIN}/history"))["items"][-1]["types"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{JOBS}/{KIND}/nobody", 404),
        (f"{JOBS}/NoKind/train/history", 404),
        (f"{TRAIN}?namespace=elsewhere", 404),
        (f"{TRAIN}/replicas/worker-9/log", 404),
        (f"{TRAIN}/replicas/worker-9/log?tail=3", 404),
        (f"{TRAIN}/history?size=0", 400),
        ("/api/nothing", 404),
    ],
)
async def test_what_is_not_there_is_a_problem_in_json(tmp_path: Path, path: str, status: int) -> None:
    async with running(tmp_path) as browser:
        answer = await browser.client.get(path)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert "\n" not in answer.json()["detail"]


async def test_without_a_read_model_the_list_is_503(tmp_path: Path) -> None:
    async with app_in_memory() as app:
        transport = httpx.ASGITransport(create(app))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.get(JOBS)
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


async def test_a_console_of_one_namespace_serves_that_alone(tmp_path: Path) -> None:
    async with running(tmp_path, namespace="default", new_jobs="default") as browser:
        assert (await json(browser, JOBS))["total"] == 1
        for path in (JOBS, TRAIN, "/api/pvcs"):
            said = await json(browser, f"{path}?namespace=elsewhere", 400)
            assert said["detail"] == 'this console serves the namespace "default" alone, not "elsewhere"'
        answer = await browser.client.post(
            JOBS, json={**job("b"), "metadata": {"name": "b", "namespace": "elsewhere"}}
        )
        assert answer.json()["errors"] == [
            {"path": "metadata.namespace", "text": 'Invalid value: must be "default"', "rule": ""}
        ]


# ---- logs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "one\ntwo\nthree"),
        ("?tail=2", "two\nthree"),
        ("?tail=1", "three"),
        ("?follow=true", "one\ntwo\nthree"),
        ("?container=pytorch&tail=100", "one\ntwo\nthree"),
    ],
)
async def test_a_log_is_a_text(tmp_path: Path, query: str, text: str) -> None:
    async with running(tmp_path) as browser:
        rows = (await json(browser, f"{TRAIN}/replicas"))["items"]
        cluster = cast(MemoryCluster, browser.app.cluster)
        cluster.sim_logs.write("default", rows[0]["pod"], b"one\ntwo\nthree")
        cluster.sim_logs.end(rows[0]["uid"])
        for replica in ("worker-0", rows[0]["pod"]):
            answer = await browser.client.get(f"{TRAIN}/replicas/{replica}/log{query}")
            assert answer.status_code == 200, answer.text
            assert answer.headers["content-type"] == "text/plain; charset=utf-8"
            assert answer.text == text


# ---- writing -----------------------------------------------------------------------------------------------


async def test_validate_gives_the_canonical_form_errors_and_warnings_and_makes_nothing(
    tmp_path: Path,
) -> None:
    async with console(tmp_path) as browser:
        old = job(runPolicy={"cleanUpPolicy": "None"})
        old["metadata"]["labels"] = {"version": "1e3"}  # a text, whatever YAML would make of it
        verdict = (await browser.client.post(f"{JOBS}/validate", json=old)).json()
        assert verdict["errors"] == []
        assert verdict["manifest"]["metadata"]["labels"] == {"version": "1e3"}
        assert verdict["manifest"]["kind"] == KIND
        wrong = job(replicas=-1)
        answer = await browser.client.post(f"{JOBS}/validate", json=wrong)
        assert answer.status_code == 200
        (error,) = answer.json()["errors"]
        assert error["path"] == "spec.replicaSpecs[0].replicas"
        wrong["spec"]["replicaSpecs"] = job()["spec"]["replicaSpecs"] * 2
        (error,) = (await browser.client.post(f"{JOBS}/validate", json=wrong)).json()["errors"]
        assert "replica types must be unique" in error["text"]
        assert error["rule"]
        none = (await browser.client.post(f"{JOBS}/validate", json={"kind": "Pod"})).json()
        assert none["manifest"] is None
        assert none["errors"]
        assert (await json(browser, JOBS))["total"] == 0


async def test_an_older_spelling_is_made_canonical_with_a_warning_each(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        container = {"name": "pytorch", "image": "x"}
        old = {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "DeepspeedJob",
            "metadata": {"name": "ds"},
            "spec": {
                "config": {"slotPerWorker": 2, "run": {"python": ["train.py"]}},
                "worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
            },
        }
        verdict = (await browser.client.post(f"{JOBS}/validate", json=old)).json()
        assert verdict["manifest"]["kind"] == "DeepSpeedJob"
        assert verdict["manifest"]["spec"]["config"]["slotsPerWorker"] == 2
        said = [warning["text"] for warning in verdict["warnings"]]
        assert "kind DeepspeedJob → DeepSpeedJob" in said
        assert "config.slotPerWorker → config.slotsPerWorker" in said


async def test_a_job_is_made_once(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        first = await browser.client.post(JOBS, json=job())
        assert (first.status_code, first.json()["metadata"]["name"]) == (201, "train")
        again = await browser.client.post(JOBS, json=job())
        assert (again.status_code, again.json()["code"]) == (409, "job-exists")
        wrong = await browser.client.post(JOBS, json=job("b", replicas=-1))
        assert wrong.status_code == 422
        assert wrong.headers["content-type"] == "application/problem+json"
        same = (await browser.client.post(f"{JOBS}/validate", json=job("b", replicas=-1))).json()["errors"]
        assert wrong.json()["errors"] == same
        await browser.listed("train")
        assert (await json(browser, f"{TRAIN}/history"))["items"][0]["actor"] == "HTTP API"


async def test_a_patch_pauses_scales_and_changes_the_run_policy_in_one_go(tmp_path: Path) -> None:
    async with running(tmp_path, elastic()) as browser:
        body = {"expectedReplicas": 3, "runPolicy": {"backoffLimit": 7}}
        answer = await browser.client.patch(TRAIN, json=body)
        assert answer.status_code == 200, answer.text
        spec = answer.json()["spec"]
        assert spec["elastic"]["expectedReplicas"] == 3
        assert spec["runPolicy"]["backoffLimit"] == 7
        assert (await browser.client.patch(TRAIN, json={"pause": True})).status_code == 200
        await phase(browser.app, "train", "Paused")
        assert (await browser.client.patch(TRAIN, json={"pause": False})).status_code == 200
        await phase(browser.app, "train", "Running")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"pause": "yes"}, "pause"),
        ({"expectedReplicas": 1.5}, "expectedReplicas"),
        ({"expectedReplicas": 99}, "spec.elastic.expectedReplicas"),
        ({"runPolicy": None}, "runPolicy"),
        ({"runPolicy": {"backoffLimit": -1}}, "spec.runPolicy.backoffLimit"),
        ({"spec": {}}, "spec"),
        ({}, ""),
    ],
)
async def test_a_change_that_breaks_a_rule_is_422_and_changes_nothing(
    tmp_path: Path, body: dict[str, Any], path: str
) -> None:
    async with running(tmp_path, elastic()) as browser:
        before = (await browser.app.job("default", "train"))["spec"]
        answer = await browser.client.patch(TRAIN, json=body)
        assert answer.status_code == 422, answer.text
        assert path in [error["path"] for error in answer.json()["errors"]]
        assert {*answer.json()["errors"][0]} == {"path", "text", "rule"}
        assert (await browser.app.job("default", "train"))["spec"] == before


async def test_a_job_that_somebody_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    async with running(tmp_path, elastic()) as browser:

        async def slow_body() -> AsyncIterator[bytes]:
            """Somebody else is quicker: the job has been looked at, the change has not come yet."""
            await browser.app.scale(await browser.app.job("default", "train"), 4, "bob")
            yield b'{"expectedReplicas": 3}'

        answer = await browser.client.patch(TRAIN, content=slow_body(), headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert answer.json()["detail"] == "The job was changed by someone else; reload and try again"
        assert (await browser.app.job("default", "train"))["spec"]["elastic"]["expectedReplicas"] == 4


async def test_g21_who_scales_a_job_that_is_not_elastic_gets_an_error(tmp_path: Path) -> None:
    async with running(tmp_path) as browser:
        answer = await browser.client.patch(TRAIN, json={"expectedReplicas": 3})
        said = "spec.elastic is not enabled: the number of replicas stays 2"
        assert (answer.status_code, answer.json()["detail"]) == (422, said)


async def test_what_a_job_cannot_do_is_409(tmp_path: Path) -> None:
    async with console(tmp_path, ConsoleOptions()) as browser:
        await browser.submit(job(run_seconds="0.05"))
        await phase(browser.app, "train", "Succeeded")
        answer = await browser.client.patch(TRAIN, json={"pause": True})
        assert (answer.status_code, answer.json()["code"]) == (409, "not-possible")


async def test_a_job_is_deleted_unless_it_is_another(tmp_path: Path) -> None:
    async with running(tmp_path) as browser:
        assert (await browser.client.delete(f"{TRAIN}?uid=another")).status_code == 409
        answer = await browser.client.delete(TRAIN)
        assert (answer.status_code, answer.json()["metadata"]["name"]) == (202, "train")
        await gone(browser.app, "train")


# ---- guards ------------------------------------------------------------------------------------------------

WRITES = (("POST", JOBS), ("POST", f"{JOBS}/validate"), ("PATCH", TRAIN), ("DELETE", TRAIN))


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},
    ],
)
async def test_a_page_of_another_site_changes_nothing(
    tmp_path: Path, method: str, path: str, headers: dict[str, str]
) -> None:
    async with running(tmp_path) as browser:
        answer = await browser.client.request(method, path, json={"pause": True}, headers=headers)
        assert answer.status_code == 403
        manifest = await browser.app.job("default", "train")
        assert "runMode" not in manifest["spec"]


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"]
)
async def test_a_body_that_a_form_could_send_is_415(tmp_path: Path, media_type: str) -> None:
    async with running(tmp_path) as browser:
        for method, path in WRITES[:3]:
            headers = {"Content-Type": media_type} if media_type else {}
            answer = await browser.client.request(method, path, content=b'{"pause": true}', headers=headers)
            assert answer.status_code == 415


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"[" * 100_000])
async def test_a_body_that_is_no_object_is_400(tmp_path: Path, body: bytes) -> None:
    async with running(tmp_path) as browser:
        for method, path in WRITES[:3]:
            answer = await browser.client.request(method, path, content=body, headers=JSON)
            assert answer.status_code == 400, answer.text
            assert "Traceback" not in answer.text


@asynccontextmanager
async def alice(rule: Rules) -> AsyncIterator[httpx.AsyncClient]:
    """A job that runs on a cluster, and alice, who has the rights that `rule` says."""
    fake = FakeReviews({"alices": "alice"}, alice=rule)
    async with app_in_memory() as app:
        await app.submit(written(job()), "tests")
        await phase(app, "train", "Running")
        transport = httpx.ASGITransport(create(app, fake.closing, Reviews(fake)))
        headers = {"Authorization": "Bearer alices"}
        async with httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
            yield client


READS = (
    *(TRAIN + below for below in ("", "/events", "/history", "/replicas", "/metrics", "/yaml")),
    f"{TRAIN}/replicas/worker-0/log",
    "/api/pvcs",
    "/api/queues",
)


async def test_who_may_nothing_reads_and_changes_nothing() -> None:
    async with alice(lambda _: False) as client:
        for path in READS:
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (403, "no-right"), path
        for method, path in (("POST", JOBS), ("PATCH", TRAIN), ("DELETE", TRAIN)):
            answer = await client.request(method, path, json=job("b"))
            assert (answer.status_code, answer.json()["code"]) == (403, "no-right"), path


async def test_who_may_only_read_changes_nothing() -> None:
    async with alice(both(only("get"), only("list"))) as client:
        assert (await client.get(TRAIN)).status_code == 200
        for method, path, body in (
            ("POST", JOBS, job("b")),
            ("PATCH", TRAIN, {"pause": True}),
            ("DELETE", TRAIN, {}),
        ):
            assert (await client.request(method, path, json=body)).status_code == 403
        for below in ("/events", "/replicas/worker-0/log"):
            assert (await client.get(TRAIN + below)).status_code == 403


async def test_without_a_token_there_is_nothing() -> None:
    async with alice(lambda _: True) as client:
        for path in (*READS, JOBS):
            assert (await client.get(path, headers={"Authorization": ""})).status_code == 401


# ---- choices, health ---------------------------------------------------------------------------------------


async def test_claims_and_queues_of_the_namespace_are_offered(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "tutorial", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
        }
        queue = {
            "apiVersion": "scheduler.tensorstack.dev/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "fast", "namespace": "default"},
        }
        for child in (claim, queue):
            await browser.app.cluster.create(child)
        assert (await json(browser, "/api/pvcs"))["items"] == [
            {"name": "tutorial", "phase": "", "size": "1Gi", "accessModes": ["ReadWriteMany"]}
        ]
        assert (await json(browser, "/api/queues"))["items"] == [{"name": "fast"}]
        assert (await json(browser, "/api/queues?namespace=elsewhere"))["items"] == []


async def test_a_read_model_at_the_end_of_the_log_is_fresh(tmp_path: Path) -> None:
    async with running(tmp_path) as browser:

        async def fresh() -> bool:
            return bool((await json(browser, "/api/healthz")) == {"status": "ok", "secondsBehind": 0.0})

        await until(fresh)
        assert (await browser.client.get("/healthz")).json() == {"status": "ok"}


def test_a_view_is_behind_since_the_log_was_known_to_be_ahead() -> None:
    clock = Clock()
    freshness = Freshness(clock)
    assert freshness.behind(5, 5) == 0
    assert freshness.behind(9, 5) == 0
    clock.now += 20
    assert freshness.behind(12, 5) == 20
    clock.now += 11
    assert freshness.behind(12, 9) == 11  # it has reached what was seen first
    clock.now += 40
    assert freshness.behind(12, 9) == 51
    assert freshness.behind(12, 12) == 0


class Files:
    """A cluster whose logs are files: the one log, which has ended."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def log_part(
        self, namespace: str, pod: str, start: int, length: int, *, uid: str, container: str, previous: bool
    ) -> LogPart:
        """See SeekableLogs."""
        size = len(self._data)
        start = max(size + start, 0) if start < 0 else start
        return LogPart(self._data[start : start + length], start, size, ended=True)


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize(
    ("tail", "text"), [(1, b"three"), (2, b"two\nthree"), (3, b"one\ntwo\nthree"), (9, b"one\ntwo\nthree")]
)
async def test_the_last_lines_of_a_file_are_read_from_its_end(tail: int, text: bytes, follow: bool) -> None:
    attempt = Attempt(ReplicaName("worker-0"), 1, PodUid("u"))
    log = Log(
        cluster=cast(Cluster, Files(b"one\ntwo\nthree")),
        namespace="default",
        pod="pod",
        attempt=attempt,
        newest=True,
        container="",
        previous=False,
        restarts=0,
        containers=[],
        attempts=[attempt],
    )
    assert log.seekable
    assert b"".join([line async for line in await ended(log, tail, follow=follow)]) == text
