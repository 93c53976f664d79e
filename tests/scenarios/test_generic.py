"""The life of a GenericJob: genericjob.md §5, and what it shares with the other T9k kinds."""

import pytest

from statemachine.events import PhaseEntered
from statemachine.ids import PodUid, ReplicaName
from statemachine.kinds import kind_of
from statemachine.kinds.genericjob.life import outcome
from statemachine.observations import PodGone
from statemachine.phases import Phase
from statemachine.state import changed
from tests.support.scenario import Story
from tests.unit.kinds.build import Spec
from tests.unit.kinds.generic import KIND, NAME, replicas, restarting, ruled, spec, started

NO_RULE = "All replicas have ended but no success or failure rule is fulfilled."


def counts(story: Story) -> dict[str, int]:
    """Replicas by phase, where there are any."""
    return {phase: number for phase, number in story.status["aggregate"].items() if number}


def fail(story: Story, name: str, code: int = 1) -> Story:
    """The replica fails; if it is restarted, its pod goes and the next one runs, at once or after the back-off."""
    story.pod(name, "Failed", exit_code=code)
    return again(story, name)


def again(story: Story, name: str) -> Story:
    """The pod that leaves is gone, and the next one runs."""
    if story.replica(name).leaving:
        story.gone(name)
        if "backoff" in story.state.timers:
            story.timer("backoff")
        story.pod(name, "Running")
    return story


# ---- rules -------------------------------------------------------------------------------------------------------


def test_without_rules_all_have_to_succeed() -> None:
    story = started(spec(replicas("ps", 1), replicas("worker", 2)))
    assert story.pod("ps-0", "Succeeded").pod("worker-1", "Succeeded").phase is Phase.RUNNING
    assert story.pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


def test_without_rules_one_failure_is_enough() -> None:
    story = started(spec(replicas("ps", 1), replicas("worker", 2))).pod("worker-1", "Failed")
    assert story.condition("Failed") == ("True", "Failed", 'The job is failed with rule: { "worker": [1] }')


def test_a_type_of_no_replicas_takes_no_part_in_the_rules_that_nobody_wrote() -> None:
    story = started(spec(replicas("ps", 0), replicas("worker", 1)))
    assert story.pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


def test_any_success_rule_is_enough() -> None:
    of = ruled(replicas("worker", 3), success=[{"worker": [0]}, {"worker": [1]}])
    assert started(of).pod("worker-1", "Succeeded").phase is Phase.SUCCEEDED


def test_a_failure_rule_is_met_by_all_that_it_names() -> None:
    of = ruled(
        replicas("ps", 1),
        replicas("worker", 3),
        success=[{"worker": [2]}],
        failure=[{"worker": [0, 1], "ps": [0]}],
    )
    story = started(of).pod("worker-0", "Failed").pod("worker-1", "Failed")
    assert story.phase is Phase.RUNNING
    assert story.pod("ps-0", "Failed").phase is Phase.FAILED
    assert story.condition("Failed") == (
        *("True", "Failed"),
        'The job is failed with rule: { "worker": [0, 1], "ps": [0] }',
    )


def test_the_first_rule_in_the_list_is_the_one_that_is_named() -> None:
    of = ruled(replicas("worker", 2), success=[{"worker": [1]}], failure=[{"worker": [0]}, {"worker": [0]}])
    story = started(of).pod("worker-0", "Failed")
    assert story.condition("Failed") == ("True", "Failed", 'The job is failed with rule: { "worker": [0] }')


def test_ranks_written_as_text_are_shown_as_numbers() -> None:
    story = started(ruled(replicas(), success=[{"worker": [1]}], failure=[{"worker": ["0"]}]))
    story.pod("worker-0", "Failed")
    assert story.condition("Failed") == ("True", "Failed", 'The job is failed with rule: { "worker": [0] }')


def test_success_comes_before_failure_in_one_observation() -> None:
    of = ruled(replicas("worker", 3), success=[{"worker": [2]}], failure=[{"worker": [2]}])
    story = started(of).pod("worker-0", "Failed").pod("worker-1", "Succeeded")
    rules = {"successRules": [{"worker": [1]}], "failureRules": [{"worker": [0]}]}
    state = changed(story.state, spec={**story.state.spec, **rules})
    resync = PodGone(job=story.uid, at=story.now, replica=ReplicaName("worker-1"), attempt=1, uid=PodUid("a"))
    (entered, *_) = outcome(kind_of(story.api, KIND), state, resync)
    assert isinstance(entered, PhaseEntered)
    assert entered.phase is Phase.SUCCEEDED


def test_when_all_have_ended_and_no_rule_is_met_the_job_has_failed() -> None:
    of = ruled(replicas(), success=[{"worker": [0, 1]}], failure=[{"worker": [0, 1]}])
    story = started(of).pod("worker-0", "Succeeded")
    assert story.phase is Phase.RUNNING
    assert story.pod("worker-1", "Failed").phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "NoRuleMatched", NO_RULE)
    assert story.condition("Completed") == ("False", "NoRuleMatched", NO_RULE)


def test_what_has_succeeded_and_is_deleted_by_hand_still_counts() -> None:
    story = started(spec()).pod("worker-0", "Succeeded").gone("worker-0")
    assert story.pods == ["worker-1.1"]
    assert story.pod("worker-1", "Succeeded").phase is Phase.SUCCEEDED


def test_what_has_failed_for_good_and_is_deleted_by_hand_still_counts() -> None:
    of = ruled(replicas(), success=[{"worker": [0]}], failure=[{"worker": [0, 1]}])
    story = started(of).pod("worker-0", "Failed").gone("worker-0")
    assert story.pods == ["worker-1.1"]
    assert story.pod("worker-1", "Failed").phase is Phase.FAILED


def test_t19_what_comes_after_the_end_changes_nothing() -> None:
    story = started(spec()).pod("worker-0", "Failed")
    before = story.conditions
    assert story.pod("worker-1", "Succeeded").phase is Phase.FAILED
    assert story.conditions == before


# ---- restarts ----------------------------------------------------------------------------------------------------


def test_never_is_not_restarted_whatever_the_limit() -> None:
    story = started(spec(restarting("worker", 2, "Never", 5))).pod("worker-0", "Failed", exit_code=137)
    assert (story.phase, story.status["tasks"][0]["restartCount"]) == (Phase.FAILED, 0)


@pytest.mark.parametrize("policy", ["OnFailure", "Always"])
def test_without_a_limit_nothing_is_restarted(policy: str) -> None:
    of = replicas("worker", 2, restartPolicy={"policy": policy})
    assert started(spec(of)).pod("worker-1", "Failed", exit_code=137).phase is Phase.FAILED
    assert started(spec(of)).all_pods("Succeeded").phase is Phase.SUCCEEDED


def test_on_failure_is_not_restarted_after_a_success() -> None:
    story = started(spec(restarting("worker", 2, "OnFailure", 2))).pod("worker-0", "Succeeded")
    assert story.replica("worker-0").leaving == ""
    assert story.pod("worker-1", "Succeeded").phase is Phase.SUCCEEDED


def test_always_has_succeeded_only_when_its_restarts_are_used_up() -> None:
    story = started(ruled(restarting("worker", 1, "Always", 2), success=[{"worker": [0]}]))
    for count in (1, 2):
        assert story.pod("worker-0", "Succeeded").phase is Phase.RUNNING
        assert story.conditions["ReplicaFailure"] == "False"
        again(story, "worker-0")
        assert story.status["tasks"][0]["restartCount"] == count
    assert story.pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


def test_always_is_restarted_after_failures_and_successes_alike() -> None:
    story = started(ruled(restarting("worker", 1, "Always", 2), success=[{"worker": [0]}]))
    fail(story, "worker-0")
    again(story.pod("worker-0", "Succeeded"), "worker-0")
    assert story.phase is Phase.RUNNING
    assert story.pod("worker-0", "Failed").phase is Phase.FAILED


def test_one_replica_s_restarts_leave_the_others_theirs() -> None:
    story = started(ruled(restarting("worker", 2, "OnFailure", 1), success=[{"worker": [0, 1]}]))
    fail(fail(story, "worker-0"), "worker-1")
    assert story.phase is Phase.RUNNING
    assert story.status["tasks"][0]["restartCount"] == 2
    assert story.pod("worker-1", "Failed").phase is Phase.FAILED


def test_every_type_has_its_own_limit_and_its_own_count() -> None:
    of = ruled(
        restarting("ps", 1, "OnFailure", 2), restarting("worker", 1, "OnFailure", 1), success=[{"ps": [0]}]
    )
    story = started(of)
    fail(fail(fail(story, "ps-0"), "worker-0"), "ps-0")
    assert [task["restartCount"] for task in story.status["tasks"]] == [2, 1]
    assert story.phase is Phase.RUNNING


def test_the_status_has_no_budget_that_all_share() -> None:
    assert "backoffCount" not in started(spec()).status


def test_t13_the_failure_is_over_when_the_restarted_replica_runs() -> None:
    story = started(ruled(restarting("worker", 2, "OnFailure", 1), success=[{"worker": [0, 1]}]))
    story.pod("worker-0", "Failed").gone("worker-0")
    assert story.condition("ReplicaFailure") == (
        *("True", "ReplicaFailed"),
        f'Replica {NAME}-worker-0 failed: container "sleep" exited with code 1.',
    )
    assert story.pod("worker-0", "Running").conditions["ReplicaFailure"] == "False"


def test_t18_lost_pods_are_made_again_and_count_for_no_limit() -> None:
    story = started(spec(restarting("worker", 2, "Never", 0))).gone("worker-1")
    assert (story.phase, story.pods) == (Phase.RUNNING, ["worker-0.1", "worker-1.2"])
    story.pod("worker-1", "Running").at(20).gone("worker-1").timer("backoff").pod("worker-1", "Running")
    assert story.status["tasks"][0]["restartCount"] == 0
    assert story.all_pods("Succeeded").phase is Phase.SUCCEEDED


def test_t18_a_lost_replica_has_not_succeeded_before_it_did_so() -> None:
    story = started(ruled(replicas(), success=[{"worker": [0]}])).pod("worker-1", "Succeeded")
    story.pod("worker-0", "Failed", deleting=True).gone("worker-0")
    assert (story.phase, story.pods) == (Phase.RUNNING, ["worker-0.2", "worker-1.1"])


# ---- phases ------------------------------------------------------------------------------------------------------


def test_t7_running_when_everybody_has_run_or_ended() -> None:
    story = Story(spec(), name=NAME, kind=KIND).submit().pod("worker-0", "Succeeded")
    assert story.phase is Phase.PENDING
    assert story.pod("worker-1", "Running").phase is Phase.RUNNING


def test_t16_unknown_when_all_that_live_are() -> None:
    story = started(spec(replicas("worker", 3))).pod("worker-0", "Succeeded").pod("worker-1", "Unknown")
    assert story.phase is Phase.RUNNING
    assert story.pod("worker-2", "Unknown").phase is Phase.UNKNOWN
    text = f"The status of replica {NAME}-worker-1 cannot be obtained."
    assert story.condition("Running") == ("Unknown", "StatusUnknown", text)


def test_t17_one_that_is_observed_again_is_enough() -> None:
    story = started(spec()).pod("worker-0", "Unknown").pod("worker-1", "Unknown")
    assert story.phase is Phase.UNKNOWN
    assert story.at(9).pod("worker-1", "Running").phase is Phase.RUNNING
    assert story.conditions["Running"] == "True"


def test_t16_a_job_none_of_whose_replicas_lives_is_not_unknown() -> None:
    of = ruled(restarting("worker", 1, "OnFailure", 2), success=[{"worker": [0]}])
    story = started(of).pod("worker-0", "Unknown")
    assert story.phase is Phase.UNKNOWN
    assert story.at(9).pod("worker-0", "Failed").phase is Phase.RUNNING
    assert story.gone("worker-0").phase is Phase.RUNNING


def test_t8_success_counts_while_the_others_are_unknown() -> None:
    of = ruled(replicas(), success=[{"worker": [0]}])
    story = started(of).pod("worker-0", "Unknown").pod("worker-1", "Unknown")
    assert story.pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


# ---- pause -------------------------------------------------------------------------------------------------------


def test_r11_a_pause_takes_all_pods_away_and_resuming_makes_them_anew() -> None:
    story = started(spec(restarting("worker", 2, "OnFailure", 1)))
    fail(story, "worker-0").pod("worker-1", "Succeeded").pause()
    assert (story.phase, story.pods) == (Phase.PAUSED, [])
    story.pod("worker-0", "Failed").gone("worker-0").gone("worker-1").resume()
    assert (story.phase, story.pods) == (Phase.RESUMING, ["worker-0.3", "worker-1.2"])
    story.all_pods("Running")
    assert story.phase is Phase.RUNNING
    assert story.pod("worker-0", "Succeeded").phase is Phase.RUNNING
    assert story.pod("worker-1", "Succeeded").phase is Phase.SUCCEEDED


def test_r11_restarts_that_were_used_stay_used_through_a_pause() -> None:
    story = started(spec(restarting("worker", 2, "OnFailure", 1)))
    fail(story, "worker-0").pause().gone("worker-0").gone("worker-1").resume().all_pods("Running")
    assert story.pod("worker-0", "Failed").phase is Phase.FAILED


def test_r11_a_job_that_is_made_paused_has_no_pods() -> None:
    story = Story(spec(runMode={"pause": {"enabled": True}}), name=NAME, kind=KIND).submit()
    assert (story.phase, story.pods) == (Phase.PAUSED, [])
    assert story.resume().phase is Phase.RESUMING


# ---- the end -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("None", ["worker-0.1", "worker-1.1", "worker-2.1"]),
        ("Unfinished", ["worker-0.1", "worker-1.1"]),
        ("All", []),
    ],
)
def test_r9_the_clean_up_policy_stands_directly_in_the_spec(policy: str, left: list[str]) -> None:
    of = ruled(
        replicas("worker", 3), success=[{"worker": [1]}], failure=[{"worker": [2]}], cleanUpPolicy=policy
    )
    story = started(of).pod("worker-0", "Failed").pod("worker-1", "Succeeded")
    assert (story.phase, story.pods) == (Phase.SUCCEEDED, left)


def test_r9_the_clean_up_policy_may_change_until_the_job_has_ended() -> None:
    of = ruled(replicas(), success=[{"worker": [0]}])
    story = started(of).edit(cleanUpPolicy="All").pod("worker-0", "Succeeded")
    assert story.pods == []
    story.edit(cleanUpPolicy="None")
    assert ("InvalidUpdate", "spec.cleanUpPolicy is immutable") in story.announced()


def test_the_rules_cannot_be_changed() -> None:
    story = started(ruled(replicas(), success=[{"worker": [0]}], failure=[{"worker": [0]}]))
    story.edit(failureRules=[{"worker": [1]}])
    assert ("InvalidUpdate", "spec.failureRules is immutable") in story.announced()
    assert story.pod("worker-1", "Failed").phase is Phase.RUNNING


def test_counts_add_up_to_the_scale() -> None:
    story = started(ruled(replicas("ps", 1), replicas("worker", 3), success=[{"ps": [0]}]))
    story.pod("worker-0", "Failed").pod("worker-1", "Succeeded")
    assert counts(story) == {"running": 2, "failed": 1, "succeeded": 1}


@pytest.mark.parametrize("rule", [{"nobody": [0]}, {"worker": [7]}, {}])
def test_a_rule_of_an_adopted_job_that_names_no_replica_of_it_is_never_met(rule: Spec) -> None:
    story = Story(ruled(replicas(), success=[rule], failure=[rule]), name=NAME, kind=KIND)
    story.adopt({"phase": "Running", "conditions": []}).at(5).all_pods("Running")
    phases = [story.phase, story.pod("worker-0", "Succeeded").phase, story.pod("worker-1", "Failed").phase]
    assert phases == [Phase.RUNNING, Phase.RUNNING, Phase.FAILED]
    ended = story.state.condition("Failed")
    assert ended is not None
    assert ended.reason == "NoRuleMatched"
