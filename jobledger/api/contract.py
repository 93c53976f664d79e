"""`/v1/contract`: the AsyncAPI document, and the JSON schemas that the attribute `dataschema` of public events names.

Beside them are those that the `_schemaURL` of our facets in RunEvents of OpenLineage names.

Schemas come from the files that were frozen with every version and are part of the package, byte for byte, so a
reader of old events gets the schema of then. They name no job, and need no token. Why: ADR 0035.
"""

import json
from functools import lru_cache
from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from jobledger.api import models
from jobledger.web.guards import CONTRACT
from jobledger.web.problems import problem
from projectors.contract import asyncapi
from projectors.contract.catalogue import VERSION
from projectors.contract.lineage.facets import OWN, OWN_VERSION

MEDIA_TYPE: Final = "application/schema+json"

_A_DAY: Final = {"Cache-Control": "public, max-age=86400"}
"""For caches on the way. What was frozen does not change; a day lets mistakes of a proxy pass."""


def schemas(version: str) -> dict[str, bytes]:
    """Type → JSON schema, of the contract's `version`; empty if there is no such version."""
    folder = files("projectors.contract") / "released"
    if version not in {there.name for there in folder.iterdir() if there.is_dir()}:
        return {}
    there = (folder / version / "schemas").iterdir()
    return {path.name.removesuffix(".json"): path.read_bytes() for path in there}


def facets(version: str) -> dict[str, bytes]:
    """Facet of our own in RunEvents → JSON schema, of one `version` of them; empty if there is no such version."""
    folder = files("projectors.contract.lineage") / "released"
    if version not in {there.name for there in folder.iterdir() if there.is_dir()}:
        return {}
    return {path.name.removesuffix(".json"): path.read_bytes() for path in (folder / version).iterdir()}


@lru_cache(maxsize=1)
def asyncapi_json() -> bytes:
    """The AsyncAPI document, as it is served."""
    return json.dumps(asyncapi.document(), ensure_ascii=False).encode()


def routes() -> APIRouter:
    """`/v1/contract/asyncapi.json`, `/v1/contract/VERSION/NAME.json`, `/v1/contract/lineage/VERSION/FACET.json`."""
    router = APIRouter(prefix=CONTRACT.removesuffix("/"))
    kept: dict[str, dict[str, bytes]] = {}

    @router.get("/asyncapi.json", response_class=Response, **models.text(asyncapi.MEDIA_TYPE))
    def document() -> Response:
        """The contract of public events as an AsyncAPI document: channels, messages, examples."""
        return Response(asyncapi_json(), media_type=asyncapi.MEDIA_TYPE, headers=_A_DAY)

    @router.get("/lineage/{version}/{name}.json", response_class=Response, **models.text(MEDIA_TYPE))
    def facet(version: str, name: str) -> Response:
        """The JSON schema of a facet of our own in RunEvents of OpenLineage, which its `_schemaURL` names."""
        known = facets(version)
        if name not in known:
            sentence = (
                f'there is no facet "{name}" of version {version}; this server makes those of {OWN_VERSION}'
            )
            return problem(404, "no-schema", f"{sentence}: {', '.join(OWN)}")
        return Response(known[name], media_type=MEDIA_TYPE, headers=_A_DAY)

    @router.get("/{version}/{name}.json", response_class=Response, **models.text(MEDIA_TYPE))
    def schema(version: str, name: str) -> Response:
        """The JSON schema of the data of a type of public event, as a version of the contract has it."""
        known = kept.get(version) or schemas(version)
        if not known:
            sentence = f'the contract has no version "{version}"; this server has up to {VERSION}'
            return problem(404, "no-schema", sentence)
        kept[version] = known
        if name not in known:
            sentence = f'version {version} of the contract has no type "{name}"'
            return problem(404, "no-schema", f"{sentence}; `jobledger events schema` lists all")
        return Response(known[name], media_type=MEDIA_TYPE, headers=_A_DAY)

    return router
