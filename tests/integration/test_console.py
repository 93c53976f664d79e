"""The web console in a real browser, over `jobledger serve` with real processes."""

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.harness import wait_for
from tests.integration.browser import PATIENCE, ROOT, axe, barriers, browser, held, once_made
from tests.integration.cli_words import Place, script
from tests.support.http import PLAIN
from tests.support.repetition import SCREENS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, Route

pytestmark = pytest.mark.integration

KIND = "PyTorchTrainingJob"
SLEEPER = "import time; time.sleep(600)"
SIZES = {"390": (390, 844), "1440": (1440, 900)}


LABELS = {
    "experiment": "17",
    "team": "language",
    "app.kubernetes.io/part-of": "a-name-as-long-as-it-may-be-and-nobody-would-like-to-type-it",
}


def labelled(job: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {**job, "metadata": {**job["metadata"], "labels": labels}}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Site:
    """A server, and a browser to look at it."""

    place: Place
    address: str
    browser: "Browser"
    complaints: list[str] = field(default_factory=list)

    def page(self, size: str = "1440", scheme: Any = "light") -> "Page":
        """A new browser that nobody used yet."""
        width, height = SIZES[size]
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.address)
        return page

    def submit(self, *jobs: dict[str, Any]) -> None:
        for job in jobs:
            PLAIN.post(f"{self.address}/v1/jobs", json=job).raise_for_status()

    def job(self, name: str) -> dict[str, Any]:
        answer: dict[str, Any] = PLAIN.get(f"{self.address}/v1/jobs/default/{name}").json()
        return answer


@pytest.fixture(scope="module")
def chrome() -> "Iterator[Browser]":
    with browser() as opened:
        yield opened


def close_pages(chrome: "Browser") -> None:
    """None that a test has opened goes on asking its server while other tests run."""
    for context in chrome.contexts:
        context.close()


@contextmanager
def serving(place: Place, port: int) -> Iterator[None]:
    with place.server("--listen", f"127.0.0.1:{port}"):
        yield


@pytest.fixture
def site(tmp_path: Path, chrome: "Browser") -> Iterator[Site]:
    place, port = Place(tmp_path), free_port()
    with serving(place, port):
        site = Site(place, f"http://127.0.0.1:{port}", chrome)
        yield site
        close_pages(chrome)
    policy = [complaint for complaint in site.complaints if "Content Security Policy" in complaint]
    assert not policy, policy


def row(page: "Page", name: str) -> Any:
    return page.locator("table.jobs > tbody").filter(has=page.get_by_role("link", name=name, exact=True))


def phase(page: "Page", name: str, says: str) -> None:
    """The row shows this phase, without anybody having loaded the page again."""
    row(page, name).locator("span.phase", has_text=says).wait_for()


ACTIONS_FOR_TRAIN = "document.activeElement.getAttribute('aria-label') === 'Actions for train'"


def has_focus(page: "Page", condition: str) -> None:
    """What closes gives the focus back a moment after it is gone."""
    comes_true(page, condition)


def comes_true(page: "Page", condition: str) -> None:
    """The condition, in JavaScript, holds before long.

    Playwright's own waiting calls `eval` in the page, which its Content Security Policy forbids.
    """
    wait_for(condition, lambda: page.evaluate(condition) is True, 30)


def act(page: "Page", name: str, action: str) -> None:
    page.get_by_label(f"Actions for {name}").click()
    row(page, name).get_by_role("link", name=action, exact=True).click()


def fill_worked_example_a(page: "Page") -> None:
    page.get_by_label("Name", exact=False).first.fill("torch-mnist-trainingjob")
    page.get_by_label("Use TorchRun").check()
    page.get_by_label("Maximum restarts").fill("3")
    page.get_by_label("Maximum processes per node").fill("4")
    page.get_by_label("Image").first.fill("t9kpublic/pytorch-1.13.0:sdk-0.5.2")
    page.get_by_label("Arguments").first.fill(
        'torch_mnist_trainingjob.py "--save_path=model_state_dict.pt" "--log_dir=log" "--backend=nccl"'
    )
    for label, value in (
        ("CPU limit", "8"),
        ("Memory limit", "16Gi"),
        ("CPU request", "4"),
        ("Memory request", "8Gi"),
    ):
        page.get_by_label(label).fill(value)
    page.get_by_label("GPU", exact=True).select_option("nvidia.com/gpu")
    page.get_by_label("GPU value").fill("4")
    page.get_by_label("Working directory").fill("/t9k/mnt/torch-mnist")
    page.get_by_role("button", name="Add Volumes").click()
    page.get_by_label("PersistentVolumeClaim").fill("tutorial")
    page.get_by_label("Binding name").fill("data")
    page.get_by_label("Binding path").fill("/t9k/mnt")


def edit_yaml(page: "Page") -> None:
    """From the form to its text, by way of the preview.

    Before the scripts of the page run there is no preview, and its button leads to the text at once.
    """
    page.locator("#editor").wait_for()
    page.wait_for_load_state()
    page.get_by_role("button", name="Preview YAML").click()
    page.get_by_role("button", name="Edit YAML").click()
    page.locator("#yaml").wait_for()


def test_worked_example_a_from_the_empty_list_to_its_deletion(site: Site) -> None:
    page = site.page()
    page.get_by_text("No data").wait_for()
    page.get_by_text("Create", exact=True).click()
    page.get_by_role("link", name=KIND).click()
    fill_worked_example_a(page)
    edit_yaml(page)
    text = page.locator("#yaml").input_value()
    assert "maxRestarts: 3" in text
    assert "dshm" not in text
    page.get_by_role("button", name="Apply to form").click()
    page.get_by_label("Shared memory", exact=True).check()
    page.get_by_role("button", name="Create", exact=True).last.click()
    page.get_by_text(f"{KIND} torch-mnist-trainingjob has been created.").wait_for()
    row(page, "torch-mnist-trainingjob").wait_for()
    spec = site.job("torch-mnist-trainingjob")["spec"]
    assert spec["torchrunConfig"] == {"enabled": True, "maxRestarts": 3, "procPerNode": "4"}
    (worker,) = spec["replicaSpecs"]
    assert (worker["type"], worker["replicas"]) == ("worker", 1)
    (container,) = worker["template"]["spec"]["containers"]
    assert container["args"] == [
        *("torch_mnist_trainingjob.py", "--save_path=model_state_dict.pt"),
        *("--log_dir=log", "--backend=nccl"),
    ]
    assert container["resources"] == {
        "limits": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": 4},
        "requests": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": 4},
    }
    assert worker["template"]["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "tutorial"}},
        {"name": "dshm", "emptyDir": {"medium": "Memory"}},
    ]
    assert container["volumeMounts"] == [
        {"name": "data", "mountPath": "/t9k/mnt"},
        {"name": "dshm", "mountPath": "/dev/shm"},
    ]
    assert row(page, "torch-mnist-trainingjob").locator("td.cpu").inner_text() == "4.00 / 8.00"
    act(page, "torch-mnist-trainingjob", "Delete")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Files in PVCs stay.").wait_for()
    dialog.get_by_text("Its history stays in the log").wait_for()
    dialog.get_by_role("button", name="Delete").click()
    page.get_by_text("torch-mnist-trainingjob is being deleted.").wait_for()
    page.get_by_text("No data").wait_for()


FIRST_MANIFEST = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: DeepspeedJob
metadata:
  name: deepspeed-example
spec:
  config:
    slotPerWorker: 1
    run:
      python: /t9k/mnt/train.py
  worker:
    replicas: 4
    template:
      spec:
        restartPolicy: OnFailure
        containers:
        - image: deepspeed/deepspeed:v072_torch112_cu117
          imagePullPolicy: IfNotPresent
          name: worker
          resources:
            limits: {cpu: 4, memory: 4Gi}
            requests: {cpu: 2, memory: 2Gi}
          volumeMounts:
          - {mountPath: /t9k/mnt, name: code}
        volumes:
        - name: code
          persistentVolumeClaim: {claimName: deepspeed}
"""
"""A manifest of a T9k manual, in its older spelling. Source: spec console.md, section 7, B."""


def test_worked_example_b_an_older_manifest_is_taken_over_in_canonical_form(site: Site) -> None:
    page = site.page()
    page.get_by_text("Create", exact=True).click()
    page.get_by_role("link", name=KIND).click()
    edit_yaml(page)
    page.locator("#yaml").fill(FIRST_MANIFEST)
    page.get_by_role("button", name="Apply to form").click()
    notices = page.locator("ul.notices > li")
    notices.filter(has_text="kind DeepspeedJob → DeepSpeedJob").wait_for()
    notices.filter(has_text="config.slotPerWorker → config.slotsPerWorker").wait_for()
    page.get_by_role("heading", name="DeepSpeedJob").wait_for()  # another kind switches the form
    assert page.get_by_label("Slots per worker").input_value() == "1"
    page.get_by_role("button", name="Create", exact=True).last.click()
    page.get_by_text("DeepSpeedJob deepspeed-example has been created.").wait_for()
    row(page, "deepspeed-example").wait_for()
    job = site.job("deepspeed-example")
    assert job["kind"] == "DeepSpeedJob"
    assert job["spec"]["config"] == {"slotsPerWorker": 1, "run": {"python": ["/t9k/mnt/train.py"]}}
    assert row(page, "deepspeed-example").locator("td.cpu").inner_text() == "8.00 / 16.00"
    page.goto(f"{site.address}/jobs/new/{KIND}?text")
    page.locator("#yaml").fill(FIRST_MANIFEST.replace("deepspeed-example", "at-once"))
    page.get_by_role("button", name="Create", exact=True).last.click()
    page.get_by_text("DeepSpeedJob at-once has been created.").wait_for()
    stored = site.job("at-once")
    assert (stored["kind"], stored["spec"]) == (job["kind"], job["spec"])


def test_errors_stand_at_their_fields_while_typing_and_again_on_create(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}/jobs/new/{KIND}")
    name = page.get_by_label("Name", exact=False).first
    name.fill("Not A Name")
    page.get_by_text("metadata.name must be a DNS-1035 label").wait_for()
    assert page.get_by_text("Required value").count() == 0, "what nobody touched does not complain yet"
    page.locator("[id='f-metadata.name'][aria-invalid=true]").wait_for()
    name.fill("a-name")
    page.get_by_text("metadata.name must be a DNS-1035 label").wait_for(state="detached")
    page.get_by_role("button", name="Create", exact=True).last.click()
    page.get_by_text("have to be set right before the job can be created").wait_for()
    assert page.get_by_text("Required value").count() == 1
    assert page.get_by_label("Image").first.get_attribute("aria-invalid") == "true"
    assert name.input_value() == "a-name"


DRAFT = "Your draft is as you left it."


def drafted(page: "Page", name: str) -> None:
    """The form shows the draft of this name, and says that it is one."""
    page.get_by_text(DRAFT).wait_for()
    page.locator(f"[id='f-metadata.name'][value='{name}']").wait_for()


def test_a_draft_survives_back_reload_and_another_language_until_the_user_discards_it(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}/jobs/new/{KIND}")
    page.get_by_label("Name", exact=False).first.fill("drafted")
    page.get_by_role("button", name="Add Volumes").click()
    page.get_by_label("Binding path").fill("/data")
    edit_yaml(page)
    page.go_back()
    drafted(page, "drafted")
    assert page.get_by_label("Binding path").input_value() == "/data"
    page.reload()
    drafted(page, "drafted")
    page.get_by_role("button", name="中文").click()
    page.get_by_text("已恢复您之前填写的内容。").wait_for()
    page.get_by_role("button", name="English").click()
    drafted(page, "drafted")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("button", name="Go on editing").click()
    assert page.get_by_label("Binding path").input_value() == "/data"
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="Discard").click()
    page.get_by_role("heading", name="Jobs").wait_for()
    page.goto(f"{site.address}/jobs/new/{KIND}")
    assert page.get_by_label("Name", exact=False).first.input_value() == ""
    page.get_by_role("link", name="Cancel").click()  # nothing was typed: there is no question
    page.get_by_role("heading", name="Jobs").wait_for()


def test_a_text_keeps_what_was_typed_through_a_reload_and_another_language(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}/jobs/new/{KIND}")
    page.get_by_label("Name", exact=False).first.fill("texted")
    edit_yaml(page)
    text = page.locator("#yaml").input_value()
    page.locator("#yaml").fill(f"{text}# mine\n")
    page.reload()
    page.get_by_text(DRAFT).wait_for()
    assert page.locator("#yaml").input_value() == f"{text}# mine\n"
    page.get_by_role("button", name="中文").click()
    page.get_by_text("已恢复您之前填写的内容。").wait_for()
    assert page.locator("#yaml").input_value() == f"{text}# mine\n"


def test_the_preview_follows_the_form_and_a_created_job_leaves_no_draft(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}/jobs/new/{KIND}")
    page.get_by_role("button", name="Preview YAML").click()
    page.get_by_label("Name", exact=False).first.fill("beside")
    page.locator("#preview-yaml", has_text="name: beside").wait_for()
    page.get_by_label("CPU limit").fill("1x")
    page.get_by_text("must be a quantity such as").wait_for()
    page.get_by_label("CPU limit").fill("1")
    page.locator("#preview-yaml", has_text="cpu").wait_for()
    page.get_by_label("Image").first.fill("img")
    page.get_by_label("Command").first.fill(f"python -c '{SLEEPER}'")
    page.get_by_role("button", name="Create", exact=True).last.click()
    page.get_by_text(f"{KIND} beside has been created.").wait_for()
    assert page.url == f"{site.address}/jobs"
    comes_true(page, "!Object.keys(sessionStorage).some((key) => key.startsWith('draft '))")
    page.goto(f"{site.address}/jobs/new/{KIND}")
    page.locator("#preview-yaml", has_text="kind: PyTorchTrainingJob").wait_for()
    assert page.get_by_label("Name", exact=False).first.input_value() == ""


def test_a_job_is_paused_resumed_and_given_another_run_policy_without_reloading(site: Site) -> None:
    site.submit(script("train", SLEEPER))
    page = site.page()
    phase(page, "train", "Running")
    act(page, "train", "Pause")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    phase(page, "train", "Paused")
    act(page, "train", "Resume")
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    phase(page, "train", "Running")
    act(page, "train", "Edit run policy")
    page.get_by_label("Backoff limit").fill("-1")
    page.get_by_role("dialog").get_by_role("button", name="Edit run policy").click()
    page.get_by_text("must be greater than or equal to 0").wait_for()
    page.get_by_label("Backoff limit").fill("7")
    page.get_by_role("dialog").get_by_role("button", name="Edit run policy").click()
    page.get_by_text("The run policy of").wait_for()
    assert site.job("train")["spec"]["runPolicy"]["backoffLimit"] == 7


def test_a_job_that_somebody_else_edited_meanwhile_is_not_overwritten(site: Site) -> None:
    site.submit(script("train", SLEEPER))
    page = site.page()
    phase(page, "train", "Running")
    act(page, "train", "Edit run policy")
    page.get_by_label("Backoff limit").fill("7")
    changed = {"spec": {"runPolicy": {"backoffLimit": 5}}}
    httpx.patch(f"{site.address}/v1/jobs/default/train", json=changed).raise_for_status()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Edit run policy").click()
    dialog.get_by_text("The job was changed by someone else; reload and try again").wait_for()
    assert site.job("train")["spec"]["runPolicy"]["backoffLimit"] == 5
    dialog.get_by_role("link", name="Reload").click()
    page.locator("dialog input[name='spec.runPolicy.backoffLimit'][value='5']").wait_for()
    page.get_by_label("Backoff limit").fill("7")
    dialog.get_by_role("button", name="Edit run policy").click()
    page.get_by_text("The run policy of").wait_for()
    assert site.job("train")["spec"]["runPolicy"]["backoffLimit"] == 7


def test_a_page_says_that_its_server_is_away_and_goes_on_when_it_is_back(
    tmp_path: Path, chrome: "Browser"
) -> None:
    place, port = Place(tmp_path), free_port()
    site = Site(place, f"http://127.0.0.1:{port}", chrome)
    with place.server("--listen", f"127.0.0.1:{port}") as server:
        page = site.page()
        page.get_by_text("No data").wait_for()
        server.send_signal(signal.SIGTERM)
        server.wait(30)
        page.get_by_text("The server does not answer.").wait_for()
        page.get_by_text("No data").wait_for()
    with serving(place, port):
        site.submit(script("after", "pass"))
        row(page, "after").wait_for()
        page.get_by_text("The server does not answer.").wait_for(state="hidden")
        # the token of the page is still good: an open form survives the restart
        act(page, "after", "Delete")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        page.get_by_text("No data").wait_for()
        close_pages(chrome)


def test_what_is_open_and_typed_survives_a_refresh(site: Site) -> None:
    site.submit(script("one", SLEEPER))
    page = site.page()
    phase(page, "one", "Running")
    page.get_by_label("Show conditions and replicas of one").click()
    page.get_by_text("The job has been initialized successfully.").wait_for()
    page.get_by_label("Search by name").fill("o")
    page.wait_for_url(re.compile(r"q=o"))
    page.get_by_label("Search by name").focus()
    site.submit(script("two", SLEEPER))
    row(page, "two").wait_for()
    assert row(page, "one").get_by_text("The job has been initialized successfully.").is_visible()
    assert page.evaluate("document.activeElement.id") == "q"
    assert page.get_by_label("Search by name").input_value() == "o"
    page.get_by_label("Search by name").fill("nobody")
    page.get_by_text("No data").wait_for()
    page.go_back()
    row(page, "two").wait_for()


def test_jobs_are_filtered_by_labels_as_one_types_them(site: Site) -> None:
    site.submit(labelled(script("stays", SLEEPER), team="a"), labelled(script("other", SLEEPER), **LABELS))
    page = site.page()
    row(page, "other").wait_for()
    field = page.get_by_label("Filter by labels")
    field.fill("team=a")
    field.press("Enter")
    row(page, "other").wait_for(state="detached")
    assert page.locator("td.name a").all_inner_texts() == ["stays"]
    page.wait_for_url("**label=team%3Da**")
    page.get_by_label("Remove the filter Label team=a").click()
    row(page, "other").wait_for()
    assert page.get_by_label("Filter by labels").input_value() == ""


def test_filters_columns_and_order_are_chosen_on_the_page(site: Site) -> None:
    site.submit(script("ends", "pass"), script("stays", SLEEPER, runPolicy={"backoffLimit": 9}))
    page = site.page()
    phase(page, "ends", "Succeeded")
    phase(page, "stays", "Running")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("Running", exact=True).check()
    row(page, "ends").wait_for(state="detached")
    page.keyboard.press("Escape")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Restarts", exact=True).check()
    row(page, "stays").get_by_text("0 / 9").wait_for()
    page.reload()
    row(page, "stays").get_by_text("0 / 9").wait_for()
    page.get_by_label("Remove the filter Status Running").click()
    row(page, "ends").wait_for()
    page.get_by_role("link", name="Name", exact=True).click()
    page.locator("th[aria-sort=ascending]").get_by_text("Name").wait_for()
    assert page.locator("td.name a").all_inner_texts() == ["ends", "stays"]


def test_what_is_chosen_while_the_list_loads_counts(site: Site) -> None:
    page = site.page()
    late = held(page, "**/static/console.js*")
    page.reload(wait_until="commit")
    page.get_by_label("per page").select_option("50")
    late[0].continue_()
    page.wait_for_url("**size=50**")


def test_a_refresh_that_comes_late_does_not_undo_what_was_chosen(site: Site) -> None:
    site.submit(script("train", SLEEPER), script("eval", SLEEPER))
    page = site.page()
    phase(page, "eval", "Running")
    page.locator("#auto").uncheck()
    late = refresh_under_way(page)
    page.locator("#q").fill("train")
    page.keyboard.press("Enter")
    row(page, "eval").wait_for(state="detached")
    late()
    assert page.locator("td.name a").all_inner_texts() == ["train"]
    late = refresh_under_way(page)
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Restarts", exact=True).check()
    row(page, "train").get_by_text("0 / ").wait_for()
    late()
    assert row(page, "train").get_by_text("0 / ").is_visible()
    assert page.locator("td.name a").all_inner_texts() == ["train"]


def test_a_refresh_that_fails_after_something_was_chosen_is_made_once(site: Site) -> None:
    page = site.page()
    page.locator("#auto").uncheck()
    page.get_by_label("per page").select_option("50")
    page.wait_for_url("**size=50**")
    made: list[str] = []

    def fail(asked: "Route") -> None:
        made.append(asked.request.url)
        asked.fulfill(status=503, headers={"HX-Retarget": "#notices"}, body="<p class='bad-news'>no</p>")

    page.route("**/jobs?*", fail)
    page.locator("#refresh").click()
    page.locator("#offline").wait_for()
    page.wait_for_timeout(500)
    assert len(made) == 1


def refresh_under_way(page: "Page") -> Callable[[], None]:
    """The server has answered. The page hears it when the function is called, which ends when it asks once more.

    The search asks at the same address a little after the last key: only the sender tells the requests apart.
    """
    held_refreshes: list[Route] = []

    def hold(route: "Route") -> None:
        if held_refreshes or not is_refresh(route.request):
            route.fallback()
        else:
            held_refreshes.append(route)

    page.route("**/jobs?*", hold)
    page.locator("#refresh").click()
    refresh = once_made(page, held_refreshes)
    answer = refresh.fetch()

    def arrive() -> None:
        with page.expect_request(is_refresh):
            refresh.fulfill(response=answer)
        page.unroute("**/jobs?*", hold)

    return arrive


def is_refresh(request: "Request") -> bool:
    """Whether the list asked by itself; htmx names the element that asks."""
    return "/jobs?" in request.url and request.headers.get("hx-trigger") == "jobs"


def test_everything_is_reached_with_the_keyboard_alone(site: Site) -> None:
    site.submit(script("train", SLEEPER))
    page = site.page()
    phase(page, "train", "Running")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(ACTIONS_FOR_TRAIN):
            break
    page.keyboard.press("Enter")
    row(page, "train").get_by_role("link", name="Pause").wait_for()
    page.keyboard.press("Escape")
    row(page, "train").get_by_role("link", name="Pause").wait_for(state="hidden")
    has_focus(page, ACTIONS_FOR_TRAIN)
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
    has_focus(page, "document.activeElement.textContent === 'Pause'")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    has_focus(page, ACTIONS_FOR_TRAIN)
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    phase(page, "train", "Paused")


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_pages_keep_nobody_out_and_are_as_wide_as_the_window(site: Site, width: int, scheme: str) -> None:
    size = str(width)
    looked = axe()
    site.submit(
        script("bert-finetuning", SLEEPER, runMode={"pause": {"enabled": True}}),
        labelled(script("mnist", "pass"), team="vision"),
        labelled(script("broken", "raise SystemExit(3)", runPolicy={"backoffLimit": 0}), **LABELS),
        labelled(script("resnet", SLEEPER, replicas=2), team="vision", tier="gold"),
    )
    page = site.page(size, scheme)
    phase(page, "mnist", "Succeeded")
    phase(page, "broken", "Failed")
    phase(page, "resnet", "Running")
    phase(page, "bert-finetuning", "Paused")
    page.get_by_label("Show conditions and replicas of broken").click()
    row(page, "broken").get_by_text("show all").click()
    _look(page, looked, f"list-{size}-{scheme}")
    act(page, "mnist", "Delete")
    page.get_by_role("dialog").get_by_text("A finished job holds no compute resources").wait_for()
    _look(page, looked, f"delete-{size}-{scheme}")
    page.goto(f"{site.address}/jobs/new/{KIND}")
    fill_worked_example_a(page)
    page.get_by_label("Maximum processes per node").fill("many")
    page.get_by_text("must be a positive number").wait_for()
    _look(page, looked, f"form-{size}-{scheme}")
    page.get_by_role("button", name="Preview YAML").click()
    page.locator("#preview-yaml", has_text="kind: PyTorchTrainingJob").wait_for()
    _look(page, looked, f"preview-{size}-{scheme}")
    page.get_by_role("button", name="Edit YAML").click()
    page.locator("#yaml").wait_for()
    _look(page, looked, f"yaml-{size}-{scheme}")
    page.goto(f"{site.address}/help")
    _look(page, looked, f"help-{size}-{scheme}")
    page.get_by_role("button", name="中文").click()
    page.get_by_role("link", name="关于").click()
    page.get_by_text("版本").wait_for()
    _look(page, looked, f"about-{size}-{scheme}")


def _look(page: "Page", script: str, name: str) -> None:
    """Nothing is in anybody's way. With JOBLEDGER_SCREENSHOTS the picture in docs/console is taken anew."""
    assert barriers(page, script) == []
    width, window = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width <= window, f"{name} is {width} wide in a window of {window}"
    if name.endswith(("1440-light", "390-dark")) and os.environ.get("JOBLEDGER_SCREENSHOTS"):
        page.screenshot(path=ROOT / "docs" / "console" / f"{name}.png")
