"""Objects that have the names of others, and states that are old: what is whose, and what may still be made."""

from k8s_bridge import observe as bridge_observe
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Manifest, Verb
from projectors import child_writer, children
from projectors.confirming import Confirming
from projectors.made_pods import MadePod, MadePods
from statemachine.events import ReplicaRequested
from statemachine.ids import JobUid
from statemachine.observations import WriteRefused
from statemachine.owned import Child
from tests.museum.exhibit import exhibit, given, swap
from tests.museum.scene import Scene
from tests.support.scenario import START, Story, workers
from tests.support.simulated import on_simulated_time
from tests.unit.bridge.words import job, pod


def by_its_name(meta: Manifest) -> JobUid:
    owners = meta.get("ownerReferences") or ()
    return JobUid(Story(workers(1)).uid if any(owner["name"] == "mnist" for owner in owners) else "")


@exhibit(
    "kubernetes-sigs/jobset#1165",
    "Children were looked up by the name of their owner, so those of a deleted one counted for its successor.",
    wrong=(swap(bridge_observe, "_owner", by_its_name),),
)
def test_kubernetes_sigs_jobset_1165_a_child_is_that_of_the_uid_that_owns_it() -> None:
    raw = pod(job("mnist", uid="the-job-before")) | {"status": {"phase": "Failed"}}
    raw["metadata"]["uid"] = "p-1"
    reports = observe(Change(Verb.MODIFIED, raw, START))
    given(len(reports) == 1, "it is the pod of a job")
    assert reports[0].job == "the-job-before"


@exhibit(
    "kubernetes-sigs/jobset#18",
    "An object of the right name was taken for one's own, no matter who had made it; ours was never created.",
    wrong=(swap(child_writer, "_is_controlled_by", lambda *_: True),),
)
@on_simulated_time
async def test_kubernetes_sigs_jobset_18_a_stranger_in_the_way_is_reported() -> None:
    scene = Scene(Story(workers(1)).submit())
    await scene.submit()
    stranger = scene.story.children["Pod/mnist-7ac1b-worker-0"]
    stranger["metadata"] = {"name": stranger["metadata"]["name"], "namespace": "demo"}
    await scene.cluster.create(stranger)
    await scene.visit()
    refusals = [report for report in scene.observations if isinstance(report, WriteRefused)]
    assert [(refusal.kind, refusal.name_taken) for refusal in refusals] == [("Pod", True)]
    assert [raw["metadata"].get("ownerReferences") for raw in scene.pods()] == [None]


@exhibit(
    "volcano-sh/volcano#3601",
    "A job that was deleted but still in the controller's cache got its pods again and again, each deleted at once.",
    wrong=(swap(Confirming, "has", lambda *_: True),),
)
@on_simulated_time
async def test_volcano_sh_volcano_3601_nothing_is_made_for_a_job_object_that_is_gone() -> None:
    scene = Scene(Story(workers(1)).submit())
    await scene.submit()
    scene.remove_job()
    for _ in range(3):
        await scene.visit()
    assert scene.created == []


@exhibit(
    "argoproj/argo-workflows#13986",
    "The pod of one step was created twice under the same name, and the container of the step ran twice.",
    wrong=(swap(MadePods, "before", lambda *_: None),),
)
@on_simulated_time
async def test_argoproj_argo_workflows_13986_an_attempt_has_one_pod_though_nobody_heard_of_it() -> None:
    scene = Scene(Story(workers(1)).submit())
    await scene.submit()
    await scene.visit()
    given(scene.pods_made == 1, "the pod is made")
    scene.remove_pod()
    await scene.visit()
    assert scene.pods_made == 1


@exhibit(
    "argoproj/argo-workflows#16294",
    "An old version of a workflow was processed after its end, and a pod that had long completed was created again.",
    wrong=(swap(children, "_needs_the_latest", lambda _: False),),
)
@on_simulated_time
async def test_argoproj_argo_workflows_16294_an_old_state_makes_no_pod() -> None:
    story = Story(workers(1)).submit()
    old = story.state
    given([event for event in story.last if isinstance(event, ReplicaRequested)], "the old state wants a pod")
    story.pod("worker-0", "Succeeded").gone("worker-0")
    scene = Scene(story, old)
    await scene.submit()
    await scene.visit()
    assert scene.pods_made == 0


def under_its_name(self: MadePods, _: JobUid, child: Child) -> MadePod | None:
    made = (pods[child.replica] for pods in self._pods.values() if child.replica in pods)
    return next(made, None)


@exhibit(
    "kubernetes/kubernetes#131917",
    "What a controller expected to hear was kept by the name of a job: deleted and created again at once, the new "
    "one waited for the pod of the old one, and got none.",
    wrong=(swap(MadePods, "before", under_its_name),),
)
@on_simulated_time
async def test_kubernetes_kubernetes_131917_a_job_of_the_same_name_waits_for_nothing_of_the_old_one() -> None:
    scene = Scene(Story(workers(1)).submit())
    await scene.submit()
    await scene.visit()
    given(scene.pods_made == 1, "the pod is made, and nobody hears of it")
    scene.remove_pod()
    await scene.submit_again()
    await scene.visit()
    assert scene.pods_made == 2
