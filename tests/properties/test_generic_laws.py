"""The laws of jobs whose rules decide the result, whatever is observed of them. See `test_laws` for the others."""

from collections import Counter
from dataclasses import replace

from statemachine.events import Event
from statemachine.kinds import kind_of
from statemachine.phases import Phase
from tests.properties.lives import FAILURES, Life, law
from tests.support.scenario import API, Story

GENERIC = (kind_of(API, "GenericJob"),)


@law(among=GENERIC)
def test_no_replica_is_restarted_more_often_than_its_limit(life: Life) -> None:
    story = replace(life, steps=[*life.steps, *FAILURES]).lived()
    granted = Counter(event.replica for event in events(story) if event.type == "RestartScheduled")
    for name, times in granted.items():
        type_ = story.state.running_plan.type_of(name) if story.state.plan else None
        assert type_ is not None
        assert times <= (type_.restart_limit or 0)
        assert type_.restart_policy != "Never"
        assert story.state.closed or story.replica(name).restarts == times


@law(among=GENERIC)
def test_a_job_ends_exactly_when_a_rule_is_met_or_nothing_is_left(life: Life) -> None:
    story = replace(life, steps=[*life.steps, *FAILURES]).lived()
    if story.phase not in (Phase.PENDING, Phase.RUNNING, Phase.RESUMING, Phase.UNKNOWN, Phase.SUCCEEDED):
        return
    done, lost = standing(story)
    names = set(map(str, story.state.running_plan.replicas()))
    # The rules are those of the submission: a change of them is ignored.
    success = [named(rule) for rule in life.spec.get("successRules") or []] or [names]
    failure = [named(rule) for rule in life.spec.get("failureRules") or []] or [{name} for name in names]
    if story.phase is Phase.SUCCEEDED:
        assert any(rule <= done for rule in success)
    elif not story.state.deleted:
        assert not any(rule <= done for rule in success)
        assert not any(rule <= lost for rule in failure)
        assert not names <= done | lost


def events(story: Story) -> list[Event]:
    """Everything that happened, in order."""
    return [event for entry in story.entries for event in entry.events]


def named(rule: dict[str, list[int | str]]) -> set[str]:
    """The replicas that a rule names."""
    return {f"{type_}-{rank}" for type_, ranks in rule.items() for rank in ranks}


def standing(story: Story) -> tuple[set[str], set[str]]:
    """Who has succeeded and who has failed for good, by the events alone, up to the job's end."""
    done: set[str] = set()
    lost: set[str] = set()
    failed: set[str] = set()
    for event in events(story):
        match event.type:
            case "ReplicaSucceeded":
                done.add(event.replica)
            case "ReplicaFailed":
                failed.add(event.replica)
            case "RestartDenied" if event.replica in failed:
                lost.add(event.replica)
            case "RestartScheduled" | "ReplicaRequested" | "ReplicaAdopted":
                for standings in (done, lost, failed):
                    standings.discard(event.replica)
            case "PhaseEntered" if event.phase is Phase.PAUSED:
                for standings in (done, lost, failed):
                    standings.clear()
            case "PhaseEntered" if event.phase.is_final:
                break
            case _:
                pass
    return done, lost
