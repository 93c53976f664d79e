"""What is said on the way from a text or another job to a new one: notices, warnings, refusals."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobledger.console import flash
from jobledger.console.creating import refused
from jobledger.console.frame import ConsoleOptions
from statemachine.errors import Refused
from statemachine.kinds import KINDS
from tests.support.examples import job_of
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.words import job
from tests.unit.console.words import HTMX, KIND, console, editor_text, errors, inputs

NEW = f"/jobs/new/{KIND}"
CONTAINER = "spec.replicaSpecs[0].template.spec.containers[0]"
RENAMED = ("kind DeepspeedJob → DeepSpeedJob", "config.slotPerWorker → config.slotsPerWorker")
MANY = "only one object can be created at a time"


def older() -> dict[str, Any]:
    """Of a T9k manual: the older name of its kind, and of a field. Source: spec console.md, section 7."""
    manifest = deepcopy(job_of(next(kind for kind in KINDS if kind.names.kind == "DeepSpeedJob")).raw)
    manifest["kind"] = "DeepspeedJob"
    manifest["spec"]["config"]["slotPerWorker"] = manifest["spec"]["config"].pop("slotsPerWorker", 1)
    return manifest


def elastic_command() -> dict[str, Any]:
    """A job about which there is a warning: torchrun ignores its command."""
    manifest = job("warned", torchrunConfig={"enabled": True})
    manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["a.py"]
    return manifest


async def test_creating_at_once_from_a_text_names_everything_that_was_renamed(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        made = await browser.post(NEW, {"yaml": yaml.safe_dump(older()), "do": "create"})
        assert made.status_code == 303, made.text
        page = (await browser.get(made.headers["location"])).text
        for says in RENAMED:
            assert f"<li>{says}</li>" in page
        assert RENAMED[0] not in (await browser.get("/jobs")).text, "it is said once"
        (manifest,) = await browser.app.jobs()
        assert (manifest["kind"], manifest["spec"]["config"]["slotsPerWorker"]) == ("DeepSpeedJob", 1)


async def test_a_text_is_looked_at_while_it_is_typed(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)

        async def check(text: str) -> str:
            answer = await browser.post(NEW, {"yaml": text, "do": "check"}, HTMX)
            assert answer.status_code == 200
            assert "<html" not in answer.text
            return answer.text

        checked = await check(yaml.safe_dump(older()))
        assert all(says in checked for says in RENAMED)
        assert "must be at least 1" in await check(yaml.safe_dump(job(replicas=0)))
        assert MANY in await check(yaml.safe_dump_all([job("a"), job("b")]))
        assert "<li>" not in await check("  \n")
        assert await browser.app.jobs() == []


@pytest.mark.parametrize("do", ["apply", "create"])
async def test_several_documents_are_refused(tmp_path: Path, do: str) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        text = yaml.safe_dump_all([job("a"), job("b")])
        answer = await browser.post(NEW, {"yaml": text, "do": do})
        assert answer.status_code == 422
        assert MANY in answer.text
        assert editor_text(answer.text).strip() == text.strip()
        assert await browser.app.jobs() == []


async def test_warnings_are_shown_while_typing_and_after_creating_and_block_nothing(tmp_path: Path) -> None:
    says = "command is ignored when torchrun is enabled"
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        form = await browser.post(NEW, {"yaml": yaml.safe_dump(elastic_command()), "do": "apply"})
        fields = inputs(form.text)
        checked = await browser.post(NEW, {**fields, "do": "check", "touched": ""})
        for page in (form.text, checked.text):
            assert f"<li>{says}</li>" in page
            assert errors(page) == {}
        made = await browser.post(NEW, {**fields, "do": "create"})
        assert made.status_code == 303
        assert f"<li>{says}</li>" in (await browser.get(made.headers["location"])).text
        assert len(await browser.app.jobs()) == 1


async def test_a_text_of_another_kind_switches_the_form(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        form = (await browser.post(NEW, {"yaml": yaml.safe_dump(older()), "do": "apply"})).text
        assert 'action="/jobs/new/DeepSpeedJob"' in form
        assert "Create DeepSpeedJob</h1>" in form


async def test_annotations_that_people_wrote_stay_when_a_text_is_applied(tmp_path: Path) -> None:
    brought = job()
    notes_ = {
        "owner": "me",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "jobledger.dev/actor": "x",
    }
    brought["metadata"] |= {"annotations": notes_, "uid": "1", "resourceVersion": "7"}
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        form = await browser.post(NEW, {"yaml": yaml.safe_dump(brought), "do": "apply"})
        shown = await browser.post(NEW, {**inputs(form.text), "do": "preview"})
        meta = yaml.safe_load(editor_text(shown.text))["metadata"]
        assert meta == {"name": "train", "annotations": {"owner": "me"}}


# ---- from a job that exists -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", ["train", f"{KIND}/train", f"default/{KIND}/train", f" default/{KIND.lower()}/train "]
)
async def test_the_form_is_filled_from_a_job_that_exists(tmp_path: Path, said: str) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        page = (await browser.get(f"{NEW}?text")).text
        assert f'<option value="default/{KIND}/train">' in page
        answer = await browser.client.get(NEW, params={"from": said})
        assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/default/{KIND}/train/clone")
        assert inputs((await browser.get(answer.headers["location"])).text)["metadata.name"] == "train-copy"


@pytest.mark.parametrize("said", ["nobody", f"elsewhere/{KIND}/train", "NoSuchJob/train", "a/b/c/d", "%"])
async def test_a_job_that_there_is_not_is_a_sentence(tmp_path: Path, said: str) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        answer = await browser.client.get(NEW, params={"from": said})
        assert answer.status_code == 404
        assert "no job" in answer.text
        assert 'name="from"' in answer.text


async def test_a_console_of_one_namespace_fills_from_no_other(tmp_path: Path) -> None:
    async with console(tmp_path, ConsoleOptions(namespace="team-b", new_jobs="team-b")) as browser:
        await browser.app.cluster.create({**job(), "metadata": {"name": "train", "namespace": "team-a"}})
        answer = await browser.client.get(NEW, params={"from": f"team-a/{KIND}/train"})
        assert answer.status_code == 404


# ---- what an API server refuses -------------------------------------------------------------------------------


def test_what_an_api_server_refuses_is_shown_field_by_field() -> None:
    many = 'J.g "x" is invalid: [spec.a.b[0].c: Invalid value: 1: no, spec.d: Required value]'
    assert refused(many) == [
        ("spec.a.b[0].c", "spec.a.b[0].c: Invalid value: 1: no"),
        ("spec.d", "spec.d: Required value"),
    ]
    assert refused('J.g "x" is invalid: metadata.name: Invalid value: "X"') == [
        ("metadata.name", 'metadata.name: Invalid value: "X"')
    ]
    for whole in (
        "exceeded quota: pods=10",
        'admission webhook "w" denied: no',
        'J "x" is invalid: nothing is right',
    ):
        assert refused(whole) == [("", whole)]


async def test_what_the_server_says_stands_at_its_field_else_on_top(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        fields = inputs((await browser.post(NEW, {"yaml": yaml.safe_dump(job()), "do": "apply"})).text)
        assert isinstance(browser.app.cluster, MemoryCluster)
        text = f'x "train" is invalid: {CONTAINER}.image: Invalid value: "x": not from here'
        for said, status, field in ((text, 422, f"{CONTAINER}.image"), ("exceeded quota: jobs=1", 403, "")):
            reason = "Invalid" if status == 422 else "Forbidden"
            browser.app.cluster.faults.fail_next(Refused(status, reason, said), verbs=("create",))
            answer = await browser.post(NEW, {**fields, "do": "create"})
            assert answer.status_code >= 400
            assert list(errors(answer.text)) == ([field] if field else [])
            assert ("not from here" if field else "exceeded quota") in answer.text
        assert await browser.app.jobs() == []


async def test_a_working_directory_is_an_absolute_path(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        fields = inputs((await browser.post(NEW, {"yaml": yaml.safe_dump(job()), "do": "apply"})).text)
        answer = await browser.post(NEW, {**fields, f"{CONTAINER}.workingDir": "data", "do": "create"})
        assert errors(answer.text)[f"{CONTAINER}.workingDir"] == [
            'Invalid value: "data": must be an absolute path'
        ]


# ---- the sentences on their way -------------------------------------------------------------------------------


def test_no_more_sentences_are_left_than_a_browser_keeps() -> None:
    from starlette.requests import Request
    from starlette.responses import Response

    answer = Response()
    flash.leave(answer, flash.Notes("done", "Kind", ["字" * 90, *["x" * 200] * 100]))
    (cookie,) = [value.decode() for name, value in answer.raw_headers if name == b"set-cookie"]
    assert len(cookie) < 4096
    header = [(b"cookie", cookie.partition(";")[0].encode())]
    notes = flash.left(Request({"type": "http", "headers": header}))
    assert notes is not None
    assert (notes.done, notes.created) == ("done", "Kind")
    assert notes.remarks[0] == "字" * 90
    assert notes.remarks[-1] == "…"


@pytest.mark.parametrize("said", ["", "x", "[", '{"a": 1}', "[1, null]", '{"done": 1, "remarks": [2]}'])
async def test_a_cookie_that_is_not_ours_says_nothing(tmp_path: Path, said: str) -> None:
    async with console(tmp_path) as browser:
        browser.client.cookies.set(flash.COOKIE, said)
        page = await browser.get("/jobs")
        assert page.status_code == 200
        assert "notice note" not in page.text
        assert page.text.count("notice good") == 1  # the template of those that scripts make


async def test_after_creation_the_list_shows_every_job_and_says_once_what_was_created(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.get(NEW)
        made = await browser.post(NEW, {"yaml": yaml.safe_dump(job("fresh")), "do": "create"})
        assert made.headers["location"] == "/jobs"
        assert f"{KIND} fresh has been created." in (await browser.get("/jobs")).text
        assert "has been created" not in (await browser.get("/jobs")).text


async def test_an_address_cannot_make_the_console_say_that_something_was_done(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        page = await browser.get(f"/jobs?done=delete&kind={KIND}&name=yours")
        assert "is being deleted" not in page.text
