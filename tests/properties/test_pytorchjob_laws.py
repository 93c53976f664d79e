"""The laws of PyTorchJobs alone, whatever is observed of them. See `test_laws` for those of all jobs."""

from statemachine.kinds.pytorchjob import KIND
from statemachine.phases import FINAL, Phase
from tests.properties.lives import Life, law

TORCH = (KIND,)


@law(among=TORCH)
def test_a_status_has_whole_conditions_and_no_count_of_nothing(life: Life) -> None:
    status = life.lived().status
    known = {"type", "status", "reason", "message", "lastUpdateTime", "lastTransitionTime"}
    assert all(set(condition) == known for condition in status["conditions"])
    counts = [
        number
        for of_type in status.get("replicaStatuses", {}).values()
        for name, number in of_type.items()
        if name != "selector"
    ]
    assert all(count > 0 for count in counts)


@law(among=TORCH)
def test_conditions_go_together(life: Life) -> None:
    story = life.lived()
    held = {condition.type for condition in story.state.conditions if condition.status == "True"}
    types = [condition.type for condition in story.state.conditions]
    assert len(types) == len(set(types))
    assert next(type_ for type_ in types if type_ != "ChildRefused") == "Created"
    assert types[-1] != "ChildRefused"
    assert not {"Running", "Restarting"} <= set(types)
    assert not {"Succeeded", "Failed"} <= held
    assert not ("Running" in held and held & {"Succeeded", "Failed", "Suspended"})
    assert ("Failed" in held, "Succeeded" in held) == (
        story.phase is Phase.FAILED,
        story.phase is Phase.SUCCEEDED,
    )
    assert ("Suspended" in held) == (story.phase is Phase.PAUSED) or story.phase in FINAL
    assert ("completionTime" in story.status) == (story.phase in FINAL)


@law(among=TORCH)
def test_restarts_stay_below_the_limit(life: Life) -> None:
    for entry in life.lived().entries:
        for event in entry.events:
            if event.type == "RestartScheduled":
                assert event.limit is None or event.spent <= event.limit


@law(among=TORCH)
def test_a_suspended_job_has_nothing(life: Life) -> None:
    story = life.lived()
    if story.phase is Phase.PAUSED or story.state.deleted:
        assert story.children == {}
