"""Flink's own parser reads the example in Flink SQL; it says of a mistake where it is."""

from pathlib import Path
from typing import Final

import pytest

from tests.harness.programs import HERE, built, output, run

pytestmark = pytest.mark.integration

PARSER: Final = HERE / "flink-sql"
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "consumers" / "flink.sql"


@pytest.fixture(autouse=True)
def fetched() -> None:
    """The parser is on this machine."""
    place, missing = built(PARSER)
    if place is None:
        pytest.skip(missing)


def test_flink_reads_the_example_as_a_table_and_a_query() -> None:
    assert output([str(PARSER), "parse", str(EXAMPLE)]).split() == ["SqlCreateTable", "SqlSelect"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("METADATA FROM 'headers' VIRTUAL", "METADATA OF 'headers' VIRTUAL"), ("WATERMARK FOR", "WATERMARK OF")],
)
def test_flink_refuses_an_example_with_a_mistake_and_says_where(
    tmp_path: Path, right: str, wrong: str
) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    (tmp_path / "wrong.sql").write_text(text.replace(right, wrong, 1), encoding="utf-8")
    line = text[: text.index(right)].count("\n") + 1
    done = run([str(PARSER), "parse", str(tmp_path / "wrong.sql")])
    assert done.returncode == 1
    assert f"at line {line}, column" in done.stderr
