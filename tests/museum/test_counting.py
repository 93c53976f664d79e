"""Restarts and their limit: what counts, how often, and against what."""

from typing import Any

from statemachine import evolve, moving
from statemachine.events import RestartScheduled
from statemachine.evolve import Changes
from statemachine.ids import ReplicaName
from statemachine.kind import Budget, Kind
from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.pytorchjob import tally
from statemachine.observations import PodObserved
from statemachine.phases import Phase
from statemachine.replicas import Move, Pod, Report, Wish, news
from statemachine.rules import causes, pods, restart
from statemachine.state import JobState, ReplicaPhase, ReplicaState
from tests.museum.exhibit import exhibit, given, swap
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import Story, replica_type, workers


def trained(limit: int, policy: str = "OnFailure") -> Story:
    """A job of two running workers that may have so many restarts."""
    return (
        Story(workers(2, policy=policy, runPolicy={"backoffLimit": limit})).submit().at(5).all_pods("Running")
    )


def fail(story: Story, replica: str, code: int = 137) -> Story:
    """The replica's pod fails and goes; the next one runs, if one is made."""
    story.at(story.clock + 700).pod(replica, "Failed", exit_code=code)
    if story.replica(replica).leaving:
        story.gone(replica)
    if "backoff" in story.state.timers:
        story.timer("backoff")
    return story.pod(replica, "Running") if story.replica(replica).phase is ReplicaPhase.CREATING else story


def restarts_of_containers(_: Kind, state: JobState, __: ReplicaName | None = None) -> Budget:
    return Budget(state.running_plan.backoff_limit, tally.in_place(state))


@exhibit(
    "kubeflow/trainer#2045",
    "Only restarts of containers counted for backoffLimit; pods made again under policy ExitCode were free, "
    "so a job that kept failing ran for ever.",
    wrong=(swap(ModelKind, "budget", restarts_of_containers),),
)
def test_kubeflow_trainer_2045_pods_made_again_count_for_the_limit() -> None:
    story = TorchStory(training(workers=1, policy="ExitCode", backoffLimit=2)).submit().up()
    for _ in range(4):
        fail(story, "worker-0")
    assert story.state.spent == 2
    assert story.phase is Phase.FAILED


@exhibit(
    "kubernetes/kubernetes#105200",
    "A finished pod was counted a second time when the pod cache was older than the status that had counted it.",
    wrong=(swap(pods, "_is_current", lambda replica, _: replica.has_pod),),
)
def test_kubernetes_kubernetes_105200_a_pod_is_counted_once_however_late_a_report_is() -> None:
    story = trained(10)
    report = story.at(6).pod_seen("worker-1", "Failed", exit_code=1)
    story.see(report).gone("worker-1")
    given(story.replica("worker-1").attempt == 2, "the pod is made again")
    for _ in range(3):
        story.see(report)
    assert story.state.spent == 1


def always_failed(report: Report, pod: Pod, wish: Wish) -> Move | None:
    return Move.FAILED if report is Report.FAILED else news(report, pod, wish)


@exhibit(
    "kubernetes/kubernetes#125410",
    "A pod whose phase went from Succeeded to Failed was in both lists of ended pods, and the job got stuck.",
    wrong=(
        swap(ReplicaState, "ended", property(lambda _: False)),
        swap(pods, "news", always_failed),
    ),
)
def test_kubernetes_kubernetes_125410_an_end_is_not_followed_by_another_end() -> None:
    story = trained(10).at(6).pod("worker-1", "Succeeded").at(7).pod("worker-1", "Failed", exit_code=1)
    assert story.replica("worker-1").phase is ReplicaPhase.SUCCEEDED
    assert story.state.spent == 0


def first_type_counts(state: JobState, event: RestartScheduled) -> Changes:
    changes = RIGHT_PRICE(state, event)
    first = next(iter(state.restarts))
    return {**changes, "restarts": {**state.restarts, first: state.restarts[first] + 1}}


RIGHT_PRICE = evolve._paid


@exhibit(
    "kubernetes-sigs/jobset#976",
    "Restarts of different parts of a job went into one counter, so nobody could tell which part had used it up.",
    wrong=(swap(evolve, "_paid", first_type_counts),),
)
def test_kubernetes_sigs_jobset_976_replica_types_count_their_own_restarts() -> None:
    heavy, light = workers(1, policy="OnFailure", runPolicy={"backoffLimit": 9}), replica_type("ps", 1)
    light["restartPolicy"] = "OnFailure"
    heavy["replicaSpecs"].append(light)
    story = Story(heavy).submit().at(5).all_pods("Running")
    for replica in ("ps-0", "ps-0", "worker-0"):
        fail(story, replica)
    given(story.state.spent == 3, "three restarts")
    assert dict(story.state.restarts) == {"worker": 1, "ps": 2}


def one_less(_: Kind, state: JobState, __: ReplicaName | None = None) -> Budget:
    return Budget(state.running_plan.backoff_limit, state.spent + 1)


@exhibit(
    "volcano-sh/volcano#1736",
    "The comparison with maxRetry was off by one: a job with a limit of 1 was in its last try from the beginning.",
    wrong=(swap(ModelKind, "budget", one_less),),
)
def test_volcano_sh_volcano_1736_a_limit_of_one_is_one_restart() -> None:
    story = fail(trained(1), "worker-0")
    assert (story.phase, story.replica("worker-0").attempt) == (Phase.RUNNING, 2)
    assert fail(story, "worker-0").phase is Phase.FAILED


@exhibit(
    "kubeflow/trainer#555",
    "A pod under restart policy Never was made again after it had failed.",
    wrong=(swap(restart, "_policy_restarts", lambda *_: True),),
)
def test_kubeflow_trainer_555_never_is_never() -> None:
    story = fail(trained(10, policy="Never"), "worker-1")
    assert (story.state.spent, story.replica("worker-1").attempt) == (0, 1)


@exhibit(
    "kubeflow/trainer#1570",
    "With policy OnFailure a pod that the node's shutdown had failed was not made again: no container had an exit "
    "code, and the job failed.",
    wrong=(swap(restart, "_policy_restarts", lambda _kind, _policy, cause: cause.exit_code is not None),),
)
def test_kubeflow_trainer_1570_a_pod_failed_by_its_node_is_made_again() -> None:
    story = trained(10).at(6).pod("worker-1", "Failed", containers=(), reason="NodeShutdown").gone("worker-1")
    assert (story.phase, story.pods) == (Phase.RUNNING, ["worker-0.1", "worker-1.2"])


def no_longer_leaving(replica: ReplicaState, _event: object) -> ReplicaState:
    return replica.moved(Move.STOOD_DOWN)


@exhibit(
    "kubeflow/trainer#1593",
    "Pods that went because a job was scaled down were Failed for a moment, and that failed the job.",
    wrong=(
        swap(moving, "dismissed", no_longer_leaving),
        swap(JobState, "members", property(lambda state: iter(state.replicas.values()))),
    ),
)
def test_kubeflow_trainer_1593_a_pod_that_leaves_the_scale_may_fail() -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 3}
    spec = training(master=False, workers=3, policy="Never", elastic=elastic)
    story = TorchStory(spec).submit().up().at(9).scale(2)
    given(story.replica("worker-2").has_pod, "the pod is still there")
    story.at(10).pod("worker-2", "Running", deleting=True).pod(
        "worker-2", "Failed", exit_code=143, deleting=True
    )
    assert story.phase is Phase.RUNNING


def other_uid(kind: Any, job: JobState, report: PodObserved, rule: str) -> Any:
    return RIGHT_CAUSE(kind, job, report, rule).changed(pod_uid=job.uid)


RIGHT_CAUSE = causes.of_failure


@exhibit(
    "armadaproject/armada#4605",
    "Events of a lost run had the job's id where the run's id belongs, so the run itself was never marked as ended.",
    wrong=(swap(causes, "of_failure", other_uid),),
)
def test_armadaproject_armada_4605_a_failure_names_the_pod_that_failed() -> None:
    story = trained(10).at(6).pod("worker-1", "Failed", exit_code=1, uid="worker-1.1")
    causes_named = [event.cause for event in story.last if hasattr(event, "cause") and event.cause]
    given(len(causes_named) > 1, "a failure and a restart")
    assert {cause.pod_uid for cause in causes_named} == {"worker-1.1"}


@exhibit(
    "armadaproject/armada#1565",
    "A preempted job had two failure events: one for its exit code, and one because its pod was missing.",
    wrong=(
        swap(pods, "_ENDED", frozenset({ReplicaPhase.SUCCEEDED})),
        swap(pods, "allows", lambda *_: True),
    ),
)
def test_armadaproject_armada_1565_a_failure_is_announced_once() -> None:
    story = trained(0).at(6).pod("worker-0", "Failed", exit_code=137)
    given(story.phase is Phase.FAILED, "the primary has failed")
    before = len(story.reasons)
    story.at(7).gone("worker-0")
    assert story.reasons[before:] == []


@exhibit(
    "volcano-sh/volcano#4814",
    "Pods that the controller itself deleted for a restart counted as evicted, and each began another restart.",
    wrong=(
        swap(moving, "dismissed", lambda replica, _: replica),
        swap(pods, "_is_own_end", lambda *_: True),
    ),
)
def test_volcano_sh_volcano_4814_pods_that_we_delete_cost_no_restart() -> None:
    pod = {"spec": {"containers": [{"name": "worker", "image": "x"}]}}
    worker = {"replicas": 3, "template": pod, "restartPolicy": "OnFailure"}
    elastic = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 3}
    spec = {"config": {"run": {"python": ["train.py"]}}, "worker": worker, "elastic": elastic}
    story = Story(spec, name="gpt", kind="DeepSpeedJob").submit().at(5).all_pods("Running")
    given(story.phase is Phase.RUNNING, "the job runs")
    story.at(6).edit(elastic={"expectedReplicas": 2})
    for replica in ("worker-0", "worker-1", "worker-2"):
        story.at(7).pod(replica, "Failed", exit_code=143, deleting=True)
    assert (story.state.spent, story.phase) == (0, Phase.RUNNING)


def gone_already(kind: Kind, state: JobState, replica: ReplicaState, report: PodObserved) -> Report:
    return Report.FAILED if report.deleting else RIGHT_REPORT(kind, state, replica, report)


RIGHT_REPORT = pods._report


@exhibit(
    "kubeflow/trainer#2124",
    "A worker that ran, and whose deletion had begun, counted as failed, without any exit code and whatever its "
    "restart policy was: that failed the job.",
    wrong=(swap(pods, "_report", gone_already),),
)
def test_kubeflow_trainer_2124_a_pod_that_still_runs_has_not_failed() -> None:
    story = trained(0).at(6).pod("worker-1", "Running", deleting=True)
    assert (story.phase, story.replica("worker-1").phase) == (Phase.RUNNING, ReplicaPhase.RUNNING)
    assert story.gone("worker-1").pods == ["worker-0.1", "worker-1.2"]


@exhibit(
    "volcano-sh/volcano#2560",
    "A pod that was evicted for a job of higher priority used up one of the retries, and the last of them failed "
    "the job that should only have queued again.",
    wrong=(swap(pods, "_is_own_end", lambda *_: True),),
)
def test_volcano_sh_volcano_2560_a_preempted_pod_costs_no_restart() -> None:
    story = trained(0).at(6)
    story.pod("worker-1", "Failed", exit_code=143, deleting=True, disruption="PreemptionByScheduler")
    assert (story.phase, story.state.spent) == (Phase.RUNNING, 0)
    assert story.gone("worker-1").pods == ["worker-0.1", "worker-1.2"]
