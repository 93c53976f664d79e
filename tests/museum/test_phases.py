"""Phases and conditions: what a job is said to be, in which order, and that an end is an end."""

from collections.abc import Callable, Iterator

from statemachine import conditions as condition_list
from statemachine.decide import decide
from statemachine.desired import desired
from statemachine.events import (
    ConditionsChanged,
    Event,
    PhaseEntered,
    ReplicaCreated,
    ReplicaReleased,
    ReplicaRequested,
    RestartDenied,
)
from statemachine.kind import Kind
from statemachine.kinds.pytorchjob import conditions, restarts
from statemachine.observations import Observation, PodGone
from statemachine.owned import Child
from statemachine.phases import Phase, Trigger, allows, step
from statemachine.replicas import Move, Pod, Report, Wish, news
from statemachine.rules import asking, creation, entering, lifecycle, pods
from statemachine.state import ConditionState, JobState, ReplicaPhase, ReplicaState, changed
from tests.museum.exhibit import exhibit, given, swap
from tests.support import scenario
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import Story, workers

EXCLUSIVE = {"Running", "Restarting", "Suspended", "Succeeded", "Failed"}


def holding(story: Story) -> set[str]:
    """The conditions of which one job can have only one at a time, and has."""
    return {condition.type for condition in story.state.conditions if condition.status == "True"} & EXCLUSIVE


@exhibit(
    "kubeflow/trainer#1711",
    "A job was Running and Restarting at once, and after some transitions no condition said what it was.",
    wrong=(swap(conditions, "_REPLACES", {}),),
)
def test_kubeflow_trainer_1711_a_job_has_one_condition_of_those_that_exclude_each_other() -> None:
    story = TorchStory(training(workers=1, backoffLimit=5)).submit().up()
    held = [holding(story)]
    steps: tuple[Callable[[], object], ...] = (
        lambda: story.pod("worker-0", "Failed", exit_code=137),
        lambda: story.gone("worker-0").pod("worker-0", "Running"),
        lambda: story.suspend().all_gone(),
        lambda: story.suspend(on=False).up(),
        lambda: story.pod("master-0", "Succeeded"),
    )
    for happens in steps:
        happens()
        held.append(holding(story))
    assert held == [{"Running"}, {"Restarting"}, {"Running"}, {"Suspended"}, {"Running"}, {"Succeeded"}]


def where_it_stands(
    known: tuple[ConditionState, ...], event: ConditionsChanged
) -> tuple[ConditionState, ...]:
    """Conditions stay in the order in which they first appeared."""
    places = {condition.type: place for place, condition in enumerate(known)}
    changed = RIGHT_ORDER(known, event)
    return tuple(sorted(changed, key=lambda condition: places.get(condition.type, len(places))))


RIGHT_ORDER = condition_list._newest_last


@exhibit(
    "kubeflow/trainer#3666",
    "A job that had been resumed showed what it was by the condition that resuming had left behind, not by Running.",
    wrong=(swap(condition_list, "_newest_last", where_it_stands),),
)
def test_kubeflow_trainer_3666_a_resumed_job_shows_that_it_runs() -> None:
    story = TorchStory(training(workers=1)).submit().up().suspend().all_gone().suspend(on=False).up()
    given(story.condition("Suspended"), "the job was suspended")
    assert (story.last_condition.type, story.last_condition.status) == ("Running", "True")


@exhibit(
    "kubeflow/trainer#2351",
    "When the children of a job could not be created, no condition was ever set, and the status stayed empty.",
    wrong=(swap(creation, "allows", lambda *_: False),),
)
def test_kubeflow_trainer_2351_a_refused_child_shows_in_a_condition() -> None:
    story = Story(workers(1)).submit().refused(status_=403, message="no more pods here")
    assert story.condition("Initialized") == ("False", "InitializationFailed", "no more pods here")


def all_run(state: JobState) -> bool:
    return all(replica.phase is ReplicaPhase.RUNNING for replica in state.members)


@exhibit(
    "volcano-sh/volcano#2160",
    "A job whose pods had ended before the controller saw them run stayed Pending for ever.",
    wrong=(swap(lifecycle, "is_up", all_run),),
)
def test_volcano_sh_volcano_2160_a_job_passes_through_running_however_fast_it_is() -> None:
    story = Story(workers(2)).submit().at(1).all_pods("Pending").at(2)
    story.pod("worker-1", "Succeeded").pod("worker-0", "Succeeded")
    phases = [
        event.phase for entry in story.entries for event in entry.events if isinstance(event, PhaseEntered)
    ]
    assert phases == [Phase.PENDING, Phase.RUNNING, Phase.SUCCEEDED]


@exhibit(
    "volcano-sh/volcano#4828",
    "Terminating pods were dropped from the cache, so a job was over while pods of it still ran.",
    wrong=(
        swap(
            ReplicaState,
            "has_pod",
            property(lambda replica: replica.phase is not ReplicaPhase.DELETED and not replica.deleting),
        ),
    ),
)
def test_volcano_sh_volcano_4828_a_job_is_closed_when_its_last_pod_is_gone() -> None:
    story = Story(workers(1)).submit().at(1).all_pods("Running").delete()
    story.at(2).pod("worker-0", "Running", deleting=True)
    assert not story.state.closed
    assert story.gone("worker-0", uid="worker-0.1").state.closed


def allowed_again(phase: Phase, trigger: Trigger) -> bool:
    return phase.is_final or allows(phase, trigger)


def turns_of_all(rules: asking.Rules, _: type[Observation]) -> dict[Phase, tuple[asking.Turn | None, ...]]:
    return dict.fromkeys(Phase, (*((rule, behind) for behind, rule in enumerate(rules, 1)), None))


def runs_again(phase: Phase, trigger: Trigger) -> Phase:
    return Phase.RUNNING if phase.is_final else step(phase, trigger)


@exhibit(
    "armadaproject/armada#1995",
    "Updates that came after a job's end were applied: finished jobs came back as running ones, for ever.",
    wrong=(
        swap(asking, "turns", turns_of_all),
        swap(lifecycle, "allows", allowed_again),
        swap(entering, "step", runs_again),
    ),
)
def test_armadaproject_armada_1995_an_end_is_not_overwritten() -> None:
    story = Story(workers(2, policy="Never")).submit().at(1).all_pods("Running").at(2)
    late = story.pod_seen("worker-1", "Running", ready=True)
    given(story.pod("worker-0", "Failed").phase is Phase.FAILED, "the primary has failed")
    story.see(late)
    assert [event for event in story.last if isinstance(event, PhaseEntered)] == []


def failed_no_more(
    kind: Kind, state: JobState, replica: ReplicaState, observation: PodGone
) -> Iterator[Event]:
    yield from RIGHT_GONE(kind, state, replica, observation)
    if state.phase is Phase.FAILED:
        yield PhaseEntered(phase=Phase.RESUMING, trigger=Trigger.PAUSE_ENDED, rule="T15", at=observation.at)


RIGHT_GONE = pods._gone


@exhibit(
    "kubeflow/trainer#3779",
    "Whenever a failed job was looked at, its Failed condition went first; once its ended objects had been deleted "
    "after their time to live, it ran again, with all its restarts before it.",
    wrong=(swap(pods, "_gone", failed_no_more),),
)
def test_kubeflow_trainer_3779_a_failed_job_whose_pods_are_deleted_stays_failed() -> None:
    story = TorchStory(training(workers=1, policy="ExitCode", backoffLimit=1)).submit().up()
    story.at(20).pod("worker-0", "Failed", exit_code=137).gone("worker-0").pod("worker-0", "Running")
    story.at(700).pod("worker-0", "Failed", exit_code=137)
    given(story.phase is Phase.FAILED, "no restart is left")
    at_the_end = len(story.entries)
    story.at(900).all_gone()
    after = [event for entry in story.entries[at_the_end:] for event in entry.events]
    given(any(isinstance(event, ReplicaReleased) for event in after), "its pods are gone")
    assert [event for event in after if isinstance(event, PhaseEntered | ReplicaRequested)] == []


def always_started(report: Report, pod: Pod, wish: Wish) -> Move | None:
    return Move.STARTED if report is Report.RUNNING else news(report, pod, wish)


@exhibit(
    "armadaproject/armada#4541",
    "A run that had ended was marked as started afterwards: reports were applied whatever had come before.",
    wrong=(
        swap(ReplicaState, "ended", property(lambda _: False)),
        swap(pods, "news", always_started),
    ),
)
def test_armadaproject_armada_4541_what_has_ended_does_not_start() -> None:
    story = Story(workers(2)).submit().at(1).all_pods("Pending").at(2)
    late = story.pod_seen("worker-1", "Running")
    story.at(3).pod("worker-1", "Succeeded").at(4).see(late)
    assert story.replica("worker-1").phase is ReplicaPhase.SUCCEEDED


def backwards(
    kind: object, state: JobState, replica: ReplicaState, report: object, containers: object
) -> object:
    if getattr(report, "phase", "") == "Pending" and replica.phase is ReplicaPhase.RUNNING:
        return ReplicaCreated(replica=replica.name, uid=replica.uid, containers=replica.containers)
    return RIGHT_EVENT(kind, state, replica, report, containers)  # type: ignore[arg-type]


RIGHT_EVENT = pods._event


@exhibit(
    "armadaproject/armada#1897",
    "A message that a lease had been returned came late, and took a job that ran back to being queued.",
    wrong=(swap(pods, "_event", backwards),),
)
def test_armadaproject_armada_1897_a_running_replica_does_not_go_back() -> None:
    story = Story(workers(2)).submit().at(1)
    late = story.pod_seen("worker-1", "Pending")
    story.all_pods("Running").at(2).see(late)
    assert (story.replica("worker-1").phase, story.last) == (ReplicaPhase.RUNNING, ())


def end_first(state: JobState, observation: Observation) -> tuple[Event, ...]:
    events = decide(state, observation)
    return tuple(
        sorted(events, key=lambda event: not (isinstance(event, PhaseEntered) and event.phase.is_final))
    )


@exhibit(
    "armadaproject/armada#1216",
    "A job's failure event came before the event that had led to it, and readers could not tell its state.",
    wrong=(swap(scenario, "decide", end_first),),
)
def test_armadaproject_armada_1216_the_cause_comes_before_the_end() -> None:
    story = (
        Story(workers(1, policy="Never")).submit().at(1).all_pods("Running").at(2).pod("worker-0", "Failed")
    )
    kinds = [type(event) for event in story.last]
    given({PhaseEntered, RestartDenied} <= set(kinds), "the failure and the end are one entry")
    assert kinds.index(RestartDenied) < kinds.index(PhaseEntered)


@exhibit(
    "kubernetes/kubernetes#91235",
    "Succeeded pods that the garbage collector had removed were missed and made again, so the job never ended.",
    wrong=(swap(pods, "_ENDED", frozenset()),),
)
def test_kubernetes_kubernetes_91235_what_has_succeeded_is_not_made_again() -> None:
    story = Story(workers(2)).submit().at(1).all_pods("Running").at(2).pod("worker-1", "Succeeded")
    story.at(3).gone("worker-1")
    assert story.pods == ["worker-0.1"]


@exhibit(
    "kubernetes/kubernetes#113855",
    "The exit code of a pod was ignored when somebody deleted the pod before its end had been processed.",
    wrong=(swap(pods, "_is_own_end", lambda *_: False),),
)
def test_kubernetes_kubernetes_113855_an_end_before_the_deletion_counts() -> None:
    story = Story(workers(1, policy="ExitCode")).submit().at(1).all_pods("Running").at(2)
    story.pod("worker-0", "Failed", exit_code=1, deleting=True, own_ends=("pytorch",))
    assert story.phase is Phase.FAILED


def announced_only(*_: object, **__: object) -> Iterator[Event]:
    return iter(())


@exhibit(
    "kubernetes-sigs/jobset#1219",
    "That a job was being restarted was only in an event; who had missed it saw a job that did nothing.",
    wrong=(swap(restarts, "hold", announced_only),),
)
def test_kubernetes_sigs_jobset_1219_a_restart_shows_in_a_condition_while_it_lasts() -> None:
    story = (
        TorchStory(training(workers=1, backoffLimit=5)).submit().up().pod("worker-0", "Failed", exit_code=137)
    )
    given(story.state.spent == 1, "the pod is to be made again")
    assert (story.last_condition.type, story.last_condition.status) == ("Restarting", "True")
    assert story.gone("worker-0").pod("worker-0", "Running").last_condition.type == "Running"


def without_those_that_wait(state: JobState) -> dict[str, int]:
    counts = dict.fromkeys((phase.lower() for phase in ReplicaPhase), 0)
    for replica in state.members:
        if replica.has_pod:
            counts[replica.phase.lower()] += 1
    return counts


@exhibit(
    "kubernetes/kubernetes#139428",
    "While the next pod waited for its back-off, the status counted no pods at all, and the API server refused it.",
    wrong=(swap(JobState, "aggregate", property(without_those_that_wait)),),
)
def test_kubernetes_kubernetes_139428_counts_add_up_while_a_pod_waits() -> None:
    story = (
        Story(workers(3, policy="OnFailure", runPolicy={"backoffLimit": 9}))
        .submit()
        .at(5)
        .all_pods("Running")
    )
    story.at(6).gone("worker-2").pod("worker-2", "Running").at(7).gone("worker-2")
    given("backoff" in story.state.timers, "the next pod has to wait")
    counts = story.status["aggregate"]
    assert (counts["running"], sum(counts.values())) == (2, 3)


def as_if_active(state: JobState) -> Iterator[Child]:
    return desired(changed(state, phase=Phase.RUNNING))


@exhibit(
    "kubeflow/common#179",
    "The PodGroup of a failed job stayed in the queue, and the scheduler counted its resources as used.",
    wrong=(swap(scenario, "desired", as_if_active),),
)
def test_kubeflow_common_179_the_pod_group_goes_with_the_end_of_its_job() -> None:
    spec = workers(1, policy="Never", scheduler={"t9kScheduler": {"queue": "q"}})
    story = Story(spec).submit().at(1).all_pods("Running")
    given("PodGroup/mnist" in story.children, "a running job has a group")
    given(story.at(2).pod("worker-0", "Failed").phase is Phase.FAILED, "the job has failed")
    assert "PodGroup/mnist" not in story.children
