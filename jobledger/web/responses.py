"""The forms in which data leaves over HTTP: JSON and YAML, secrets taken out of both, no matter who made the data.

Routes return plain data, and the application makes a `RedactedResponse` of it (its default response class); no route
has to think of secrets. What a replica writes, and what the caller has just sent, goes back as it is.
"""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from jobledger.manifests.text import to_yaml
from statemachine.redact import redacted


class RedactedResponse(JSONResponse):
    """Plain data as JSON, without secrets."""

    def render(self, content: Any) -> bytes:
        """See JSONResponse."""
        return super().render(redacted(content))


def line_of(value: Any) -> str:
    """Plain data as a line of JSON, without secrets: what streams are made of."""
    return json.dumps(redacted(value))


def yaml_of(job: Mapping[str, Any]) -> str:
    """A job object as YAML, without secrets."""
    return to_yaml([redacted(job)])


def yaml_answer(job: Mapping[str, Any], headers: Mapping[str, str], *, download: str = "") -> Response:
    """A job object as YAML; with the name of a `download` for the disk."""
    named = {"Content-Disposition": f'attachment; filename="{download}.yaml"'} if download else {}
    return Response(yaml_of(job), media_type="application/yaml", headers={**headers, **named})
