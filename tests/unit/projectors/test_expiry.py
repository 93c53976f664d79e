"""The projector that deletes job objects whose time is over: by uid, again if it must, and nothing else."""

from typing import cast

import pytest

from k8s_bridge.port import Cluster, Ref
from projectors.expiry import Expiry
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid, Seq
from statemachine.state import JobState
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import UID

JOB = JobUid(UID)


class One:
    """The states of a log with one job."""

    def __init__(self, story: TorchStory) -> None:
        self.story = story

    def state(self, _: JobUid) -> JobState | None:
        return self.story.state

    def seq(self, _: JobUid) -> Seq:
        return Seq(len(self.story.entries))

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> None:
        return None

    async def fresh(self, _: JobUid) -> None:
        raise AssertionError


class Deletes:
    """What was asked to be deleted; `error` is the answer."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[tuple[Ref, str]] = []
        self.error = error

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        self.asked.append((ref, uid))
        if self.error is not None:
            raise self.error


def ended() -> TorchStory:
    story = TorchStory(training(ttlSecondsAfterFinished=5)).submit().up()
    return story.at(10).pod("master-0", "Succeeded")


def projector(story: TorchStory, cluster: Deletes) -> Expiry:
    return Expiry(One(story), cast(Cluster, cluster))


async def test_an_expired_job_is_deleted_by_its_uid() -> None:
    story, cluster = ended(), Deletes()
    expiry = projector(story, cluster)
    await expiry.visit(JOB)
    assert cluster.asked == []
    story.timer("expiry")
    assert expiry.concerns(story.last)
    await expiry.visit(JOB)
    assert cluster.asked == [(Ref("kubeflow.org/v1", "PyTorchJob", "demo", "retry"), UID)]


async def test_one_that_is_gone_is_not_deleted_again() -> None:
    story, cluster = ended().timer("expiry").delete(), Deletes()
    await projector(story, cluster).visit(JOB)
    assert cluster.asked == []


@pytest.mark.parametrize("error", [Missing("gone"), Conflict("another of its name")])
async def test_another_job_of_its_name_is_not_ours_to_delete(error: Exception) -> None:
    cluster = Deletes(error)
    await projector(ended().timer("expiry"), cluster).visit(JOB)
    assert len(cluster.asked) == 1


async def test_a_refused_deletion_is_tried_again() -> None:
    cluster = Deletes(Refused(403, "Forbidden", "no rights"))
    with pytest.raises(ClusterUnavailable, match="no rights"):
        await projector(ended().timer("expiry"), cluster).visit(JOB)
