"""The HTTP API over an application in memory: routes, statuses, problems."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from jobledger.api import create
from jobledger.service.app import App
from jobledger.web.streams import Closing
from statemachine.kind import Kind
from statemachine.kinds import KINDS
from tests.support.examples import job_of, manifests_of
from tests.unit.api.words import SECONDS, app_in_memory, elastic, gone, job, phase, until, written

BASE = "http://localhost"


@asynccontextmanager
async def server() -> AsyncIterator[tuple[httpx.AsyncClient, App]]:
    async with app_in_memory() as app:
        transport = httpx.ASGITransport(create(app), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            yield client, app


def _is_problem(response: httpx.Response, status: int, code: str) -> str:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (body["status"], body["code"]) == (status, code)
    assert set(body) >= {"type", "title", "status", "detail"}
    assert "\n" not in body["detail"]
    return str(body["detail"])


async def test_a_job_is_created_listed_and_shown() -> None:
    async with server() as (client, app):
        created = await client.post("/v1/jobs", json=job())
        assert created.status_code == 201
        await phase(app, "train", "Running")
        listed = (await client.get("/v1/jobs")).json()["items"]
        shown = (await client.get("/v1/jobs/default/train")).json()
        assert listed == [shown]
        assert shown["status"]["phase"] == "Running"
        assert shown["metadata"]["uid"] == created.json()["items"][0]["metadata"]["uid"]


async def test_the_root_of_the_api_leads_to_its_description() -> None:
    async with server() as (client, _):
        root = await client.get("/v1")
        assert (root.status_code, root.json()) == (200, {"openapi": "/v1/openapi.json"})
        assert root.links["service-desc"]["url"] == "/v1/openapi.json"
        described = (await client.get(root.json()["openapi"])).json()
        assert described["openapi"].startswith("3.")
        assert "/v1/jobs/{namespace}/{name}" in described["paths"]


async def test_jobs_are_filtered_by_namespace_and_phase() -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job())
        await phase(app, "train", "Running")
        for query, count in (
            ("namespace=default", 1),
            ("namespace=x", 0),
            ("phase=Running", 1),
            ("phase=Failed", 0),
            ("phase=running", 1),
            ("phase=", 1),
        ):
            assert len((await client.get(f"/v1/jobs?{query}")).json()["items"]) == count, query


async def test_a_phase_that_there_is_not_is_a_problem_that_names_the_nearest() -> None:
    async with server() as (client, _):
        answer = await client.get("/v1/jobs?phase=runing")
        assert (answer.status_code, answer.json()["code"]) == (422, "unknown-phase")
        assert answer.json()["detail"].startswith('there is no phase "runing" (did you mean "Running"?): ')


def labelled(name: str, **labels: str) -> dict[str, Any]:
    manifest = job(name)
    manifest["metadata"]["labels"] = labels
    return manifest


async def test_jobs_are_selected_by_their_labels() -> None:
    async with server() as (client, app):
        for manifest in (
            labelled("first", team="a", tier="gold"),
            labelled("second", team="b"),
            job("third"),
        ):
            assert (await client.post("/v1/jobs", json=manifest)).status_code == 201
        await phase(app, "second", "Running")
        for selector, expected in (
            ("", ["first", "second", "third"]),
            ("team=a", ["first"]),
            ("team in (a, b),tier!=gold", ["second"]),
            ("!team", ["third"]),
            ("team=a,team=b", []),
        ):
            answer = await client.get("/v1/jobs", params={"labelSelector": selector})
            assert [item["metadata"]["name"] for item in answer.json()["items"]] == expected, selector
        answer = await client.get("/v1/jobs", params={"labelSelector": "team=b", "phase": "Running"})
        assert [item["metadata"]["name"] for item in answer.json()["items"]] == ["second"]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/watch"])
async def test_what_is_no_label_selector_is_400_with_a_sentence(path: str) -> None:
    async with server() as (client, _):
        answer = await client.get(path, params={"labelSelector": "team in (a"})
        detail = _is_problem(answer, 400, "bad-request")
        assert detail.startswith('"team in (a" is no label selector: "," or ")" is missing after "in (a"')


async def test_a_list_is_created_as_a_whole() -> None:
    async with server() as (client, _):
        body = {"apiVersion": "v1", "kind": "List", "items": [job("a"), job("b")]}
        created = (await client.post("/v1/jobs", json=body)).json()["items"]
        assert [manifest["metadata"]["name"] for manifest in created] == ["a", "b"]


async def test_an_invalid_manifest_is_422_with_every_problem_by_rule_and_path() -> None:
    async with server() as (client, _):
        response = await client.post("/v1/jobs", json=job("Bad_Name", replicas=0))
        _is_problem(response, 422, "invalid")
        problems = response.json()["problems"]
        assert {"G1", "PT1"} <= {problem["rule"] for problem in problems}
        assert {problem["name"] for problem in problems} == {"Bad_Name"}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", "line 2, column 1"),
        (b"", "holds no manifest"),
        (b"[1]", "is a list; a manifest is an object"),
        (b"{}", "apiVersion: Required value"),
        (b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}', "Unsupported value"),
        (b"a: &a [*a]", "stands inside of what it names"),
        (b"\xff\xfe", "UTF-16"),
    ],
)
async def test_a_body_that_is_no_manifest_is_422_with_a_sentence(body: bytes, sentence: str) -> None:
    async with server() as (client, _):
        assert sentence in _is_problem(await client.post("/v1/jobs", content=body), 422, "invalid")


async def test_a_taken_name_is_409() -> None:
    async with server() as (client, _):
        await client.post("/v1/jobs", json=job())
        _is_problem(await client.post("/v1/jobs", json=job()), 409, "job-exists")


@pytest.mark.parametrize("path", ["", "/logs", "/events", "/history", "/why"])
async def test_an_unknown_job_is_404_with_the_nearest_name(path: str) -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job("digits"))
        await phase(app, "digits", "Running")
        response = await client.get(f"/v1/jobs/default/digitz{path}")
        assert 'did you mean "digits"' in _is_problem(response, 404, "unknown-job")


async def test_a_merge_patch_changes_a_job_and_says_who() -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job())
        await phase(app, "train", "Running")
        patched = await client.patch(
            "/v1/jobs/default/train",
            json={"spec": {"runPolicy": {"backoffLimit": 7}}},
            headers={"X-Jobledger-Actor": "somebody"},
        )
        assert patched.json()["spec"]["runPolicy"] == {"backoffLimit": 7}
        assert patched.json()["metadata"]["annotations"]["jobledger.dev/actor"] == "somebody"


async def test_a_change_of_what_is_immutable_is_422() -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job())
        await phase(app, "train", "Running")
        response = await client.patch("/v1/jobs/default/train", json={"spec": {"replicaSpecs": []}})
        assert response.status_code == 422


@pytest.mark.parametrize(
    ("merge", "sentence"),
    [
        ({"status": {"phase": "Succeeded"}}, "status: cannot be changed: jobledger writes it"),
        ({"metadata": {"generation": 7}}, "metadata.generation: cannot be changed: jobledger writes it"),
        ({"kind": "Pod"}, "kind: cannot be changed; delete the job and create it again"),
        ({"apiVersion": "v1"}, "apiVersion: cannot be changed; delete the job and create it again"),
        (
            {"metadata": {"name": "other"}},
            "metadata.name: cannot be changed; delete the job and create it again",
        ),
        (
            {"metadata": {"namespace": "../../etc"}},
            "metadata.namespace: cannot be changed; delete the job and create it again",
        ),
        ({"metadata": {"uid": "x"}}, "metadata.uid: cannot be changed; delete the job and create it again"),
        ({"metadata": {"ownerReferences": []}}, "metadata.ownerReferences: cannot be changed; delete"),
        ({"specs": {}}, "specs: is no field of a job"),
        (
            {"metadata": {"labels": {"v": 1.10}}},
            "metadata.labels.v: Invalid value: 1.1: must be a string; put it in quotes",
        ),
        (
            {"metadata": {"labels": {"v": "a b"}}},
            'metadata.labels[v]: Invalid value: "a b": must be at most 63',
        ),
        ({"metadata": {"labels": ["v"]}}, "metadata.labels: must be an object"),
        (
            {"metadata": {"annotations": {"v": True}}},
            "metadata.annotations.v: Invalid value: true: must be a string; put it in quotes",
        ),
    ],
)
async def test_a_patch_of_what_cannot_be_changed_is_422(merge: dict[str, Any], sentence: str) -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job())
        before = await phase(app, "train", "Running")
        response = await client.patch("/v1/jobs/default/train", json=merge)
        assert _is_problem(response, 422, "invalid").startswith(sentence)
        after = await app.job("default", "train")
        version = {"resourceVersion": before["metadata"]["resourceVersion"]}  # grows with the status
        assert {**after["metadata"], **version} == before["metadata"]
        assert after["spec"] == before["spec"]


async def test_a_job_that_was_read_may_be_sent_back_with_a_change() -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job())
        await phase(app, "train", "Running")
        read = (await client.get("/v1/jobs/default/train")).json()
        del read["metadata"]["resourceVersion"], read["status"]  # they go on
        read["spec"]["runPolicy"] = {"backoffLimit": 7}
        read["metadata"]["labels"] = {"team": "a", "gone": None}
        answer = await client.patch("/v1/jobs/default/train", json=read)
        assert answer.status_code == 200
        assert answer.json()["metadata"]["labels"] == {"team": "a"}


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        (
            {"namespace": "../../etc"},
            'metadata.namespace: Invalid value: "../../etc": must be a DNS-1123 label',
        ),
        ({"namespace": "A"}, 'metadata.namespace: Invalid value: "A": must be a DNS-1123 label'),
        (
            {"labels": {"v": 1.10}},
            "metadata.labels.v: Invalid value: 1.1: must be a string; put it in quotes",
        ),
    ],
)
async def test_g20_of_metadata_is_422(metadata: dict[str, Any], sentence: str) -> None:
    async with server() as (client, _):
        bad = job()
        bad["metadata"] |= metadata
        assert sentence in _is_problem(await client.post("/v1/jobs", json=bad), 422, "invalid")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", "is not JSON"),
        (b"[]", "must be an object"),
        (b'{"spec": 1}', "spec must be an object"),
        (b'{"metadata": {"annotations": 1}}', "metadata.annotations must be an object"),
    ],
)
async def test_a_patch_that_is_none_is_400(body: bytes, sentence: str) -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job())
        await phase(app, "train", "Running")
        response = await client.patch("/v1/jobs/default/train", content=body)
        assert sentence in _is_problem(response, 400, "bad-request")


async def test_pause_resume_and_delete() -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job())
        await phase(app, "train", "Running")
        assert (await client.post("/v1/jobs/default/train/pause")).status_code == 200
        await phase(app, "train", "Paused")
        assert (await client.post("/v1/jobs/default/train/resume")).status_code == 200
        await phase(app, "train", "Running")
        assert (await client.delete("/v1/jobs/default/train")).status_code == 202
        await gone(app, "train")
        _is_problem(await client.delete("/v1/jobs/default/train"), 404, "unknown-job")


async def test_scaling() -> None:
    async with server() as (client, app):
        await client.post(
            "/v1/jobs", json={"apiVersion": "v1", "kind": "List", "items": [elastic(), job("fixed")]}
        )
        await phase(app, "train", "Running")
        await phase(app, "fixed", "Running")
        scaled = await client.post("/v1/jobs/default/train/scale", json={"replicas": 3})
        assert scaled.json()["spec"]["elastic"]["expectedReplicas"] == 3
        too_many = await client.post("/v1/jobs/default/train/scale", json={"replicas": 9})
        assert "must be between minReplicas and maxReplicas" in _is_problem(too_many, 422, "refused")


async def test_g21_who_scales_a_job_that_is_not_elastic_gets_an_error() -> None:
    said = "spec.elastic is not enabled: the number of replicas stays 1"
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job())
        before = await phase(app, "train", "Running")
        scaled = await client.post("/v1/jobs/default/train/scale", json={"replicas": 3})
        assert _is_problem(scaled, 422, "invalid") == said
        wish = {"spec": {"elastic": {"expectedReplicas": 3}}}
        patched = await client.patch("/v1/jobs/default/train", json=wish)
        assert _is_problem(patched, 422, "invalid") == said
        assert patched.json()["problems"] == [{"rule": "G21", "path": "", "text": said}]
        after = await app.job("default", "train")
        assert after["metadata"]["generation"] == before["metadata"]["generation"]


@pytest.mark.parametrize("body", [{}, {"replicas": "3"}, {"replicas": -1}, {"replicas": 1.5}, [], None])
async def test_a_scale_that_is_none_is_400(body: Any) -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=elastic())
        await phase(app, "train", "Running")
        _is_problem(await client.post("/v1/jobs/default/train/scale", json=body), 400, "bad-request")


async def test_events_history_and_why_of_a_job() -> None:
    async with server() as (client, app):
        await client.post("/v1/jobs", json=job(run_seconds="0.05"))
        await phase(app, "train", "Succeeded")

        async def ended() -> bool:
            items = (await client.get("/v1/jobs/default/train/events")).json()["items"]
            return "Succeeded" in [item["reason"] for item in items]

        await until(ended)
        history = (await client.get("/v1/jobs/default/train/history")).json()["items"]
        assert [item["seq"] for item in history] == list(range(1, len(history) + 1))
        assert history[0]["cause"]["spec"] == history[0]["events"][0]["spec"]
        assert "replicaSpecs" in history[0]["cause"]["spec"]
        assert (await client.get("/v1/jobs/default/train/why")).json()["incidents"]


async def test_what_looks_like_a_secret_is_not_shown() -> None:
    async with server() as (client, app):
        manifest = job()
        container = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "HF_TOKEN", "value": "hush"}]
        answers = [await client.post("/v1/jobs", json=manifest)]
        await phase(app, "train", "Running")
        answers += [
            await client.get(f"/v1/jobs{page}") for page in ("", "/default/train", "/default/train/history")
        ]
        assert [answer.status_code for answer in answers] == [201, 200, 200, 200]
        assert not [answer for answer in answers if "hush" in answer.text]


async def test_every_path_that_is_not_served_is_a_problem() -> None:
    async with server() as (client, _):
        _is_problem(await client.get("/v2/jobs"), 404, "bad-request")
        _is_problem(await client.put("/v1/jobs"), 405, "bad-request")


async def test_a_bug_is_500_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(**_: object) -> list[object]:
        raise KeyError("oops")

    async with server() as (client, app):
        monkeypatch.setattr(app, "jobs", broken)
        assert "KeyError" in _is_problem(await client.get("/v1/jobs"), 500, "bug")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", ""]
)
async def test_a_foreign_host_is_refused(host: str) -> None:
    async with server() as (client, _):
        _is_problem(await client.get("/v1/jobs", headers={"Host": host}), 403, "forbidden")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:1234", "[::1]:80", "[::1]"])
async def test_this_machine_is_served_by_any_of_its_names(host: str) -> None:
    async with server() as (client, _):
        assert (await client.get("/healthz", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:8888", "https://localhost", "file://"]
)
async def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    async with server() as (client, _):
        _is_problem(await client.post("/v1/jobs", json=job(), headers={"Origin": origin}), 403, "forbidden")


async def test_a_page_of_the_server_itself_is_served() -> None:
    async with server() as (client, _):
        headers = {"Host": "127.0.0.1:80", "Origin": "http://127.0.0.1:80"}
        assert (await client.get("/v1/jobs", headers=headers)).status_code == 200


async def test_readiness_is_about_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server() as (client, app):

        async def ready() -> bool:
            return (await client.get("/readyz")).status_code == 200

        await until(ready)
        monkeypatch.setattr(app.controller.engine.source, "log_error", "no space is left")
        answer = await client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["troubles"] == ["the log cannot be reached: no space is left"]
        assert (await client.get("/healthz")).status_code == 200


async def test_streams_end_when_the_server_does() -> None:
    """Over ASGI, because httpx's transport for it hands on a response only when that is complete."""
    async with app_in_memory() as app:
        closing = Closing()
        sent: list[dict[str, Any]] = []
        begun = asyncio.Event()

        async def send(message: Any) -> None:
            sent.append(dict(message))
            if b"SYNCED" in message.get("body", b""):
                begun.set()

        async def receive() -> Any:
            await asyncio.Event().wait()

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "path": "/v1/watch",
            "raw_path": b"/v1/watch",
            "query_string": b"",
            "headers": [(b"host", b"localhost")],
        }
        call = asyncio.create_task(create(app, closing)(scope, receive, send))
        async with asyncio.timeout(SECONDS):
            await begun.wait()
            closing.close()
            await call
        lines = b"".join(message.get("body", b"") for message in sent).splitlines()
        assert json.loads(lines[0]) == {"type": "SYNCED", "object": {}}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
async def test_a_kind_may_be_called_by_any_of_its_names(kind: Kind) -> None:
    names, other = kind.names, next(known_kind.names.kind for known_kind in KINDS if known_kind is not kind)
    name = job_of(kind).name
    async with server() as (client, app):
        await app.submit(manifests_of(kind), "tests")
        for word in (names.kind, names.kind.lower(), names.plural, names.singular, *names.short):
            answer = await client.get(f"/v1/jobs/default/{name}?kind={word}")
            assert answer.json()["kind"] == names.kind
            listed = (await client.get(f"/v1/jobs?kind={word}")).json()["items"]
            assert [manifest["metadata"]["name"] for manifest in listed] == [name]
        _is_problem(await client.get(f"/v1/jobs/default/{name}?kind={other}"), 404, "unknown-job")


async def test_a_job_under_an_older_name_of_its_kind_is_one_of_the_kind() -> None:
    alias, kind = next((alias, kind) for kind in KINDS for alias in kind.aliases)
    name = job_of(kind).name
    async with server() as (client, app):
        await app.submit(written({**job_of(kind).raw, "kind": alias.kind}), "tests")
        for word in (alias.kind, kind.names.kind, *kind.names.short):
            reply = await client.get(f"/v1/jobs/default/{name}?kind={word}")
            assert reply.json()["kind"] == alias.kind
            await until(lambda: app.records(reply.json()["metadata"]["uid"]))  # noqa: B023
            for question in ("history", "why"):
                answer = await client.get(f"/v1/lives/default/{name}/{question}?kind={word}")
                assert answer.status_code == 200, answer.text
