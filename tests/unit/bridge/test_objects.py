"""The object store's own rules, beside what the port's suite says."""

from datetime import date, timedelta
from typing import Any

import pytest

from k8s_bridge.json_data import copied, merged
from k8s_bridge.kept_events import KeptEvents
from k8s_bridge.objects import ObjectStore
from k8s_bridge.port import Change, JobEvent, Ref, Verb
from k8s_bridge.stored import Stored
from statemachine.errors import Refused
from tests.support.memory_cluster import counted_uids
from tests.unit.bridge.words import AT, JOB_API, config_map, job, owned, pod

JOB = Ref(JOB_API, "PyTorchTrainingJob", "demo", "mnist")
POD = Ref("v1", "Pod", "demo", "mnist-7ac1b-worker-0")


def store(**more: Any) -> ObjectStore:
    return ObjectStore(clock=lambda: AT, new_uid=counted_uids(), **more)


# ---- merge patches: the examples of RFC 7396, appendix A -------------------------------------------------


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patches(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result


def test_a_copy_shares_nothing() -> None:
    original = {"a": [{"b": 1}]}
    copy = copied(original)
    copy["a"][0]["b"] = 2
    assert original == {"a": [{"b": 1}]}


@pytest.mark.parametrize("value", [{"a": date(2024, 1, 9)}, {1: "a"}, {"a": object()}, {"a": {b"b"}}])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(Refused) as refused:
        copied(value)
    assert refused.value.status == 400


# ---- the store -------------------------------------------------------------------------------------------


def test_every_change_raises_the_version() -> None:
    objects = store()
    versions = [int(objects.create(config_map(name))["metadata"]["resourceVersion"]) for name in "abc"]
    assert versions == [1, 2, 3]


def test_listeners_hear_every_change_in_order() -> None:
    objects, heard = store(), list[Verb]()
    objects.subscribe(lambda change: heard.append(change.verb))
    objects.create(job())
    objects.patch(JOB, {"metadata": {"labels": {"a": "b"}}})
    objects.delete(JOB)
    assert heard == [Verb.ADDED, Verb.MODIFIED, Verb.DELETED]


def test_every_change_is_persisted_and_what_is_gone_says_so() -> None:
    kept: list[Stored] = []
    objects = store(persist=kept.append)
    objects.create(job())
    objects.patch_status(JOB, "u-1", {"phase": "Running"}, 3)
    objects.patch_status(JOB, "u-1", {"phase": "Running"}, 4)
    objects.delete(JOB)
    assert [(manifest.status_seq, manifest.gone) for manifest in kept] == [
        (0, False),
        (3, False),
        (4, False),
        (4, True),
    ]


def test_a_restored_store_goes_on_where_the_old_one_was() -> None:
    kept: dict[str, Stored] = {}
    objects = store(persist=lambda stored: kept.update({stored.uid: stored}))
    owner = objects.create(job())
    objects.create(pod(owner))
    objects.patch_status(JOB, "u-1", {"phase": "Running"}, 3)
    again = store()
    for manifest in kept.values():
        again.restore(manifest)
    again.patch_status(JOB, "u-1", {"phase": "Pending"}, 2)
    assert again.get(JOB) == objects.get(JOB)
    assert again.peek_children("demo", "u-1") == objects.peek_children("demo", "u-1")


def test_children_follow_a_change_of_their_owner() -> None:
    objects = store()
    for name in ("a", "b"):
        objects.create(job(name))
    objects.create(pod(objects.get(Ref(JOB_API, "PyTorchTrainingJob", "demo", "a"))))
    objects.patch(POD, {"metadata": owned(objects.get(Ref(JOB_API, "PyTorchTrainingJob", "demo", "b")))})
    assert [len(objects.peek_children("demo", uid)) for uid in ("u-1", "u-2")] == [0, 1]


def test_a_deleted_pod_goes_when_it_has_terminated_and_is_released_in_either_order() -> None:
    for steps in (("terminated", "release"), ("release", "terminated")):
        objects = store()
        objects.create(pod(evidence=True))
        objects.delete(POD)
        for step in steps:
            assert objects.peek(POD) is not None
            getattr(objects, step)(POD, "u-1")
        assert objects.peek(POD) is None


def test_a_pod_that_terminated_before_goes_at_once_when_deleted() -> None:
    objects = store()
    objects.create(pod())
    objects.terminated(POD, "u-1")
    objects.delete(POD)
    assert objects.peek(POD) is None


def test_a_second_deletion_only_shortens_the_grace() -> None:
    objects, changes = store(), list[Change]()
    objects.create(pod())
    objects.subscribe(changes.append)
    for grace in (None, 40.0, 5.0, None):
        objects.delete(POD, grace=grace)
    assert [change.object["metadata"]["deletionGracePeriodSeconds"] for change in changes] == [30.0, 5.0]


def test_the_grace_of_the_pod_counts_when_nobody_says_another() -> None:
    objects = store()
    objects.create(pod(spec={"terminationGracePeriodSeconds": 7}))
    objects.delete(POD)
    assert objects.get(POD)["metadata"]["deletionGracePeriodSeconds"] == 7


# ---- events ----------------------------------------------------------------------------------------------


def event(number: int) -> JobEvent:
    return JobEvent(JOB, "u-1", f"e-{number}", "Start", "said", "Normal", AT + timedelta(seconds=number))


def test_above_the_limit_the_oldest_events_go() -> None:
    said: list[tuple[str, bool]] = []
    events = KeptEvents(2, lambda event, kept: said.append((event.name, kept)))
    for number in range(3):
        events.add(event(number))
    assert [event.name for event in events.of("demo", "u-1")] == ["e-1", "e-2"]
    assert said == [("e-0", True), ("e-1", True), ("e-2", True), ("e-0", False)]
