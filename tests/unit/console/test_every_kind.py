"""The console for every kind of jobs: none of its pages knows the kinds, so a new one has them all."""

import html
import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from jobledger.console import drafts
from jobledger.console.allowed_actions import has
from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.spec import Launch
from tests.support.examples import job_of
from tests.support.memory_cluster import MemoryCluster
from tests.unit.console.words import console, errors, hidden, inputs

DEADLINE = "spec.runPolicy.activeDeadlineSeconds"

BY_NAME = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)

BY_ITSELF = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if not kind.needs_cluster], ids=lambda kind: kind.names.kind
)
"""Jobs whose life needs no controller but ours."""


def spec_of(kind: Kind, job: dict[str, Any], *, whole: bool = True) -> dict[str, Any]:
    """The spec as the kind reads it, or without what its pods mount and use."""
    admission = kind.admit(job["metadata"]["name"], job["spec"])
    assert admission.plan is not None, admission.problems
    spec = deepcopy(admission.spec)
    for slot in kind.layout.slots(spec):  # whose order means nothing, and the form does not keep it
        arrange(slot.template["spec"], "volumes", "name", kept=whole)
        for _, container in slot.containers:
            arrange(container, "volumeMounts", "mountPath", kept=whole)
            if not whole:
                container.pop("resources", None)  # type: ignore[attr-defined]
    return spec


def arrange(tree: Any, name: str, by: str, *, kept: bool) -> None:
    items = sorted(tree.pop(name, []), key=lambda item: str(item[by]))
    if kept:
        tree[name] = items


@BY_NAME
async def test_a_form_is_filled_from_a_text_and_creates_what_the_text_says(
    kind: Kind, tmp_path: Path
) -> None:
    written = job_of(kind).raw
    new = f"/jobs/new/{kind.names.kind}"
    async with console(tmp_path) as browser:
        await browser.get(new)
        filled = await browser.post(new, {"yaml": drafts.text_of(written), "do": "apply"})
        assert filled.status_code == 200
        assert errors(filled.text) == {}
        made = await browser.post(new, {**inputs(filled.text), "do": "create"})
        assert made.status_code == 303, errors(made.text)
        (job,) = await browser.app.jobs()
        assert spec_of(kind, job) == spec_of(kind, written)
        assert kind.names.kind in await browser.listed(written["metadata"]["name"])


@BY_NAME
async def test_a_new_form_takes_what_an_example_says(kind: Kind, tmp_path: Path) -> None:
    written = job_of(kind).raw
    new = f"/jobs/new/{kind.names.kind}"
    async with console(tmp_path) as browser:
        fresh = inputs((await browser.get(new)).text)
        filled = await browser.post(new, {"yaml": drafts.text_of(written), "do": "apply"})
        typed = {name: value for name, value in inputs(filled.text).items() if name != "base"}
        assert json.loads(fresh["base"])["metadata"].get("name") is None
        made = await browser.post(new, {**fresh, **typed, "do": "create"})
        assert made.status_code == 303, errors(made.text)
        (job,) = await browser.app.jobs()
        # volumes that are no claims are for the text, and a form requests the GPUs that it allows
        assert spec_of(kind, job, whole=False) == spec_of(kind, written, whole=False)


async def test_a_switch_that_is_on_where_nobody_says_so_is_shown_on_and_can_be_switched_off(
    tmp_path: Path,
) -> None:
    """`localRank` of a DeepSpeedJob: a form that nobody touched used to switch it off."""
    field, kind = "spec.config.localRank", next(kind for kind in KINDS if kind.names.kind == "DeepSpeedJob")
    new = f"/jobs/new/{kind.names.kind}"
    async with console(tmp_path) as browser:
        await browser.get(new)
        filled = await browser.post(new, {"yaml": drafts.text_of(job_of(kind).raw), "do": "apply"})
        fields = inputs(filled.text)
        assert fields.pop(field) == "on"
        assert (await browser.post(new, {**fields, "do": "create"})).status_code == 303
        (job,) = await browser.app.jobs()
        assert job["spec"]["config"]["localRank"] is False


@BY_ITSELF
async def test_a_job_is_paused_and_resumed_from_its_page(kind: Kind, tmp_path: Path) -> None:
    job = job_of(kind).raw
    name = job["metadata"]["name"]
    path = f"/jobs/default/{kind.names.kind}/{name}"
    async with console(tmp_path) as browser:
        await browser.submit(job)
        await browser.listed(name, "Running")
        for action, phase in (("pause", "Paused"), ("resume", "Running")):
            asked = await browser.get(f"{path}/{action}")
            assert asked.status_code == 200
            assert (await browser.post(f"{path}/{action}", hidden(asked.text))).status_code == 303
            await browser.listed(name, phase)
            assert ("<dd>pause</dd>" in (await browser.get(path)).text) is (action == "pause")


@BY_ITSELF
async def test_who_succeeded_by_a_launcher_learns_whose_log_to_read(kind: Kind, tmp_path: Path) -> None:
    job = job_of(kind).raw
    name = job["metadata"]["name"]
    plan = kind.admit(name, job["spec"]).plan
    assert plan is not None
    async with console(tmp_path) as browser:
        await browser.submit(job)
        await browser.listed(name, "Running")
        path = f"/jobs/default/{kind.names.kind}/{name}"
        says = "Check the launcher log for the training result"
        assert says not in (await browser.get(path)).text
        (manifest,) = await browser.app.jobs()
        state = browser.app.state(manifest["metadata"]["uid"])
        assert state is not None
        assert isinstance(browser.app.cluster, MemoryCluster)
        for replica in [plan.primary] if plan.primary else list(plan.replicas()):
            browser.app.cluster.end_pod("default", kind.pod_name(state, replica))
        await browser.listed(name, "Succeeded")
        assert (says in (await browser.get(path)).text) is (plan.launch is not Launch.NONE)


async def test_a_job_under_an_older_name_of_its_kind_has_its_pages_and_actions(tmp_path: Path) -> None:
    alias, kind = next((alias, kind) for kind in KINDS for alias in kind.aliases)
    job = {**job_of(kind).raw, "kind": alias.kind}
    name = job["metadata"]["name"]
    path = f"/jobs/default/{kind.names.kind}/{name}"
    async with console(tmp_path) as browser:
        await browser.submit(job)
        await browser.listed(name, "Running")
        for below in ("", "/replicas", "/history", "/yaml", "/clone"):
            assert (await browser.get(path + below)).status_code == 200, below
        assert f"kind: {alias.kind}" in (await browser.get(f"{path}/manifest")).text
        asked = await browser.get(f"{path}/pause")
        assert (await browser.post(f"{path}/pause", hidden(asked.text))).status_code == 303
        await browser.listed(name, "Paused")


@BY_ITSELF
async def test_a_job_that_failed_has_a_badge_that_says_why_in_the_list_and_on_its_page(
    kind: Kind, tmp_path: Path
) -> None:
    job = deepcopy(job_of(kind).raw)
    name = job["metadata"]["name"]
    job["spec"].pop("runPolicy", None)
    if has(kind.names.kind, DEADLINE):
        job["spec"]["runPolicy"] = {"activeDeadlineSeconds": 1}
    async with console(tmp_path) as browser:
        await browser.submit(job)
        if not job["spec"].get("runPolicy"):  # the primary's end is the job's, or else that of all replicas
            await browser.listed(name, "Running")
            assert isinstance(browser.app.cluster, MemoryCluster)
            (made,) = await browser.app.jobs()
            state = browser.app.state(made["metadata"]["uid"])
            assert state is not None
            primary = state.running_plan.primary
            for replica in [primary] if primary else list(state.running_plan.replicas()):
                browser.app.cluster.end_pod("default", kind.pod_name(state, replica), 1)
        row = await browser.listed(name, "Failed")
        assert 'class="badge error"' in row
        page = (await browser.get(f"/jobs/default/{kind.names.kind}/{name}")).text
        (shown,) = await browser.app.jobs()
        said = [
            condition["message"]
            for condition in shown["status"]["conditions"]
            if condition["status"] == "True"
        ]
        titles = [re.search(r'class="badge error"[^>]* title="([^"]*)"', text) for text in (row, page)]
        (in_list, on_page) = [html.unescape(title[1]) for title in titles if title]
        assert in_list == on_page
        assert in_list in said
