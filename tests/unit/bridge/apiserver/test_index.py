"""What is known of children: the last version of each living object, in whichever order it was reported."""

import copy
import tracemalloc
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from k8s_bridge.apiserver.index import Index, KnownObject
from k8s_bridge.port import EVIDENCE, Manifest
from projectors.diff import attempt_of
from tests.unit.bridge.words import job, owned, pod, service

JOB = job(uid="j-1")
PODS, OTHER_PODS = "/api/v1/pods?ours", "/api/v1/pods?theirs"


def stored(raw: Manifest, uid: str = "p-1", version: int = 1, **more: object) -> Manifest:
    """`raw` as an API server gives it."""
    manifest = copy.deepcopy(raw)
    manifest["metadata"] |= {"uid": uid, "resourceVersion": str(version), **more}
    return manifest


def test_a_child_is_looked_up_by_its_job() -> None:
    index = Index()
    assert index.put(stored(pod(JOB)))
    assert index.put(stored(service(JOB), "s-1"))
    assert index.put(stored(pod(job(uid="j-2")), "p-2"))
    assert [child.uid for child in index.owned("j-1")] == ["p-1", "s-1"]
    assert [child.uid for child in index.owned("j-2")] == ["p-2"]
    assert index.owned("j-3") == []


def test_what_no_job_controls_is_known_and_nobodys() -> None:
    index = Index()
    index.put(stored(pod()))
    assert [child.uid for child in index.everything()] == ["p-1"]
    assert index.owned("") == []


def test_an_older_version_is_not_taken() -> None:
    index = Index()
    index.put(stored(pod(JOB), version=10) | {"status": {"phase": "Running"}})
    assert not index.put(stored(pod(JOB), version=9) | {"status": {"phase": "Pending"}})
    assert not index.put(stored(pod(JOB), version=10) | {"status": {"phase": "Pending"}})
    [child] = index.owned("j-1")
    assert child.phase == "Running"


def test_versions_are_numbers() -> None:
    index = Index()
    index.put(stored(pod(JOB), version=9))
    assert index.put(stored(pod(JOB), version=10))


def test_a_list_of_one_collection_says_nothing_of_another() -> None:
    index = Index()
    index.put(stored(pod(JOB), "p-1", version=1), PODS)
    index.put(stored(pod(JOB), "p-2", version=2), OTHER_PODS)
    assert list(index.up_to(PODS, 5)) == ["p-1"]
    assert list(index.up_to(OTHER_PODS, 5)) == ["p-2"]
    assert list(index.up_to(OTHER_PODS, 1)) == []


def test_versions_that_cannot_be_compared_keep_no_report_away() -> None:
    index = Index()
    assert index.put(stored(pod(JOB), resourceVersion="f00") | {"status": {"phase": "Pending"}})
    assert index.put(stored(pod(JOB), resourceVersion="ba5") | {"status": {"phase": "Running"}})
    [child] = index.owned("j-1")
    assert (child.phase, child.manifest()["metadata"]["resourceVersion"]) == ("Running", "ba5")
    assert index.remove("p-1", 0) is not None
    assert index.put(stored(pod(JOB), resourceVersion="f00"))  # it has its labels again
    index.note_gone("p-1")
    assert not index.put(stored(pod(JOB), resourceVersion="ba5"))


def test_what_is_gone_stays_gone_whatever_late_reports_say() -> None:
    index = Index()
    index.put(stored(pod(JOB), version=10))
    removed = index.remove("p-1")
    assert removed is not None
    assert removed.version == 10
    assert not index.put(stored(pod(JOB), version=11))
    assert index.owned("j-1") == []
    assert len(index) == 0
    assert index.remove("p-1") is None


def test_what_we_deleted_is_remembered_until_the_watch_reports_it() -> None:
    index = Index()
    index.put(stored(pod(JOB)))
    index.note_gone("p-1")
    assert index.owned("j-1") == []
    removed = index.remove("p-1")
    assert removed is not None
    assert removed.uid == "p-1"
    assert index.remove("p-1") is None


def test_what_a_watch_lost_for_its_labels_may_come_back() -> None:
    index = Index()
    index.put(stored(pod(JOB), version=3))
    index.remove("p-1", 5)
    assert not index.put(stored(pod(JOB), version=4))
    assert index.put(stored(pod(JOB), version=6))
    assert [child.version for child in index.owned("j-1")] == [6]


def test_a_child_may_be_disowned_and_adopted() -> None:
    index = Index()
    index.put(stored(pod(JOB), version=1))
    index.put(stored(pod(), version=2))
    assert index.owned("j-1") == []
    index.put(stored(pod(job(uid="j-2")), version=3))
    assert [child.uid for child in index.owned("j-2")] == ["p-1"]


def test_what_the_projectors_compare_is_kept_of_a_pod() -> None:
    raw = stored(
        pod(JOB, attempt=3, evidence=True),
        version=10,
        deletionTimestamp="2024-01-09T15:24:26Z",
        deletionGracePeriodSeconds=0,
    )
    raw["spec"]["nodeName"] = "node-1"
    raw["status"] = {"phase": "Failed", "containerStatuses": [{"name": "a", "state": {}}]}
    manifest = KnownObject.of(raw).manifest()
    meta = manifest["metadata"]
    assert (manifest["apiVersion"], manifest["kind"], meta["namespace"], meta["name"], meta["uid"]) == (
        "v1",
        "Pod",
        "demo",
        raw["metadata"]["name"],
        "p-1",
    )
    assert meta["ownerReferences"] == raw["metadata"]["ownerReferences"]
    assert meta["labels"] == {"replica-type": "worker", "replica-index": "0"}
    assert attempt_of(manifest) == 3
    assert meta["finalizers"] == [EVIDENCE]
    assert meta["deletionTimestamp"] == "2024-01-09T15:24:26Z"
    assert meta["deletionGracePeriodSeconds"] == 0
    assert manifest["spec"] == {"nodeName": "node-1"}
    assert manifest["status"] == {"phase": "Failed"}


def test_a_pod_that_is_not_being_deleted_does_not_look_so() -> None:
    meta = KnownObject.of(stored(pod(JOB))).manifest()["metadata"]
    assert "deletionTimestamp" not in meta
    assert "deletionGracePeriodSeconds" not in meta


def test_the_spec_is_kept_where_it_is_compared() -> None:
    group = {**service(JOB), "kind": "PodGroup", "apiVersion": "scheduler.tensorstack.dev/v1beta1"}
    group["spec"] = {"minMember": 3}
    assert KnownObject.of(stored(group)).manifest()["spec"] == {"minMember": 3}
    assert "spec" not in KnownObject.of(stored(service(JOB))).manifest()


def test_the_status_is_kept_where_a_kind_observes_it() -> None:
    board = {**service(JOB), "kind": "TensorBoard", "apiVersion": "tensorstack.dev/v1beta1"}
    assert KnownObject.of(stored(board) | {"status": {"phase": "Running"}}).manifest()["status"] == {
        "phase": "Running"
    }
    assert "status" not in KnownObject.of(stored(service(JOB)) | {"status": {"loadBalancer": {}}}).manifest()


def test_of_what_vanished_no_end_is_reported() -> None:
    raw = stored(pod(JOB)) | {"status": {"phase": "Running"}}
    vanished = KnownObject.of(raw).vanished()
    assert "status" not in vanished
    assert vanished["metadata"]["uid"] == "p-1"


@pytest.mark.parametrize(("version", "there"), [(7, True), (6, False)])
def test_what_was_looked_at_is_known_although_a_watch_said_that_it_is_gone(version: int, there: bool) -> None:
    """The change that took its labels has the version of what there is; a deletion is later than all of it."""
    index, raw = Index(), stored(pod(JOB))
    raw["metadata"]["resourceVersion"] = "5"
    index.put(raw)
    index.remove("p-1", 7)
    index.sight({**raw, "metadata": {**raw["metadata"], "resourceVersion": str(version)}})
    assert (index.get("p-1") is not None) is there


def test_what_was_looked_at_is_known_although_a_list_did_not_show_it() -> None:
    index, raw = Index(), stored(pod(JOB))
    index.put(raw)
    index.remove("p-1")
    index.sight(raw)
    assert index.get("p-1") is not None


def test_what_our_own_write_made_go_is_not_brought_back_by_a_look() -> None:
    index, raw = Index(), stored(pod(JOB))
    index.put(raw)
    index.note_gone("p-1")
    index.sight(raw)
    assert index.get("p-1") is None


def test_an_object_without_metadata_of_ours_is_known() -> None:
    raw = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "uid": "s-1", "resourceVersion": "1"},
    }
    index = Index()
    assert index.put(raw)
    [child] = index.everything()
    assert (child.job, child.namespace, child.labels) == ("", "", (None,) * 4)


def test_children_of_a_job_share_one_copy_of_who_owns_them() -> None:
    index = Index()
    index.put(stored(pod(JOB), "p-1"))
    index.put(stored(service(JOB), "s-1"))
    index.put(stored(pod(job(uid="j-2")), "p-2"))
    one, two, other = index.everything()
    assert one.owner is two.owner
    assert other.owner is not None
    assert other.owner["uid"] == "j-2"


def test_an_owner_that_is_described_otherwise_is_kept_as_it_is() -> None:
    index = Index()
    index.put(stored(pod(JOB), "p-1"))
    index.put(stored(pod(job("renamed", uid="j-1")), "p-2"))
    assert [child.owner and child.owner["name"] for child in index.owned("j-1")] == ["mnist", "renamed"]


def test_a_pod_takes_less_than_a_kilobyte() -> None:
    """As it is read from a watch, of some kilobytes of JSON, it takes sixteen."""
    lines = [to_json(whole_pod(number)) for number in range(1000)]
    tracemalloc.start()
    try:
        index = Index()
        for line in lines:
            index.put(from_json(line, cache_strings="keys"))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(index) == 1000
    assert used / 1000 < 1000


def whole_pod(number: int) -> Manifest:
    """A running pod with all that an API server adds."""
    raw = stored(
        pod(job(uid=f"j-{number // 4}"), name=f"pod-{number}", evidence=True), f"uid-{number}", number
    )
    fields: dict[str, Any] = {f"f:field-{number}": {} for number in range(40)}
    raw["metadata"]["managedFields"] = [{"manager": "kubelet", "fieldsV1": {"f:spec": fields}}]
    state = {"running": {"startedAt": "2024-01-09T15:24:26Z"}}
    conditions = [
        {"type": condition, "status": "True"} for condition in ("Ready", "Initialized", "PodScheduled")
    ]
    raw["spec"]["nodeName"] = "node-1"
    containers = [{"name": "pytorch", "image": "pytorch:2", "state": state}]
    raw["status"] = {"phase": "Running", "conditions": conditions, "containerStatuses": containers}
    return raw


# ---- whatever happens --------------------------------------------------------------------------------------


def small(uid: str, version: int) -> Manifest:
    """A pod of JOB; its phase tells its version."""
    meta = {"name": uid, "namespace": "demo", "uid": uid, "resourceVersion": str(version), **owned(JOB)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": {"phase": f"phase-{version}"}}


@dataclass
class World:
    """An API server's pods, the reports of them that are under way, and the index that hears those.

    Watches and our own writes tell the same things in different orders, early or late; but one watch tells its
    changes in order, and a list tells everything as it is.
    """

    index: Index = field(default_factory=Index)
    version: int = 0
    made: int = 0
    living: dict[str, Manifest] = field(default_factory=dict)
    watched: list[tuple[str, Manifest]] = field(default_factory=list)
    """Reported by the watch, one after the other."""
    answers: list[tuple[str, Manifest]] = field(default_factory=list)
    """Answers to our own writes, which come whenever."""
    reported: set[str] = field(default_factory=set)
    """What the reflector has reported and not taken back."""
    position: int = 0
    """The version up to which it has reported everything."""
    hidden: set[str] = field(default_factory=set)

    def changed(self, verb: str, raw: Manifest, *, ours: bool) -> None:
        self.watched.append((verb, raw))
        if ours:
            self.answers.append((verb, raw))

    def create(self, *, ours: bool) -> None:
        self.made, self.version = self.made + 1, self.version + 1
        uid = f"p-{self.made}"
        self.living[uid] = small(uid, self.version)
        self.changed("ADDED", self.living[uid], ours=ours)

    def change(self, uid: str, *, ours: bool) -> None:
        self.version += 1
        self.living[uid] = small(uid, self.version)
        self.changed("MODIFIED", self.living[uid], ours=ours)

    def delete(self, uid: str, *, ours: bool) -> None:
        self.version += 1
        del self.living[uid]
        self.changed("DELETED", small(uid, self.version), ours=ours)

    def hide(self, uid: str) -> None:
        """It loses its labels, which a watch tells like a deletion, and gets them again.

        In between the watch may take away what an answer to our own write has reported, and give it back older.
        """
        self.hidden.add(uid)
        self.change(uid, ours=False)
        self.watched[-1] = ("DELETED", self.watched[-1][1])
        self.change(uid, ours=False)

    def hear_watch(self) -> None:
        if not self.watched:
            return
        verb, raw = self.watched.pop(0)
        uid = raw["metadata"]["uid"]
        if verb == "DELETED":
            self.index.remove(uid, int(raw["metadata"]["resourceVersion"]))
            self.reported.discard(uid)
        else:
            self.index.put(raw, PODS)
            self.reported.add(uid)
        self.position = int(raw["metadata"]["resourceVersion"])

    def hear_answer(self, which: int) -> None:
        if not self.answers:
            return
        verb, raw = self.answers.pop(which % len(self.answers))
        if verb == "DELETED":
            self.index.note_gone(raw["metadata"]["uid"])
        else:
            self.index.note(raw, PODS, self.position)

    def relist(self) -> None:
        """The watch expired: what it had yet to report is lost, and everything is reported as it is."""
        self.watched.clear()
        for raw in self.living.values():
            self.index.put(raw, PODS)
        noted = self.index.up_to(PODS, self.version)
        for uid in self.reported.union(noted) - set(self.living):
            assert self.index.remove(uid) is not None, "nobody would hear that it is gone"
        self.reported, self.position = set(self.living), self.version

    def settle(self) -> None:
        while self.watched:
            self.hear_watch()


steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["create", "change", "change", "delete", "hide", "watch", "watch", "watch", "answer", "relist"]
        ),
        st.booleans(),
        st.integers(0, 20),
    ),
    min_size=20,
    max_size=60,
)


@settings(max_examples=200)
@given(steps)
def test_the_index_is_the_last_version_of_each_living_object(todo: list[tuple[str, bool, int]]) -> None:
    world = World()
    heard: dict[str, int] = {}
    for step, ours, which in todo:
        uids = sorted(world.living)
        uid = uids[which % len(uids)] if uids else ""
        match step:
            case "create":
                world.create(ours=ours)
            case "change" if uid:
                world.change(uid, ours=ours)
            case "delete" if uid:
                world.delete(uid, ours=ours)
            case "hide" if uid:
                world.hide(uid)
            case "watch":
                world.hear_watch()
            case "answer":
                world.hear_answer(which)
            case "relist":
                world.relist()
            case _:
                pass
        for child in world.index.everything():
            assert child.uid in world.hidden or child.version >= heard.get(child.uid, 0), "it went back"
            heard[child.uid] = child.version
    while world.answers:
        world.hear_answer(0)
    world.settle()
    phases = {child.uid: child.phase for child in world.index.everything()}
    assert phases == {uid: raw["status"]["phase"] for uid, raw in world.living.items()}
    assert [child.uid for child in world.index.owned("j-1")] == list(phases)
