"""Which jobs have one Service for all their pods: those whose pods all know of it (spec R4)."""

from typing import Any

import pytest

from statemachine.ids import CLUSTER_DOMAIN
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import Story, workers

NAMED = {CLUSTER_DOMAIN: "cluster.local"}


def elastic(replicas: int) -> dict[str, Any]:
    """A job of so many workers that can be scaled."""
    spec = workers(replicas, torchrunConfig={"enabled": True})
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0] = {
        "name": "pytorch",
        "image": "i",
        "args": ["t.py"],
    }
    return {
        **spec,
        "elastic": {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": replicas},
    }


def services(story: Story) -> list[str]:
    """The names of the job's Services."""
    return [name.removeprefix("Service/") for name in story.children if name.startswith("Service/")]


def test_a_new_job_has_one_for_all_where_services_have_names() -> None:
    story = Story(workers(3), settings=NAMED).submit()
    assert services(story) == ["mnist-7ac1b"]
    assert len(story.pods) == 3


def test_a_job_that_was_observed_before_that_has_one_for_each_replica() -> None:
    assert services(Story(workers(2)).submit()) == ["mnist-7ac1b-worker-0", "mnist-7ac1b-worker-1"]


def test_a_job_that_is_adopted_has_pods_that_know_no_other() -> None:
    before = Story(workers(2), settings=NAMED).submit().all_pods("Running")
    story = Story(workers(2), settings=NAMED).at(100).adopt(before.status)
    assert services(story) == ["mnist-7ac1b-worker-0", "mnist-7ac1b-worker-1"]
    assert "subdomain" not in story.children["Pod/mnist-7ac1b-worker-0"]["spec"]


@pytest.mark.parametrize("shared", [True, False])
def test_an_update_changes_nothing_of_that(shared: bool) -> None:
    story = Story(elastic(2), settings=NAMED if shared else {}).submit().all_pods("Running")
    story.settings = {} if shared else NAMED
    before = services(story)
    story.edit(elastic={"expectedReplicas": 3})
    assert story.state.running_plan.scale == 3
    assert len(services(story)) == (1 if shared else 3)
    assert set(before) <= set(services(story))


def test_a_pause_changes_nothing_of_that() -> None:
    story = Story(workers(2), settings=NAMED).submit().all_pods("Running").pause()
    assert services(story) == ["mnist-7ac1b"]


def test_pytorchjobs_keep_one_for_each_replica() -> None:
    story = TorchStory(training(workers=1), **NAMED).submit()
    assert services(story) == ["retry-master-0", "retry-worker-0"]
