"""The pages of a job, over an application in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from jobledger.app import App
from jobledger.console import create
from tests.unit.api.words import app_in_memory, job, phase, written

PATH = "/jobs/default/PyTorchTrainingJob/train"


@asynccontextmanager
async def browsing(app: App, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=create(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


@asynccontextmanager
async def one_job(**more: Any) -> AsyncIterator[tuple[App, httpx.AsyncClient]]:
    async with app_in_memory() as app:
        await app.submit(written(job(replicas=2, **more)), "tests")
        await phase(app, "train", "Running")
        async with browsing(app) as client:
            yield app, client


async def text(client: httpx.AsyncClient, path: str, status: int = 200, **headers: str) -> str:
    answer = await client.get(path, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.text


async def test_every_page_of_a_job_is_there() -> None:
    async with one_job() as (_, client):
        for below in (
            "",
            "/history",
            "/replicas",
            "/replicas/worker-0",
            "/monitoring",
            "/manifest",
            "/header",
        ):
            found = await text(client, PATH + below)
            assert "train" in found
            assert "<html" in found
            piece = await text(client, PATH + below, **{"HX-Request": "true"})
            assert "<html" not in piece


@pytest.mark.parametrize("at", ["99999", "nonsense", "1999-01-01T00:00:00Z", "-1x"])
async def test_a_moment_that_never_was_is_one_sentence_and_the_present(at: str) -> None:
    async with one_job() as (_, client):
        found = await text(client, f"{PATH}/history?at={at}")
        assert '<p class="bad-news" role="alert">' in found
        assert "--at" not in found
        assert "The present" in found
