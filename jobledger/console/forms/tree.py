"""What a form consists of: fields, groups of them, and groups that may be repeated. Data for the templates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Control = Literal["text", "number", "switch", "select", "words", "yaml"]


@dataclass(slots=True)
class Field:
    """One input. `path` is the field's in the manifest, and the input's name; `offered` names its choices."""

    path: str
    label: str
    control: Control = "text"
    value: str = ""
    help: str = ""
    choices: Sequence[str] = ()
    required: bool = False
    placeholder: str = ""
    offered: str = ""
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
    """Fields that belong together. With a `switch` the others matter only while that is on."""

    path: str
    label: str
    help: str = ""
    switch: Field | None = None
    children: "list[Field | Group | Many]" = field(default_factory=list)
    folded: bool = False
    removable: bool = False
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


def place(root: Group, problems: Sequence[tuple[str, str]]) -> list[str]:
    """Each problem (path and text) is written to the node nearest to its path; those without one are returned."""
    known = {each.path: each for each in nodes(root)}
    left = []
    for path, text in problems:
        found = next((known[above] for above in _upwards(path) if above in known), None)
        if found is None or found is root:
            left.append(f"{path}: {text}" if path else text)
            continue
        exact = found.path == path
        found.errors.append(text if exact else f"{path}: {text}")
        if isinstance(found, Group):
            found.folded = False
    _unfold(root)
    return left


def _unfold(node: Node) -> bool:
    """Groups with an error somewhere inside are open. True if there is one."""
    if isinstance(node, Field):
        return bool(node.errors)
    inside = node.groups if isinstance(node, Many) else [node.switch, *node.children]
    wrong = [_unfold(each) for each in inside if each is not None]
    found = any(wrong) or bool(node.errors)
    if found and isinstance(node, Group):
        node.folded = False
    return found


def _upwards(path: str) -> Iterator[str]:
    """The path, then each one above it."""
    while path:
        yield path
        cut = max(path.rfind("."), path.rfind("["))
        path = path[:cut] if cut > 0 else ""
