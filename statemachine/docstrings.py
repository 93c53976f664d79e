"""What is said below the fields of a class: the strings that Python itself does not keep.

pydantic could keep them (`use_attribute_docstrings`), but for that it reads the source of every model when it is
imported, whatever the command is. Only pages, help and generated files need them.
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent


@cache
def field_docs(declared: type) -> Mapping[str, str]:
    """The docstring of each field of the class that has one, its own or an inherited one, as one line."""
    docs: dict[str, str] = {}
    for base in reversed(declared.__mro__):
        docs |= _own(base) if "__annotations__" in vars(base) else {}
    return docs


def _own(declared: type) -> dict[str, str]:
    try:
        [statement] = ast.parse(dedent(inspect.getsource(declared))).body
    except (OSError, TypeError):  # made by a function, which gives it no source
        return {}
    body = statement.body if isinstance(statement, ast.ClassDef) else []
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }
