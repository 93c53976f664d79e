"""`jobledger events export --format parquet` writes a table that others read, with all that the lines have."""

import json
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest

from jobledger.publishing import parquet
from projectors.contract.page import PublicEvent
from projectors.contract.table import COLUMNS, DATA, Kind, row
from statemachine.errors import ConfigError
from tests.contract.lives import events_of, recorded
from tests.unit.cli_offline.conftest import SECRET, Ask

EXAMPLE = Path(__file__).parents[3] / "examples" / "consumers" / "restarts.sql"


def some() -> list[PublicEvent]:
    return [event for life in list(recorded())[:20] for event in events_of(life)]


def test_the_table_has_what_the_lines_have(ask: Ask, tmp_path: Path) -> None:
    said = ask("events", "export", "--format", "parquet", "--to", tmp_path)
    ask("events", "export", "--to", tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_bytes().splitlines()]
    assert said == (0, f"{len(lines)} events in {tmp_path}\n", "")
    table = pyarrow.parquet.read_table(tmp_path / "events.parquet")
    rows = table.to_pylist(maps_as_pydicts="strict")
    attributes = [column for column in COLUMNS if not column.path]
    for line, kept in zip(lines, rows, strict=True):
        assert json.loads(kept[DATA]) == line["data"]
        for column in attributes:
            value = kept[column.name]
            if column.kind is Kind.INSTANT:
                value = value.isoformat(timespec="microseconds").replace("+00:00", "Z")
            assert value == line.get(column.name), column.name
        assert {column.name for column in attributes} >= line.keys() - {"data"}
        assert kept["job_uid"] == line["correlationid"]
        assert kept["entry_seq"] == line["data"]["entry"]["seq"]
    assert {kept["cause_exit_code"] for kept in rows if kept["cause_class"] == "ApplicationExit"} == {3, 7}
    assert table.schema.metadata[b"jobledger.contract"] == b"1.0"
    assert SECRET.encode() not in (tmp_path / "events.parquet").read_bytes()


def test_every_column_has_a_value_somewhere() -> None:
    """So each path means a field that events have."""
    rows = [row(event) for life in recorded() for event in events_of(life)]
    empty = {column.name for column in COLUMNS if all(kept[column.name] is None for kept in rows)}
    assert empty <= {"authid", "traceparent"}  # recorded without them


def test_memory_is_bounded_by_groups_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_MOST_ROWS", 100)
    events = some()
    with parquet.written(str(tmp_path / "a.parquet"), "prod-1") as write:
        for event in events:
            write(event)
    file = pyarrow.parquet.ParquetFile(tmp_path / "a.parquet")
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert sum(sizes) == len(events)
    assert max(sizes) == 100
    monkeypatch.setattr(parquet, "_MOST_BYTES", 1)
    with parquet.written(str(tmp_path / "b.parquet"), "prod-1") as write:
        write(events[0])
        write(events[1])
    assert pyarrow.parquet.ParquetFile(tmp_path / "b.parquet").num_row_groups == 2


def test_a_log_without_events_is_an_empty_table(ask: Ask, tmp_path: Path) -> None:
    ask("events", "export", "--format", "parquet", "--to", tmp_path / "a.parquet", "--since", "2100-01-01")
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert table.num_rows == 0
    assert table.column_names == [*(column.name for column in COLUMNS), DATA]


def test_a_file_gets_its_name_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("an older one")

    def interrupted() -> None:
        with parquet.written(str(path), "prod-1") as write:
            write(some()[0])
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert path.read_text() == "an older one"
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize(
    ("to", "words"), [("-", "needs a file or a directory"), ("no/a.parquet", "cannot be written")]
)
def test_a_place_where_no_table_can_be_is_one_sentence(ask: Ask, tmp_path: Path, to: str, words: str) -> None:
    said = ask("events", "export", "--format", "parquet", "--to", to if to == "-" else tmp_path / to)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert words in said.err


def test_without_pyarrow_a_sentence_says_what_to_install(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = ask("events", "export", "--format", "parquet", "--to", tmp_path)
    assert said.code == 2
    assert "install `jobledger[parquet]`" in said.err
    assert list(tmp_path.glob("events*")) == []
    with pytest.raises(ConfigError), parquet.written(str(tmp_path / "a"), "prod-1"):
        pass


def test_the_example_for_duckdb_counts_restarts(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("events", "export", "--format", "parquet", "--to", tmp_path)
    monkeypatch.chdir(tmp_path)
    rows = duckdb.execute(EXAMPLE.read_text()).fetchall()
    [[namespace, job, cause, code, restarts, nodes, last]] = rows
    assert (namespace, job, cause, code, restarts) == ("demo", "mnist", "ApplicationExit", 7, 1)
    assert nodes == 0
    assert last.endswith("Z")
