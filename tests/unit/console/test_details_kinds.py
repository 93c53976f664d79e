"""The pages of a job for every kind that there is an example of: none of them knows the kinds."""

from pathlib import Path

import pytest

from jobledger.manifests import read
from statemachine.kinds import KINDS
from tests.support.examples import examples_of
from tests.unit.api.words import app_in_memory, until
from tests.unit.console.test_details_pages import browsing, text

PIECES = ("", "/history", "/history?at=1&axis=entries", "/replicas", "/monitoring", "/manifest", "/log")


CASES = [(kind.names.kind, path) for kind in KINDS for path in examples_of(kind)]


@pytest.mark.parametrize(("kind", "example"), CASES, ids=[f"{kind}-{path.stem}" for kind, path in CASES])
async def test_every_page_of_every_example_is_there(kind: str, example: Path) -> None:
    async with app_in_memory() as app:
        manifests = read(example.read_bytes(), example.name).usable()
        await app.submit(manifests, "tests")
        (job,) = [job for job in await app.jobs() if job["kind"] == kind]
        meta = job["metadata"]

        await until(lambda: app.records(meta["uid"]))  # its pages are there before, and have less in them
        async with browsing(app) as client:
            for below in PIECES:
                page = await text(client, f"/jobs/{meta['namespace']}/{kind}/{meta['name']}{below}")
                assert meta["name"] in page
                assert "Traceback" not in page
