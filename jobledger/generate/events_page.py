"""`docs/events.md`: guarantees by hand, the catalogue of public events with an example of each from the contract."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from jobledger.generate.kind_pages import NOTE, table
from projectors.contract.catalogue import CATALOGUE, PARTLY, PRIVATE, RESERVED, VERSION, PublicType
from projectors.contract.schemas import schema
from projectors.contract.table import COLUMNS, DATA

INTRO: Final = "docs/_events.intro.md"
_COMMON: Final = frozenset({"entry", "job", "truncated"})
_RELEASED: Final = f"projectors/contract/released/{VERSION}/fixtures"


def events_page(root: Path) -> str:
    """The whole page, with what is hand-written in the checkout at `root`."""
    intro = (root / INTRO).read_text(encoding="utf-8").strip()
    return "\n".join([
        "# Public events",
        "",
        f"<!-- {NOTE} The introduction is in {Path(INTRO).name}. -->",
        "",
        intro,
        "",
        *_columns(),
        f"## Catalogue, version {VERSION}",
        "",
        *table(["type", "severity", "when", "internal event"], map(_row, CATALOGUE)),
        "",
        *_private(),
        *(line for public_type in CATALOGUE for line in _section(public_type, root)),
    ])  # fmt: skip


def _row(public_type: PublicType) -> list[str]:
    name, raised = public_type.name, f"; {public_type.raised}" if public_type.raised else ""
    link = f"[`{name}`](#{name.replace('.', '')})"
    anchors = ", ".join(f"`{anchor}`" for anchor in public_type.anchors)
    return [link, f"{public_type.severity.name}{raised}", _says(public_type), anchors]


def _says(public_type: PublicType) -> str:
    return " ".join((public_type.model.__doc__ or "").split())


def _columns() -> Iterator[str]:
    yield "## Columns of the Parquet table"
    yield ""
    yield f"One row an event; `{DATA}` has its whole data as JSON text. What an event does not have is null."
    yield ""
    rows = [
        [
            f"`{column.name}`",
            column.kind.value,
            f"data `{'.'.join(column.path)}`" if column.path else "attribute",
        ]
        for column in COLUMNS
    ]
    yield from table(["column", "type", "from"], rows)
    yield ""


def _private() -> Iterator[str]:
    yield "What becomes of the rest:"
    yield ""
    rows = [[f"`{name}`", fate] for name, fate in {**PRIVATE, **PARTLY}.items()]
    yield from table(["internal event", "fate"], rows)
    yield ""
    reserved = ", ".join(f"`{name}` ({says})" for name, says in RESERVED.items())
    yield f"Reserved for later, and in no schema: {reserved}. In `plan`: `scheduler`, `queue`, `priority`."
    yield ""


def _section(public_type: PublicType, root: Path) -> Iterator[str]:
    yield f"### {public_type.name}"
    yield ""
    yield _says(public_type)
    yield ""
    properties = schema(public_type)["properties"]
    own = [name for name in properties if name not in _COMMON]
    names = ", ".join(f"`{name}`" for name in own) or "nothing"
    yield f"Beside `job` and `entry` its data has: {names}. [Schema](schemas/contract/{public_type.name}.json)."
    yield ""
    yield "```json"
    yield json.dumps(_example(public_type, root), indent=1, ensure_ascii=False)
    yield "```"
    yield ""


def _example(public_type: PublicType, root: Path) -> dict[str, Any]:
    lines = (root / _RELEASED / f"{public_type.name}.jsonl").read_text(encoding="utf-8").splitlines()
    event: dict[str, Any] = json.loads(lines[0])["event"]
    return event
