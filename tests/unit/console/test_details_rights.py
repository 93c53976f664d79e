"""The pages of a job on a cluster: everybody sees what their rights give them, and learns what they lack."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from jobledger.api import create
from jobledger.web.reviews import Reviews
from tests.unit.api.kubernetes import FakeReviews
from tests.unit.api.test_cluster_guard import BASE, Rules, both, only
from tests.unit.api.words import app_in_memory, emitted, job, phase, written

PATH = "/jobs/default/PyTorchTrainingJob/train"


@asynccontextmanager
async def alice(rule: Rules) -> AsyncIterator[httpx.AsyncClient]:
    """A job that runs, and alice's browser, who has the rights that `rule` says."""
    fake = FakeReviews({"alices": "alice"}, alice=rule)
    async with app_in_memory() as app:
        await app.submit(written(job()), "tests")
        await phase(app, "train", "Running")
        await emitted(app)
        transport = httpx.ASGITransport(create(app, fake.closing, Reviews(fake)))
        headers = {"X-Jobledger-Token": "alices"}
        async with httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
            yield client


async def test_who_may_read_the_job_alone_sees_its_pages_without_events_and_pods() -> None:
    async with alice(only("get")) as client:
        page = await client.get(PATH)
        assert page.status_code == 200
        assert "No events are kept." in page.text
        assert "ReplicaRequested" not in page.text
        assert (await client.get(f"{PATH}/history?at=1")).status_code == 200
        replicas = await client.get(f"{PATH}/replicas")
        assert "pytorchtrainingjob=train" in replicas.text  # a label that jobledger gives: the log tells it
        one = await client.get(f"{PATH}/replicas/worker-0")
        assert "&#34;alice&#34; has no right to get pods in namespace &#34;default&#34;" in one.text
        assert 'id="pod-yaml"' not in one.text


async def test_who_may_get_pods_sees_the_one_behind_a_replica() -> None:
    async with alice(both(only("get"), only("get", "pods"))) as client:
        one = await client.get(f"{PATH}/replicas/worker-0")
        assert 'id="pod-yaml"' in one.text
        assert "resourceVersion" in one.text
        assert "has no right" not in one.text


async def test_who_may_not_read_logs_gets_a_sentence() -> None:
    async with alice(only("get")) as client:
        for below in (
            "/log?replica=worker-0",
            "/log/download?replica=worker-0",
        ):
            answer = await client.get(PATH + below)
            assert answer.status_code == 403, below
            assert "pods/log" in answer.text


async def test_who_may_read_logs_does() -> None:
    async with alice(both(only("get"), only("get", "pods", subresource="log"))) as client:
        assert (await client.get(f"{PATH}/log?replica=worker-0")).status_code == 200


async def test_who_may_not_read_jobs_learns_nothing_of_them() -> None:
    async with alice(lambda _: False) as client:
        for name in ("train", "nobody"):
            for below in ("", "/history", "/replicas", "/log?replica=worker-0", "/manifest"):
                answer = await client.get(f"/jobs/default/PyTorchTrainingJob/{name}{below}")
                assert answer.status_code == 403
                assert "Running" not in answer.text


async def test_without_a_token_there_is_nothing() -> None:
    async with alice(lambda _: True) as client:
        assert (await client.get(PATH, headers={"X-Jobledger-Token": ""})).status_code == 401


async def test_a_browser_is_refused_with_a_page_and_a_program_with_a_problem() -> None:
    async with alice(lambda _: True) as client:
        stranger = {"X-Jobledger-Token": "garbage"}
        page = await client.get(PATH, headers={**stranger, "Accept": "text/html,*/*"})
        assert (page.status_code, page.headers["www-authenticate"]) == (401, "Bearer")
        assert '<p class="bad-news">the token is not valid here' in page.text
        piece = await client.get(PATH, headers={**stranger, "HX-Request": "true"})
        assert (piece.status_code, piece.headers["hx-retarget"]) == (401, "#notices")
        assert "<html" not in piece.text
        for path in ("/api/jobs", "/v1/jobs"):
            answer = await client.get(path, headers={**stranger, "Accept": "text/html"})
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert (await client.get("/live", headers=stranger)).json()["code"] == "unauthenticated"
