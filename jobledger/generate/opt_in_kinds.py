"""What is generated of what each opt-in kind declares: options, a component, the chart's values, their schema.

Values and schema are files written by hand in which each kind has its part, and nothing else is touched.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from pydantic.alias_generators import to_camel

from jobledger.generate.kind_pages import NOTE
from jobledger.settings.loading import explained, variable
from statemachine.docstrings import field_docs
from statemachine.errors import InvariantBroken
from statemachine.kind import Kind, OptInSettings
from statemachine.kinds import OPT_IN

OPTIONS: Final = "jobledger/cli/cluster/kind_options.py"
VALUES: Final = "deploy/helm/jobledger/values.yaml"
SCHEMA: Final = "deploy/helm/jobledger/values.schema.json"

_SHORT: Final = 80
"""Letters of a help text that is one line of Python."""

_PLACES: Final = "namespaces"
"""The one value that every opt-in kind has: in the chart a list, as the chart's own namespaces are."""

_PLACES_SAY: Final = (
    'Some of `namespaces`, or "*" for all of them. Empty: nowhere, without any right to them.'
)

_OF_VALUES: Final = re.compile(r"(?<=# ---- opt-in kinds, by `make generate`\n).*?(?=# ----\n)", re.DOTALL)
_OF_SCHEMA: Final = re.compile(
    r'(?:    "\w+": \{\n      "\$comment": "'
    + re.escape(NOTE)
    + r'",\n.*?\n    \},\n)*(?=    "settings": \{\n)',
    re.DOTALL,
)
_COMPONENT: Final = """\
# {note}
# {kind}s ({group}) in all namespaces: rights, and the setting that switches them on. For an overlay with one process,
# in clusters where nobody else looks after them. The CRD is in crds/opt-in/, for where it is not installed yet.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources:
- rights.yaml
patches:
- target:
    kind: Deployment
    name: jobledger
  patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: jobledger
    spec:
      template:
        spec:
          containers:
          - name: jobledger
            env:
            - name: {variable}
              value: "*"
"""


def options() -> str:
    """The options of `jobledger controller`, for those who cannot wait until the kinds are imported."""
    return "\n".join([
        '"""The options that switch on opt-in kinds, and their help: to import the kinds takes longer.',
        "",
        NOTE,
        '"""',
        "",
        "from typing import Final",
        "",
        "KIND_OPTIONS: Final = {",
        *(line for kind, _ in OPT_IN for line in _option(kind.names.plural)),
        "}",
        '"""Help by the plural of a kind, which is the name of its settings, too."""',
        "",
    ])  # fmt: skip


def _option(plural: str) -> Iterator[str]:
    about = explained(f"{plural}.{_PLACES}")
    if len(about) < _SHORT:
        yield f'    "{plural}": {json.dumps(about)},'
        return
    yield f'    "{plural}": ('
    *lines, last = wrap(about, 100)
    yield from (f"        {json.dumps(f'{line} ')}" for line in lines)
    yield f"        {json.dumps(last)}"
    yield "    ),"


def component(kind: Kind) -> str:
    """The kustomize component that switches the kind on."""
    names = kind.names
    switch = variable(f"{names.plural}.{_PLACES}")
    return _COMPONENT.format(note=NOTE, kind=names.kind, group=names.group, variable=switch)


def values(root: Path) -> str:
    """The chart's values, with those of every opt-in kind."""
    return _with(_OF_VALUES, root / VALUES, "".join(f"{line}\n" for line in _values()))


def _values() -> Iterator[str]:
    for kind, declared in OPT_IN:
        yield from _comment(declared.__doc__ or "", "")
        yield f"{kind.names.plural}:"
        for name, field in declared.model_fields.items():
            yield from _comment(_PLACES_SAY if name == _PLACES else field_docs(declared).get(name, ""), "  ")
            yield f"  {to_camel(name)}: {json.dumps([] if name == _PLACES else field.default)}"


def _comment(text: str, indent: str) -> Iterator[str]:
    yield from (f"{indent}# {line}" for line in wrap(" ".join(text.split()), 118 - len(indent)))


def schema(root: Path) -> str:
    """The schema of the chart's values, with those of every opt-in kind."""
    return _with(_OF_SCHEMA, root / SCHEMA, "".join(map(_schema_of, OPT_IN)))


def _schema_of(pair: tuple[Kind, type[OptInSettings]]) -> str:
    """One line for each value, as the rest of the file has it."""
    kind, declared = pair
    known = declared.model_json_schema()["properties"]
    lines = [
        f"        {json.dumps(to_camel(name))}: {json.dumps(_value(name, known[name]))}" for name in known
    ]
    return "\n".join([
        f"    {json.dumps(kind.names.plural)}: {{",
        f'      "$comment": {json.dumps(NOTE)},',
        '      "type": "object",',
        '      "additionalProperties": false,',
        '      "properties": {',
        ",\n".join(lines),
        "      }",
        "    },",
        "",
    ])  # fmt: skip


def _value(name: str, known: dict[str, Any]) -> dict[str, Any]:
    if name == _PLACES:
        return {"$ref": "#/$defs/places"}
    return {key: value for key, value in known.items() if key not in ("title", "default", "description")}


def _with(part: re.Pattern[str], path: Path, made: str) -> str:
    """The text of the file with `made` in the place of the part. Raises InvariantBroken: it has no such place."""
    text = path.read_text(encoding="utf-8")
    match = part.search(text)
    if match is None:
        raise InvariantBroken(f"{path} has lost the place of the opt-in kinds")
    return text[: match.start()] + made + text[match.end() :]
