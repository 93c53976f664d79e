"""Fields of a pod template that Kubernetes does not know: GX1 of T9k kinds, KX3 of PyTorchJobs.

An API server drops them without a word when a pod is made, so that `envs:` is a job without its environment. Only
warned of: a cluster may be newer than what is known here.
"""

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from statemachine.kinds.common.pod_fields import ROOT, TABLE
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.layout import Layout
from statemachine.schema.lookup import is_object

_MOST: Final = 10
"""As many as are reported of one template: after those nobody reads on."""

_SENTENCE: Final = "is no known field of a pod template, and Kubernetes ignores what it does not know"


def strange_fields(id_: str, layout: Layout) -> Rule:
    """The warning of fields that no pod template has."""

    def check(draft: Draft) -> Iterator[Notice]:
        for slot in layout.slots(draft.spec):
            yield from _strangers(slot.path.removesuffix(".spec"), slot.template)

    return Rule(
        id_,
        Layer.WARNING,
        says="a pod template has no field that Kubernetes does not know, such as `envs`",
        text=f'<path> {_SENTENCE}; did you mean "<field>"?',
        check=check,
        source="Kubernetes API reference, PodTemplateSpec v1 core; our own",
    )


@cache
def _types() -> Mapping[str, Mapping[str, str]]:
    """Type → field → type of what is in it, empty for plain values."""
    lines = TABLE.replace("\n  ", " ").splitlines()
    types = ((name, fields.split()) for name, _, fields in (line.partition(": ") for line in lines))
    return {name: dict(_field(field) for field in fields) for name, fields in types}


def _field(word: str) -> tuple[str, str]:
    name, _, type_ = word.partition(":")
    return name, type_


def _strangers(root: str, template: object) -> Iterator[Notice]:
    left = _MOST
    stack: list[tuple[str, object, str]] = [(root, template, ROOT)]
    while stack and left:
        path, value, type_ = stack.pop()
        known = _types().get(type_)
        if known is None:
            continue
        if isinstance(value, list):
            stack.extend((f"{path}[{at}]", item, type_) for at, item in reversed([*enumerate(value)]))
        elif is_object(value):
            for name in [field for field in value if field not in known][:left]:
                left -= 1
                yield Notice("UnknownPodField", f"{path}.{name:.60} {_SENTENCE}{_hint(name, known)}")
            inner = [(f"{path}.{key}", entry, known[key]) for key, entry in value.items() if known.get(key)]
            stack.extend(reversed(inner))


def _hint(name: str, known: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""
