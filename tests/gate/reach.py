"""What the product defines and does not use itself: code that nothing calls, or that only tests reach.

A name is used where the product reads it, passes it, or has it in a template or a string of identifiers, such as
`module:function`. Names are compared, not objects: of two functions of one name both are used where one is. What is
decorated with more than `PLAIN` belongs to a library, which calls it.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.gate.house import Module

PLAIN: Final = frozenset(
    {
        "abstractmethod",
        "answers",
        "asynccontextmanager",
        "cache",
        "cached_property",
        "classmethod",
        "contextmanager",
        "dataclass",
        "property",
        "runtime_checkable",
        "staticmethod",
    }
)
"""Decorators whose functions and classes still need somebody who uses them."""

OVERRIDES: Final = frozenset(
    {"capture_signals", "collect", "ignore_aliases", "iterate", "on_partitions_assigned"}
)
"""Methods that libraries call, because a class of theirs has them: uvicorn, prometheus_client, PyYAML, Faust and
aiokafka."""

_IDENTIFIERS: Final = re.compile(r"[\w.:\[\]]{1,400}")


def templates(root: Path) -> Iterator[str]:
    """The texts of the pages' templates."""
    for file in sorted((root / "jobledger").rglob("*.html")):
        yield file.read_text(encoding="utf-8")


def unused(product: Iterable[Module], texts: Iterable[str]) -> list[str]:
    """The functions and classes, as `module.name`, whose names the product and `texts` have nowhere else."""
    modules = list(product)
    names = {word for text in texts for word in re.findall(r"\w+", text)}
    names |= OVERRIDES | {name for module in modules for node in module.nodes for name in _used(node)}
    return [
        f"{module.name}.{node.name}"
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if node.name not in names and not node.name.startswith("__") and _decorators(node) <= PLAIN
    ]


def _used(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            return (name,)
        case ast.Constant(value=str(text)) if _IDENTIFIERS.fullmatch(text):
            return re.findall(r"\w+", text)
        case _:
            return ()


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[str]:
    called = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return {item.attr if isinstance(item, ast.Attribute) else ast.unparse(item) for item in called}
