"""What is said below the fields of a class: the strings that Python itself does not keep.

pydantic could keep them (`use_attribute_docstrings`), but for that it reads the source of every model when it is
imported, whatever the command is. Only pages, help and generated files need them.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise


@cache
def field_docs(declared: type) -> Mapping[str, str]:
    """The docstring of each field of the class that has one, its own or an inherited one, as one line."""
    docs: dict[str, str] = {}
    for base in reversed(declared.__mro__):
        if "__annotations__" in vars(base):
            docs |= _docs_of_module(base.__module__).get(base.__qualname__, {})
    return docs


@cache
def _docs_of_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """Those of all its classes, by qualified name: `inspect` would read the whole module for every one of them."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[name]))
    except (KeyError, OSError, TypeError):  # made by a program, which gives it no source
        return {}
    return {qualified: _own(declared) for qualified, declared in _classes(tree, "")}


def _classes(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.ClassDef):
            yield prefix + inner.name, inner
            yield from _classes(inner, f"{prefix}{inner.name}.")
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _classes(inner, f"{prefix}{inner.name}.<locals>.")
        elif isinstance(inner, ast.stmt):
            yield from _classes(inner, prefix)


def _own(declared: ast.ClassDef) -> Mapping[str, str]:
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(declared.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }
