"""Which actions a job is offered, by kind and phase; every one of them can be carried out."""

import pytest

from jobledger.console.actions import is_paused
from jobledger.console.allowed_actions import actions
from jobledger.jobs.changes import paused
from k8s_bridge.json_data import merged
from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.phases import FINAL, Phase
from tests.support.examples import job_of
from tests.unit.console.test_timeline import running

T9K = "PyTorchTrainingJob"


def offered(
    phase: Phase, *, is_paused: bool = False, elastic: bool = False, deleting: bool = False
) -> list[str]:
    return list(actions(T9K, phase, paused=is_paused, elastic=elastic, deleting=deleting))


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.RUNNING, Phase.RESUMING, Phase.UNKNOWN])
def test_a_job_that_is_active_is_paused_and_not_resumed(phase: Phase) -> None:
    assert offered(phase) == ["yaml", "clone", "pause", "policy", "delete"]


def test_a_paused_job_is_resumed() -> None:
    assert offered(Phase.PAUSED, is_paused=True) == ["yaml", "clone", "resume", "policy", "delete"]


@pytest.mark.parametrize("phase", sorted(FINAL))
def test_a_finished_job_is_copied_and_deleted(phase: Phase) -> None:
    assert offered(phase, elastic=True) == ["yaml", "clone", "delete"]


def test_only_elastic_jobs_are_scaled() -> None:
    assert "scale" in offered(Phase.RUNNING, elastic=True)
    assert "scale" not in offered(Phase.RUNNING)


def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    assert offered(Phase.RUNNING, elastic=True, deleting=True) == ["yaml", "clone"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_pausing_is_offered_where_the_kind_says_how_and_shows_in_the_spec(kind: Kind) -> None:
    for change, (offer, refused) in {True: ("pause", "resume"), False: ("resume", "pause")}.items():
        offered = actions(kind.names.kind, Phase.RUNNING, paused=not change, elastic=False, deleting=False)
        assert (offer in offered) is bool(kind.pausing(change))
        assert refused not in offered
    if not kind.pausing(True):
        return
    job = job_of(kind).raw
    asked = {**job, "spec": merged(job["spec"], paused(job, True)["spec"])}
    assert is_paused(asked, None)
    assert not is_paused({**job, "spec": merged(asked["spec"], paused(job, False)["spec"])}, None)


def test_what_cannot_be_read_is_as_paused_as_the_job_that_is_followed() -> None:
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": {}}
    assert not is_paused(job, None)
    assert not is_paused(job, running().state)
    assert is_paused(job, running().pause().state)
