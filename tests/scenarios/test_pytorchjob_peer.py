"""The situations in which the training operator was watched: the same conditions, counts and Events, step by step.

Source: `observed/*.yaml`, what its version 1.9 did on a real API server. `DIFFERS` says where we differ on purpose.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from statemachine.ids import split_replica
from tests.support.pytorchjob import TorchStory, running

OBSERVED: Final = sorted((Path(__file__).parent / "observed").glob("*.yaml"))

DIFFERS: Final[Mapping[str, str]] = {
    "backoff-limit-exit-code": "pods made again count for the limit, too (section 5)",
    "on-failure": "pods that are deleted are not shown as active",
    "permanent-exit": "the completion time is set, and nothing is said of a restart that does not come",
}


class Peered(TorchStory):
    """A story of the commands that the operator was watched with."""

    def __init__(self, recording: Mapping[str, Any]) -> None:
        super().__init__(recording["spec"], name=recording["name"])
        self.restarts: Counter[str] = Counter()

    def do(self, command: str) -> None:
        """What `kubectl` was asked for, and all that nodes make of it."""
        self.at(self.clock + 3)
        if command.startswith("kubectl apply"):
            self.submit()
        elif patch := re.search(r" -p (\{.*\})$", command):
            self.edit(**json.loads(patch[1])["spec"])
        elif end := re.search(r"annotate pod (\S+) .*exit-code=(\d+)", command):
            self.end(end[1].removeprefix(f"{self.name}-"), int(end[2]))
        self.settle()

    def end(self, replica: str, code: int) -> None:
        """The container exits; the kubelet starts it again in place where the pod's restart policy says so."""
        type_ = split_replica(self.replica(replica).name)[0].capitalize()
        if code and self.spec["pytorchReplicaSpecs"][type_]["restartPolicy"] == "OnFailure":
            self.restarts[replica] += 1
            self.pod(replica, "Running", containers=running(self.restarts[replica]))
        else:
            self.pod(replica, "Failed" if code else "Succeeded", exit_code=code)

    def settle(self) -> None:
        """Pods that are wanted run, and those that are not are gone."""
        self.all_gone()
        for replica in list(self.state.replicas.values()):
            if replica.has_pod and not replica.uid:
                self.pod(replica.name, "Running")

    @property
    def said(self) -> list[str]:
        """The conditions as the recordings have them."""
        return [
            f"{condition.type}={condition.status} {condition.reason}: {condition.message}"
            for condition in self.state.conditions
        ]

    @property
    def event_pairs(self) -> set[tuple[str, str]]:
        """Reason and message of every Event. The operator leaves their order to chance, and counts repeats as one."""
        return set(self.announced())


def recorded(path: Path) -> dict[str, Any]:
    recording: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    # our stories all play in one namespace
    text = json.dumps(recording).replace(recording["namespace"], "demo")
    again: dict[str, Any] = json.loads(text)
    return again


@pytest.mark.parametrize(
    "path", [path for path in OBSERVED if path.stem not in DIFFERS], ids=lambda path: path.stem
)
def test_it_goes_as_with_the_operator(path: Path) -> None:
    recording = recorded(path)
    story = Peered(recording)
    for step in recording["steps"]:
        story.do(step["when"])
        if "conditions" not in step:  # the job object was gone
            assert story.timer("expiry").state.expired
            continue
        assert story.said == step["conditions"], step["when"]
        assert story.numbers == step["replicas"], step["when"]
        assert sorted(key for key, value in story.status.items() if isinstance(value, str)) == step["times"]
    assert story.event_pairs == events(recording)


def events(recording: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The operator tells of one restart twice, in other words; the second time nothing comes of it."""
    pairs = {(reason, message) for _, reason, message in recording["events"]}
    return {
        pair
        for pair in pairs
        if not (pair[0] == "PyTorchJobRestarting" and pair[1].startswith("PyTorchJob "))
    }


def played(name: str) -> tuple[Peered, dict[str, Any]]:
    recording = recorded(next(path for path in OBSERVED if path.stem == name))
    story = Peered(recording)
    for step in recording["steps"]:
        story.do(step["when"])
    return story, recording


def test_pods_made_again_are_limited_where_the_operator_goes_on_for_ever() -> None:
    story, recording = played("backoff-limit-exit-code")
    assert recording["steps"][-1]["conditions"][-1].startswith("Running=True")
    assert story.said[-1].startswith(
        "Failed=True PyTorchJobFailed: Job limit has failed because it has reached"
    )


def test_deleted_pods_are_not_shown_as_active_where_the_operator_forgets_them() -> None:
    story, recording = played("on-failure")
    last = recording["steps"][-1]
    assert story.said == last["conditions"]
    assert last["replicas"] == {"Master": {"active": 1}, "Worker": {"active": 2}}
    assert story.numbers == {"Master": {}, "Worker": {}}
    assert story.event_pairs == events(recording)


def test_a_job_that_failed_by_its_exit_code_says_when() -> None:
    story, recording = played("permanent-exit")
    last = recording["steps"][-1]
    assert story.said == last["conditions"]
    assert story.numbers == last["replicas"]
    assert (last["times"], "completionTime" in story.status) == (["startTime"], True)
    assert story.event_pairs == events(recording)
