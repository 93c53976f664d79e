"""Raw objects → observations."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8s_bridge import observe as module
from k8s_bridge.observe import is_job, observe
from k8s_bridge.port import Change, Manifest, Verb
from statemachine.ids import ATTEMPT, JobUid, PodUid, ReplicaName
from statemachine.observations import (
    ChildObserved,
    Container,
    ContainerStatus,
    JobGone,
    JobObserved,
    Observation,
    PodGone,
    PodObserved,
    PodPhase,
    PodUnreadable,
    WorkloadCondition,
    WorkloadObserved,
)
from tests.unit.bridge.words import AT, job, owned, pod

J1, P1, W0 = JobUid("j-1"), PodUid("p-1"), ReplicaName("worker-0")
JOB = job(uid="j-1", generation=3)


def observed(raw: Manifest, verb: Verb = Verb.MODIFIED) -> Observation | None:
    """The one observation that a change of `raw` is."""
    observations = observe(Change(verb, raw, AT))
    assert len(observations) <= 1
    return observations[0] if observations else None


def a_pod(status: Any = None, **meta: Any) -> Manifest:
    raw = pod(JOB, attempt=2)
    raw["metadata"] |= {"uid": "p-1", **meta}
    raw["spec"]["nodeName"] = "node-1"
    return raw | {"status": {"phase": "Running"} if status is None else status}


def terminated(code: int, at: str = "2024-01-09T15:30:00Z", name: str = "pytorch") -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "reason": "Error", "finishedAt": at}}
    return {"name": name, "state": state}


def test_a_job_is_observed_with_its_spec() -> None:
    assert observed(JOB) == JobObserved(
        job=J1,
        at=AT,
        api_version="batch.tensorstack.dev/v1beta1",
        kind="PyTorchTrainingJob",
        namespace="demo",
        name="mnist",
        generation=3,
        spec=JOB["spec"],
    )


def test_a_job_without_a_spec_is_observed_with_an_empty_one() -> None:
    observation = observed({**JOB, "spec": ["not", "a", "map"]})
    assert isinstance(observation, JobObserved)
    assert observation.spec == {}


def test_a_pod_says_when_the_api_server_took_its_last_change() -> None:
    times = ("2024-01-09T15:00:00Z", "2024-01-09T15:10:00Z", "never", None)
    fields = [{"manager": "kubelet", "subresource": "status", "time": time} for time in times]
    for phase_ in ("Running", "Lost in space"):
        observation = observed(a_pod({"phase": phase_}, managedFields=fields))
        assert getattr(observation, "written_at", None) == datetime(2024, 1, 9, 15, 10, tzinfo=UTC)


_RUNC = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create: "
)


@pytest.mark.parametrize(
    ("reason", "message", "refused"),
    [
        ("StartError", f'{_RUNC}exec: "trian": executable file not found in $PATH: unknown', True),
        ("StartError", f"{_RUNC}exec /usr/bin/env: argument list too long: unknown", True),
        ("ContainerCannotRun", "OCI runtime create failed: exec /run: exec format error", True),
        ("StartError", f"{_RUNC}error mounting /data: stat /data: no such file or directory", False),
        ("StartError", f"{_RUNC}unable to start container process: cannot allocate memory", False),
        ("Error", "exec: executable file not found, says the program", False),
    ],
)
def test_a_program_that_the_runtime_will_never_start_is_reported_in_its_words(
    reason: str, message: str, refused: bool
) -> None:
    ended = {"exitCode": 128, "reason": reason, "message": message}
    status = {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": {"terminated": ended}}]}
    observation = observed(a_pod(status))
    assert isinstance(observation, PodObserved)
    assert (observation.reason, observation.message) == (("CannotStart", message) if refused else ("", ""))


def test_a_deleted_job_is_gone() -> None:
    assert observed(JOB, Verb.DELETED) == JobGone(job=J1, at=AT)


DELETED: dict[str, Any] = {
    "deletionTimestamp": "2024-01-09T15:00:00Z",
    "annotations": {"jobledger.dev/deleted-by": "ada", "jobledger.dev/actor": "bob"},
}


def test_a_job_whose_deletion_is_held_up_is_there_and_says_since_when() -> None:
    observation = observed(job(uid="j-1", **DELETED))
    assert isinstance(observation, JobObserved)
    assert (observation.terminating_since, observation.actor) == (
        datetime(2024, 1, 9, 15, 0, tzinfo=UTC),
        "ada",
    )


def test_a_job_that_was_deleted_is_gone_since_then() -> None:
    [observation] = observe(Change(Verb.DELETED, job(uid="j-1", **DELETED), AT))
    then = datetime(2024, 1, 9, 15, 0, tzinfo=UTC)
    assert observation == JobGone(job=J1, at=AT, happened_at=then, actor="ada")


def test_a_running_pod_is_observed() -> None:
    started = "2024-01-09T15:00:00.250000Z"
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "initContainerStatuses": [terminated(0, "2024-01-09T14:00:00Z", "prepare")],
        "containerStatuses": [{"name": "pytorch", "state": {"running": {"startedAt": started}}}],
    }
    assert observed(a_pod(status)) == PodObserved(
        job=J1,
        at=AT,
        happened_at=datetime(2024, 1, 9, 15, 0, 0, 250_000, UTC),
        replica=W0,
        attempt=2,
        pod="mnist-7ac1b-worker-0",
        uid=P1,
        phase=PodPhase.RUNNING,
        containers=(
            Container(
                name="prepare", state=ContainerStatus.TERMINATED, exit_code=0, reason="Error", init=True
            ),
            Container(name="pytorch", state=ContainerStatus.RUNNING),
        ),
        node="node-1",
        ready=True,
    )


def test_an_end_happened_when_the_last_container_finished() -> None:
    running = {"name": "side", "state": {"running": {"startedAt": "2024-01-09T16:00:00Z"}}}
    first, last = terminated(1), terminated(0, "2024-01-09T15:31:00+00:00", "other")
    observation = observed(a_pod({"phase": "Failed", "containerStatuses": [last, first, running]}))
    assert observation is not None
    assert observation.happened_at == datetime(2024, 1, 9, 15, 31, tzinfo=UTC)


def test_a_waiting_container_says_why() -> None:
    state = {"waiting": {"reason": "ImagePullBackOff", "exitCode": 1}}
    observation = observed(a_pod({"phase": "Pending", "containerStatuses": [{"name": "a", "state": state}]}))
    assert isinstance(observation, PodObserved)
    assert observation.containers == (
        Container(name="a", state=ContainerStatus.WAITING, reason="ImagePullBackOff"),
    )


def test_a_container_without_an_exit_code_has_none() -> None:
    state = {"terminated": {"reason": "ContainerStatusLost"}}
    observation = observed(a_pod({"phase": "Failed", "containerStatuses": [{"name": "a", "state": state}]}))
    assert isinstance(observation, PodObserved)
    assert observation.containers[0].exit_code is None


@pytest.mark.parametrize(
    ("code", "known"),
    [
        (0, 0),
        (137, 137),
        (-1073741819, -1073741819),
        ((1 << 32) - 1, (1 << 32) - 1),
        (1 << 32, None),
        (-(1 << 31) - 1, None),
        (True, None),
        ("1", None),
    ],
)
def test_an_exit_code_is_a_number_that_a_system_can_give(code: object, known: int | None) -> None:
    state = {"terminated": {"exitCode": code}}
    observation = observed(a_pod({"phase": "Failed", "containerStatuses": [{"name": "a", "state": state}]}))
    assert isinstance(observation, PodObserved)
    assert observation.containers[0].exit_code == known


@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_a_pod_is_ready_when_its_condition_is_true(status: str) -> None:
    observation = observed(a_pod({"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}))
    assert isinstance(observation, PodObserved)
    assert observation.ready is (status == "True")


def test_a_disruption_is_the_reason_of_its_condition() -> None:
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    observation = observed(a_pod({"phase": "Failed", "reason": "Preempted", "conditions": conditions}))
    assert isinstance(observation, PodObserved)
    assert (observation.disruption, observation.reason) == ("PreemptionByScheduler", "Preempted")


def test_a_disruption_that_is_over_is_none() -> None:
    conditions = [{"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"}]
    observation = observed(a_pod({"phase": "Running", "conditions": conditions}))
    assert isinstance(observation, PodObserved)
    assert not observation.disruption


def test_a_pod_with_a_deletion_timestamp_is_deleting() -> None:
    observation = observed(a_pod(deletionTimestamp="2024-01-09T15:00:00Z"))
    assert isinstance(observation, PodObserved)
    assert observation.deleting


@pytest.mark.parametrize(
    ("grace", "own"),
    [
        (0, ("pytorch",)),
        (30, ()),
        (10, ("pytorch",)),
        (None, ("pytorch",)),
        ("x", ("pytorch",)),
        (1e300, ("pytorch",)),
    ],
)
def test_containers_that_finished_before_the_deletion_was_asked_for_ended_by_themselves(
    grace: object, own: tuple[str, ...]
) -> None:
    """The deletionTimestamp is when it was asked for, and the grace period."""
    late = {"name": "sidecar", "state": {"terminated": {"exitCode": 0, "finishedAt": "2024-01-09T15:00:01Z"}}}
    done = {"name": "pytorch", "state": {"terminated": {"exitCode": 1, "finishedAt": "2024-01-09T14:59:50Z"}}}
    status = {"phase": "Failed", "containerStatuses": [done, late, {"name": "unknown", "state": {}}]}
    times = {"deletionTimestamp": "2024-01-09T15:00:00Z", "deletionGracePeriodSeconds": grace}
    observation = observed(a_pod(status, **times))
    assert isinstance(observation, PodObserved)
    assert observation.own_ends == own


@pytest.mark.parametrize("phase", ["Running", "Pending"])
def test_a_pod_that_has_not_ended_has_no_own_end(phase: str) -> None:
    done = {"name": "pytorch", "state": {"terminated": {"exitCode": 0, "finishedAt": "2024-01-09T14:00:00Z"}}}
    times = {"deletionTimestamp": "2024-01-09T15:00:00Z", "deletionGracePeriodSeconds": 0}
    observation = observed(a_pod({"phase": phase, "containerStatuses": [done]}, **times))
    assert isinstance(observation, PodObserved)
    assert observation.own_ends == ()


def test_a_deleted_pod_that_had_not_ended_is_gone() -> None:
    gone = PodGone(job=J1, at=AT, replica=W0, attempt=2, uid=P1)
    assert observe(Change(Verb.DELETED, a_pod(), AT)) == (gone,)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_deleted_pod_that_had_ended_says_how_before_it_is_gone(phase: str) -> None:
    ended, gone = observe(Change(Verb.DELETED, a_pod({"phase": phase}), AT))
    assert isinstance(ended, PodObserved)
    assert ended.phase == phase
    assert isinstance(gone, PodGone)


@pytest.mark.parametrize("status", [{}, {"phase": "Odd"}, {"phase": 7}, "text", {"phase": ["Running"]}])
def test_a_pod_without_a_readable_phase_is_unreadable(status: Any) -> None:
    assert observed(a_pod(status)) == PodUnreadable(job=J1, at=AT, replica=W0, uid=P1)


def test_a_pod_whose_attempt_is_no_number_is_unreadable() -> None:
    assert isinstance(observed(a_pod(annotations={ATTEMPT: "first"})), PodUnreadable)


def test_a_pod_that_another_controller_has_made_is_the_first_attempt_of_what_its_labels_say() -> None:
    named = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "2"}
    observation = observed(a_pod(annotations={}, labels=named))
    assert isinstance(observation, PodObserved)
    assert (observation.replica, observation.attempt) == ("worker-2", 1)


@pytest.mark.parametrize(
    "meta",
    [
        {"ownerReferences": []},
        {
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "r", "controller": True}
            ]
        },
        {"ownerReferences": [owned(JOB)["ownerReferences"][0] | {"controller": False}]},
        {"labels": {"replica-type": "worker"}},
        {"labels": {"replica-type": "worker", "replica-index": "-1"}},
        {"labels": None},
        {"uid": ""},
    ],
)
def test_a_pod_that_is_not_ours_is_nothing(meta: dict[str, Any]) -> None:
    assert observed(a_pod(**meta)) is None


def test_what_jobs_own_is_no_job_though_it_is_of_their_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_sort", module._sort.__wrapped__)  # a type of objects is judged once
    harness = {**job(), "kind": "Harness"}
    assert is_job(harness)
    monkeypatch.setattr(module, "_OWNED", {("batch.tensorstack.dev", "Harness")})
    assert not is_job(harness)
    assert is_job(job())


def test_an_object_of_another_kind_is_nothing() -> None:
    assert observed({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "b"}}) is None


def a_tensorboard(**status: str) -> Manifest:
    meta = {"name": "mnist-7ac1b", "namespace": "demo", "uid": "t-1", **owned(JOB)}
    return {
        "apiVersion": "tensorstack.dev/v1beta1",
        "kind": "TensorBoard",
        "metadata": meta,
        "status": status,
    }


def test_a_tensorboard_is_observed_with_whether_it_runs() -> None:
    waiting = ChildObserved(job=J1, at=AT, kind="TensorBoard", name="mnist-7ac1b", uid="t-1")
    assert observed(a_tensorboard(phase="Pending")) == waiting
    assert observed(a_tensorboard(phase="Running")) == waiting.changed(facts={"running": "true"})


def test_a_deleted_tensorboard_has_no_uid() -> None:
    observation = observed(a_tensorboard(), Verb.DELETED)
    assert observation == ChildObserved(
        job=J1, at=AT, kind="TensorBoard", name="mnist-7ac1b", uid="", gone_uid="t-1"
    )


def a_workload(**status: Any) -> Manifest:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "pytorchjob-mnist-1", "namespace": "demo", "uid": "w-1", **owned(JOB)},
        "spec": {"queueName": "team-a"},
        "status": status,
    }


def test_a_workload_is_observed_with_what_tells_of_its_admission() -> None:
    admission = {
        "clusterQueue": "cq",
        "podSetAssignments": [
            {"name": "worker", "flavors": {"cpu": "spot", "memory": "spot"}},
            {"name": "master", "flavors": {"cpu": "on-demand"}},
        ],
    }
    when = "2026-01-02T03:04:05Z"
    conditions = [
        {
            "type": "Evicted",
            "status": "False",
            "reason": "QuotaReserved",
            "message": "x" * 2000,
            "lastTransitionTime": when,
        },
        {
            "type": "PodsReady",
            "status": "False",
            "reason": "WaitForStart",
            "message": "not all pods are ready",
        },
        {
            "type": "QuotaReserved",
            "status": "True",
            "reason": "QuotaReserved",
            "message": "",
            "lastTransitionTime": when,
        },
    ]
    observation = observed(a_workload(admission=admission, conditions=conditions))
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert observation == WorkloadObserved(
        job=J1,
        at=AT,
        happened_at=at,
        name="pytorchjob-mnist-1",
        uid="w-1",
        queue="team-a",
        cluster_queue="cq",
        flavors=("on-demand", "spot"),
        conditions=(
            WorkloadCondition(type="QuotaReserved", status="True", reason="QuotaReserved", changed_at=at),
            WorkloadCondition(
                type="Evicted", status="False", reason="QuotaReserved", message="x" * 1024, changed_at=at
            ),
        ),
    )


def test_a_deactivated_workload_says_so() -> None:
    observation = observed({**a_workload(), "spec": {"queueName": "team-a", "active": False}})
    assert isinstance(observation, WorkloadObserved)
    assert not observation.active


def test_a_workload_of_plain_pods_is_nothing() -> None:
    raw = a_workload()
    raw["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "uid": "p", "controller": True}]
    assert observed(raw) is None


def test_a_deleted_workload_has_no_uid() -> None:
    observation = observed(a_workload(), Verb.DELETED)
    assert observation == WorkloadObserved(job=J1, at=AT, name="pytorchjob-mnist-1", uid="", gone_uid="w-1")


garbage = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["True", "Pod", "0", "2024-01-09T15:00:00Z", "0001-01-01T00:00:00+14:00", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged(draw: st.DrawFn) -> Manifest:
    """An object of ours with some of its parts replaced by anything."""
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": "x"}]
    full = {"phase": "Failed", "conditions": conditions, "containerStatuses": [terminated(1)]}
    raw = draw(st.sampled_from([a_pod(full), JOB, a_tensorboard(phase="Running")]))
    manifest: Manifest = draw(_with_holes(raw, depth=6))
    return manifest


def _with_holes(value: Any, depth: int) -> st.SearchStrategy[Any]:
    """`value`, or the same with something inside replaced; the whole only below the top."""
    if isinstance(value, dict) and value and depth:
        inside: st.SearchStrategy[Any] = st.fixed_dictionaries(
            {key: _with_holes(part, depth - 1) for key, part in value.items()}
        )
    elif isinstance(value, list) and value and depth:
        inside = st.tuples(*(_with_holes(item, depth - 1) for item in value)).map(list)
    else:
        inside = st.just(value)
    return inside if depth == 6 else st.one_of(inside, inside, inside, inside, garbage)


@given(damaged(), st.sampled_from(Verb))
def test_damaged_objects_never_raise(raw: Manifest, verb: Verb) -> None:
    for observation in observe(Change(verb, raw, AT)):
        assert observation.at == AT


@given(st.dictionaries(st.text(), garbage), st.sampled_from(Verb))
def test_garbage_never_raises(raw: Manifest, verb: Verb) -> None:
    observe(Change(verb, raw, AT))
