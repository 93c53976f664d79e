"""The HTTP API as it stands in a cluster: nothing without a token, and nothing that the token's user may not."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from jobledger.api import create
from jobledger.service.app import App
from jobledger.web.guards import OPEN
from jobledger.web.reviews import Reviews
from k8s_bridge.actors import ACTOR
from tests.unit.api.kubernetes import FakeReviews
from tests.unit.api.words import app_in_memory, config_map, job, phase, written

BASE = "http://jobledger.jobledger-system.svc:8080"
JOBS = "pytorchtrainingjobs"

Rules = Callable[[dict[str, Any]], bool]


def only(verbs: str, resource: str = JOBS, namespace: str = "default", subresource: str = "") -> Rules:
    """Exactly these verbs, there."""

    def rule(asked: dict[str, Any]) -> bool:
        return (
            asked["verb"] in verbs.split()
            and (asked["resource"], asked["subresource"]) == (resource, subresource)
            and asked["namespace"] == namespace
            and asked["group"] == ("batch.tensorstack.dev" if resource == JOBS else "")
        )

    return rule


def both(*rules: Rules) -> Rules:
    return lambda asked: any(rule(asked) for rule in rules)


@asynccontextmanager
async def cluster(rule: Rules = lambda _: True) -> AsyncIterator[tuple[httpx.AsyncClient, App, FakeReviews]]:
    """A client with alice's token, who has the rights that `rule` says."""
    fake = FakeReviews({"alices": "alice"}, alice=rule)
    async with app_in_memory() as app:
        api = create(app, fake.closing, Reviews(fake))
        transport = httpx.ASGITransport(api, raise_app_exceptions=False)
        headers = {"X-Jobledger-Token": "alices"}
        async with httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
            yield client, app, fake


def detail(response: httpx.Response, status: int, code: str) -> str:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == code
    text = str(response.json()["detail"])
    assert "\n" not in text
    return text


# ---- who asks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Jobledger-Token": ""},
        {"X-Jobledger-Token": "", "Authorization": "Basic YWxpY2U6eA=="},
        {"X-Jobledger-Token": "", "Authorization": "Bearer"},
    ],
)
async def test_without_a_token_it_is_401_with_a_sentence_and_the_way_to_ask(headers: dict[str, str]) -> None:
    async with cluster() as (client, _, fake):
        response = await client.get("/v1/jobs", headers=headers)
        assert "X-Jobledger-Token" in detail(response, 401, "unauthenticated")
        assert response.headers["www-authenticate"] == "Bearer"
        assert not fake.asked


@pytest.mark.parametrize("token", ["garbage", "x" * 40_000, "a b", "é"])
async def test_a_token_that_nobody_knows_is_401(token: str) -> None:
    async with cluster() as (client, _, _):
        headers = httpx.Headers([(b"X-Jobledger-Token", token.encode())])
        detail(await client.get("/v1/jobs", headers=headers), 401, "unauthenticated")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
async def test_a_bearer_token_is_as_good(scheme: str) -> None:
    async with cluster() as (client, _, _):
        headers = {"X-Jobledger-Token": "", "Authorization": f"{scheme} alices"}
        assert (await client.get("/v1/jobs", headers=headers)).status_code == 200


async def test_where_both_are_given_our_own_header_counts() -> None:
    async with cluster() as (client, _, _):
        headers = {"Authorization": "Bearer of-some-proxy-on-the-way"}
        assert (await client.get("/v1/jobs", headers=headers)).status_code == 200


async def test_an_api_server_out_of_reach_is_503_and_lets_nobody_in() -> None:
    async with cluster() as (client, _, fake):
        fake.fail()
        response = await client.get("/v1/jobs")
        assert "cannot be reached" in detail(response, 503, "unavailable")
        assert response.headers["retry-after"]
        fake.down = None
        assert (await client.get("/v1/jobs")).status_code == 200
        fake.fail()  # who asks is known, what they may do is not
        detail(await client.get("/v1/jobs?namespace=x"), 503, "unavailable")


async def test_health_needs_no_token() -> None:
    async with cluster() as (client, _, fake):
        for path in ("/healthz", "/readyz"):
            assert (await client.get(path, headers={"X-Jobledger-Token": ""})).status_code in (200, 503)
        assert {"/healthz", "/readyz", "/metrics"} == OPEN
        assert not fake.asked


async def test_the_public_contract_needs_no_token_and_nothing_around_it_is_open() -> None:
    async with cluster() as (client, _, fake):
        nobody = {"X-Jobledger-Token": ""}
        assert (await client.get("/v1/contract/1.0/job.failed.json", headers=nobody)).status_code == 200
        assert (await client.get("/v1/contract/asyncapi.json", headers=nobody)).status_code == 200
        assert (await client.get("/v1/contract/1.0/job.no.json", headers=nobody)).status_code == 404
        assert not fake.asked
        for path in ("/v1/contract", "/v1/contracts/1.0/job.failed.json", "/v1"):
            detail(await client.get(path, headers=nobody), 401, "unauthenticated")


async def test_a_page_of_a_browser_gets_nowhere_without_a_token_whatever_host_it_names() -> None:
    async with cluster() as (client, _, _):
        headers = {"X-Jobledger-Token": "", "Origin": "http://evil.example", "Host": "localhost"}
        detail(await client.get("/v1/jobs", headers=headers), 401, "unauthenticated")


# ---- what they may -----------------------------------------------------------------------------------------


SCHEMAS = {"/v1/contract/{version}/{name}.json", "/v1/contract/lineage/{version}/{name}.json"}

PASSING_OVER = "/v1/events"
"""What shows of every job as much as the caller may list, and so nothing to a caller who may list none."""

OF_NO_JOB = {*OPEN, "/v1", "/v1/healthz", "/v1/jobs/validate", "/v1/contract/asyncapi.json", *SCHEMAS}
"""What says nothing of any job but the one that the request brings: any caller with a token may ask."""


def _requests(api: FastAPI) -> list[tuple[str, str]]:
    return [
        (method.upper(), path)
        for path, methods in api.openapi()["paths"].items()
        if path not in {*OF_NO_JOB, PASSING_OVER}
        for method in methods
    ]


async def test_every_route_refuses_those_who_may_nothing() -> None:
    async with cluster(lambda _: False) as (client, app, _):
        await app.submit(written(job()), "me")
        await phase(app, "train", "Running")
        requests = _requests(create(app, reviews=Reviews(FakeReviews())))
        assert len(requests) > 12
        for method, path in requests:
            filled = path.format(namespace="default", name="train", job="train")
            body = job("new") if path == "/v1/jobs" else {"replicas": 1}
            response = await client.request(method, filled, json=None if method == "GET" else body)
            said = detail(response, 403, "no-right")
            assert said.startswith('"alice" has no right to '), (method, path)
            assert JOBS in said or path in ("/v1/pvcs", "/v1/queues")
        assert (await client.get(PASSING_OVER)).json() == []
        assert [manifest["metadata"]["name"] for manifest in await app.jobs()] == ["train"]


@pytest.mark.parametrize(
    ("method", "path", "rule", "missing"),
    [
        ("GET", "", only("list"), f"get {JOBS}.batch.tensorstack.dev"),
        ("GET", "/why", only("list"), f"get {JOBS}"),
        ("GET", "/history", only("list"), f"get {JOBS}"),
        ("GET", "/events", only("get"), 'list events in namespace "default"'),
        ("GET", "/logs", only("get"), 'get pods/log in namespace "default"'),
        ("PATCH", "", only("get"), f"patch {JOBS}.batch.tensorstack.dev"),
        ("DELETE", "", only("get patch"), f"delete {JOBS}"),
        ("DELETE", "?grace=0", only("get delete"), "delete pods"),
        ("POST", "/pause", only("get"), f"patch {JOBS}"),
        ("POST", "/resume", only("get"), f"patch {JOBS}"),
        ("POST", "/scale", only("get"), f"patch {JOBS}"),
    ],
)
async def test_a_refusal_says_which_right_is_missing(
    method: str, path: str, rule: Rules, missing: str
) -> None:
    async with cluster(rule) as (client, app, _):
        await app.submit(written(job()), "me")
        await phase(app, "train", "Running")
        body = {"replicas": 1} if method in ("POST", "PATCH") else None
        response = await client.request(method, f"/v1/jobs/default/train{path}", json=body)
        assert missing in detail(response, 403, "no-right")


async def test_the_rights_of_one_namespace_open_no_other() -> None:
    async with cluster(only("get list watch")) as (client, _, _):
        assert (await client.get("/v1/jobs?namespace=default")).status_code == 200
        for path in ("/v1/jobs?namespace=other", "/v1/jobs/other/train", "/v1/lives/other/train/why"):
            assert '"other"' in detail(await client.get(path), 403, "no-right")


@pytest.mark.parametrize("query", ["", "?namespace="])
async def test_a_list_of_all_namespaces_needs_the_right_in_all_of_them(query: str) -> None:
    async with cluster(only("list watch")) as (client, _, _):
        for path in ("/v1/jobs", "/v1/watch"):
            said = detail(await client.get(path + query), 403, "no-right")
            assert said.endswith("across all namespaces")
    async with cluster(only("list", namespace="")) as (client, _, _):
        assert (await client.get(f"/v1/jobs{query}")).status_code == 200


async def test_creating_needs_the_right_over_everything_that_is_handed_in() -> None:
    async with cluster(only("create")) as (client, app, _):
        other = job("b")
        other["metadata"]["namespace"] = "other"
        body = {"apiVersion": "v1", "kind": "List", "items": [job("a"), other]}
        assert '"other"' in detail(await client.post("/v1/jobs", json=body), 403, "no-right")
        body["items"] = [config_map("settings"), job("a")]
        said = detail(await client.post("/v1/jobs", json=body), 403, "no-right")
        assert "create configmaps" in said
        assert await app.jobs() == []
        assert (await client.post("/v1/jobs", json=job("a"))).status_code == 201


async def test_a_named_right_is_enough_for_the_job_of_that_name_and_tells_no_other_names() -> None:
    rule = only("get")
    async with cluster(lambda asked: rule(asked) and asked["name"] in ("train", "trian")) as (client, app, _):
        await app.submit(written(job("train"), job("trains")), "me")
        await phase(app, "train", "Running")
        assert (await client.get("/v1/jobs/default/train")).status_code == 200
        assert (await client.get("/v1/lives/default/train/why")).status_code == 200
        detail(await client.get("/v1/jobs/default/trains"), 403, "no-right")
        for path in ("/v1/jobs/default/trian", "/v1/lives/default/trian/why"):
            assert '"train' not in detail(await client.get(path), 404, "unknown-job")


async def test_who_may_list_gets_the_nearest_name_of_the_same_namespace() -> None:
    async with cluster(only("get list")) as (client, app, _):
        other = job("trian")
        other["metadata"]["namespace"] = "other"
        await app.submit(written(job("train"), other), "me")
        await phase(app, "train", "Running")
        for path in ("/v1/jobs/default/trains", "/v1/lives/default/trains/why"):
            assert 'did you mean "train"?' in detail(await client.get(path), 404, "unknown-job")


async def test_a_uid_opens_nothing_that_its_name_does_not() -> None:
    rule = only("get list")
    async with cluster(lambda asked: rule(asked) and asked["name"] != "train") as (client, app, _):
        await app.submit(written(job("train")), "me")
        uid = (await phase(app, "train", "Running"))["metadata"]["uid"]
        path = f"/v1/lives/default/other/why?uid={uid}"
        assert f"get {JOBS}" in detail(await client.get(path), 403, "no-right")
        detail(await client.get(f"/v1/jobs/default/other?uid={uid}"), 404, "unknown-job")


# ---- what is written down ----------------------------------------------------------------------------------


async def test_the_actor_is_who_the_token_says_and_not_who_the_request_says() -> None:
    async with cluster() as (client, app, _):
        headers = {"X-Jobledger-Actor": "mallory"}
        created = await client.post("/v1/jobs", json=job(), headers=headers)
        assert created.json()["items"][0]["metadata"]["annotations"][ACTOR] == "alice"
        await phase(app, "train", "Running")
        await client.post("/v1/jobs/default/train/pause", headers=headers)
        assert (await phase(app, "train", "Paused"))["metadata"]["annotations"][ACTOR] == "alice"


async def test_no_token_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with cluster() as (client, _, fake):
        for token in ("alices", "garbage-of-somebody"):
            await client.get("/v1/jobs", headers={"X-Jobledger-Token": token})
            fake.fail()
            await client.get("/v1/jobs?namespace=y", headers={"Authorization": f"Bearer {token}"})
    assert not re.search("alices|garbage-of-somebody", caplog.text)


async def test_a_watch_shows_what_may_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    async with cluster(only("watch")) as (client, app, fake):
        await app.submit(written(job()), "me")
        await phase(app, "train", "Running")
        detail(await client.get("/v1/watch?namespace=other"), 403, "no-right")
        watch, first_is_sent = app.watch, asyncio.Event()

        async def signalling(**options: Any) -> AsyncIterator[tuple[str, dict[str, Any]]]:
            async for change in watch(**options):
                yield change
                first_is_sent.set()

        monkeypatch.setattr(app, "watch", signalling)
        watching = asyncio.create_task(client.get("/v1/watch?namespace=default"))
        await first_is_sent.wait()
        fake.closing.close()
        first, *_ = (await watching).text.splitlines()
        assert '"name": "train"' in first


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://jobledger.jobledger-system.svc:8081"]
)
async def test_a_page_of_another_site_is_refused_also_with_a_token_that_a_proxy_adds(origin: str) -> None:
    async with cluster() as (client, _, _):
        assert (await client.get("/v1/jobs", headers={"Origin": BASE})).status_code == 200
        answer = await client.post("/v1/jobs", headers={"Origin": origin}, json=job())
        assert answer.status_code == 403
        assert answer.json()["code"] == "forbidden"
