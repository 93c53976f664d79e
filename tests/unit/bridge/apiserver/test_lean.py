"""Watched pods without what nobody reads: every consumer makes the same of them as of whole ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from k8s_bridge.apiserver import lean
from k8s_bridge.apiserver.index import KnownObject
from k8s_bridge.observe import is_over, observe, tells_no_more
from k8s_bridge.port import Change, Manifest, Verb
from tests.unit.bridge.apiserver.scripted import event, status
from tests.unit.bridge.test_observe import a_pod, damaged, terminated
from tests.unit.bridge.words import AT

WRITTEN: list[Manifest] = [
    {
        "manager": "jobledger",
        "operation": "Update",
        "time": "2024-01-09T15:20:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}},
    },
    {"manager": "kubelet", "operation": "Update", "time": "2024-01-09T15:21:00Z", "subresource": "status"},
]
PASSWORD = "correct-horse-battery-staple"


def whole(phase: str = "Running", reported: dict[str, Any] | None = None, **meta: Any) -> Manifest:
    """A pod with everything that an API server puts into one."""
    conditions = [{"type": "Ready", "status": "True", "lastProbeTime": None}]
    states = [{"name": "pytorch", "restartCount": 1, "image": "none", "state": {"running": {}}}]
    raw = a_pod(
        {"phase": phase, "conditions": conditions, "containerStatuses": states, **(reported or {})},
        resourceVersion="17",
        managedFields=WRITTEN,
        **meta,
    )
    env = [{"name": "DB_PASSWORD", "value": PASSWORD}]
    raw["spec"] |= {"volumes": [{"name": "token"}], "containers": [{"name": "pytorch", "env": env}]}
    return raw


def made_of(raw: Manifest, verb: Verb) -> tuple[object, ...]:
    """What all consumers of a watched pod make of it."""
    return observe(Change(verb, raw, AT)), is_over(raw), tells_no_more(raw), KnownObject.of(raw)


PODS: dict[str, Manifest] = {
    "running": whole(),
    "not placed": whole("Pending", {"containerStatuses": None}),
    "ended": whole("Succeeded", {"containerStatuses": [terminated(0)]}),
    "in deletion": whole(deletionTimestamp="2024-01-09T15:30:00Z", deletionGracePeriodSeconds=30),
    "over": whole("Failed", deletionTimestamp="2024-01-09T15:30:00Z", deletionGracePeriodSeconds=0),
    "evicted": whole("Failed", {"reason": "Evicted", "message": f"it says {PASSWORD}"}),
    "refused": whole(
        "Failed",
        {
            "containerStatuses": [
                {
                    "name": "pytorch",
                    "state": {
                        "terminated": {
                            "exitCode": 127,
                            "reason": "StartError",
                            "message": f'exec: "{PASSWORD}": executable file not found',
                        }
                    },
                }
            ]
        },
    ),
    "unscheduled": whole("Pending", {"message": f"it says {PASSWORD}"}),
}


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize("raw", PODS.values(), ids=PODS)
def test_the_same_is_made_of_a_pod_without_what_nobody_reads(raw: Manifest, verb: Verb) -> None:
    decoded = lean.data(event(verb, raw), "Pod")
    assert decoded["type"] == verb
    assert made_of(decoded["object"], verb) == made_of(raw, verb)
    assert PASSWORD not in str(observe(Change(verb, decoded["object"], AT)))


def test_what_nobody_reads_is_left_out() -> None:
    kept = lean.data(event("MODIFIED", PODS["running"]), "Pod")["object"]
    assert kept["spec"] == {"nodeName": "node-1"}
    assert kept["metadata"]["managedFields"] == [{"time": entry["time"]} for entry in WRITTEN]


@given(damaged(), st.sampled_from(Verb))
def test_damaged_pods_are_what_they_would_be_whole(raw: Manifest, verb: Verb) -> None:
    line = json.dumps({"type": verb, "object": raw}).encode()
    try:
        whole_data = from_json(line)
    except ValueError:
        with pytest.raises(ValueError, match=r".*"):
            lean.data(line, "Pod")
        return
    kept = lean.data(line, "Pod")["object"]
    assert observe(Change(verb, kept, AT)) == observe(Change(verb, whole_data["object"], AT))


@pytest.mark.parametrize("kind", ["Service", "PyTorchTrainingJob"])
def test_other_objects_are_whole(kind: str) -> None:
    raw = {**PODS["running"], "kind": kind}
    assert lean.data(event("ADDED", raw), kind)["object"] == raw


def test_an_error_in_a_watch_of_pods_is_whole() -> None:
    refusal = status(410, "too old resource version", "Expired")
    assert lean.data(event("ERROR", refusal), "Pod") == {"type": "ERROR", "object": refusal}


@pytest.mark.parametrize("line", [b"", b"{", b"not json", b'"text"', b"[]", b'{"type": 1}'])
def test_what_is_no_event_is_left_to_the_reader_or_is_no_json(line: bytes) -> None:
    try:
        assert lean.data(line, "Pod") == from_json(line)
    except ValueError:
        with pytest.raises(ValueError, match=r".*"):
            from_json(line)
