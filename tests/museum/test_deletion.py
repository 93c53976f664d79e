"""Objects that go, and objects that have the names of others: who may be counted out, and what may be deleted."""

from collections.abc import Iterator

from k8s_bridge import observe as bridge_observe
from k8s_bridge.observe import observe
from k8s_bridge.port import EVIDENCE, Change, Manifest, Verb
from projectors import children, diff
from projectors.diff import Create, Delete, Release, Write
from statemachine import evolve, moving
from statemachine.desired import desired
from statemachine.events import Event, ReplicaDismissed
from statemachine.ids import ReplicaName
from statemachine.kind import Kind
from statemachine.kinds.t9k import life
from statemachine.observations import PodGone, PodObserved
from statemachine.owned import Child
from statemachine.phases import Phase
from statemachine.replicas import Move
from statemachine.rules import admission, creation, ending, pods
from statemachine.state import JobState, ReplicaState
from tests.museum.exhibit import exhibit, given, swap
from tests.museum.scene import Scene
from tests.support.scenario import Story, workers
from tests.support.simulated import on_simulated_time


def running(replicas: int = 2, limit: int = 10, **run: object) -> Story:
    """A job whose pods run."""
    spec = workers(replicas, policy="OnFailure", runPolicy={"backoffLimit": limit, **run})
    return Story(spec).submit().at(5).all_pods("Running")


def pod_of(story: Story, replica: str = "worker-0", phase: str = "Running", **meta: object) -> Manifest:
    """The replica's pod as a cluster holds it, with its finalizer."""
    built = story.children[f"Pod/{story.pod_name(replica)}"]
    uid = story.replica(replica).uid
    metadata = {**built["metadata"], "namespace": "demo", "uid": uid, "finalizers": [EVIDENCE], **meta}
    return {**built, "metadata": metadata, "status": {"phase": phase}}


def writes(story: Story, *live: Manifest) -> list[Write]:
    """What is to be written, given these objects."""
    return list(diff.diff(story.state, desired(story.state), live))


# ---- pods that are going -------------------------------------------------------------------------------------------


def gone_at_once(kind: Kind, state: JobState, replica: ReplicaState, report: PodObserved) -> Iterator[Event]:
    if report.deleting:
        gone = PodGone(
            job=state.uid, at=report.at, replica=replica.name, attempt=replica.attempt, uid=report.uid
        )
        yield from pods._gone(kind, state, replica, gone)
    else:
        yield from RIGHT_OBSERVED(kind, state, replica, report)


RIGHT_OBSERVED = pods._observed


@exhibit(
    "kubernetes/kubernetes#115844",
    "The next pod was created as soon as the deletion of one had begun, so two pods of one index ran side by side.",
    wrong=(swap(pods, "_observed", gone_at_once),),
)
def test_kubernetes_kubernetes_115844_the_next_pod_waits_until_the_one_before_is_gone() -> None:
    story = running().at(6).pod("worker-1", "Running", deleting=True)
    assert story.pods == ["worker-0.1", "worker-1.1"]
    assert story.gone("worker-1").pods == ["worker-0.1", "worker-1.2"]


def never_again(state: JobState, name: ReplicaName, _: Move) -> evolve.Changes:
    return RIGHT_END(state, name, Move.LOST_FOR_GOOD)


RIGHT_END = evolve._gone


@exhibit(
    "kubernetes-sigs/jobset#574",
    "A job did not recover when a pod was deleted by hand, or went with the node that was shut down.",
    wrong=(swap(evolve, "_gone", never_again),),
)
def test_kubernetes_sigs_jobset_574_a_deleted_pod_is_made_again() -> None:
    story = running().at(6).gone("worker-1")
    assert (story.phase, story.pods) == (Phase.RUNNING, ["worker-0.1", "worker-1.2"])


@exhibit(
    "volcano-sh/volcano#5986",
    "Pods were kept by name, so a late event about a deleted pod removed the newer one of that name.",
    wrong=(swap(pods, "_is_its_end", lambda replica, _: replica.has_pod),),
)
def test_volcano_sh_volcano_5986_the_end_of_an_older_pod_says_nothing_of_the_newer() -> None:
    story = running().at(6).gone("worker-1").pod("worker-1", "Running")
    story.at(7).gone("worker-1", uid="worker-1.1", attempt=1)
    assert (story.last, story.pods) == ((), ["worker-0.1", "worker-1.2"])


@exhibit(
    "argoproj/argo-workflows#13086",
    "A pod that had completed and was removed at once was only known to be missing, and the workflow was an error.",
    wrong=(swap(bridge_observe, "_end", lambda *_: None),),
)
def test_argoproj_argo_workflows_13086_the_end_of_a_pod_is_reported_before_its_going() -> None:
    story = running(1)
    for observation in observe(Change(Verb.DELETED, pod_of(story, phase="Succeeded"), story.now)):
        story.see(observation)
    assert story.phase is Phase.SUCCEEDED


# ---- finalizers ----------------------------------------------------------------------------------------------------


@exhibit(
    "kubernetes/kubernetes#130103",
    "The finalizer of a finished pod went before the count of it was known to be stored; the pod was made once more.",
    wrong=(swap(diff, "_end_is_known", lambda *_: True),),
)
def test_kubernetes_kubernetes_130103_a_pod_is_held_until_its_end_is_in_the_log() -> None:
    story = running(1)
    ended = pod_of(story, phase="Succeeded")
    assert [write for write in writes(story, ended) if isinstance(write, Release)] == []
    story.at(6).pod("worker-0", "Succeeded")
    assert [type(write) for write in writes(story, ended) if not isinstance(write, Create)] == [Release]


@exhibit(
    "kubernetes/kubernetes#109429",
    "When a job was deleted while its pods ended, nobody took their finalizers away, and they stayed for ever.",
    wrong=(swap(diff, "_end_is_known", lambda *_: False),),
)
def test_kubernetes_kubernetes_109429_pods_of_a_deleted_job_are_let_go() -> None:
    story = running(1)
    ended = pod_of(story, phase="Succeeded", deletionTimestamp="2024-01-09T15:00:00Z")
    story.at(6).delete().pod("worker-0", "Succeeded", deleting=True)
    assert [type(write) for write in writes(story, ended)] == [Release]


def unless_job_ended(replica: ReplicaState, event: ReplicaDismissed) -> ReplicaState:
    return replica if event.why == "job ended" else RIGHT_DISMISSAL(replica, event)


RIGHT_DISMISSAL = moving.dismissed


@exhibit(
    "kubernetes/kubernetes#109485",
    "A job was declared finished before all pods that it had created were observed; those kept their finalizers.",
    wrong=(swap(moving, "dismissed", unless_job_ended),),
)
def test_kubernetes_kubernetes_109485_a_pod_that_appears_after_the_end_goes() -> None:
    story = running(2, cleanUpPolicy="None").at(6).gone("worker-1")
    given(story.replica("worker-1").uid == "", "the next pod is asked for, and not observed")
    late = pod_of(story, "worker-1", uid="late", phase="Pending")
    given(story.at(7).pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED, "the job has ended")
    story.see(story.pod_seen("worker-1", "Pending", uid="late"))
    assert Delete in {type(write) for write in writes(story, late)}


# ---- what an end leaves --------------------------------------------------------------------------------------------


@exhibit(
    "volcano-sh/volcano#1651",
    "The pods of the last try were deleted with all others, and with them the logs that could tell why it failed.",
    wrong=(swap(ending, "_is_cleaned", lambda *_, **__: True),),
)
def test_volcano_sh_volcano_1651_the_pod_that_failed_last_stays() -> None:
    story = running(1, limit=0).at(6).pod("worker-0", "Failed", exit_code=1)
    given(story.phase is Phase.FAILED, "no restart is left")
    assert story.pods == ["worker-0.1"]


@exhibit(
    "volcano-sh/volcano#1718",
    "When the restarts were used up the job was Failed, and its other pods ran on.",
    wrong=(swap(ending, "_is_cleaned", lambda *_, **__: False),),
)
def test_volcano_sh_volcano_1718_pods_that_run_go_with_the_end_of_the_job() -> None:
    story = running(2, limit=0, cleanUpPolicy="Unfinished").at(6).pod("worker-0", "Failed", exit_code=1)
    assert (story.phase, story.pods) == (Phase.FAILED, ["worker-0.1"])


@exhibit(
    "kubeflow/trainer#3737",
    "A failed job ran once more when the objects that it had made were deleted.",
    wrong=(swap(diff, "_may_create", lambda *_: True),),
)
def test_kubeflow_trainer_3737_what_has_ended_makes_nothing() -> None:
    story = running(1, limit=0).at(6).pod("worker-0", "Failed", exit_code=1)
    assert [write for write in writes(story) if isinstance(write, Create) and write.child.kind == "Pod"] == []


def without_restarts(job: JobState, child: Child) -> bool:
    restarts = any(replica.leaving == "restart" for replica in job.replicas.values())
    return RIGHT_KEEPS(job, child) and not (child.kind == "PodGroup" and restarts)


RIGHT_KEEPS = life.keeps


@exhibit(
    "volcano-sh/volcano#5385",
    "The PodGroup was deleted whenever one pod was to be started again, and the whole job had to wait for a new one.",
    wrong=(
        swap(children, "desired", lambda state: [c for c in desired(state) if without_restarts(state, c)]),
    ),
)
@on_simulated_time
async def test_volcano_sh_volcano_5385_a_restart_leaves_the_pod_group() -> None:
    spec = workers(
        2, policy="OnFailure", scheduler={"t9kScheduler": {"queue": "q"}}, runPolicy={"backoffLimit": 3}
    )
    scene = Scene(Story(spec).submit())
    await scene.submit()
    await scene.visit()
    for pod in scene.pods():
        replica = pod["metadata"]["labels"]["replica-index"]
        scene.story.pod(f"worker-{replica}", "Running", uid=pod["metadata"]["uid"])
    scene.story.at(6).pod("worker-1", "Failed", exit_code=1)
    await scene.visit()
    assert len(list(scene.cluster.objects.peek_all("PodGroup"))) == 1


# ---- jobs that are going -------------------------------------------------------------------------------------------


@exhibit(
    "kubernetes-sigs/jobset#561",
    "A job that was being deleted, and waited for its children to go, had them created again and again.",
    wrong=(swap(admission, "terminating", lambda *_: iter(())),),
)
def test_kubernetes_sigs_jobset_561_a_job_that_is_being_deleted_makes_nothing() -> None:
    story = running().at(6).terminate()
    story.gone("worker-1")
    assert story.pods == ["worker-0.1"]


@exhibit(
    "kubernetes-sigs/jobset#665",
    "A restart of all children created some of the new ones while some of the old ones were still there.",
    wrong=(swap(creation, "_is_emptying", lambda _: False),),
)
def test_kubernetes_sigs_jobset_665_all_of_the_old_are_gone_before_the_first_new_one() -> None:
    worker = {"replicas": 2, "template": {"spec": {"containers": [{"name": "worker", "image": "x"}]}}}
    elastic = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}
    spec = {"config": {"run": {"python": ["train.py"]}}, "worker": worker, "elastic": elastic}
    story = Story(spec, name="gpt", kind="DeepSpeedJob").submit().at(5).all_pods("Running")
    story.at(6).edit(elastic={"expectedReplicas": 3}).gone("worker-0")
    assert story.pods == []
    assert story.gone("worker-1").pods == ["worker-0.2", "worker-1.2", "worker-2.1"]
