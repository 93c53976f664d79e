"""What `--help` says: it can be shown for every verb, whatever its words look like to the library that colours it."""

import inspect
from typing import Any

import pytest
import typer

from jobledger import plugin
from jobledger.cli import GROUPS, build, run_command
from tests.harness.program import run


@pytest.mark.parametrize("verb", [verb for verbs in GROUPS.values() for verb in verbs])
def test_the_help_of_every_verb_can_be_shown(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([verb, "--help"]) == 0
    assert f"jobledger {verb}" in capsys.readouterr().out


def test_nothing_help_and_both_options_give_one_text() -> None:
    first, *others = [run(*words) for words in ((), ("--help",), ("-h",), ("help",))]
    assert (first.returncode, *(done.returncode for done in others)) == (2, 0, 0, 0)
    assert {done.stdout + done.stderr for done in others} == {others[0].stdout}
    assert (first.stdout + first.stderr).split() == others[0].stdout.split()


@pytest.mark.parametrize("words", [("get",), ("dead-letters",), ("dead-letters", "list")])
def test_help_of_a_verb_is_asked_for_before_or_behind_it(words: tuple[str, ...]) -> None:
    before, behind = run("help", *words), run(*words, "--help")
    assert (before.returncode, before.stdout) == (0, behind.stdout)


def test_the_plugin_has_one_text_too(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for words, code in (([], 2), (["--help"], 0), (["help"], 0)):
        assert plugin.run_command(words) == code
        said = capsys.readouterr()
        texts.append((said.out + said.err).split())
    assert texts[0] == texts[1] == texts[2]
    assert "pausing" in texts[0]


def test_the_list_of_verbs_says_of_a_verb_what_its_own_help_begins_with() -> None:
    group: Any = typer.main.get_command(build())
    for verb, says in (item for verbs in GROUPS.values() for item in verbs.items()):
        paragraph = inspect.cleandoc(group.commands[verb].help).split("\n\n")[0]
        assert f"{paragraph} ".startswith(f"{says} "), (verb, paragraph)
