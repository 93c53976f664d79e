"""What is suggested in the field for labels."""

import html
import re
from pathlib import Path
from typing import Any

import pytest

from jobledger.console.frame import ConsoleOptions
from jobledger.console.labels import split
from tests.unit.api.words import job
from tests.unit.console.words import Browser, console


def labelled(name: str, namespace: str = "default", **labels: str) -> dict[str, Any]:
    manifest = job(name)
    manifest["metadata"] |= {"namespace": namespace, "labels": labels}
    return manifest


async def suggested(browser: Browser, text: str) -> list[str]:
    answer = await browser.client.get("/jobs/labels", params={"label": text})
    assert answer.status_code == 200
    return [html.unescape(item) for item in re.findall(r'<option value="([^"]*)"', answer.text)]


async def test_keys_and_values_that_jobs_have_are_suggested_for_what_is_typed_last(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(
            labelled("first", team="a", tier="gold"), labelled("second", team="b", batch="7")
        )
        for text, expected in (
            ("", ["batch", "team", "tier"]),
            ("t", ["batch", "team", "tier"]),
            ("te", ["team"]),
            ("team=", ["team=a", "team=b"]),
            ("team=b", ["team=b"]),
            ("team==", ["team=a", "team=b"]),
            ("team=c", []),
            ("team=a, ti", ["team=a, tier"]),
            ("team=a,tier=", ["team=a, tier=gold"]),
            ("nobody=", []),
            ("%", []),
        ):
            assert await suggested(browser, text) == expected, text
        page = (await browser.get("/jobs")).text
        assert 'list="known-labels"' in page
        assert '<datalist id="known-labels">' in page


async def test_labels_of_other_namespaces_are_not_suggested(tmp_path: Path) -> None:
    async with console(tmp_path, ConsoleOptions(namespace="ours", new_jobs="ours")) as browser:
        await browser.submit(labelled("here", "ours", team="a"))
        from tests.unit.api.words import written

        await browser.app.submit(written(labelled("there", "theirs", team="secret", hidden="x")), "test")
        assert await suggested(browser, "") == ["team"]
        assert await suggested(browser, "team=") == ["team=a"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("", None, "")),
        ("te", ("", None, "te")),
        ("team = a", ("", "team", "a")),
        ("team=a,tier=g", ("team=a, ", "tier", "g")),
        ("team=a,  ti", ("team=a,  ", None, "ti")),
    ],
)
def test_the_last_label_is_what_is_being_typed(text: str, parts: tuple[str, str | None, str]) -> None:
    assert split(text) == parts
