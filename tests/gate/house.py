"""The measures of the house: sizes of packages, modules and functions, imports, and words that should be others.

They show where a change went, beside those of another revision. Only the words are a limit: `test_house.py`
wants none of them.
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from tests.gate.changed import ROOT
from tests.gate.checkout import NoRevision, checkout

PRODUCT: Final = ("statemachine", "k8s_bridge", "projectors", "jobledger")

LONG_FUNCTION: Final = 60
LONG_MODULE: Final = 300
TOP: Final = 10
"""Modules whose imports are shown: those that know most others."""

NAMES: Final = ("each", "found", "seen", "to" + "ld")
"""Names that say nothing of what they stand for."""

PHRASES: Final = (
    "who" + "ever",
    "not" + "iced",
    "men" + "ded",
    "to" + "ld",
    "looked " + "after",
    "let go " + "of",
)
"""Words that the field has better ones for; put together, so that this module has none of them."""

PARTS: Final = frozenset({"found", "seen"} | {phrase for phrase in PHRASES if " " not in phrase})
"""Those of them, and of `NAMES`, that no name of a test has among its words."""

FOLDERS: Final = ("compose", "deploy", "docs", "examples", "jobledger")
SUFFIXES: Final = frozenset({".css", ".html", ".js", ".json", ".md", ".sh", ".toml", ".tpl", ".yaml"})
"""Where sentences stand that are in no module."""

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)

Measures = Mapping[str, int]
"""What is measured → how much there is of it."""


@dataclass(frozen=True)
class Module:
    """A Python module of a tree."""

    name: str
    text: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of its syntax tree."""
        return list(ast.walk(ast.parse(self.text)))

    @property
    def package(self) -> str:
        """The package at the root that it is in."""
        return self.name.partition(".")[0]

    @property
    def lines(self) -> int:
        """Lines of it, blank ones included."""
        return self.text.count("\n")


def modules(root: Path, packages: Iterable[str]) -> Iterator[Module]:
    """The modules of `packages` in the tree at `root`."""
    for package in packages:
        for file in sorted((root / package).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            parts = file.relative_to(root).with_suffix("").parts
            yield Module(".".join(part for part in parts if part != "__init__"), text)


def page_texts(root: Path) -> Iterator[str]:
    """The texts of the tree at `root` that people read beside modules: pages, templates, manifests, examples."""
    files = (path for folder in FOLDERS for path in sorted((root / folder).rglob("*")))
    for file in (*sorted(root.glob("*.md")), root / "Makefile", root / "Dockerfile", *files):
        if file.is_file() and (file.suffix in SUFFIXES or not file.suffix):
            yield file.read_text(encoding="utf-8")


@dataclass(frozen=True)
class House:
    """The numbers of a tree, in the order in which they are shown; and for every module how many it imports."""

    numbers: Measures
    imports: Measures


def measured(root: Path) -> House:
    """The measures of the tree at `root`."""
    product = list(modules(root, PRODUCT))
    return House(_numbers(root, product), _imports(product))


def _numbers(root: Path, product: list[Module]) -> Measures:
    return {
        **_sizes([*product, *modules(root, ("tests",))]),
        f"functions over {LONG_FUNCTION} lines": sum(map(_long_functions, product)),
        f"modules over {LONG_MODULE} lines": sum(module.lines > LONG_MODULE for module in product),
        "class names declared twice or more": len(repeated_classes(product)),
        "import contracts": _contracts(root),
        **{f"variables named {name}": number for name, number in bound_names(product).items()},
        "tests named with such words": len(worded_tests(modules(root, ("tests",)))),
        **{f'"{phrase}" in text': number for phrase, number in phrases(product, page_texts(root)).items()},
    }


def _sizes(there: Iterable[Module]) -> Measures:
    lines, count = Counter[str](), Counter[str]()
    for module in there:
        lines[module.package] += module.lines
        count[module.package] += 1
    return {
        f"{what} in {package}": numbers[package]
        for package in (*PRODUCT, "tests")
        for what, numbers in (("lines", lines), ("modules", count))
    }


def _long_functions(module: Module) -> int:
    functions = (node for node in module.nodes if isinstance(node, FUNCTIONS))
    return sum((node.end_lineno or node.lineno) - node.lineno >= LONG_FUNCTION for node in functions)


def repeated_classes(there: Iterable[Module]) -> list[str]:
    """Names that more than one class has."""
    names = Counter(node.name for module in there for node in module.nodes if isinstance(node, ast.ClassDef))
    return sorted(name for name, number in names.items() if number > 1)


def bound_names(there: Iterable[Module]) -> Measures:
    """How often a variable or parameter gets one of `NAMES`."""
    bound = Counter(name for module in there for node in module.nodes for name in _bound(node))
    return {name: bound[name] for name in NAMES}


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case _:
            pass


def worded_tests(there: Iterable[Module]) -> list[str]:
    """The names of tests that have one of `PARTS` among their words."""
    functions = (node for module in there for node in module.nodes if isinstance(node, FUNCTIONS))
    names = (node.name for node in functions if node.name.startswith("test_"))
    return sorted(name for name in names if PARTS & {*name.split("_")})


def phrases(there: Iterable[Module], pages: Iterable[str]) -> Measures:
    """How often code, comments and pages have one of `PHRASES`, in any case and also broken at the end of a line."""
    texts = [" ".join(text.lower().split()) for text in (*(module.text for module in there), *pages)]
    return {phrase: sum(len(re.findall(rf"\b{phrase}\b", text)) for text in texts) for phrase in PHRASES}


def _contracts(root: Path) -> int:
    with (root / "pyproject.toml").open("rb") as file:
        return len(tomllib.load(file)["tool"]["importlinter"]["contracts"])


def imported(module: Module, known: set[str]) -> set[str]:
    """The modules of `known` that a module imports."""
    names = set[str]()
    for node in module.nodes:
        match node:
            case ast.Import(names=aliases):
                names.update(alias.name for alias in aliases)
            case ast.ImportFrom(module=str(source), level=0, names=aliases):
                inner = {f"{source}.{alias.name}" for alias in aliases}
                names |= inner & known or {source}
            case _:
                pass
    return names & known - {module.name}


def _imports(product: list[Module]) -> Measures:
    known = {module.name for module in product}
    return {f"imports of {module.name}": len(imported(module, known)) for module in product}


def compare(revision: str = "") -> int:
    """Prints the measures of this tree, beside those of `revision`; 0, or 2 if git does not know it."""
    now = measured(ROOT)
    if not revision:
        print("\n".join(table(("now", now))))
        return 0
    try:
        with checkout(revision) as tree:
            before = measured(tree)
    except NoRevision:
        return 2
    print("\n".join(table((revision, before), ("now", now))))
    return 0


def table(*columns: tuple[str, House]) -> Iterator[str]:
    """A line a measure, a column a tree; of two trees also the difference. What a tree has not is a dash.

    Of imports there are the modules that import most, in one tree or the other.
    """
    names = dict.fromkeys(
        name for _, house in reversed(columns) for name in (*house.numbers, *_widest(house))
    )
    wide = max(map(len, names))
    yield " ".join(["measure".ljust(wide), *(f"{head:>12.12}" for head, _ in columns)])
    for name in names:
        values = [{**house.numbers, **house.imports}.get(name) for _, house in columns]
        cells = [f"{'-' if value is None else value:>12}" for value in values]
        match values:
            case [int(old), int(new)] if old != new:
                cells.append(f"{new - old:>+8}")
        yield " ".join([name.ljust(wide), *cells])


def _widest(house: House) -> list[str]:
    return [name for name, _ in Counter(house.imports).most_common(TOP)]
