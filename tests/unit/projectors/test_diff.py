"""Desired and live → writes: what is created, deleted, released, left alone."""

from collections import UserDict
from collections.abc import ValuesView
from typing import Any

import pytest

from k8s_bridge.observe import is_in_sight
from k8s_bridge.port import EVIDENCE, Manifest, Ref
from projectors.diff import (
    Await,
    Create,
    Delete,
    Hold,
    Relabel,
    Release,
    Report,
    SayAbsent,
    SayTaken,
    TakeBack,
    Update,
    Write,
    attempt_of,
    diff,
)
from statemachine.desired import desired
from statemachine.ids import ATTEMPT, PodUid, ReplicaName
from statemachine.owned import owner_reference
from statemachine.state import JobState, ReplicaState, changed
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import API, KIND, UID, Story, workers


def writes(story: Story, live: list[Manifest]) -> list[Write]:
    return list(diff(story.state, desired(story.state), live))


def pod(replica: str = "worker-0", *, attempt: int = 1, uid: str = "", **more: Any) -> Manifest:
    type_, _, index = replica.rpartition("-")
    meta = {
        "name": f"mnist-7ac1b-{replica}",
        "namespace": "demo",
        "uid": uid or f"{replica}.{attempt}",
        "labels": {"replica-type": type_, "replica-index": index},
        "annotations": {ATTEMPT: str(attempt)},
        "finalizers": [EVIDENCE],
        "ownerReferences": [
            owner_reference(JobState(UID, api_version=API, kind=KIND, object_kind=KIND, name="mnist"))
        ],
        "deletionGracePeriodSeconds": more.pop("grace", None),
        **({"deletionTimestamp": "2024-01-09T15:00:00Z"} if more.pop("deleting", False) else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"nodeName": "n"},
        "status": {},
        **more,
    }


def service(story: Story, name: str = "mnist-7ac1b-worker-0") -> Manifest:
    built = story.children[f"Service/{name}"]
    return {**built, "metadata": {**built["metadata"], "uid": "s-1"}}


def running() -> Story:
    return Story(workers(1)).submit().at(5).pod("worker-0", "Running")


def names(actions: list[Write]) -> list[str]:
    return [
        f"{type(action).__name__} {action.child.kind}"
        for action in actions
        if isinstance(action, Create | Update)
    ]


def test_missing_children_are_created_services_before_pods() -> None:
    assert names(writes(Story(workers(1)).submit(), [])) == ["Create Service", "Create Pod"]


def test_nothing_is_created_while_the_retry_timer_runs() -> None:
    assert writes(Story(workers(1)).submit().refused(status_=403), []) == []


def test_a_pod_that_was_observed_and_is_gone_is_not_created_for_the_same_attempt() -> None:
    story = running()
    assert writes(story, [service(story)]) == []


def test_a_failed_pod_whose_end_is_known_is_released_and_deleted() -> None:
    story = running().pod("worker-0", "Failed", exit_code=137)
    actions = writes(story, [service(story), pod()])
    assert [(type(action), action.uid) for action in actions if isinstance(action, Delete | Release)] == [
        (Release, "worker-0.1"),
        (Delete, "worker-0.1"),
    ]


def test_a_running_pod_is_not_released_before_its_end_is_in_the_log() -> None:
    story = running().pause()
    actions = writes(story, [service(story), pod()])
    assert [type(action) for action in actions] == [Delete]
    assert writes(story, [service(story), pod(deleting=True)]) == []
    story.pod("worker-0", "Failed", exit_code=143, deleting=True)
    assert [type(write) for write in writes(story, [service(story), pod(deleting=True)])] == [Release]


def test_a_pod_deleted_by_somebody_is_held_until_its_end_is_known() -> None:
    story = running()
    live = [service(story), pod(deleting=True)]
    assert writes(story, live) == []
    story.pod("worker-0", "Failed", exit_code=143, deleting=True)
    assert [type(write) for write in writes(story, live)] == [Release]


def test_a_deleted_pod_that_never_had_a_node_is_released() -> None:
    story = Story(workers(1)).submit().pod("worker-0", "Pending").pod("worker-0", "Pending", deleting=True)
    live = [service(story), pod(deleting=True, spec={}, status={"phase": "Pending"})]
    assert [type(write) for write in writes(story, live)] == [Release]


@pytest.mark.parametrize("grace", [None, 30])
def test_a_pod_that_the_log_has_not_heard_of_is_no_twin_and_stays(grace: int | None) -> None:
    story = Story(workers(1)).submit()
    assert writes(story, [service(story), pod(deleting=True, grace=grace)]) == []


def test_a_pod_that_is_over_is_held_until_the_log_has_heard_of_it_lest_it_is_made_again() -> None:
    story = Story(workers(1)).submit()
    live = [service(story), pod(deleting=True, grace=0)]
    assert writes(story, live) == [Hold("worker-0.1")]
    story.pod("worker-0", "Running", deleting=True)
    assert [type(write) for write in writes(story, live)] == [Release]
    assert writes(story, [service(story)]) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_held_until_the_log_has_its_end_no_matter_who_deletes_it(phase: str) -> None:
    story = running()
    live = [service(story), pod(deleting=True, grace=0, status={"phase": phase})]
    assert writes(story, live) == []
    story.pod("worker-0", phase, deleting=True, own_ends=("pytorch",))
    assert [type(write) for write in writes(story, live)] == [Release]


def test_a_pod_of_an_earlier_attempt_is_let_go_although_the_log_has_not_heard_of_the_next() -> None:
    """Its create took effect when it was given up; as long as it stays, its name is taken for the next attempt."""
    story = running().pod("worker-0", "Running", deleting=True).gone("worker-0")
    assert story.state.replicas[ReplicaName("worker-0")].attempt == 2
    live = [
        service(story),
        pod(attempt=1, uid="a-late-one", deleting=True, grace=0, status={"phase": "Failed"}),
    ]
    assert [type(write) for write in writes(story, live)] == [Release]


def cleaned() -> Story:
    """Of two workers the primary is done, and the other is to go unless it has ended, too."""
    story = Story(workers(2, runPolicy={"cleanUpPolicy": "Unfinished"})).submit().all_pods("Running")
    return story.pod("worker-0", "Succeeded")


def test_r9_an_unfinished_pod_is_deleted_only_as_it_was_observed() -> None:
    live = pod("worker-1", status={"phase": "Running"})
    live["metadata"]["resourceVersion"] = "7"
    [delete] = [write for write in writes(cleaned(), [live]) if isinstance(write, Delete)]
    assert (delete.uid, delete.version) == ("worker-1.1", "7")


def test_r9_a_pod_that_ended_in_somebodys_deletion_before_is_let_go() -> None:
    story = Story(workers(2, runPolicy={"cleanUpPolicy": "Unfinished"})).submit().all_pods("Running")
    story.pod("worker-1", "Failed", exit_code=143, deleting=True).pod("worker-0", "Succeeded")
    live = pod("worker-1", deleting=True, grace=0, status={"phase": "Failed"})
    assert [type(write) for write in writes(story, [live]) if isinstance(write, Delete | Release | Hold)] == [
        Release
    ]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_r9_a_pod_that_has_ended_meanwhile_is_not_deleted_and_stays_when_the_log_knows(phase: str) -> None:
    story, live = cleaned(), [pod("worker-1", status={"phase": phase})]
    actions = writes(story, live)
    assert [action for action in actions if isinstance(action, Delete | Release | Hold)] == [
        Hold("worker-1.1")
    ]
    story.pod("worker-1", phase)
    actions = writes(story, live)
    assert [type(action) for action in actions if isinstance(action, Delete | Release | Hold)] == [Release]


def test_a_pod_that_has_ended_and_does_not_say_its_attempt_is_let_go() -> None:
    """No watch can tell how it ended (`PodUnreadable`), and it would hold its namespace for ever."""
    story = running()
    live = pod(deleting=True, grace=0, status={"phase": "Failed"})
    live["metadata"]["annotations"][ATTEMPT] = "none"
    assert [type(write) for write in writes(story, [service(story), live])] == [Release]


def test_a_pod_that_runs_and_is_removed_by_force_is_let_go() -> None:
    story = running()
    live = [service(story), pod(deleting=True, grace=0, status={"phase": "Running"})]
    assert [type(write) for write in writes(story, live)] == [Release]


@pytest.mark.parametrize("how", ["deleted", "ended"])
def test_a_pod_nobody_has_heard_of_is_let_go_where_none_is_going_to_be_made(how: str) -> None:
    story = Story(workers(2)).submit()
    story.delete() if how == "deleted" else story.refused()
    assert story.state.deleted or story.state.is_final
    actions = writes(story, [pod(deleting=True, grace=0)])
    assert [type(action) for action in actions if isinstance(action, Hold | Release)] == [Release]


def test_a_pod_of_a_later_attempt_than_the_state_knows_is_reported_again_and_left_alone() -> None:
    story, later = running(), pod(attempt=2)
    assert writes(story, [service(story), later]) == [Report(Ref.of(later), "worker-0.2")]


def test_a_later_attempt_under_another_name_is_left_alone() -> None:
    story, other = running(), pod(attempt=2)
    other["metadata"]["name"] = "somebody-elses"
    assert writes(story, [service(story), pod(), other]) == []


def test_a_pod_without_a_controller_is_taken_back() -> None:
    story, stripped = running(), pod()
    del stripped["metadata"]["ownerReferences"]
    (taken,) = writes(story, [service(story), stripped])
    assert isinstance(taken, TakeBack)
    assert (taken.ref, taken.uid) == (Ref.of(stripped), "worker-0.1")


def test_a_pod_that_is_taken_back_gets_the_labels_of_its_replica() -> None:
    story, stripped = running(), pod()
    del stripped["metadata"]["ownerReferences"], stripped["metadata"]["labels"]
    (taken,) = writes(story, [service(story), stripped])
    assert isinstance(taken, TakeBack)
    assert taken.labels
    assert is_in_sight({"metadata": {"labels": taken.labels}})


@pytest.mark.parametrize("labels", [{}, {"replica-type": "worker", "replica-index": "1"}])
def test_a_pod_that_the_log_does_not_have_is_the_replica_of_its_name_and_gets_the_labels_back(
    labels: dict[str, str],
) -> None:
    story, edited = Story(workers(1)).submit(), pod()
    edited["metadata"]["labels"] = labels
    (relabel,) = writes(story, [service(story), edited])
    wished = story.children["Pod/mnist-7ac1b-worker-0"]["metadata"]["labels"]
    assert relabel == Relabel(Ref.of(edited), "worker-0.1", wished)


@pytest.mark.parametrize("labels", [{}, {"replica-type": "worker", "replica-index": "1"}])
def test_a_pod_that_is_to_go_before_the_log_has_it_gets_its_labels_back_too(labels: dict[str, str]) -> None:
    story, edited = Story(workers(2)).submit(), pod()
    wished = story.children["Pod/mnist-7ac1b-worker-0"]["metadata"]["labels"]
    edited["metadata"]["labels"] = labels
    story.pause()
    relabels = [write for write in writes(story, [edited]) if isinstance(write, Relabel)]
    assert relabels == [Relabel(Ref.of(edited), "worker-0.1", wished)]
    story.gone("worker-0")
    assert not any(isinstance(write, Relabel) for write in writes(story, [edited])), "nobody waits for it"


def test_a_pod_that_the_log_has_is_its_replica_s_with_any_labels() -> None:
    story, edited = running(), pod()
    edited["metadata"]["labels"] = {"replica-type": "worker", "replica-index": "1"}
    assert writes(story, [service(story), edited]) == []


def test_a_pod_that_outlives_its_job_is_said_to_be_gone() -> None:
    story, orphan = running().delete(), pod()
    del orphan["metadata"]["ownerReferences"]
    assert writes(story, [orphan]) == [SayTaken(ReplicaName("worker-0"), 1, PodUid("worker-0.1"))]


def test_nothing_is_made_of_a_job_that_is_being_deleted() -> None:
    story = Story(workers(2)).submit().terminate()
    assert writes(story, []) == []


def test_pods_of_a_job_that_was_refused_are_let_go_and_not_deleted() -> None:
    spec = workers(1)
    del spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"]
    assert [type(write) for write in writes(Story(spec).submit(), [pod()])] == [Release]


def test_what_the_state_may_be_too_old_to_want_is_deleted_in_doubt() -> None:
    story = running()
    other = service(story)
    other["metadata"] = {**other["metadata"], "name": "mnist-7ac1b-worker-1"}
    there = [service(story), other, pod(), pod("worker-1")]
    assert [write.doubtful for write in writes(story, there) if isinstance(write, Delete)] == [True, True]
    story.delete()
    assert not any(write.doubtful for write in writes(story, there) if isinstance(write, Delete))


@pytest.mark.parametrize("deleting", [False, True])
def test_a_second_pod_of_one_attempt_is_removed(deleting: bool) -> None:
    story = running()
    actions = writes(story, [service(story), pod(uid="twin", deleting=deleting)])
    assert [type(action) for action in actions] == ([Release] if deleting else [Release, Delete])


def test_a_pod_asked_for_dismissed_and_never_made_is_said_to_be_absent() -> None:
    story = Story(workers(1)).submit().pause()
    assert writes(story, [service(story)]) == [SayAbsent(ReplicaName("worker-0"), 1)]


def unreported_board() -> Story:
    """A job that runs and has a TensorBoard, which nobody has reported."""
    return Story(workers(1, tensorboardSpec={"image": "tb:1"})).submit().pod("worker-0", "Running")


def board(story: Story) -> Manifest:
    """The TensorBoard t-1 as the cluster has it."""
    built = story.children["TensorBoard/mnist-7ac1b"]
    return {**built, "metadata": {**built["metadata"], "uid": "t-1"}, "status": {"phase": "Running"}}


def test_a_changed_tensorboard_is_updated_and_an_unwanted_one_deleted() -> None:
    story = unreported_board().board(uid="t-1")
    live = [service(story), pod(), board(story)]
    assert writes(story, live) == []
    story.edit(tensorboardSpec={"image": "tb:2"})
    (update,) = writes(story, live)
    assert isinstance(update, Update)
    assert update.merge == {"spec": {"image": "tb:2"}}
    story.edit(tensorboardSpec={"image": "tb:1"})
    (report,) = writes(story, live)
    assert isinstance(report, Report), (
        "nothing is to be changed, so no watch will show that it is as it should be"
    )
    story.edit(tensorboardSpec=None)
    (delete,) = writes(story, live)
    assert isinstance(delete, Delete)
    assert delete.uid == "t-1"


@pytest.mark.parametrize(("uid", "running"), [("", False), ("t-0", True), ("t-1", False)])
def test_a_tensorboard_that_a_late_report_hides_is_reported_once_more(uid: str, running: bool) -> None:
    story = unreported_board().board(uid=uid, running=running)
    manifest = board(story)
    assert writes(story, [service(story), pod(), manifest]) == [Report(Ref.of(manifest), "t-1")]


def test_a_tensorboard_that_no_watch_has_reported_yet_is_left_to_the_watches() -> None:
    story = unreported_board()
    assert writes(story, [service(story), pod(), board(story)]) == []


def gang() -> TorchStory:
    """A job whose pods wait until Volcano has let its PodGroup in."""
    return TorchStory(training(), gang_scheduler="volcano").submit()


def group(story: TorchStory, phase: str = "Inqueue", *, deleting: bool = False) -> Manifest:
    """The PodGroup group-1 as the cluster has it."""
    built = story.children["PodGroup/retry"]
    going = {"deletionTimestamp": "2024-01-09T15:00:00Z"} if deleting else {}
    return {
        **built,
        "metadata": {**built["metadata"], "uid": "group-1", **going},
        "status": {"phase": phase} if phase else {},
    }


def about_the_group(story: TorchStory, there: Manifest) -> list[Write]:
    return [write for write in writes(story, [there]) if isinstance(write, Delete | Report | Await)]


def test_a_pod_group_that_outlived_a_pause_is_reported_once_more() -> None:
    story = gang().group("Inqueue")
    there = group(story)
    assert about_the_group(story, there) == []
    (delete,) = about_the_group(story.suspend(), there)
    assert isinstance(delete, Delete), "it is refused, or the pause is shorter than the way to the cluster"
    (report,) = about_the_group(story.suspend(False), there)
    assert report == Report(Ref.of(there), "group-1")
    assert about_the_group(story.group("Inqueue"), there) == []


def test_a_pod_group_whose_report_came_during_a_pause_is_reported_once_more() -> None:
    story = gang().suspend().group("Inqueue").suspend(False)
    there = group(story)
    assert about_the_group(story, there) == [Report(Ref.of(there), "group-1")]
    assert about_the_group(story, group(story, "")) == [], (
        "Volcano has not looked at it: its first status is news"
    )


@pytest.mark.parametrize(("log", "cluster"), [("Pending", "Inqueue"), ("Inqueue", "Pending")])
def test_a_pod_group_of_which_the_last_report_is_an_old_one_is_reported_once_more(
    log: str, cluster: str
) -> None:
    story = gang().group(log)
    there = group(story, cluster)
    assert about_the_group(story, there) == [Report(Ref.of(there), "group-1")]
    assert about_the_group(story.group(cluster), there) == []


def test_a_child_that_goes_while_it_is_wanted_is_waited_for() -> None:
    story = gang().group("Inqueue").suspend().suspend(False)
    assert about_the_group(story, group(story, deleting=True)) == [Await("group-1")]
    busy = running()
    going = service(busy)
    going["metadata"]["deletionTimestamp"] = "2024-01-09T15:00:00Z"
    assert writes(busy, [going, pod()]) == [Await(going["metadata"]["uid"])]
    ended = busy.pod("worker-0", "Succeeded")
    assert not any(isinstance(write, Await) for write in writes(ended, [going])), "no other one will be made"


def test_what_jobledger_does_not_make_is_not_touched() -> None:
    story = running()
    other = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "uid": "p"}}
    assert writes(story, [service(story), pod(), other]) == []


def test_everything_goes_with_a_deleted_job() -> None:
    story = running()
    live = [service(story), pod()]
    actions = writes(story.delete(), live)
    assert sorted(action.ref.kind for action in actions if isinstance(action, Delete)) == ["Pod", "Service"]


def test_what_goes_already_is_not_deleted_again() -> None:
    story = running()
    other = service(story)
    meta = {**other["metadata"], "name": "mnist-7ac1b-worker-1", "deletionTimestamp": "2024-01-09T15:00:00Z"}
    assert writes(story, [service(story), pod(), {**other, "metadata": meta}]) == []


def test_children_of_a_deleted_job_are_deleted_as_they_were_listed_and_released_after_that() -> None:
    """They may be left as orphans meanwhile; and a release would be a change of the version."""
    story, there = running(), pod()
    there["metadata"]["resourceVersion"] = "17"
    actions = writes(story.pod("worker-0", "Failed", exit_code=1).delete(), [there])
    assert actions == [
        Delete(Ref.of(there), "worker-0.1", "17"),
        Release(Ref.of(there), "worker-0.1"),
    ]


@pytest.mark.parametrize(
    "text",
    ["\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT TWO}", "9" * 5000, "-1", ""],
    ids=lambda text: ascii(text[:9]),
)
def test_a_number_on_a_pod_that_is_none_stops_nothing(text: str) -> None:
    odd = pod()
    odd["metadata"]["annotations"][ATTEMPT] = text
    assert attempt_of(odd) == 0
    writes(running(), [odd])
    odd["metadata"]["labels"]["replica-index"] = text
    writes(running(), [odd])


class Counted(UserDict[ReplicaName, ReplicaState]):
    """Replicas that count how often somebody goes through all of them."""

    passes = 0

    def values(self) -> ValuesView[ReplicaState]:
        self.passes += 1
        return super().values()


def passes(number: int) -> int:
    """How often one visit goes through all replicas of a job of `number` workers."""
    story = Story(workers(number)).submit()
    children = list(desired(story.state))
    replicas = Counted(story.state.replicas)
    live = [pod(name) for name in replicas]
    list(diff(changed(story.state, replicas=replicas), children, live))
    return replicas.passes


def test_g19_a_visit_looks_through_the_replicas_as_often_for_many_as_for_few() -> None:
    assert passes(40) == passes(2)
