"""The pages of a job for every kind that there is an example of: none of them knows the kinds."""

import asyncio
from pathlib import Path

import pytest

from jobledger.manifests import read
from statemachine.kinds import KINDS
from tests.unit.api.words import app_in_memory
from tests.unit.console.test_details_pages import browsing, text

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

PIECES = ("", "/history", "/history?at=1&axis=entries", "/replicas", "/monitoring", "/manifest", "/log")


def of_kind(kind: str) -> list[Path]:
    """The examples that hold a job of the kind, but none that is meant to be refused."""
    found = sorted(EXAMPLES.glob("*.yaml"))
    return [each for each in found if f"kind: {kind}\n" in each.read_text() and each.stem != "broken"]


CASES = [(kind.names.kind, path) for kind in KINDS for path in of_kind(kind.names.kind)]


@pytest.mark.parametrize(("kind", "example"), CASES, ids=[f"{kind}-{path.stem}" for kind, path in CASES])
async def test_every_page_of_every_example_is_there(kind: str, example: Path) -> None:
    async with app_in_memory() as app:
        manifests = read(example.read_bytes(), example.name).usable()
        await app.submit(manifests, "tests")
        (job,) = [each for each in await app.jobs() if each["kind"] == kind]
        meta = job["metadata"]

        for _ in range(100):  # not every kind begins at once, and its pages are there before
            if await app.records(meta["uid"]):
                break
            await asyncio.sleep(0.01)
        async with browsing(app) as client:
            for below in PIECES:
                page = await text(client, f"/jobs/{meta['namespace']}/{kind}/{meta['name']}{below}")
                assert meta["name"] in page
                assert "Traceback" not in page
