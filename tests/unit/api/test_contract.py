"""`/v1/contract`: the AsyncAPI document, and the frozen schemas that `dataschema` of public events names."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator

from projectors.contract.asyncapi import MEDIA_TYPE, document
from projectors.contract.catalogue import CATALOGUE
from tests.contract.released import fixtures, versions
from tests.unit.console.words import console


async def test_the_schema_of_every_frozen_event_is_at_the_path_of_its_dataschema(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for version in versions():
            for fixture in fixtures(version):
                path = urlsplit(fixture.event["dataschema"]).path
                answer = await browser.client.get(f"/v1{path}")
                assert answer.status_code == 200, path
                assert answer.headers["content-type"] == "application/schema+json"
                assert answer.content == (version / "schemas" / Path(path).name).read_bytes()
                assert answer.json()["$id"] == fixture.event["dataschema"]
                Draft202012Validator(answer.json()).validate(fixture.event["data"])


async def test_every_type_of_this_release_is_served(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for public_type in CATALOGUE:
            answer = await browser.client.get(f"/v1{urlsplit(public_type.schema).path}")
            assert answer.json()["title"] == public_type.name


async def test_the_asyncapi_document_is_served(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        answer = await browser.client.get("/v1/contract/asyncapi.json")
        assert answer.headers["content-type"] == MEDIA_TYPE
        assert answer.json() == document()


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("9.9/job.failed.json", 'the contract has no version "9.9"; this server has up to 1.0'),
        ("1.0/job.no.json", 'version 1.0 of the contract has no type "job.no"; '),
        ("../job.failed.json", "is nothing that this server knows"),
        ("%2e%2e/job.failed.json", "no version"),
        ("1.0/..%2fcatalogue.json", "is nothing that this server knows"),
        ("1.0/catalogue.json", 'no type "catalogue"'),
    ],
)
async def test_what_is_not_there_is_named(tmp_path: Path, path: str, sentence: str) -> None:
    async with console(tmp_path) as browser:
        answer = await browser.client.get(f"http://localhost/v1/contract/{path}")
        assert answer.status_code == 404
        assert sentence in answer.json()["detail"]
