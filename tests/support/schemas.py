"""Whether a status is what the structural schema of a CRD says: an API server would take away what is unknown."""

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator


def faults(value: Any, schema: dict[str, Any]) -> Iterator[str]:
    """Everything in `value` that an API server would refuse, or silently take away."""
    validator = Draft202012Validator(_closed(schema))
    return (f"{error.json_path}: {error.message}" for error in validator.iter_errors(value))


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with all unknown fields forbidden."""
    closed = dict(schema)
    if "properties" in schema:
        closed["properties"] = {name: _closed(part) for name, part in schema["properties"].items()}
        closed["additionalProperties"] = False
    if "items" in schema:
        closed["items"] = _closed(schema["items"])
    return closed
