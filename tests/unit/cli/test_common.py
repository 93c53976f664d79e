"""Tables, ages and spans as commands print them; and that the page of the command line says it all."""

from datetime import UTC, datetime, timedelta

import pytest
import typer

from jobledger.cli import GROUPS, build, common
from jobledger.generate.cli_page import cli_markdown
from jobledger.program.exit_codes import EXIT_CODES


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (42.9, "42s"),
        (60, "1m"),
        (432, "7m12s"),
        (11100, "3h5m"),
        (7200, "2h"),
        (777600, "9d"),
        (-5, "0s"),
    ],
)
def test_a_span_has_two_units_at_most(seconds: float, text: str) -> None:
    assert common.span(seconds) == text


def test_an_age_is_counted_from_an_rfc_3339_time() -> None:
    now = datetime(2024, 1, 9, 15, 0, tzinfo=UTC)
    assert common.age("2024-01-09T14:58:30Z", now) == "1m30s"
    assert common.age(now - timedelta(seconds=3), now) == "3s"
    assert common.age(None) == "-"


def test_columns_are_as_wide_as_they_must_be_and_end_without_blanks() -> None:
    assert common.columns(("A", "BB"), [("long", "x"), ("s", "")]) == "A      BB\nlong   x\ns"


def test_the_page_has_every_verb_and_every_exit_code() -> None:
    page = cli_markdown()
    for verb in (verb for verbs in GROUPS.values() for verb in verbs):
        assert f"### jobledger {verb}\n" in page
    for code in EXIT_CODES:
        assert f"| {code} | " in page


def test_every_verb_that_is_listed_exists_and_is_documented() -> None:
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    assert sorted(commands) == sorted(verb for verbs in GROUPS.values() for verb in verbs)
    assert [name for name, value in commands.items() if not value.help] == []


def test_a_known_verb_is_built_alone_so_that_it_starts_quickly() -> None:
    assert [command.name for command in build("get").registered_commands] == ["get"]
