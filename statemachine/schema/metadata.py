"""Names, namespaces, labels and annotations as an API server takes them: the part of G20 for metadata.

Source: spec R2, G20; Kubernetes, "Object Names and IDs", "Labels and Selectors".
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.ids import is_dns_label
from statemachine.schema.lookup import entries, is_object
from statemachine.schema.problems import shown

Found = tuple[str, str]
"""Path and sentence of something wrong."""

_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*")

_A_NAME: Final = "at most 63 letters, digits, '-', '_' and '.', a letter or digit first and last"
_A_DNS_LABEL: Final = "at most 63 lower-case letters, digits and '-', a letter or digit first and last"


def namespace_problem(text: str) -> str:
    """The sentence about a text that cannot be the name of a namespace."""
    return invalid(text, f"must be a DNS-1123 label: {_A_DNS_LABEL}")


def of_object(metadata: Mapping[str, Any]) -> Iterator[Found]:
    """What is wrong with namespace, labels and annotations of an object that is about to be stored.

    Texts in YAML that look like numbers are the most frequent mistake.
    """
    namespace = metadata.get("namespace")
    if isinstance(namespace, str) and namespace and not is_dns_label(namespace):
        yield "metadata.namespace", namespace_problem(namespace)
    for of in ("labels", "annotations"):
        given = metadata.get(of)
        if given is not None and not is_object(given):
            yield f"metadata.{of}", "must be an object"
            return
        for key, value in entries(metadata, of).items():
            if not isinstance(value, str):
                yield f"metadata.{of}.{key}", invalid(value, "must be a string; put it in quotes")
    yield from labels_and_annotations("metadata", metadata)


def is_name(text: str) -> bool:
    """The text can be the name of an object of most kinds: a DNS-1123 subdomain."""
    return _SUBDOMAIN.fullmatch(text) is not None


def labels_and_annotations(path: str, metadata: Mapping[str, Any]) -> Iterator[Found]:
    """Keys of labels and annotations, and the values of labels; that they are texts is a matter of types."""
    for key, value in entries(metadata, "labels").items():
        yield from _key(f"{path}.labels", key, key)
        if isinstance(value, str) and value and not _NAME.fullmatch(value):
            yield f"{path}.labels[{key}]", invalid(value, f"must be {_A_NAME}")
    for key in entries(metadata, "annotations"):
        # an API server reads the keys of annotations in lower case
        yield from _key(f"{path}.annotations", key, key.lower())


def _key(path: str, written: str, key: str) -> Iterator[Found]:
    prefix, slash, name = key.rpartition("/")
    good = not slash or _SUBDOMAIN.fullmatch(prefix) is not None
    if not good or not _NAME.fullmatch(name):
        yield path, invalid(written, f"a key must be {_A_NAME}; before it may stand a DNS name and '/'")


def invalid(value: object, allowed: str) -> str:
    """The sentence of an API server about a value that is not `allowed`."""
    return f"Invalid value: {shown(value)}: {allowed}"
