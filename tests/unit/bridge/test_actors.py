"""Who is behind a change of a job object: the owner of what has changed, and by which name they go."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from k8s_bridge.actors import digest, named
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Verb
from statemachine.observations import ActorSource, JobGone, JobObserved

AT = datetime(2024, 1, 9, 15, 30, tzinfo=UTC)
NOON = datetime(2024, 1, 9, 12, 0, tzinfo=UTC)
WRITTEN = "2024-01-09T15:00:00Z"
VERIFIED, STATED, MANAGER = ActorSource.VERIFIED, ActorSource.STATED, ActorSource.MANAGER


def manager(name: str, fields: dict[str, Any], time: str | None = WRITTEN, **more: str) -> dict[str, Any]:
    """An entry of `managedFields`."""
    return {"manager": name, "fieldsV1": fields, **({"time": time} if time else {}), **more}


def spec(*fields: str) -> dict[str, Any]:
    return {"f:spec": {f"f:{field}": {} for field in fields}}


SCALED: dict[str, Any] = {"f:spec": {"f:elastic": {"f:expectedReplicas": {}}}}
SIGNED: dict[str, Any] = {"f:metadata": {"f:annotations": {"f:jobledger.dev/actor": {}}}}


def job(
    spec: dict[str, Any] | None = None,
    *managers: dict[str, Any],
    generation: int = 1,
    by: str = "",
    of: int = 0,
    **meta: Any,
) -> dict[str, Any]:
    """A job object; `by` and `of` are its annotations."""
    said = {"jobledger.dev/actor": by, "jobledger.dev/actor-of": str(of) if of else ""}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {
            "uid": "j-1",
            "name": "train",
            "generation": generation,
            "annotations": {key: value for key, value in said.items() if value},
            **({"managedFields": list(managers)} if managers else {}),
            **meta,
        },
        "spec": spec or {},
    }


def actor(
    raw: dict[str, Any], before: dict[str, Any] | None = None, since: datetime | None = None
) -> tuple[str, ActorSource]:
    """Who is named for `raw`, which was reported `before`."""
    [observation] = observe(Change(Verb.MODIFIED, raw, AT))
    job = named(observation, raw, digest(before) if before else None, since)
    assert isinstance(job, JobObserved)
    return job.actor, job.actor_source


# ---- programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_managers_in_one_second_the_owner_of_what_changed_counts(order: tuple[int, int]) -> None:
    both = (manager("kubectl-create", spec("pytorchReplicaSpecs")), manager("kueue", spec("suspend")))
    before = job({"suspend": True, "pytorchReplicaSpecs": {}}, both[0])
    after = job(
        {"suspend": False, "pytorchReplicaSpecs": {}}, *(both[number] for number in order), generation=2
    )
    assert actor(after, before) == ("kueue", MANAGER)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_managers_in_one_second_the_one_with_less_changed_a_job_that_was_never_reported(
    order: tuple[int, int],
) -> None:
    both = (manager("kubectl-create", spec("replicaSpecs", "runPolicy")), manager("kueue", spec("suspend")))
    raw = job({"suspend": False, "replicaSpecs": []}, *(both[number] for number in order), generation=2)
    assert actor(raw) == ("kueue", MANAGER)


def test_who_scales_is_named_though_scaling_has_no_time() -> None:
    made = manager("kubectl-create", {"f:spec": {"f:elastic": {"f:maxReplicas": {}}}})
    scaled = manager("kubectl", SCALED, None, subresource="scale")
    before = job({"elastic": {"expectedReplicas": 1, "maxReplicas": 3}}, made)
    after = job({"elastic": {"expectedReplicas": 2, "maxReplicas": 3}}, made, scaled, generation=2)
    assert actor(after, before) == ("kubectl", MANAGER)


def test_who_labels_is_named_for_the_label_and_not_who_wrote_the_spec_later() -> None:
    label = manager("kubectl-label", {"f:metadata": {"f:labels": {"f:team": {}}}}, "2024-01-09T14:00:00Z")
    raw = job({"a": 1}, label, manager("kubectl-edit", spec("a")), labels={"team": "a"})
    assert actor(raw, job({"a": 1})) == ("kubectl-label", MANAGER)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_who_made_the_object_around_a_field_did_not_change_the_field(order: tuple[int, int]) -> None:
    emptied = manager("kueue", {"f:spec": {"f:pause": {}}})
    both = (emptied, manager("kubectl-edit", {"f:spec": {"f:pause": {"f:enabled": {}}, "f:x": {}}}))
    raw = job({"pause": {"enabled": False}}, *(both[number] for number in order), generation=3)
    assert actor(raw, job({"pause": {"enabled": True}}, emptied)) == ("kubectl-edit", MANAGER)


def test_a_field_inside_of_one_that_counts_as_a_whole_is_owned_with_it() -> None:
    whole = manager("kubectl-edit", spec("template"))
    raw = job({"template": {"spec": {"image": "b"}}}, manager("other", spec("suspend")), whole, generation=2)
    assert actor(raw, job({"template": {"spec": {"image": "a"}}})) == ("kubectl-edit", MANAGER)


def test_what_was_taken_out_of_the_spec_was_so_by_the_newest_manager() -> None:
    made = manager("kubectl-create", spec("b"), "2024-01-09T14:00:00Z")
    raw = job({"b": 1}, made, manager("kubectl-edit", spec("c")), generation=2)
    assert actor(raw, job({"a": 1, "b": 1})) == ("kubectl-edit", MANAGER)


def test_a_status_is_nobodys_change_of_the_job() -> None:
    managers = (
        manager("kubectl-edit", {}, "2024-01-09T15:10:00Z"),
        manager("kubectl-create", {}, "2024-01-09T15:00:00Z"),
        manager("jobledger", {}, "2024-01-09T15:20:00Z", subresource="status"),
    )
    assert actor(job({}, *managers)) == ("kubectl-edit", MANAGER)


def test_a_name_that_anybody_may_have_typed_is_not_believed() -> None:
    typed = manager("kubectl-edit", {**spec("a"), **SIGNED})
    assert actor(job({"a": 1}, typed, by="ada")) == ("kubectl-edit", MANAGER)


# ---- people ------------------------------------------------------------------------------------------------------


def test_for_whom_our_own_client_acts_is_said_and_not_verified() -> None:
    signed = manager("kubectl-jobledger", {**spec("a"), **SIGNED})
    assert actor(job({"a": 1}, signed, by="ada")) == ("ada", STATED)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_managers_in_one_second_the_one_that_set_the_annotation_counts(order: tuple[int, int]) -> None:
    both = (manager("kubectl-create", {"f:spec": {}}), manager("kubectl-jobledger", SIGNED))
    assert actor(job({}, *(both[number] for number in order), by="ada")) == ("ada", STATED)


def test_the_actor_is_the_annotation_where_nobody_keeps_account_of_managers() -> None:
    assert actor(job({"a": 1}, by="ada")) == ("ada", ActorSource.RECORDED)


def test_whom_the_policy_has_written_down_is_verified() -> None:
    edited = manager("kubectl-edit", spec("a"))
    raw = job({"a": 2}, edited, generation=2, by="ada", of=2)
    assert actor(raw, job({"a": 1}, edited), since=NOON) == ("ada", VERIFIED)


def test_who_takes_a_field_out_is_verified_too() -> None:
    raw = job({"b": 1}, manager("kubectl-edit", {}), generation=2, by="ada", of=2)
    assert actor(raw, job({"a": 1, "b": 1}), since=NOON) == ("ada", VERIFIED)


@pytest.mark.parametrize(
    ("since", "of"),
    [
        pytest.param(None, 2, id="there is no policy"),
        pytest.param(AT, 2, id="the policy came after the change"),
        pytest.param(NOON, 1, id="the name is of the generation before"),
        pytest.param(NOON, 0, id="the name is of no generation"),
        pytest.param(NOON, 3, id="the name was written for a later generation"),
    ],
)
def test_a_name_that_no_policy_has_guarded_is_not_verified(since: datetime | None, of: int) -> None:
    raw = job({"a": 2}, manager("kubectl-edit", spec("a")), generation=2, by="ada", of=of)
    assert actor(raw, job({"a": 1}), since=since) == ("kubectl-edit", MANAGER)


def test_who_scales_does_not_go_by_a_name_that_was_written_in_advance() -> None:
    made = manager("kubectl-create", {"f:spec": {"f:elastic": {"f:maxReplicas": {}}}})
    scaled = manager("kubectl", SCALED, None, subresource="scale")
    before = job({"elastic": {"expectedReplicas": 1, "maxReplicas": 3}}, made)
    after = job(
        {"elastic": {"expectedReplicas": 2, "maxReplicas": 3}}, made, scaled, generation=2, by="ada", of=2
    )
    assert actor(after, before, since=NOON) == ("kubectl", MANAGER)


def test_who_labels_does_not_go_by_the_name_of_who_wrote_the_spec() -> None:
    label = manager("kubectl-label", {"f:metadata": {"f:labels": {"f:team": {}}}})
    edited = manager("kubectl-edit", spec("a"))
    raw = job({"a": 1}, edited, label, by="ada", of=1, labels={"team": "a"})
    assert actor(raw, job({"a": 1}, edited), since=NOON) == ("kubectl-label", MANAGER)


# ---- deletion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("since", "source"), [(None, STATED), (NOON, VERIFIED), (AT, STATED)])
def test_who_asked_for_a_deletion_is_verified_where_the_annotation_was_guarded(
    since: datetime | None, source: ActorSource
) -> None:
    wrote = manager("jobledger", {"f:metadata": {"f:annotations": {"f:jobledger.dev/deleted-by": {}}}})
    raw = job({}, wrote, annotations={"jobledger.dev/deleted-by": "ada"})
    [gone] = observe(Change(Verb.DELETED, raw, AT))
    observation = named(gone, raw, None, since)
    assert isinstance(observation, JobGone)
    assert (observation.actor, observation.actor_source) == ("ada", source)


def test_what_says_who_changed_a_job_is_small() -> None:
    many = {f"field{number}": number for number in range(20)}
    assert len(digest(job(many))) == 8 * 21


def test_managed_fields_that_make_no_sense_name_nobody() -> None:
    raw = job({"a": 1})
    raw["metadata"]["managedFields"] = ["x", {"manager": 7, "fieldsV1": [], "time": "never"}]
    assert actor(raw, None, AT + timedelta(days=1)) == ("", MANAGER)
