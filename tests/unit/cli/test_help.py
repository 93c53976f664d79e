"""What `--help` says: it can be shown for every verb, whatever its words look like to the library that colours it."""

import pytest

from jobledger.cli import GROUPS, run_command


@pytest.mark.parametrize("verb", [verb for verbs in GROUPS.values() for verb in verbs])
def test_the_help_of_every_verb_can_be_shown(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([verb, "--help"]) == 0
    assert f"jobledger {verb}" in capsys.readouterr().out
