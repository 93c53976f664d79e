"""A simulation that finds nothing must be able to: code broken on purpose is found within a few seeds."""

from collections.abc import Callable
from importlib import import_module

import pytest

from jobledger.wiring.states import LatestStates
from k8s_bridge.port import EVIDENCE, Change, Manifest, Verb
from projectors import diff
from projectors.made_pods import MadePods
from projectors.workqueue import WorkQueue
from statemachine.engine.embedded import Engine
from statemachine.ids import ATTEMPT, JobUid, PodUid, ReplicaName, Seq
from statemachine.kind import Budget
from statemachine.kinds.t9k import services
from statemachine.kinds.t9k.objects import OWNER_NAME
from statemachine.log.port import Record
from statemachine.replicas import REPORTS, STEPS, Progress
from statemachine.rules import creation, pods
from tests.simulation import chaos
from tests.simulation.at_rest import no_end_is_lost
from tests.simulation.deepspeed_shapes import DEEPSPEED
from tests.simulation.focused import ForceWorld
from tests.simulation.histories import Story
from tests.simulation.launcher_shapes import LAUNCHER
from tests.simulation.pods import PodLife
from tests.simulation.run import simulate
from tests.simulation.shapes import PYTORCH, Shape
from tests.simulation.tensorflow_shapes import TENSORFLOW
from tests.simulation.together import together
from tests.simulation.verdicts import Excuse
from tests.simulation.world import Broken, World
from tests.simulation.xgboost_shapes import XGBOOST
from tests.support.scenario import Story as ScenarioStory
from tests.support.scenario import workers

Breaking = Callable[[pytest.MonkeyPatch], None]

_ENOUGH = 100


def budget_is_endless(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Budget, "is_spent", False)


def evidence_is_let_go_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(diff, "_end_is_known", lambda *_: True)


def a_restart_forgets_what_was_there(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LatestStates, "known", lambda _: {})


def news_during_a_visit_is_lost(patch: pytest.MonkeyPatch) -> None:
    add = WorkQueue.add
    patch.setattr(WorkQueue, "add", lambda self, key: None if key in self._busy else add(self, key))


def what_is_on_its_way_into_the_log_is_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    async def at_once(_: Engine, __: JobUid) -> None:
        return

    patch.setattr(Engine, "fresh", at_once)
    patch.setattr(MadePods, "before", lambda *_: None)  # either of the two finds the most of it alone
    patch.setattr(chaos, "ACTIONS", ForceWorld.actions)


def pods_do_not_know_where_to_look(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(import_module("statemachine.kinds.t9k.pods"), "hosted", lambda *_: {})


def refusals_are_said_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(creation, "is_old_news", lambda *_: False)
    patch.setattr(chaos, "ACTIONS", (chaos.deny, chaos.delete_pod))


@pytest.mark.parametrize(
    "breaking",
    [
        refusals_are_said_for_ever,
        budget_is_endless,
        evidence_is_let_go_early,
        a_restart_forgets_what_was_there,
        news_during_a_visit_is_lost,
        what_is_on_its_way_into_the_log_is_not_waited_for,
        pods_do_not_know_where_to_look,
    ],
)
def test_what_is_broken_is_detected(breaking: Breaking, monkeypatch: pytest.MonkeyPatch) -> None:
    breaking(monkeypatch)
    with pytest.raises(Broken, match="make sim SEED="):
        _simulate_many()


def a_pod_that_is_to_go_starts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pods, "news", lambda report, pod, _: REPORTS[report].get(pod))


def progress_stays(patch: pytest.MonkeyPatch) -> None:
    stays = {progress: progress for progress in Progress}
    steps = {move: (of_pods, of_wishes, stays) for move, (of_pods, of_wishes, _) in STEPS.items()}
    patch.setattr(import_module("statemachine.state"), "STEPS", steps)


@pytest.mark.parametrize("breaking", [a_pod_that_is_to_go_starts, progress_stays])
def test_a_step_that_the_table_of_replicas_lacks_is_detected(
    breaking: Breaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking(monkeypatch)
    with pytest.raises(Broken, match="replicas_move_along_the_table"):
        _simulate_many()


@pytest.mark.parametrize("is_told", [True, False])
def test_the_end_of_a_second_pod_of_an_attempt_is_missed_in_the_log(is_told: bool) -> None:
    """No seed is kept for it: what a seed does changes with every write that is added or saved."""
    world, scenario = World(0), ScenarioStory(workers(1, policy="Never")).submit().all_pods("Running")
    ended = scenario.state.replicas[ReplicaName("worker-0")].uid
    scenario.pod("worker-0", "Failed", exit_code=1)
    bodies = enumerate(scenario.bodies, start=1)
    story = Story.of(Record(seq, scenario.uid, Seq(seq), body) for seq, body in bodies)
    pod = ended if is_told else PodUid("a-second-one")
    life = PodLife(
        pod, (scenario.uid, ReplicaName("worker-0"), 1), held=True, unexpected=False, ended="Failed"
    )
    world.pods.pods[pod] = life
    assert [verdict is None for verdict in no_end_is_lost(world, story)] == [is_told]


@pytest.mark.parametrize("usurped", [True, False])
def test_the_end_of_a_pod_that_the_log_says_is_not_there_is_excused_beside_a_second_controller(
    usurped: bool,
) -> None:
    world, scenario = World(0), ScenarioStory(workers(2)).submit().pause().gone("worker-0")
    for seq, body in enumerate(scenario.bodies, start=1):
        world.log._records.append(Record(seq, scenario.uid, Seq(seq), body))
    for name in ("worker-0", "worker-1"):
        world.pods.changed(Change(Verb.ADDED, pod_of(scenario, name), scenario.now))
    world.usurped = usurped
    for life in world.pods.pods.values():
        life.ended = "Failed"
    verdicts = list(no_end_is_lost(world, Story.of(world.records())))
    assert [isinstance(verdict, Excuse) for verdict in verdicts] == [usurped, False]


def pod_of(life: ScenarioStory, name: str) -> Manifest:
    """A pod of the first attempt, held for its evidence."""
    kind, _, index = name.partition("-")
    owner = {
        "uid": life.uid,
        "controller": True,
        "apiVersion": life.api,
        "kind": life.kind,
        "name": life.name,
    }
    meta = {
        "name": life.pod_name(name),
        "uid": f"late-{name}",
        "labels": {"replica-type": kind, "replica-index": index},
        "annotations": {ATTEMPT: "1"},
        "finalizers": [EVIDENCE],
        "ownerReferences": [owner],
    }
    return {"kind": "Pod", "metadata": meta, "spec": {"containers": []}, "status": {"phase": "Pending"}}


def _simulate_many(shape: Shape = PYTORCH) -> None:
    for seed in range(_ENOUGH):
        simulate(seed, shape)


def test_a_service_that_selects_the_pods_of_a_namesake_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of two kinds may have one name."""
    monkeypatch.setattr(services, "OWNER_KIND", OWNER_NAME)
    monkeypatch.setattr(chaos, "NAMESAKES", 1.0)
    with pytest.raises(Broken, match="services_select_none_but_their_own"):
        _simulate_many(together(TENSORFLOW, XGBOOST))


def launchers_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(import_module("statemachine.rules.creation"), "is_held_back", lambda *_: False)


def workers_are_made_again_beside_a_launcher(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(import_module("statemachine.rules.pods"), "is_driven", lambda _: False)


@pytest.mark.parametrize("breaking", [launchers_do_not_wait, workers_are_made_again_beside_a_launcher])
def test_what_is_broken_about_launchers_is_detected(
    breaking: Breaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking(monkeypatch)
    with pytest.raises(Broken, match=r"launchers_come_when_workers_wait|was asked for"):
        _simulate_many(LAUNCHER)


def another_scale_starts_nothing_anew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(import_module("statemachine.rules.admission"), "rescaled", lambda *_: iter(()))


def the_pods_of_another_scale_are_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(import_module("statemachine.rules.creation"), "_is_emptying", lambda _: False)


@pytest.mark.parametrize(
    "breaking", [another_scale_starts_nothing_anew, the_pods_of_another_scale_are_not_waited_for]
)
def test_what_is_broken_about_scales_is_detected(breaking: Breaking, monkeypatch: pytest.MonkeyPatch) -> None:
    breaking(monkeypatch)
    with pytest.raises(Broken, match="pods_of_two_scales_do_not_meet"):
        _simulate_many(DEEPSPEED)
