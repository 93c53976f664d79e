"""Public events in a Parquet file: the table of `projectors.contract.table`, written in groups of rows.

The one module that imports pyarrow, which is the extra `parquet`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from jobledger.publishing.files import replaced
from projectors.contract.catalogue import VERSION
from projectors.contract.page import PublicEvent
from projectors.contract.table import COLUMNS, DATA, Kind, Row, row
from statemachine.errors import ConfigError

NAME: Final = "events.parquet"
"""Of the file that an export makes in a directory."""

_MOST_ROWS: Final = 10_000
_MOST_BYTES: Final = 16 * 2**20
"""Of data in a group of rows: no more than a group is ever in memory."""


@contextmanager
def written(place: str, ledger: str) -> Iterator[Callable[[PublicEvent], None]]:
    """Takes events for the file, or the directory, at `place`, which gets its name when it is complete.

    Raises ConfigError: pyarrow is not installed, or the file cannot be written.
    """
    if place == "-":
        raise ConfigError("--format parquet needs a file or a directory: standard output cannot be one")
    path = Path(place) / NAME if Path(place).is_dir() else Path(place)
    arrow, parquet = _pyarrow()
    schema = _schema(arrow, ledger)
    with replaced(path) as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        group = _Group(lambda rows: writer.write_table(arrow.Table.from_pylist(rows, schema=schema)))
        yield group.add
        group.flush()


class _Group:
    """Rows on their way into the file."""

    def __init__(self, write: Callable[[list[Row]], object]) -> None:
        self._write = write
        self._rows: list[Row] = []
        self._size = 0

    def add(self, event: PublicEvent) -> None:
        self._rows.append(row(event))
        self._size += len(event.data)
        if len(self._rows) >= _MOST_ROWS or self._size >= _MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._write(self._rows)
        self._rows, self._size = [], 0


def _schema(arrow: Any, ledger: str) -> Any:
    types = {
        Kind.TEXT: arrow.string(),
        Kind.INTEGER: arrow.int64(),
        Kind.INSTANT: arrow.timestamp("us", tz="UTC"),
        Kind.LABELS: arrow.map_(arrow.string(), arrow.string()),
    }
    fields = [arrow.field(column.name, types[column.kind]) for column in COLUMNS]
    metadata = {"jobledger.ledger": ledger, "jobledger.contract": VERSION}
    return arrow.schema([*fields, arrow.field(DATA, arrow.string())], metadata=metadata)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ConfigError(
            "pyarrow is not installed; install `jobledger[parquet]` to export to Parquet"
        ) from None
    return pyarrow, pyarrow.parquet
