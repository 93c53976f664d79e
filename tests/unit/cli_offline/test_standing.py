"""`get` and `describe` without a server: the jobs as the store has them, and a line that says so."""

import json
from pathlib import Path

import pytest

from tests.unit.cli_offline.conftest import SECRET, Ask, failed, job, write


def test_get_reads_the_store_where_no_server_answers_and_says_so(ask: Ask, store: Path) -> None:
    said = ask("get")
    assert said.code == 0
    assert said.err == f"jobledger: no server at {store}.sock; this is the state in the store {store}\n"
    rows = [line.split() for line in said.out.splitlines()]
    assert rows[0] == ["NAME", "KIND", "PHASE", "RUNNING", "RESTARTS", "AGE"]
    assert [row[:5] for row in rows[1:]] == [
        ["mnist", "PyTorchTrainingJob", "Failed", "1/2", "1"],
        ["quota", "PyTorchTrainingJob", "Pending", "0/2", "0"],
    ]


def test_a_job_that_was_deleted_is_shown_with_all_and_as_deleted(ask: Ask) -> None:
    rows = [line.split() for line in ask("get", "--all").out.splitlines()[1:]]
    assert [row[2] for row in rows if row[0] == "mnist"] == ["Failed", "Deleted"]
    (row,) = [line.split() for line in ask("get", "--all", "--phase", "deleted").out.splitlines()[1:]]
    assert row[2] == "Deleted"


def test_get_by_name_as_data_is_the_job_without_its_secrets(ask: Ask) -> None:
    said = ask("get", "mnist", "-o", "json")
    job_shown = json.loads(said.out)
    assert (job_shown["metadata"]["uid"], job_shown["status"]["phase"]) == ("bbbb-2222", "Failed")
    assert SECRET not in said.out


def test_a_selector_and_a_namespace_pick_jobs_of_the_store(ask: Ask) -> None:
    assert ask("get", "-n", "elsewhere").err.endswith("no jobs in namespace elsewhere\n")
    assert ask("get", "-l", "team=a").err.endswith("no jobs with labels team=a in namespace demo\n")
    assert "quota" in ask("get", "-A", "-l", "!team").out


def test_describe_reads_the_store_with_the_events_that_its_log_announces(ask: Ask, store: Path) -> None:
    said = ask("describe", "mnist")
    assert said.code == 0
    assert f"this is the state in the store {store}" in said.err
    assert "Phase:      Failed" in said.out
    assert "worker-0" in said.out.partition("Replicas:")[2]
    assert "Warning" in said.out.partition("Events:")[2]
    assert SECRET not in said.out + ask("describe", "mnist", "-o", "yaml").out


def test_events_of_the_store_have_the_names_that_the_cluster_gives_them(ask: Ask) -> None:
    events = json.loads(ask("describe", "mnist", "-o", "json").out)["events"]
    assert events
    assert all(event["name"].startswith("mnist.") for event in events)
    assert len({event["name"] for event in events}) == len(events)


def test_a_name_that_the_store_has_not_is_answered_with_the_nearest(ask: Ask) -> None:
    said = ask("describe", "minst")
    assert (said.code, said.out) == (2, "")
    assert 'did you mean "mnist"?' in said.err


def test_a_deleted_job_is_not_described_but_its_history_is_named(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "later.db"
    write(path, job("mnist", "aaaa-1111", replicas=1).submit().all_pods("Running").delete().gone("worker-0"))
    said = ask("describe", "mnist", "--store", path)
    assert said.code == 2
    assert f"`jobledger history mnist --store {path}` still tells its life" in said.err


def test_a_job_whose_history_cannot_be_read_is_of_unknown_phase_and_hides_no_other(
    ask: Ask, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.db"
    write(
        path,
        failed(),
        job("quota", "cccc-3333").submit().all_pods("Running"),
        broken="quota",
        snapshots=False,
    )
    rows = [line.split() for line in ask("get", "--store", path).out.splitlines()[1:]]
    assert [row[:3:2] for row in rows] == [["mnist", "Failed"], ["quota", "Unknown"]]


def test_a_log_that_is_named_is_read_and_no_server_is_asked(ask: Ask, store: Path, tmp_path: Path) -> None:
    url = f"sqlite://{store}"
    for verb in (["get"], ["describe", "mnist"]):
        said = ask(*verb, "--log", url, "--store", tmp_path / "none.db")
        assert said.code == 0
        assert "mnist" in said.out
        assert said.err == f"jobledger: no server is asked; this is the state in the log {url}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["get", "--watch"], 3, "start one with `jobledger serve"),
        (["get", "--server", "none.sock"], 3, "no server at none.sock"),
        (["get", "--watch", "--log", "sqlite:///x.db"], 2, "leave out one of them"),
        (["get", "--store", "none.db"], 3, "start one with `jobledger serve"),
        (["describe", "mnist", "--store", "none.db"], 3, "start one with `jobledger serve"),
    ],
)
def test_what_only_a_server_can_answer_fails_without_one(
    ask: Ask, arguments: list[str], code: int, says: str
) -> None:
    said = ask(*arguments)
    assert (said.code, said.out, says in said.err) == (code, "", True), said.err


@pytest.mark.parametrize("phase", ["failed", "FAILED", "Failed"])
def test_a_phase_is_meant_in_whatever_case(ask: Ask, phase: str) -> None:
    (row,) = ask("get", "--phase", phase).out.splitlines()[1:]
    assert row.split()[0] == "mnist"


@pytest.mark.parametrize(
    "arguments",
    [
        ["get", "--phase", "Faild"],
        ["wait", "mnist", "--for", "phase=faild"],
        ["wait", "mnist", "--for", "jsonpath={.status.phase}=faild"],
    ],
)
def test_a_phase_that_there_is_not_is_refused_with_the_nearest_and_all_others(
    ask: Ask, arguments: list[str]
) -> None:
    said = ask(*arguments)
    assert (said.code, said.out, len(said.err.splitlines())) == (2, "", 1)
    assert "there is no phase" in said.err
    assert 'did you mean "Failed"?' in said.err
    assert "New, Pending, Running, Paused, Resuming, Succeeded, Failed, Unknown" in said.err
