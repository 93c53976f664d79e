"""What is done with jobs from the list: asked for, done once, never over somebody else's change."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from jobledger.api import create
from jobledger.web.rights import AccessRight, Caller
from k8s_bridge.port import Ref
from tests.support.pytorchjob import TorchStory, training
from tests.unit.api.words import elastic, job, phase, until
from tests.unit.console.words import HTMX, KIND, Browser, console, errors, hidden

JOB = f"/jobs/default/{KIND}/train"


async def asked(browser: Browser, action: str) -> dict[str, str]:
    answer = await browser.get(f"{JOB}/{action}")
    assert answer.status_code == 200, answer.text
    return hidden(answer.text)


async def test_who_resumes_a_job_in_a_queue_learns_that_kueue_decides(tmp_path: Path) -> None:
    queued = TorchStory(training(suspend=True))
    manifest = {
        "apiVersion": queued.api,
        "kind": queued.kind,
        "metadata": {"name": "queued", "labels": {"kueue.x-k8s.io/queue-name": "team-a"}},
        "spec": queued.spec,
    }
    async with console(tmp_path) as browser:
        await browser.submit(manifest)
        page = await browser.get("/jobs/default/PyTorchJob/queued/resume")
        assert "Kueue decides when the job runs (queue team-a)" in page.text
        answer = await browser.client.post("/v1/jobs/default/queued/resume")
        assert answer.headers["warning"].startswith('299 jobledger "Kueue decides when queued runs')
        await browser.submit(job())
        assert "Kueue" not in (await browser.get(f"{JOB}/pause")).text


async def test_a_job_is_paused_and_resumed(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        await phase(browser.app, "train", "Running")
        page = await browser.get(f"{JOB}/pause")
        assert "All replicas will be deleted." in page.text
        answer = await browser.post(f"{JOB}/pause", hidden(page.text), HTMX)
        assert answer.status_code == 204
        assert "is being paused" in answer.headers["hx-trigger"]
        await phase(browser.app, "train", "Paused")
        answer = await browser.post(f"{JOB}/resume", await asked(browser, "resume"))
        assert answer.headers["location"] == "/jobs"
        await phase(browser.app, "train", "Running")
        history = await browser.app.history((await browser.app.job("default", "train"))["metadata"]["uid"])
        assert "web console" in str(history)


async def test_an_elastic_job_is_scaled_within_its_bounds(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(elastic())
        await phase(browser.app, "train", "Running")
        for replicas, says in (("9", "spec.elastic"), ("two", "must be a whole number")):
            answer = await browser.post(
                f"{JOB}/scale", {**await asked(browser, "scale"), "replicas": replicas}
            )
            assert answer.status_code == 422
            assert says in answer.text
        answer = await browser.post(f"{JOB}/scale", {**await asked(browser, "scale"), "replicas": "3"})
        assert answer.status_code == 303
        assert (await browser.app.job("default", "train"))["spec"]["elastic"]["expectedReplicas"] == 3


async def test_the_run_policy_is_edited_and_a_field_that_is_emptied_goes(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job(runPolicy={"activeDeadlineSeconds": 600, "backoffLimit": 2}))
        fields = await asked(browser, "policy")
        typed = {"spec.runPolicy.activeDeadlineSeconds": "", "spec.runPolicy.backoffLimit": "5"}
        typed["spec.runPolicy.cleanUpPolicy"] = "All"
        assert (await browser.post(f"{JOB}/policy", {**fields, **typed})).status_code == 303
        policy = (await browser.app.job("default", "train"))["spec"]["runPolicy"]
        assert policy == {"backoffLimit": 5, "cleanUpPolicy": "All"}
        fields = await asked(browser, "policy")
        answer = await browser.post(f"{JOB}/policy", {**fields, "spec.runPolicy.backoffLimit": "-1"})
        assert answer.status_code == 422
        assert list(errors(answer.text)) == ["spec.runPolicy.backoffLimit"]


@pytest.mark.parametrize("action", ["pause", "policy"])
async def test_a_change_by_somebody_else_is_shown_and_not_overwritten(tmp_path: Path, action: str) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        fields = await asked(browser, action)
        merge = {"spec": {"runPolicy": {"backoffLimit": 1}}}
        await browser.app.patch(await browser.app.job("default", "train"), merge, "somebody else")
        answer = await browser.post(f"{JOB}/{action}", {**fields, "spec.runPolicy.backoffLimit": "9"}, HTMX)
        assert answer.status_code == 409
        assert "The job was changed by someone else; reload and try again" in answer.text
        spec = (await browser.app.job("default", "train"))["spec"]
        assert spec["runPolicy"] == {"backoffLimit": 1}
        assert "runMode" not in spec


async def test_a_change_that_is_none_of_the_spec_stops_nobody(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        fields = await asked(browser, "pause")
        manifest = await browser.app.job("default", "train")
        note = {"metadata": {"annotations": {"somebody": "was here"}}}
        await browser.app.cluster.patch(Ref.of(manifest), note)
        changed = await browser.app.job("default", "train")
        assert changed["metadata"]["resourceVersion"] != manifest["metadata"]["resourceVersion"]
        assert (await browser.post(f"{JOB}/pause", fields)).status_code == 303


async def test_a_job_is_deleted_after_the_question_that_says_what_is_lost(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job(run_seconds="0"))
        await phase(browser.app, "train", "Succeeded")
        page = await browser.get(f"{JOB}/delete")
        for says in (f"Delete {KIND} train?", "Files in PVCs stay.", "deleting it frees none"):
            assert says in page.text
        assert (await browser.post(f"{JOB}/delete", hidden(page.text))).status_code == 303

        async def empty() -> bool:
            return "No data" in (await browser.piece("/jobs")).text

        await until(empty)


async def test_pods_that_a_finished_job_left_running_are_named_before_it_is_deleted(tmp_path: Path) -> None:
    two = job(run_seconds="0")
    endless = job()["spec"]["replicaSpecs"][0]
    two["spec"]["replicaSpecs"].append({**endless, "type": "server"})
    async with console(tmp_path) as browser:
        await browser.submit(two)
        await phase(browser.app, "train", "Succeeded")
        text = (await browser.get(f"{JOB}/delete")).text
        assert "still run and will be ended" in text
        assert "server-0" in text
        assert "frees none" not in text


async def test_another_job_of_the_same_name_is_not_deleted(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        fields = await asked(browser, "delete")
        answer = await browser.post(f"{JOB}/delete", {**fields, "uid": "another"})
        assert answer.status_code == 409
        assert await browser.app.job("default", "train")


@pytest.mark.parametrize("action", ["resume", "scale"])
async def test_what_is_not_offered_now_is_refused_with_a_sentence(tmp_path: Path, action: str) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        answer = await browser.get(f"{JOB}/{action}")
        assert answer.status_code == 409
        assert "does not offer" in answer.text


async def test_nothing_is_done_without_the_token(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        fields = {name: value for name, value in (await asked(browser, "delete")).items() if name != "_token"}
        for headers in ({}, {"X-CSRF-Token": "x"}):
            answer = await browser.client.post(f"{JOB}/delete", data=fields, headers=headers)
            assert answer.status_code == 403
        assert await browser.app.job("default", "train")


async def test_the_yaml_is_the_objects_without_its_secrets(tmp_path: Path) -> None:
    manifest = job()
    container = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "API_TOKEN", "value": "hunter2"}]
    async with console(tmp_path) as browser:
        await browser.submit(manifest)
        answer = await browser.get(f"{JOB}/yaml?download")
        assert 'filename="train.yaml"' in answer.headers["content-disposition"]
        assert yaml.safe_load(answer.text)["metadata"]["name"] == "train"
        assert "hunter2" not in answer.text
        assert "hunter2" not in (await browser.piece(f"{JOB}/yaml")).text


class Reader:
    """Somebody on a cluster who may look, and do nothing else."""

    def signature(self, said: str) -> str:
        return "rita"

    async def may(self, right: AccessRight) -> bool:
        return right.verb in ("get", "list")

    async def still(self) -> None:
        return

    def __str__(self) -> str:
        return '"rita"'


async def test_every_action_is_asked_for_in_the_users_name(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(job())
        fields = await asked(browser, "delete")
        api: Any = create(browser.app)

        async def as_reader(scope: Any, receive: Any, send: Any) -> None:
            scope.setdefault("state", {})
            inner = scope["state"]

            class Pinned(dict[str, Any]):
                def __setitem__(self, key: str, value: object) -> None:
                    caller: Caller = Reader()
                    super().__setitem__(key, caller if key == "caller" else value)

            scope["state"] = Pinned(inner)
            await api(scope, receive, send)

        transport = httpx.ASGITransport(as_reader)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            rita = Browser(client, browser.app)
            page = await rita.get("/jobs")
            assert "rita" in page.text
            fields = hidden((await rita.get(f"{JOB}/delete")).text)
            for action in ("delete", "pause"):
                answer = await rita.post(f"{JOB}/{action}", fields)
                assert answer.status_code == 403, action
                assert "may not" in answer.text or "lack" in answer.text or "rita" in answer.text
            text = yaml.safe_dump(job("another"))
            assert (await rita.post(f"/jobs/new/{KIND}", {"yaml": text, "do": "create"})).status_code == 403
        assert len(await browser.app.jobs()) == 1
