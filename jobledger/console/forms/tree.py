"""What a form consists of: fields, groups of them, and groups that may be repeated. Data for the templates."""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Control = Literal["text", "number", "switch", "select", "words", "yaml"]

_KEY: Final = re.compile(r"\[([^]0-9][^]]*)\]")
"""A key of a map as rules write it: `limits[cpu]`; the form's own paths are `limits.cpu`."""

_OVER_LIMIT: Final = re.compile(r"must be less than or equal to (\S+) limit of ")
"""How rule G6, which names all requests in its path, says which of them is above its limit."""


@dataclass(slots=True)
class Field:
    """One input. `path` is the field's in the manifest, and the input's name; `offered` names its choices.

    While a switch that is `needed` is off, a group that `needs` it is of no use. `places` are the paths of the
    manifest that the input stands for where its own path is none of them.
    """

    path: str
    label: str
    control: Control = "text"
    value: str = ""
    help: str = ""
    choices: Sequence[str] = ()
    required: bool = False
    placeholder: str = ""
    offered: str = ""
    needed: bool = False
    places: Sequence[str] = ()
    errors: list[str] = field(default_factory=list)

    @property
    def on(self) -> bool:
        """A switch that is on."""
        return self.value == "on"

    @property
    def id(self) -> str:
        """The element's id; the same for the same path in every rendering."""
        return f"f-{self.path}"


@dataclass(slots=True)
class Group:
    """Fields that belong together. With a `switch` the others matter only while that is on; `needs`: see Field."""

    path: str
    label: str
    help: str = ""
    switch: Field | None = None
    children: "list[Field | Group | Many]" = field(default_factory=list)
    folded: bool = False
    removable: bool = False
    needs: bool = False
    errors: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """See Field."""
        return f"g-{self.path}"


@dataclass(slots=True)
class Many:
    """Groups that are alike, and a button for one more."""

    path: str
    label: str
    help: str = ""
    groups: list[Group] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """See Field."""
        return f"m-{self.path}"


Node = Field | Group | Many


def nodes(root: Node) -> Iterator[Node]:
    """The node and everything in it."""
    yield root
    if isinstance(root, Group):
        if root.switch is not None:
            yield root.switch
        for child in root.children:
            yield from nodes(child)
    elif isinstance(root, Many):
        for group in root.groups:
            yield from nodes(group)


def place(
    root: Group, problems: Sequence[tuple[str, str]], touched: Container[str] | None = None
) -> tuple[int, list[str]]:
    """How many problems (path and text) are shown, and those of them for which there is no node.

    Every other one is written to the node nearest to its path. With `touched`, only problems of exactly these inputs
    are shown: the user is still typing.
    """
    known: dict[str, Node] = {}
    for node in nodes(root):
        for path in (node.path, *(node.places if isinstance(node, Field) else ())):
            known[_dotted(path)] = node
    shown, left = 0, []
    for path, text in problems:
        meant = _dotted(_exact(path, text))
        at = next((above for above in _upwards(meant) if above in known), "")
        node = known.get(at, root)
        if touched is not None and (at != meant or node.path not in touched):
            continue
        shown += 1
        if node is root:
            left.append(f"{path}: {text}" if path else text)
            continue
        sentence = text if at == meant else f"{path}: {text}"
        if sentence not in node.errors:  # an input may stand for several places
            node.errors.append(sentence)
        if isinstance(node, Group):
            node.folded = False
    _unfold(root)
    return shown, left


def _dotted(path: str) -> str:
    return _KEY.sub(r".\1", path)


def _exact(path: str, text: str) -> str:
    """The path of the one request that is above its limit."""
    over = _OVER_LIMIT.search(text)
    return f"{path}.{over[1]}" if over and path.endswith(".requests") else path


def _unfold(node: Node) -> bool:
    """Groups with an error somewhere inside are open. True if there is one."""
    if isinstance(node, Field):
        return bool(node.errors)
    inside = node.groups if isinstance(node, Many) else [node.switch, *node.children]
    wrong = [_unfold(child) for child in inside if child is not None]
    unfolded = any(wrong) or bool(node.errors)
    if unfolded and isinstance(node, Group):
        node.folded = False
    return unfolded


def _upwards(path: str) -> Iterator[str]:
    """The path, then each one above it."""
    while path:
        yield path
        cut = max(path.rfind("."), path.rfind("["))
        path = path[:cut] if cut > 0 else ""
