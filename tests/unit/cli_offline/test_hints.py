"""A command that a sentence suggests means the store, log and server of the command that says it."""

from pathlib import Path

import pytest

from jobledger.cli import suggestions as hints
from tests.unit.cli_offline.conftest import Ask, failed, job, write


@pytest.mark.parametrize(
    ("arguments", "sentence", "said"),
    [
        ("why x --store a.db", "`jobledger get -A` lists", "`jobledger get -A --store a.db` lists"),
        (
            "why x --log=kafka://b:1",
            "`jobledger history x` tells",
            "`jobledger history x --log kafka://b:1` tells",
        ),
        (
            "get --server http://[::1]:80",
            "`jobledger get x -w`",
            "`jobledger get x -w --server 'http://[::1]:80'`",
        ),
        (
            "history x --log kafka://b:1",
            "`jobledger get -A` lists",
            "`jobledger get -A --log kafka://b:1` lists",
        ),
        ("history x --log kafka://b:1", "`jobledger delete x` ends it", "`jobledger delete x` ends it"),
        ("why x --store a.db", "`jobledger why x --store b.db`", "`jobledger why x --store b.db`"),
        ("why x", "`jobledger why y`", "`jobledger why y`"),
        ("why -- --store a.db", "`jobledger why y`", "`jobledger why y`"),
        (
            "why --store a.db",
            "`jobledger crds | kubectl apply -f -`",
            "`jobledger crds | kubectl apply -f -`",
        ),
        ("why --store a.db", "`jobledger frobnicate` no verb", "`jobledger frobnicate` no verb"),
        (
            "dead-letters show 9 --log=kafka://b:1 --store s",
            "`jobledger dead-letters list` or `jobledger topics check --log kafka://c:1`",
            "`jobledger dead-letters list --log kafka://b:1 --store s` or `jobledger topics check --log kafka://c:1`",
        ),
    ],
)
def test_a_suggested_command_repeats_which_ledger_was_meant(arguments: str, sentence: str, said: str) -> None:
    with hints.of(arguments.split()):
        assert hints.repeating(sentence) == said


def test_errors_name_commands_for_the_store_that_was_asked(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "damaged.db"
    write(path, failed(), job("broken", "dddd-4444").submit().all_pods("Running"), broken="broken")
    assert f"`jobledger get -A --store {path}` lists all jobs" in ask("why", "zzzzzzzz", "--store", path).err
    assert f"`jobledger replay --verify --store {path}` checks" in ask("why", "broken", f"--store={path}").err
    assert (
        f"`jobledger dead-letters list --store {path}`"
        in ask("dead-letters", "show", "9", "--store", path).err
    )
    assert "`jobledger get -A` lists all jobs" in ask("why", "zzzzzzzz").err
