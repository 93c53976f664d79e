"""Tables as kubectl prints them."""

from collections.abc import Iterable, Sequence


def columns(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table: columns as wide as they must be, three blanks between them."""
    lines = [tuple(titles), *map(tuple, rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(titles))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
