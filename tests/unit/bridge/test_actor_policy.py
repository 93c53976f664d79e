"""The admission policy counts as in place if it is the one that is shipped, and nothing limits it."""

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from k8s_bridge.actor_policy import EFFECTIVE, guarded, validating
from statemachine.kinds import SERVED

Manifest = dict[str, Any]
JOBS = [names for names in SERVED if names.kind == "PyTorchTrainingJob"]
MADE = "2024-01-09T12:00:00Z"
PLACE = ("batch.tensorstack.dev", "pytorchtrainingjobs")


def in_place() -> list[Manifest]:
    """Policy and binding as an API server shows them, which adds what was left to it."""
    policy, binding = copy.deepcopy(validating(JOBS, ["system:serviceaccount:team:front"]))
    policy["spec"]["matchConstraints"] |= {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    }
    policy["spec"]["matchConstraints"]["resourceRules"][0]["scope"] = "*"
    for manifest in (policy, binding):
        manifest["metadata"] |= {"creationTimestamp": MADE}
    return [policy, binding]


def test_the_policy_guards_the_kinds_that_it_names_once_api_servers_have_it() -> None:
    policy, binding = in_place()
    assert guarded(policy, binding, SERVED) == {PLACE: datetime(2024, 1, 9, 12, 0, tzinfo=UTC) + EFFECTIVE}


def test_a_policy_that_was_edited_guards_since_then() -> None:
    policy, binding = in_place()
    binding["metadata"]["managedFields"] = [{"time": "2024-01-09T13:00:00Z"}]
    policy["metadata"]["managedFields"] = [{"time": "2024-01-09T14:00:00Z", "subresource": "status"}]
    assert guarded(policy, binding, JOBS) == {PLACE: datetime(2024, 1, 9, 13, 0, tzinfo=UTC) + EFFECTIVE}


def spec_of(number: int, change: Callable[[Manifest], Any]) -> Callable[[list[Manifest]], Any]:
    return lambda both: change(both[number]["spec"])


SELECTOR = {"matchLabels": {"a": "b"}}


@pytest.mark.parametrize(
    "loosen",
    [
        spec_of(0, lambda spec: spec.update(failurePolicy="Ignore")),
        spec_of(0, lambda spec: spec.update(matchConditions=[{"name": "x", "expression": "false"}])),
        spec_of(0, lambda spec: spec["validations"].pop()),
        spec_of(0, lambda spec: spec["validations"][0].update(expression="true")),
        spec_of(0, lambda spec: spec["variables"][0].update(expression="[request.userInfo.username]")),
        spec_of(0, lambda spec: spec["variables"][1].update(expression="'ada'")),
        spec_of(0, lambda spec: spec["matchConstraints"].update(namespaceSelector=SELECTOR)),
        spec_of(0, lambda spec: spec["matchConstraints"].update(excludeResourceRules=[{}])),
        spec_of(0, lambda spec: spec["matchConstraints"]["resourceRules"][0].update(operations=["CREATE"])),
        spec_of(0, lambda spec: spec["matchConstraints"]["resourceRules"][0].update(resourceNames=["a"])),
        spec_of(0, lambda spec: spec.clear()),
        spec_of(1, lambda spec: spec.update(validationActions=["Warn", "Audit"])),
        spec_of(1, lambda spec: spec.update(policyName="other")),
        spec_of(1, lambda spec: spec.update(matchResources={"objectSelector": SELECTOR})),
        spec_of(1, lambda spec: spec.clear()),
    ],
)
def test_a_policy_that_lets_more_through_guards_nothing(loosen: Callable[[list[Manifest]], Any]) -> None:
    both = in_place()
    loosen(both)
    policy, binding = both
    assert guarded(policy, binding, JOBS) == {}


def test_the_policy_that_is_shipped_counts_for_every_kind() -> None:
    shipped = Path(__file__).parents[3] / "deploy" / "actor" / "policy.yaml"
    policy, binding = yaml.safe_load_all(shipped.read_text(encoding="utf-8"))
    for manifest in (policy, binding):
        manifest["metadata"]["creationTimestamp"] = MADE
    assert set(guarded(policy, binding, SERVED)) == {(names.group, names.plural) for names in SERVED}
