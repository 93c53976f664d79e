"""Which job is meant: by name, namespace, uid, among the living and the dead."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.unit.cli_offline.conftest import Ask, failed, job, write


@pytest.mark.parametrize(
    "arguments",
    [
        ["mnist"],
        ["demo/mnist"],
        ["bbbb-2222"],
        ["bbbb"],
        ["mnist", "--uid", "bbbb"],
        ["mnist", "--kind", "PyTorchTrainingJob"],
        ["mnist", "--kind", "pj"],
    ],
)
def test_a_job_is_looked_up_by_name_namespace_or_the_beginning_of_its_uid(
    ask: Ask, arguments: list[str]
) -> None:
    said = ask("why", *arguments)
    assert said.code == 0
    assert "uid bbbb-2222" in " ".join(said.out.split())


def test_the_newest_of_a_name_is_meant_and_the_others_are_mentioned(ask: Ask) -> None:
    assert ask("why", "mnist").err == (
        "jobledger: 2 jobs had this name; this is the newest (uid bbbb-2222). --uid picks another: aaaa-1111\n"
    )


def test_a_deleted_job_can_still_be_looked_up(ask: Ask) -> None:
    said = ask("why", "mnist", "--uid", "aaaa-1111")
    assert (said.code, said.err) == (0, "")
    assert "The job was deleted by alice" in said.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mnits"], 'no job "mnits" in namespace "demo"; did you mean "mnist"?'),
        (["mnist", "-n", "prod"], 'no job "mnist" in namespace "prod"; there is demo/mnist'),
        (
            ["mnist", "--kind", "MPIJob"],
            'no job "mnist" in namespace "demo" of kind MPIJob; there is demo/mnist',
        ),
        (["mnist", "--uid", "zz"], "with a uid that begins with zz; there is "),
        (["zzzzzzzz"], "lists all jobs"),
    ],
)
def test_a_job_that_is_not_there_is_answered_with_what_is(ask: Ask, arguments: list[str], says: str) -> None:
    for verb in ("why", "history", "replay"):
        said = ask(verb, *arguments)
        assert (said.code, said.out) == (2, "")
        assert says in said.err


def test_the_beginning_of_several_uids_is_refused_with_a_list(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "other.db"
    write(path, job("one", "abcd-1").submit(), job("two", "abcd-2").submit())
    said = ask("why", "abcd", "--store", path)
    assert said.code == 1
    assert "2 jobs have a uid that begins with abcd: abcd-1 (demo/one), abcd-2 (demo/two)" in said.err


def test_an_empty_store_says_that_it_is(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "empty.db"
    write(path)
    assert "the store holds no jobs yet" in ask("why", "mnist", "--store", path).err


def test_a_store_that_is_not_there_or_none_is_a_sentence_and_exit_code_3(tmp_path: Path, ask: Ask) -> None:
    text = tmp_path / "text.db"
    text.write_text("hello " * 100)
    for path in (tmp_path / "none.db", text):
        said = ask("history", "mnist", "--store", path)
        assert (said.code, said.out, said.err.count("\n")) == (3, "", 1)


def test_a_damaged_history_is_shown_as_far_as_it_goes_and_the_others_wholly(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "damaged.db"
    write(path, failed(), job("broken", "dddd-4444").submit().all_pods("Running"), broken="broken")
    for verb in ("why", "history", "replay"):
        said = ask(verb, "broken", "--store", path)
        assert said.code == 1
        assert (
            "the history of demo/broken cannot be read to its end: entry 2: the entry is not JSON" in said.err
        )
        assert "Pending" in said.out
        assert ask(verb, "mnist", "--store", path).code == 0


def test_a_job_whose_first_entry_is_damaged_is_looked_up_by_its_uid(tmp_path: Path, ask: Ask) -> None:
    path, story = tmp_path / "damaged.db", job("broken", "dddd-4444").submit()
    story.bodies[0] = b"{"
    write(path, story, snapshots=False)
    for verb in ("why", "history", "replay"):
        said = ask(verb, "dddd-4444", "--store", path)
        assert said.code == 1
        assert "the history of dddd-4444 cannot be read" in said.err


def test_answers_do_not_depend_on_snapshots(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "bare.db"
    write(path, failed(), snapshots=False)
    for verb in (["why"], ["history"], ["history", "--full"], ["replay"], ["why", "-o", "json"]):
        bare, cached = ask(*verb, "bbbb-2222", "--store", path).out, ask(*verb, "bbbb-2222").out
        if verb[0] == "history":
            bare, cached = (
                "\n".join(line for line in text.splitlines() if "position" not in line)
                for text in (bare, cached)
            )
        assert bare == cached


@pytest.mark.parametrize(
    "verb", [["why"], ["history"], ["history", "-o", "json"], ["replay"], ["why", "--at=2"]]
)
def test_a_job_of_which_only_the_saved_state_is_left_is_said_to_be_so(
    tmp_path: Path, ask: Ask, verb: list[str]
) -> None:
    path = tmp_path / "bare.db"
    write(path, failed())
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("DELETE FROM entries WHERE job = 'bbbb-2222'")
    said = ask(*verb, "bbbb-2222", "--store", path)
    assert (said.code, said.out.strip() in ("", "[]")) == (1, True)
    assert (
        "the history of demo/mnist cannot be read to its end: the log holds none of its entries, only its state as "
        "saved after entry 8" in said.err
    )
