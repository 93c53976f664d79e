"""The list and the form in a real browser: at every width, with what is suggested, from what exists already."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.browser import axe, barriers
from tests.integration.cli_words import script
from tests.integration.test_console import (
    FIRST_MANIFEST,
    KIND,
    LABELS,
    SLEEPER,
    Site,
    chrome,
    labelled,
    phase,
    row,
    site,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["chrome", "site"]

pytestmark = pytest.mark.integration

WIDTHS = (390, 700, 850, 900, 1000, 1100, 1199, 1200, 1280, 1440, 1800)
ALL = "status,name,labels,namespace,kind,cpu,memory,created,gpu,restarts,queue,priority,duration"
LARGE = {"requests": {"cpu": "40", "memory": "800Gi"}, "limits": {"cpu": "80", "memory": "1600Gi"}}
TOO_WIDE = """async () => {
    // the page learns of a new width with its next frame
    for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
    const room = document.getElementById("jobs").getBoundingClientRect();
    const out = [...document.querySelectorAll("main *")].filter((node) => node.checkVisibility()
        && !node.closest(".visually-hidden, .items") && node.getBoundingClientRect().right > room.right + 1);
    return [document.documentElement.scrollWidth - innerWidth, ...out.map((node) => node.outerHTML.slice(0, 80))];
}"""


def large(job: dict[str, Any]) -> dict[str, Any]:
    job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["resources"] = LARGE
    return job


def suggested(page: "Page", of: str) -> list[str]:
    """The choices of a list of them, once it has some."""
    choices = page.locator(f"datalist[id='{of}'] > option")
    choices.first.wait_for(state="attached")
    values: list[str] = choices.evaluate_all("all => all.map((option) => option.value)")
    return values


def test_the_list_fits_into_every_window_in_both_languages_with_any_columns(site: Site) -> None:
    long = "resnet-with-a-rather-long-name-of-somebody"
    site.submit(
        large(labelled(script(long, SLEEPER, replicas=2), **LABELS)), script("b", "raise SystemExit(3)")
    )
    page, looked = site.page(), axe()
    phase(page, long, "Running")
    cards = {}
    for language in ("English", "中文"):
        page.get_by_role("button", name=language).click()
        for columns in ("", f"?columns={ALL}", "?columns=name,status"):
            page.goto(f"{site.address}/jobs{columns}")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                over, *wide = page.evaluate(TOO_WIDE)
                assert (over <= 0, wide) == (True, []), (language, columns, width)
                cards[columns, width] = (
                    page.evaluate("getComputedStyle(document.querySelector('tbody')).display") == "block"
                )
            assert barriers(page, looked) == []
    assert [width for width in WIDTHS if cards["", width]] == [390, 700, 850]
    assert cards[f"?columns={ALL}", 1000]
    assert not cards[f"?columns={ALL}", 1800]
    page.set_viewport_size({"width": 390, "height": 900})
    page.get_by_role("link", name="名称").click()  # cards are sorted, too
    page.locator("th[aria-sort=ascending]").get_by_text("名称").wait_for()
    assert page.locator("td.name a").all_inner_texts() == ["b", long]


@pytest.mark.parametrize("width", [390, 700, 900, 1280])
def test_every_menu_of_the_list_stays_in_the_window(site: Site, width: int) -> None:
    site.submit(labelled(script("one", SLEEPER), **LABELS))
    page = site.page()
    phase(page, "one", "Running")
    page.set_viewport_size({"width": width, "height": 900})
    for summary in page.locator("details.menu > summary").all():
        summary.click()
        box = page.locator("details.menu[open] > .items").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        page.keyboard.press("Escape")


def test_labels_are_suggested_while_they_are_typed(site: Site) -> None:
    site.submit(
        labelled(script("one", SLEEPER), team="a", tier="gold"), labelled(script("two", SLEEPER), team="b")
    )
    page = site.page()
    row(page, "two").wait_for()
    field = page.get_by_label("Filter by labels")
    field.focus()
    page.locator("#known-labels > option[value=tier]").wait_for(state="attached")
    assert suggested(page, "known-labels") == ["team", "tier"]
    field.press_sequentially("team=")
    page.locator("#known-labels > option[value='team=b']").wait_for(state="attached")
    assert suggested(page, "known-labels") == ["team=a", "team=b"]
    field.fill("team=a, ti")
    page.locator("#known-labels > option[value='team=a, tier']").wait_for(state="attached")
    assert "labels" not in page.url.partition("?")[0], "suggestions are no page of their own"
    field.fill("team=a, tier")
    field.press("Enter")
    row(page, "two").wait_for(state="detached")


def test_a_text_says_what_is_renamed_while_it_is_there_and_after_it_became_a_job(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}/jobs/new/{KIND}?text")
    page.locator("#yaml").fill(FIRST_MANIFEST)
    for says in ("kind DeepspeedJob → DeepSpeedJob", "config.slotPerWorker → config.slotsPerWorker"):
        page.locator("#said-of li", has_text=says).wait_for()
    page.locator("#yaml").fill(FIRST_MANIFEST.replace("replicas: 4", "replicas: 0"))
    page.locator("#said-of .bad li", has_text="must be greater than or equal to 1").wait_for()
    page.locator("#yaml").fill(FIRST_MANIFEST)
    page.locator("#said-of .bad").wait_for(state="detached")
    page.get_by_role("button", name="Create", exact=True).last.click()
    page.get_by_text("DeepSpeedJob deepspeed-example has been created.").wait_for()
    for says in ("kind DeepspeedJob → DeepSpeedJob", "config.slotPerWorker → config.slotsPerWorker"):
        page.locator("#notices li", has_text=says).wait_for()
    row(page, "deepspeed-example").wait_for()


def test_the_form_is_filled_from_a_file_and_from_a_job_that_exists(site: Site, tmp_path: Path) -> None:
    site.submit(script("train", SLEEPER, replicas=2))
    page = site.page()
    phase(page, "train", "Running")
    page.goto(f"{site.address}/jobs/new/{KIND}")
    page.get_by_role("link", name="Import").click()
    assert suggested(page, "known-jobs") == [f"default/{KIND}/train"]
    file = tmp_path / "older.yaml"
    file.write_text(FIRST_MANIFEST)
    page.locator("input[type=file]").set_input_files(file)
    page.locator("#said-of li", has_text="kind DeepspeedJob → DeepSpeedJob").wait_for()
    page.get_by_label("From a job that exists").fill(f"default/{KIND}/train")
    page.get_by_role("button", name="Load into the form").click()
    page.get_by_role("heading", name=f"Create {KIND}").wait_for()
    assert page.locator("[id='f-metadata.name']").input_value() == "train-copy"
    assert page.locator("[id='f-spec.replicaSpecs[0].replicas']").input_value() == "2"


def test_keys_of_config_maps_are_offered_where_a_variable_comes_from_one(site: Site) -> None:
    meta = {"name": "settings"}
    store = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"epochs": "5", "rate": "1"}}
    assert site.place.run("submit", site.place.write("all.yaml", store, script("a", "pass"))).returncode == 0
    page = site.page()
    page.goto(f"{site.address}/jobs/new/{KIND}")
    page.get_by_role("button", name="Add Environment variables").click()
    page.get_by_label("Source", exact=True).select_option("configMapKeyRef")
    page.get_by_label("Secret or ConfigMap").focus()
    page.locator("input[list=offers-config-maps]").wait_for()
    assert "settings" in suggested(page, "offers-config-maps")
    page.get_by_label("Secret or ConfigMap").fill("settings")
    page.get_by_label("Key in it").focus()
    page.locator("input[list=offers-keys-settings]").wait_for()
    assert suggested(page, "offers-keys-settings") == ["epochs", "rate"]
    page.get_by_label("Source", exact=True).select_option("secretKeyRef")
    page.get_by_label("Key in it").focus()
    page.locator("input[list=offers-keys-settings]").wait_for(state="detached")


def test_sections_fold_and_elastic_training_is_asked_for_with_torchrun(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}/jobs/new/{KIND}")
    name, elastic = page.locator("[id='f-metadata.name']"), page.get_by_label("Elastic training", exact=True)
    page.locator("summary", has_text="Basic information").click()
    name.wait_for(state="hidden")
    page.locator("summary", has_text="Basic information").click()
    name.wait_for()
    page.locator("summary", has_text="Replica types").click()
    page.get_by_label("Image").first.wait_for(state="hidden")
    assert elastic.is_hidden()
    page.get_by_label("Use TorchRun").check()
    elastic.wait_for()
    page.goto(f"{site.address}/jobs/new/DeepSpeedJob")
    elastic.wait_for()


def test_the_sections_of_the_console_stand_on_the_left_and_help_on_top(site: Site) -> None:
    page = site.page()
    sections = page.get_by_role("navigation", name="Navigation")
    box, content = sections.bounding_box(), page.locator("main h1").bounding_box()
    assert box is not None
    assert content is not None
    assert box["x"] + box["width"] <= content["x"]
    sections.get_by_role("link", name="About").click()
    page.get_by_text("Version").wait_for()
    page.get_by_role("link", name="Help").click()
    page.get_by_role("heading", name="Help").wait_for()
    assert barriers(page, axe()) == []
    sections.get_by_role("link", name="Job", exact=True).click()
    page.get_by_text("No data").wait_for()


def test_times_are_the_browsers_and_the_list_stands_still_without_auto_refresh(site: Site) -> None:
    context = site.browser.new_context(locale="zh-CN", timezone_id="Asia/Shanghai")
    page = context.new_page()
    page.goto(f"{site.address}/jobs")
    auto = page.get_by_label("自动刷新")
    assert auto.is_checked()
    site.submit(script("first", SLEEPER))
    row(page, "first").wait_for()
    time = row(page, "first").locator("td.created time")
    at = datetime.fromisoformat(str(time.get_attribute("datetime"))).astimezone(timezone(timedelta(hours=8)))
    assert f"{at:%H:%M:%S}" in time.inner_text()
    auto.uncheck()
    site.submit(script("second", SLEEPER))
    page.wait_for_timeout(7000)  # more than the five seconds of a refresh
    assert row(page, "second").count() == 0
    page.get_by_role("link", name="刷新", exact=True).click()
    row(page, "second").wait_for()
    page.reload()
    assert not auto.is_checked()
    context.close()
