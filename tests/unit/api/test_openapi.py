"""What `/v1/openapi.json` says is valid OpenAPI 3.1, and true of every answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from jobledger.api import create
from jobledger.api.alias import SUCCESSORS
from jobledger.console.frame import ConsoleOptions
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.words import app_in_memory, elastic, job, phase, until
from tests.unit.console.prometheus import prometheus
from tests.unit.console.words import Browser, console

TRAIN = "/v1/jobs/default/train"
LIFE = "/v1/lives/default/train"
STREAMS = {("get", "/v1/watch")}

CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
}
QUEUE = {
    "apiVersion": "scheduler.tensorstack.dev/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "fast", "namespace": "default"},
}

REQUESTS: tuple[tuple[str, str, str, Any], ...] = (
    ("get", "/v1", "/v1", None),
    ("get", "/v1/contract/asyncapi.json", "/v1/contract/asyncapi.json", None),
    ("get", "/v1/contract/{version}/{name}.json", "/v1/contract/1.0/job.failed.json", None),
    (
        "get",
        "/v1/contract/lineage/{version}/{name}.json",
        "/v1/contract/lineage/1-0-0/jobledger_job.json",
        None,
    ),
    ("get", "/v1/events", "/v1/events?limit=2&type=job.*", None),
    ("get", "/healthz", "/healthz", None),
    ("get", "/readyz", "/readyz", None),
    ("get", "/v1/healthz", "/v1/healthz", None),
    ("get", "/v1/jobs", "/v1/jobs", None),
    ("post", "/v1/jobs", "/v1/jobs", job("other")),
    ("post", "/v1/jobs/validate", "/v1/jobs/validate", job(replicas=-1)),
    ("post", "/v1/jobs/validate", "/v1/jobs/validate", job(runPolicy={"cleanUpPolicy": "None"})),
    ("get", "/v1/summaries", "/v1/summaries?sort=name&label=team%3Da&label=b", None),
    ("get", "/v1/summaries", "/v1/summaries", None),
    ("get", "/v1/pvcs", "/v1/pvcs", None),
    ("get", "/v1/queues", "/v1/queues", None),
    ("get", "/v1/jobs/{namespace}/{name}", TRAIN, None),
    *(
        ("get", f"/v1/jobs/{{namespace}}/{{name}}/{part}", f"{TRAIN}/{part}", None)
        for part in ("history", "why", "events", "entries", "summary", "replicas", "metrics", "yaml", "logs")
    ),
    ("get", "/v1/lives/{namespace}/{job}/history", f"{LIFE}/history?data=true", None),
    ("get", "/v1/lives/{namespace}/{job}/why", f"{LIFE}/why", None),
    ("patch", "/v1/jobs/{namespace}/{name}", TRAIN, {"metadata": {"labels": {"team": "a"}}}),
    ("post", "/v1/jobs/{namespace}/{name}/scale", f"{TRAIN}/scale", {"replicas": 3}),
    ("post", "/v1/jobs/{namespace}/{name}/pause", f"{TRAIN}/pause", None),
    ("post", "/v1/jobs/{namespace}/{name}/resume", f"{TRAIN}/resume", None),
    ("delete", "/v1/jobs/{namespace}/{name}", TRAIN, None),
)
"""Each operation, and a request that it answers with what it is for; in this order."""


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Browser]:
    """A server with an elastic job that runs, and everything that can be asked for."""
    with prometheus() as source:
        async with console(folder, ConsoleOptions(metrics=source.url)) as browser:
            cluster = cast(MemoryCluster, browser.app.cluster)
            for manifest in (CLAIM, QUEUE):
                await cluster.create(manifest)
            await browser.submit(elastic())
            await phase(browser.app, "train", "Running")
            rows = (await browser.client.get(f"{TRAIN}/replicas")).json()["items"]
            labels = {"pod": rows[0]["pod"], "namespace": "default"}
            source.series["container_memory_working_set_bytes"] = [(labels, 5.0)]
            cluster.sim_logs.write("default", rows[0]["pod"], b"one\n")
            cluster.sim_logs.end(rows[0]["uid"])

            async def announced() -> bool:
                return bool((await browser.client.get(f"{TRAIN}/events")).json()["items"])

            await until(announced)
            yield browser


async def described(browser: Browser) -> dict[str, Any]:
    document: dict[str, Any] = (await browser.client.get("/v1/openapi.json")).json()
    return document


def closed(node: Any) -> Any:
    """The schema, under which an object has no other fields than those that are described."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    strict = {name: closed(value) for name, value in node.items()}
    return strict | {"additionalProperties": False} if "properties" in node and "type" in node else strict


async def test_the_document_is_valid_openapi_3_1() -> None:
    async with app_in_memory() as app:
        document = create(app).openapi()
    assert document["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(document).validate()


async def test_every_operation_is_asked_and_answers_what_is_described(tmp_path: Path) -> None:
    async with running(tmp_path) as browser:
        document = await described(browser)
        schemas = closed(document["components"]["schemas"])
        asked = {(method, path) for method, path, _, _ in REQUESTS}
        there = {(method, path) for path, methods in document["paths"].items() for method in methods}
        assert there == asked | STREAMS
        for method, path, address, body in REQUESTS:
            answer = await browser.client.request(method, address, json=body)
            operation = document["paths"][path][method]
            assert str(answer.status_code) in operation["responses"], (method, address, answer.text)
            content = operation["responses"][str(answer.status_code)]["content"]
            whole = answer.headers["content-type"]
            media_type = whole if whole in content else whole.partition(";")[0]
            assert media_type in content, (method, address)
            if media_type == "application/json":
                schema = closed(content[media_type]["schema"]) | {"components": {"schemas": schemas}}
                wrong = [error.message for error in Draft202012Validator(schema).iter_errors(answer.json())]
                assert not wrong, (method, address, wrong)


@pytest.mark.parametrize(
    ("method", "address", "body", "status"),
    [
        ("GET", "/v1/jobs/default/nobody", None, 404),
        ("GET", f"{TRAIN}/entries?size=0", None, 400),
        ("POST", "/v1/jobs", job("b", replicas=-1), 422),
        ("POST", "/v1/jobs", elastic(), 409),
    ],
)
async def test_an_error_is_the_problem_that_is_described(
    tmp_path: Path, method: str, address: str, body: Any, status: int
) -> None:
    async with running(tmp_path) as browser:
        document = await described(browser)
        answer = await browser.client.request(method, address, json=body)
        assert answer.status_code == status
        said = document["components"]["responses"]["Problem"]["content"]
        schemas = closed(document["components"]["schemas"])
        schema = said[answer.headers["content-type"]]["schema"] | {"components": {"schemas": schemas}}
        Draft202012Validator(schema).validate(answer.json())


async def test_every_successor_of_an_older_address_is_described() -> None:
    async with app_in_memory() as app:
        paths = create(app).openapi()["paths"]
    for successor in SUCCESSORS:
        some = "events" if "/jobs/" in successor.path else "pvcs"
        path = successor.path.replace("{part}", some)
        assert {method.lower() for method in successor.methods - {"HEAD"}} <= {*paths[path]}, path
