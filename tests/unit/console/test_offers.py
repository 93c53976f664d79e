"""Which actions a job is offered, by kind and phase; every one of them can be carried out."""

import pytest

from jobledger.console.offers import actions, has
from jobledger.wishes import paused
from statemachine.kinds import KINDS
from statemachine.kinds.common.kind import ModelKind
from statemachine.phases import FINAL, Phase

NAMES = [each.names.kind for each in KINDS]
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


@pytest.mark.parametrize("kind", [each for each in KINDS if isinstance(each, ModelKind)], ids=NAMES)
def test_pausing_writes_a_field_that_the_kind_has_or_is_not_offered(kind: ModelKind[object]) -> None:  # type: ignore[type-var]
    job = {
        "apiVersion": kind.names.api_version,
        "kind": kind.names.kind,
        "metadata": {"name": "a"},
        "spec": {},
    }
    if "pause" not in actions(kind.names.kind, Phase.RUNNING, paused=False, elastic=False, deleting=False):
        assert not has(kind.names.kind, "spec.runMode.pause.enabled", "spec.runPolicy.suspend")
        return
    patch = paused(job, True)["spec"]
    ((part, fields),) = patch.items()
    assert part in ("runMode", "runPolicy")
    path = "spec.runMode.pause.enabled" if part == "runMode" else "spec.runPolicy.suspend"
    assert has(kind.names.kind, path)
    assert fields
