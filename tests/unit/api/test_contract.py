"""`/v1/contract`: the AsyncAPI document, and the frozen schemas that `dataschema` of public events names."""

from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator

from projectors.contract.asyncapi import MEDIA_TYPE, document
from projectors.contract.catalogue import CATALOGUE
from projectors.contract.lineage import facets
from projectors.contract.lineage.facets import OWN
from tests.contract.released import facet_schemas, facet_versions, fixtures, versions
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


async def test_the_schema_of_a_facet_is_at_the_path_of_its_address(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for version in facet_versions():
            for name in facet_schemas(version):
                answer = await browser.client.get(f"/v1/contract/lineage/{version.name}/{name}.json")
                assert answer.content == (version / f"{name}.json").read_bytes()
                assert urlsplit(answer.json()["$id"]).path == f"/contract/lineage/{version.name}/{name}.json"
        for name in OWN:
            facet = facets.own(name, **_FIELDS[name])
            answer = await browser.client.get(f"/v1{urlsplit(facet['_schemaURL']).path}")
            Draft202012Validator(answer.json()).validate(facet)


_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "jobledger_job": {"kind": "PyTorchTrainingJob", "uid": "aaaa", "seq": 3, "entry_hash": "0" * 64},
    "jobledger_restarts": {"spent": 1, "limit": None, "causes": ()},
}


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
        ("lineage/9-9-9/jobledger_job.json", 'no facet "jobledger_job" of version 9-9-9'),
        ("lineage/1-0-0/other.json", "jobledger_job, jobledger_restarts"),
        ("lineage/%2e%2e/facets.json", "no facet"),
    ],
)
async def test_what_is_not_there_is_named(tmp_path: Path, path: str, sentence: str) -> None:
    async with console(tmp_path) as browser:
        answer = await browser.client.get(f"http://localhost/v1/contract/{path}")
        assert answer.status_code == 404
        assert sentence in answer.json()["detail"]
