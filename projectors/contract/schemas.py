"""The JSON schemas of the data of public events: draft 2020-12, open for readers or closed for registries."""

from typing import Any

from projectors.contract.catalogue import PublicType
from projectors.published import json_schema


def schema(public_type: PublicType, *, closed: bool = False) -> dict[str, Any]:
    """The schema of a type's data. Open: readers pass over what they do not know.

    Closed, no other property is allowed: registries take a new one there for what it is, compatible.
    """
    made = plain(json_schema(public_type.model, "validation"), closed=closed)
    return {"$schema": made.pop("$schema"), "$id": public_type.schema, "title": public_type.name, **made}


def plain(tree: Any, *, closed: bool = False) -> Any:
    """Without titles, which only repeat the names of fields."""
    if isinstance(tree, list):
        return [plain(item, closed=closed) for item in tree]
    if not isinstance(tree, dict):
        return tree
    shut = {"additionalProperties": False} if closed and "properties" in tree else {}
    kept = {key: value for key, value in tree.items() if not (key == "title" and isinstance(value, str))}
    return {key: plain(value, closed=closed) for key, value in kept.items()} | shut
