"""What a RunEvent says beside its state: facets of OpenLineage by their published shapes, and two of our own. Pure.

Facets of our own have models, and so schemas (docs/schemas/lineage), which are frozen in `released/` and served by
the API. The version in their address is raised when one changes; within a major version fields are only added.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from projectors.contract.catalogue import VERSION
from projectors.contract.lineage.parents import ParentRun, Parents
from projectors.contract.model import parts
from projectors.contract.model.base import Count, Part
from projectors.published import Published, json_schema

PRODUCER: Final = f"https://jobledger.dev/contract/{VERSION}"
OWN_VERSION: Final = "1-0-0"

_OFFICIAL: Final = "https://openlineage.io/spec/facets"
_SOURCE: Final = "JOBLEDGER"

Facet = dict[str, Any]


class OwnFacet(Published):
    """Base of a facet of our own."""

    producer: Annotated[str, Field(alias="_producer")] = PRODUCER
    schema_url: Annotated[str, Field(alias="_schemaURL")]


class LedgerJob(OwnFacet):
    """The job, and the entry of the ledger that the RunEvent comes from."""

    kind: str
    """The kind in its canonical form."""
    uid: str
    seq: Annotated[int, Field(ge=1)]
    """Number of the entry in the life of its job."""
    entry_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of the entry as it is stored."""


class RestartOf(Part):
    """A restart that was granted."""

    replica: str
    cause: parts.Cause


class LedgerRestarts(OwnFacet):
    """The restarts of the job's replicas."""

    spent: Count
    limit: Count | None
    """None without limit."""
    causes: tuple[RestartOf, ...]
    """Of the restart that the RunEvent comes from: those of a run are in all its RunEvents together."""


OWN: Final[Mapping[str, type[OwnFacet]]] = {"jobledger_job": LedgerJob, "jobledger_restarts": LedgerRestarts}
"""Facet → its model."""


def own(name: str, **fields: Any) -> Facet:
    """A facet of our own."""
    return OWN[name](schema_url=_address(name), **fields).model_dump(by_alias=True, mode="json")


def own_schema(name: str) -> dict[str, Any]:
    """The JSON schema of a facet of our own."""
    made = json_schema(OWN[name], "validation")
    return {"$schema": made.pop("$schema"), "$id": _address(name), **made}


def _address(name: str) -> str:
    return f"https://jobledger.dev/contract/lineage/{OWN_VERSION}/{name}.json"


def job_type() -> Facet:
    """A job that ends, whose RunEvents have to be read together."""
    return {
        **_official("2-0-4", "JobTypeJobFacet"),
        "processingType": "BATCH",
        "integration": _SOURCE,
        "jobType": "TRAINING",
        "emissionPattern": {"eventTrigger": "EVENT_BASED", "eventContentMode": "ACCUMULATIVE"},
    }


def processing_engine(policy: int) -> Facet:
    """Who runs the job. `policy`: the version of the rules that decided the entry, the same in every release."""
    return {
        **_official("1-1-1", "ProcessingEngineRunFacet"),
        "name": "jobledger",
        "version": str(policy),
        "openlineageAdapterVersion": VERSION,
    }


def tags(labels: Mapping[str, str]) -> Facet:
    """The labels of the job that are published."""
    listed = [{"key": key, "value": value, "source": _SOURCE} for key, value in labels.items()]
    return {**_official("1-0-0", "TagsRunFacet"), "tags": listed}


def error_message(words: Sequence[str]) -> Facet:
    """Why the job failed."""
    message = ": ".join(filter(None, words))
    return {
        **_official("1-0-1", "ErrorMessageRunFacet"),
        "message": message,
        "programmingLanguage": "n/a",
    }


def parent(named: Parents) -> Facet | None:
    """The run that the job belongs to, and the one at the top; None: no parent is named."""
    if named.parent is None:
        return None
    root = {"root": _run(named.root)} if named.root else {}
    return {**_official("1-2-0", "ParentRunFacet"), **_run(named.parent), **root}


def _run(run: ParentRun) -> Facet:
    return {"run": {"runId": run.run}, "job": {"namespace": run.namespace, "name": run.job}}


def _official(version: str, name: str) -> Facet:
    return {"_producer": PRODUCER, "_schemaURL": f"{_OFFICIAL}/{version}/{name}.json#/$defs/{name}"}
