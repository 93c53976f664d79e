"""How a console is set up: its paths behind a proxy, its namespace, what its form offers."""

import re
from pathlib import Path

import pytest

from jobledger.console.frame import ConsoleOptions
from jobledger.settings.model import Settings
from tests.unit.api.words import job
from tests.unit.console.words import HTMX, KIND, console, hidden, inputs

BASE = "/apps/team/job-manager/app/web"
PATHS = re.compile(r'(?:href|src|action|hx-get|hx-post|content)="(/[^"]*)"')


def test_every_setting_reaches_the_pages() -> None:
    said = {"namespace": "team", "base_path": BASE, "gpus": "amd.com/gpu, ,x.org/y", "t9k_scheduler": False}
    options = ConsoleOptions.of(Settings(console={**said, "metrics": "http://127.0.0.1:9"}))  # type: ignore[arg-type]
    assert options == ConsoleOptions(
        "team", "team", BASE, ("amd.com/gpu", "x.org/y"), False, "http://127.0.0.1:9"
    )


async def test_behind_a_proxy_every_path_of_every_page_is_below_its_own(tmp_path: Path) -> None:
    async with console(tmp_path, ConsoleOptions(base=BASE)) as browser:
        await browser.submit(job())
        one = f"/jobs/default/{KIND}/train"
        for path in (
            "/jobs",
            "/about",
            "/help",
            f"/jobs/new/{KIND}",
            f"/jobs/new/{KIND}?text",
            one,
            f"{one}/delete",
        ):
            page = await browser.get(path)
            assert page.status_code == 200
            paths = PATHS.findall(page.text)
            assert paths
            assert not [link for link in paths if not link.startswith(f"{BASE}/")], path
        assert (await browser.get("/")).headers["location"] == f"{BASE}/jobs"
        answer = await browser.client.get(f"/jobs/new/{KIND}", params={"from": "train"})
        assert answer.headers["location"] == f"{BASE}{one}/clone"
        asked = await browser.get(f"{one}/delete")
        done = await browser.post(f"{one}/delete", hidden(asked.text))
        assert done.headers["location"] == f"{BASE}/jobs"
        fields = {**inputs((await browser.get(f"/jobs/new/{KIND}")).text), "metadata.name": "more"}
        fields["spec.replicaSpecs[0].template.spec.containers[0].image"] = "x"
        made = await browser.post(f"/jobs/new/{KIND}", {**fields, "do": "create"}, HTMX)
        assert made.headers["hx-redirect"] == f"{BASE}/jobs"


async def test_the_form_offers_the_extended_resources_and_queues_that_are_configured(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with console(tmp_path, ConsoleOptions(gpus=("amd.com/gpu",), t9k_scheduler=False)) as browser:
        page = (await browser.get(f"/jobs/new/{KIND}")).text
        assert '<option value="amd.com/gpu">' in page
        assert "nvidia.com" not in page
        assert "spec.scheduler" not in page
    async with console(tmp_path_factory.mktemp("usual")) as browser:
        page = (await browser.get(f"/jobs/new/{KIND}")).text
        assert re.findall(r'<option value="(nvidia[^"]*)"', page) == [
            "nvidia.com/gpu.shared",
            "nvidia.com/gpu",
        ]
        assert "spec.scheduler.t9kScheduler.queue" in page


@pytest.mark.parametrize("one_machine", [False, True])
async def test_only_kinds_that_can_run_here_are_offered_for_new_jobs(
    tmp_path: Path, one_machine: bool
) -> None:
    async with console(tmp_path, ConsoleOptions(one_machine=one_machine)) as browser:
        page = (await browser.get("/jobs")).text
    assert ('href="/jobs/new/BeamJob"' in page) is not one_machine
    assert f'href="/jobs/new/{KIND}"' in page


async def test_a_console_of_one_namespace_does_not_ask_for_it_and_creates_there(tmp_path: Path) -> None:
    async with console(tmp_path, ConsoleOptions(namespace="team", new_jobs="team")) as browser:
        fields = inputs((await browser.get(f"/jobs/new/{KIND}")).text)
        assert "metadata.namespace" not in fields
        fields |= {"metadata.name": "a", "spec.replicaSpecs[0].template.spec.containers[0].image": "x"}
        assert (await browser.post(f"/jobs/new/{KIND}", {**fields, "do": "create"})).status_code == 303
        (made,) = await browser.app.jobs()
        assert made["metadata"]["namespace"] == "team"
        other = {
            "yaml": f"apiVersion: {made['apiVersion']}\nkind: {KIND}\nmetadata: {{name: b, namespace: x}}",
            "do": "create",
        }
        answer = await browser.post(f"/jobs/new/{KIND}", other)
        assert answer.status_code == 422
        assert 'must be "team"' in answer.text.replace("&#34;", '"')
