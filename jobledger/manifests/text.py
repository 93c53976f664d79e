"""Plain values → YAML that Kubernetes reads back as the same values.

PyYAML leaves texts unquoted that other readers take for something else: `1e-4` is a number to kubectl, `y` and `on`
are booleans. Here everything is quoted that `scalars`, which reads as Kubernetes does, would not give back as text.
"""

from collections.abc import Iterable
from typing import Any, Final

import yaml

from jobledger.manifests.scalars import Odd, plain_scalar

_BASE: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_BASE):  # type: ignore[misc, valid-type]  # the class is chosen at import
    """Writes no aliases, and quotes what has to be quoted."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    """Lines as lines where that is possible; quotes where the text could be taken for something else."""
    if "\n" in text and all(line == line.rstrip() and line.isprintable() for line in text.split("\n")):
        return "|"
    try:
        return None if plain_scalar(text) == text else '"'
    except Odd:
        return '"'


_Dumper.add_representer(str, _text)


def to_yaml(documents: Iterable[Any]) -> str:
    """The documents, in their own order of fields, with `---` between them."""
    text: str = yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=1 << 20,
        default_flow_style=False,
    )
    return text
