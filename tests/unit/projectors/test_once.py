"""Children that are made once: one that is gone is reported and not made again, one without labels gets them back."""

from k8s_bridge.port import Ref
from statemachine.observations import ChildObserved
from tests.support.simulated import on_simulated_time
from tests.unit.kinds.beam import JOB, KIND, NAME, BeamStory, running, spec
from tests.unit.projectors.visits import Visits

REF = Ref("batch/v1", "Job", "demo", JOB)


@on_simulated_time
async def test_the_first_is_made() -> None:
    visits = Visits(BeamStory(spec(), name=NAME, kind=KIND).submit().at(5).all_pods("Running"))
    await visits.visit()
    assert [call.ref for call in visits.cluster.made("create", "Job")] == [REF]


@on_simulated_time
async def test_one_that_is_gone_before_any_watch_shows_it_is_not_made_again() -> None:
    story = BeamStory(spec(), name=NAME, kind=KIND).submit().at(5).all_pods("Running")
    visits = Visits(story)
    await visits.visit()
    (made,) = visits.reported
    assert isinstance(made, ChildObserved)
    assert (made.kind, made.name, made.uid) == (
        "Job",
        JOB,
        visits.cluster.objects.get(REF)["metadata"]["uid"],
    )
    visits.cluster.objects.delete(REF)
    after = Visits(story.see(made))
    await after.visit()
    assert after.cluster.made("create", "Job") == []
    assert [(gone.name, gone.uid) for gone in after.reported if isinstance(gone, ChildObserved)] == [
        (JOB, "")
    ]


@on_simulated_time
async def test_one_that_is_gone_is_looked_for_and_reported() -> None:
    visits = Visits(running().job_gone())
    await visits.visit()
    assert visits.cluster.made("create", "Job") == []
    assert [
        (observation.kind, observation.name, observation.uid, observation.gone_uid)
        for observation in visits.reported
        if isinstance(observation, ChildObserved)
    ] == [("Job", JOB, "", "")]


@on_simulated_time
async def test_one_that_has_lost_its_labels_gets_them_back() -> None:
    visits = Visits(running().job_gone())
    labels = visits.put(f"Job/{JOB}")["metadata"]["labels"]
    visits.cluster.objects.patch(REF, {"metadata": {"labels": None}})
    live = await visits.cluster.children("demo", visits.story.uid)
    visits.cluster.stale = [child for child in live if child["kind"] != "Job"]
    await visits.visit()
    assert visits.reported == []
    assert visits.cluster.objects.get(REF)["metadata"]["labels"] == labels


@on_simulated_time
async def test_another_s_object_of_the_name_is_not_it() -> None:
    visits = Visits(running().job_gone())
    meta = {"name": JOB, "namespace": "demo"}
    visits.cluster.objects.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {}})
    await visits.visit()
    assert [type(observation) for observation in visits.reported] == [ChildObserved]
