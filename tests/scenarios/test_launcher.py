"""The life of a job with a launcher: colossalaijob.md, sections 3 and 5; T4, T7, T8, T9, T14-T18 of spec R5."""

from typing import Any

import pytest

from statemachine.phases import Phase
from tests.support.scenario import Story
from tests.unit.kinds.colossal import DEBUG, KIND, spec

INIT = "The job has been initialized successfully."


def job(**more: Any) -> Story:
    """A job of two workers, submitted."""
    return Story(spec(**more), name="gpt", kind=KIND).submit()


def running(**more: Any) -> Story:
    """A job whose launcher runs."""
    return job(**more).ready("worker-0", "worker-1").pod("launcher-0", "Running")


def tasks(story: Story) -> dict[str, list[str]]:
    """The phases of the replicas by type, as the status has them."""
    return {
        task["type"]: [replica["phase"] for replica in task["replicas"]] for task in story.status["tasks"]
    }


# ---- the launcher comes when the workers are ready ---------------------------------------------------------------


def test_the_launcher_waits_until_every_worker_is_ready() -> None:
    story = job()
    assert story.pods == ["worker-0.1", "worker-1.1"]
    story.ready("worker-0").pod("worker-1", "Pending")
    assert story.pods == ["worker-0.1", "worker-1.1"]
    story.pod("worker-1", "Running")
    assert story.pods == ["worker-0.1", "worker-1.1"]
    story.ready("worker-1")
    assert story.pods == ["worker-0.1", "worker-1.1", "launcher-0.1"]


def test_a_launcher_that_waits_is_being_created() -> None:
    story = job()
    assert tasks(story) == {"launcher": ["Creating"], "worker": ["Creating", "Creating"]}
    assert story.status["tasks"][0]["replicas"][0] == {
        "name": "gpt-launcher",
        "uid": "",
        "phase": "Creating",
        "containers": [],
    }
    story.ready("worker-0", "worker-1")
    assert tasks(story) == {"launcher": ["Creating"], "worker": ["Running", "Running"]}
    assert story.status["aggregate"]["creating"] == 1


def test_the_status_knows_no_restarts() -> None:
    status = running().status
    assert "backoffCount" not in status
    assert [task["type"] for task in status["tasks"]] == ["launcher", "worker"]


def test_a_worker_that_is_being_deleted_does_not_count_as_ready() -> None:
    story = job().ready("worker-0").pod("worker-0", "Running", ready=True, deleting=True).ready("worker-1")
    assert story.pods == ["worker-0.1", "worker-1.1"]
    story.gone("worker-0").ready("worker-0")
    assert story.pods == ["worker-0.2", "worker-1.1", "launcher-0.1"]


def test_a_worker_that_was_ready_once_counts_as_ready() -> None:
    story = job().ready("worker-0").pod("worker-0", "Running", ready=False)
    assert story.last == (), "readiness only ever moves forward: a late report says nothing new"
    assert "launcher-0.1" in story.ready("worker-1").pods


def test_t4_a_job_is_initialized_when_the_launcher_too_has_been_made() -> None:
    story = job().ready("worker-0", "worker-1")
    assert story.condition("Initialized") is None
    story.pod("launcher-0", "Pending")
    assert story.condition("Initialized") == ("True", "-", INIT)
    assert story.phase is Phase.PENDING


def test_t5_a_refused_launcher_is_announced_and_tried_again() -> None:
    story = job().ready("worker-0", "worker-1")
    story.refused(status_=403, message="quota", name="gpt-launcher", replica="launcher-0", attempt=1)
    assert story.condition("Initialized") == ("False", "InitializationFailed", "quota")
    assert "retry" in story.state.timers


def test_t7_the_job_runs_when_the_launcher_does() -> None:
    story = job().ready("worker-0", "worker-1")
    assert story.phase is Phase.PENDING
    story.pod("launcher-0", "Pending")
    assert story.phase is Phase.PENDING
    assert story.pod("launcher-0", "Running").phase is Phase.RUNNING


def test_t8_a_launcher_as_quick_as_lightning_passes_through_running() -> None:
    story = job().ready("worker-0", "worker-1").pod("launcher-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    assert [event.phase for event in story.last if event.type == "PhaseEntered"] == [
        Phase.RUNNING,
        Phase.SUCCEEDED,
    ]


# ---- T9: how it fails --------------------------------------------------------------------------------------------


def test_t9_a_worker_that_fails_before_there_is_a_launcher_is_the_end() -> None:
    story = job().ready("worker-0").pod("worker-1", "Failed", exit_code=255)
    text = 'Replica gpt-worker-1 failed: container "worker" exited with code 255.'
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "Failed", text)
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", text)
    assert tasks(story)["launcher"] == ["Deleted"]
    assert story.ready("worker-0").pods == ["worker-0.1", "worker-1.1"]


def test_t9_a_worker_that_ends_before_there_is_a_launcher_is_the_end_too() -> None:
    story = job().ready("worker-0").pod("worker-1", "Succeeded")
    text = "Replica gpt-worker-1 failed: it ended before the launcher was created."
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "Failed", text)
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", text)


def test_t9_the_launcher_s_failure_is_the_job_s() -> None:
    story = running().pod("launcher-0", "Failed", exit_code=2)
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "Failed", "The job exited with an error code.")
    text = 'Replica gpt-launcher failed: container "launcher" exited with code 2.'
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", text)


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_t9_a_launcher_that_vanishes_counts_as_failed(phase: str) -> None:
    story = job().ready("worker-0", "worker-1").pod("launcher-0", phase).gone("launcher-0")
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "Failed", "The job exited with an error code.")
    text = "Replica gpt-launcher failed: its pod was deleted."
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", text)
    assert story.pods == ["worker-0.1", "worker-1.1"]
    assert story.state.failure is not None
    assert story.state.failure.pod_uid == "launcher-0.1"


def test_t9_a_launcher_deleted_while_it_fails_is_not_made_again() -> None:
    story = running().pod("launcher-0", "Failed", exit_code=143, deleting=True).gone("launcher-0")
    assert story.phase is Phase.FAILED
    assert "launcher-0.2" not in story.pods


# ---- T12, T18: workers -------------------------------------------------------------------------------------------


def test_t12_a_worker_that_fails_beside_the_launcher_is_not_made_again() -> None:
    story = running().pod("worker-0", "Failed", exit_code=137)
    assert (story.phase, story.conditions["ReplicaFailure"]) == (Phase.RUNNING, "True")
    assert "RestartScheduled" not in [event.type for entry in story.entries for event in entry.events]
    assert story.gone("worker-0").pods == ["worker-1.1", "launcher-0.1"]
    assert story.pod("launcher-0", "Succeeded").phase is Phase.SUCCEEDED
    assert story.conditions["ReplicaFailure"] == "True"


def test_t18_a_worker_deleted_before_there_is_a_launcher_is_made_again() -> None:
    story = job().ready("worker-0").gone("worker-0")
    assert story.pods == ["worker-0.2", "worker-1.1"]
    assert "ReplicaLost" in story.reasons
    story.ready("worker-0", "worker-1")
    assert story.pods == ["worker-0.2", "worker-1.1", "launcher-0.1"]


def test_t18_sshd_ends_with_0_when_it_is_stopped_which_is_no_end_of_its_own() -> None:
    story = job().ready("worker-0").pod("worker-0", "Succeeded", exit_code=0, deleting=True)
    assert story.phase is Phase.PENDING
    assert story.gone("worker-0").pods == ["worker-0.2", "worker-1.1"]


def test_t8_exit_code_0_of_a_launcher_that_somebody_deletes_is_success() -> None:
    assert running().pod("launcher-0", "Succeeded", deleting=True).phase is Phase.SUCCEEDED


def test_t18_a_worker_deleted_beside_the_launcher_is_a_failure() -> None:
    story = running().gone("worker-1")
    text = "Replica gpt-worker-1 failed: its pod was deleted."
    assert story.phase is Phase.RUNNING
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", text)
    assert ("ReplicaFailed", text) in story.announced()
    assert "ReplicaLost" not in story.reasons
    assert story.pods == ["worker-0.1", "launcher-0.1"]
    assert tasks(story)["worker"] == ["Running", "Deleted"]
    assert story.submit().pods == ["worker-0.1", "launcher-0.1"]


def test_t18_from_the_moment_the_launcher_is_asked_for_workers_are_counted_on() -> None:
    story = job().ready("worker-0", "worker-1").gone("worker-0")
    assert story.conditions == {"ReplicaFailure": "True"}
    story.pod("launcher-0", "Running")
    assert story.conditions == {"ReplicaFailure": "True", "Initialized": "True", "Running": "True"}


# ---- unknown, debug, pause ----------------------------------------------------------------------------------------


def test_t16_t17_only_the_launcher_s_status_can_be_lost() -> None:
    story = running().pod("worker-0", "Unknown")
    assert story.phase is Phase.RUNNING
    assert story.at(5).pod("launcher-0", "Unknown").phase is Phase.UNKNOWN
    assert story.at(9).pod("launcher-0", "Running").phase is Phase.RUNNING


def test_in_debug_mode_the_launcher_comes_at_once_and_everything_sleeps() -> None:
    story = job(**DEBUG)
    assert story.pods == ["worker-0.1", "worker-1.1", "launcher-0.1"]
    for pod in ("worker-0", "launcher"):
        container = story.children[f"Pod/gpt-{pod}"]["spec"]["containers"][0]
        assert (container["command"], container["args"]) == (["sleep", "inf"], [])
    assert story.pod("launcher-0", "Running").phase is Phase.RUNNING
    assert story.pod("launcher-0", "Succeeded").phase is Phase.SUCCEEDED


def test_t14_a_pause_takes_launcher_and_workers_away() -> None:
    story = running().pause()
    assert (story.phase, story.pods) == (Phase.PAUSED, [])
    story.gone("launcher-0").gone("worker-0").gone("worker-1")
    assert tasks(story) == {"launcher": ["Deleted"], "worker": ["Deleted", "Deleted"]}


def test_t15_resuming_starts_the_workers_and_then_the_launcher() -> None:
    story = running().pause().gone("launcher-0").gone("worker-0").gone("worker-1").resume()
    assert (story.phase, story.pods) == (Phase.RESUMING, ["worker-0.2", "worker-1.2"])
    assert tasks(story)["launcher"] == ["Creating"]
    story.ready("worker-0", "worker-1")
    assert story.pods == ["worker-0.2", "worker-1.2", "launcher-0.2"]
    assert story.pod("launcher-0", "Running").phase is Phase.RUNNING


def test_t15_workers_of_before_a_quick_pause_are_not_taken_for_ready() -> None:
    story = running().pause().resume()
    assert story.pods == []
    story.gone("launcher-0")
    assert story.pods == []
    story.gone("worker-0").gone("worker-1")
    assert story.pods == ["worker-0.2", "worker-1.2"]


def test_a_launcher_of_before_a_quick_pause_does_not_make_workers_irreplaceable() -> None:
    story = running().pause().gone("worker-0").gone("worker-1").resume()
    story.ready("worker-0").gone("worker-0")
    assert "ReplicaLost" in story.reasons
    assert story.pods == ["worker-0.3", "worker-1.2"]


def test_resume_specs_change_the_training_and_sshd() -> None:
    resume = [
        {"type": "launcher", "args": ["resume.py", "--from", "last"]},
        {"type": "worker", "command": ["/usr/bin/sshd"]},
    ]
    story = job(runMode={"pause": {"enabled": True, "resumeSpecs": resume}}).resume()
    story.ready("worker-0", "worker-1")
    launcher = story.children["Pod/gpt-launcher"]["spec"]["containers"][0]
    assert launcher["command"] == ["colossalai"]
    assert launcher["args"][-4:] == ["--master_port=29500", "resume.py", "--from", "last"]
    worker = story.children["Pod/gpt-worker-0"]["spec"]["containers"][0]
    assert (worker["command"], worker["args"]) == (["/usr/bin/sshd"], [])


def test_a_resume_command_of_the_launcher_replaces_its_line() -> None:
    resume = [{"type": "launcher", "command": ["bash", "-c"], "args": ["./again.sh"]}]
    story = job(runMode={"pause": {"enabled": True, "resumeSpecs": resume}}).resume()
    launcher = story.ready("worker-0", "worker-1").children["Pod/gpt-launcher"]["spec"]["containers"][0]
    assert (launcher["command"], launcher["args"]) == (["bash", "-c"], ["./again.sh"])


# ---- clean-up ----------------------------------------------------------------------------------------------------


def test_clean_up_may_be_wished_for_while_the_job_runs() -> None:
    story = running().edit(runPolicy={"cleanUpWorkers": True}).pod("launcher-0", "Failed")
    assert story.pods == ["launcher-0.1"]


def test_a_finished_job_is_not_cleaned_up_later() -> None:
    story = running().pod("launcher-0", "Succeeded").edit(runPolicy={"cleanUpWorkers": True})
    assert ("InvalidUpdate", "spec.runPolicy is immutable") in story.announced()
    assert story.pods == ["worker-0.1", "worker-1.1", "launcher-0.1"]


def test_t15_a_worker_that_was_lost_for_good_is_made_again_after_a_pause() -> None:
    story = running().gone("worker-1").pause().gone("launcher-0").gone("worker-0").resume()
    assert story.pods == ["worker-0.2", "worker-1.2"]
    story.ready("worker-0", "worker-1").pod("launcher-0", "Running")
    assert (story.phase, story.conditions["ReplicaFailure"]) == (Phase.RUNNING, "False")


def test_a_job_deleted_while_its_launcher_waits_is_closed_when_the_workers_are_gone() -> None:
    story = job().ready("worker-0").delete().gone("worker-0").gone("worker-1")
    assert story.state.closed
