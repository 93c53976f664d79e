"""What users read of a job whose status has conditions and counts, but no phase."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobledger.cli.common import Output
from jobledger.cli.server.describe import show
from jobledger.cli.server.get import table
from jobledger.jobs.changes import queue_note, wished
from jobledger.jobs.views import phase_of, replicas_of, running_of
from jobledger.plugin.cluster import ClusterJobs
from jobledger.program.errors import NotPossible
from projectors.history.facts import error, has_error
from statemachine.ids import JobUid
from statemachine.state import JobState, QueueState
from tests.support.pytorchjob import API, TorchStory, training
from tests.unit.plugin.words import discovery, listed, server


def job(story: TorchStory) -> dict[str, Any]:
    meta = {"name": story.name, "namespace": "demo", "uid": story.uid}
    return {
        "apiVersion": API,
        "kind": "PyTorchJob",
        "metadata": meta,
        "spec": story.spec,
        "status": story.status,
    }


def test_the_phase_follows_from_the_conditions() -> None:
    story = TorchStory(training()).submit()
    phases = [phase_of(job(story))]
    for act in (
        story.up,
        lambda: story.pod("worker-0", "Failed", exit_code=137),
        story.suspend,
        lambda: story.all_gone().suspend(on=False),
        story.up,
        lambda: story.pod("master-0", "Succeeded"),
    ):
        act()
        phases.append(phase_of(job(story)))
    assert phases == ["Pending", "Running", "Running", "Paused", "Resuming", "Running", "Succeeded"]
    assert phase_of(job(story)) == story.phase


def test_a_failed_job_has_failed_and_an_unseen_one_is_new() -> None:
    assert (
        phase_of(job(TorchStory(training(policy="Never")).submit().up().pod("worker-0", "Failed")))
        == "Failed"
    )
    assert phase_of({"metadata": {}, "spec": {}}) == "New"


def test_replicas_are_counted() -> None:
    story = TorchStory(training()).submit()
    assert running_of(job(story)) == (0, 3)
    assert running_of(job(story.up().pod("worker-1", "Succeeded"))) == (2, 3)
    assert running_of({"status": {"aggregate": {"running": 1, "failed": 1}}}) == (1, 2)


def test_wishes_are_written_where_the_kind_has_them() -> None:
    running = job(TorchStory(training()).submit().up())
    assert wished("pause", running, {}) == {"spec": {"runPolicy": {"suspend": True}}}
    assert wished("resume", running, {}) == {"spec": {"runPolicy": {"suspend": False}}}
    scaled = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 5}}}}
    assert wished("scale", running, {"replicas": 5}) == scaled


def test_a_job_without_workers_cannot_be_scaled_nor_an_ended_one_paused() -> None:
    alone = TorchStory(training(workers=0)).submit().up()
    with pytest.raises(NotPossible, match=r"it has no pytorchReplicaSpecs\.Worker"):
        wished("scale", job(alone), {"replicas": 5})
    alone.pod("master-0", "Succeeded")
    with pytest.raises(NotPossible, match=r"it has ended \(Succeeded\)"):
        wished("pause", job(alone), {})


def test_replicas_are_those_of_the_status_else_those_that_the_kind_makes_of_the_spec() -> None:
    assert replicas_of(job(TorchStory(training()).submit())) == ["master-0", "worker-0", "worker-1"]
    tasks = [{"type": "launcher", "replicas": [{}]}, {"type": "worker", "replicas": [{}, {}]}]
    assert replicas_of({"status": {"tasks": tasks}}) == ["launcher-0", "worker-0", "worker-1"]
    newer = {"apiVersion": "batch.tensorstack.dev/v2", "kind": "NewerJob", "metadata": {"name": "x"}}
    assert replicas_of({**newer, "spec": {}}) == []
    torch = job(TorchStory(training()).submit())
    assert replicas_of({**torch, "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 7}}}}) == []


def test_a_job_that_goes_on_after_a_failure_has_an_error_until_it_runs_again() -> None:
    story = TorchStory(training(policy="ExitCode")).submit().up()
    assert not has_error(story.state)
    story.pod("worker-0", "Failed", exit_code=137)
    assert has_error(story.state)
    assert "restarting" in error(story.state)


def test_what_a_status_does_not_count_is_no_number_in_lists() -> None:
    running = job(TorchStory(training()).submit().up())
    assert table([running]).splitlines()[-1].split()[2:5] == ["Running", "3/3", "-"]


def test_a_description_shows_what_the_status_counts_of_each_type(
    cluster_of_one: Callable[[dict[str, Any]], ClusterJobs], capsys: pytest.CaptureFixture[str]
) -> None:
    story = TorchStory(training()).submit().up().pod("worker-1", "Succeeded")
    show(cluster_of_one(job(story)), "demo", story.name, kind="", output=Output.TABLE)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["TYPE", "ACTIVE", "SUCCEEDED", "FAILED"] in lines
    assert ["Worker", "1", "1", "0"] in lines
    assert not [line for line in lines if line[0] == "Restarts:"]


@pytest.fixture
def cluster_of_one() -> Iterator[Callable[[dict[str, Any]], ClusterJobs]]:
    """A cluster whose API server has one job."""
    with server() as fake:

        def shown(only: dict[str, Any]) -> ClusterJobs:
            group = discovery(only["kind"], group=only["apiVersion"])
            meta, (api_group,) = only["metadata"], group
            place = f"{api_group}/namespaces/{meta['namespace']}/{only['kind'].lower()}s/{meta['name']}"
            fake.answers |= {**group, place: only, "/api/v1/namespaces/demo/events": listed()}
            return ClusterJobs(fake.api())

        yield shown


IN_QUEUE = {"kueue.x-k8s.io/queue-name": "team-a"}


def test_who_pauses_a_job_in_a_queue_learns_that_kueue_decides() -> None:
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train", "labels": IN_QUEUE},
    }
    assert queue_note(job).startswith('Kueue decides when train runs (queue "team-a"): ')
    assert queue_note({**job, "metadata": {"name": "train"}}) == ""


def test_a_kind_that_kueue_does_not_know_is_in_a_queue_by_its_workload_alone() -> None:
    meta = {"name": "train", "labels": IN_QUEUE}
    job = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": meta}
    known = QueueState(workload="w", uid="w-1", queue="team-b")
    assert queue_note(job) == ""
    assert 'queue "team-b"' in queue_note(job, JobState(JobUid("u"), queue=known))
    assert queue_note(job, JobState(JobUid("u"), queue=known._replace(standing="gone"))) == ""
