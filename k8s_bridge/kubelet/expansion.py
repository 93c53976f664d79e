"""`$(NAME)` in commands, arguments and environment values, as the kubelet expands it. Pure."""

from collections.abc import Mapping


def expanded(text: str, values: Mapping[str, str]) -> str:
    """`text` with every `$(NAME)` that `values` knows replaced.

    An unknown name, and a `$` without a complete `(NAME)` behind it, stay; `$$` stands for one `$`, which
    begins no reference. Source: Kubernetes, third_party/forked/golang/expansion.
    """
    parts: list[str] = []
    at = 0
    while (start := text.find("$", at)) >= 0:
        parts.append(text[at:start])
        piece, at = _reference(text, start, values)
        parts.append(piece)
    parts.append(text[at:])
    return "".join(parts)


def _reference(text: str, at: int, values: Mapping[str, str]) -> tuple[str, int]:
    """The text for the `$` at `at`, and where to go on."""
    following = text[at + 1 : at + 2]
    if following == "$":
        return "$", at + 2
    if following == "(" and (end := text.find(")", at)) >= 0:
        name = text[at + 2 : end]
        return values.get(name, f"$({name})"), end + 1
    return "$", at + 1
