"""Who is named in the history of a real API server's jobs, with our admission policies and without."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from k8s_bridge.actor_policy import mutating, validating
from statemachine.kinds import SERVED
from tests.harness import ControlPlane, wait_for
from tests.harness.cluster import JOB_CRDS
from tests.harness.fixtures import own_control_plane
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type
from tests.support.cluster_people import JOBS, Person
from tests.support.deployment import address

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

UNVERIFIED = "names in the history are not verified"
ELASTIC = {"enabled": True, "minReplicas": 1, "maxReplicas": 3, "expectedReplicas": 1}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of our own: the policies hold in a whole cluster."""
    with own_control_plane(tmp_path_factory.mktemp("actors"), nodes=1) as started:
        started.install(JOB_CRDS)
        yield started


class Scene:
    """Jobs in a namespace, a controller with an account of its own, and two users."""

    def __init__(self, plane: ControlPlane, home: str, folder: Path) -> None:
        self.plane, self.jobs, self.front = plane, Jobs(plane, home), Person(plane, home, "front", folder)
        self.ada, self.bob = (
            Person(plane, home, name, folder).may("get,list,create,patch,update,delete", JOBS)
            for name in ("ada", "bob")
        )
        admin = ("create", "clusterrolebinding", home, "--clusterrole=cluster-admin")
        plane.kubectl(*admin, f"--serviceaccount={home}:front")
        self.controller = ControllerProcess(
            plane, folder, "--kubeconfig", str(self.front.kubeconfig), "--namespaces", home
        ).start()
        wait_for("the controller", lambda: self.controller.is_working, within=120)
        self.url = wait_for("its address", lambda: address(self.controller))

    def ask(self, path: str, who: Person, method: str = "GET", **more: Any) -> Any:
        """What the front says to somebody about a job."""
        url = f"{self.url}/v1/jobs/{self.jobs.namespace}/{path}"
        headers = {"Authorization": f"Bearer {who.token}"}
        return httpx.request(method, url, headers=headers, timeout=30, **more).raise_for_status().json()

    def entries(self, name: str) -> list[tuple[int, str, str]]:
        """Generation, actor and how that is known, of every entry that a job object caused."""
        entries = self.ask(f"{name}/history", self.front)["items"]
        return [
            (entry["cause"]["generation"], entry.get("actor", ""), entry.get("actor_source", ""))
            for entry in entries
            if entry["cause"]["type"] == "JobObserved"
        ]

    def actor_of(self, name: str, generation: int) -> tuple[str, str]:
        """Who wrote the generation, and how that is known, once the history says it."""

        def look() -> tuple[str, str] | None:
            return next((entry[1:] for entry in self.entries(name) if entry[0] == generation), None)

        return wait_for(f"generation {generation} of {name}", look)

    def as_(self, who: Person, *arguments: str, **more: Any) -> str:
        return self.jobs.kubectl("--as", who.name, *arguments, **more)


@pytest.fixture
def scene(plane: ControlPlane, tmp_path: Path) -> Iterator[Scene]:
    with plane.namespace("actors") as home:
        scene = Scene(plane, home, tmp_path)
        try:
            yield scene
        finally:
            scene.controller.kill()
            plane.kubectl("delete", "clusterrolebinding", home)


@pytest.fixture
def guarded(scene: Scene, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """The policies are in place, and the bridge knows it; `request.param` says which."""
    both = [*validating(SERVED, [scene.front.name]), *mutating(SERVED, [scene.front.name])]
    objects = both[: request.param]
    scene.plane.kubectl("create", "-f", "-", input=objects)
    try:
        wait_for(
            "the bridge has looked", lambda: "names in the history are verified" in scene.controller.said, 60
        )
        names = (f"probe-{number}" for number in range(1000))
        wait_for("the policy holds", lambda: scene_holds(scene, next(names)), within=60)
        yield scene
    finally:
        scene.plane.kubectl("delete", "--ignore-not-found", "-f", "-", input=both)


def scene_holds(scene: Scene, name: str) -> bool:
    """A job whose creator signs it is verified: API servers know the policy, and it is old enough."""
    signed = job(name)
    signed["metadata"]["annotations"] = {"jobledger.dev/actor": scene.ada.name, "jobledger.dev/actor-of": "1"}
    scene.as_(scene.ada, "create", "-f", "-", input=signed)
    return scene.actor_of(name, 1) == (scene.ada.name, "verified")


VALIDATING, WITH_MUTATING = 2, 4


@pytest.mark.parametrize("guarded", [WITH_MUTATING], indirect=True)
def test_the_history_names_the_user_whom_the_api_server_knew(guarded: Scene) -> None:
    ada, bob, jobs = guarded.ada, guarded.bob, guarded.jobs
    typed = job("train", replica_type("worker", 1, container={"args": ["a.py"]}))
    typed["spec"] |= {"torchrunConfig": {"enabled": True}, "elastic": ELASTIC}
    typed["metadata"]["annotations"] = {"jobledger.dev/actor": bob.name, "jobledger.dev/actor-of": "1"}
    guarded.as_(ada, "create", "-f", "-", input=typed)
    assert guarded.actor_of("train", 1) == (ada.name, "verified")
    jobs.wait("train", "phase", "Running")
    forged = {"jobledger.dev/actor": "somebody"}
    pause = {"metadata": {"annotations": forged}, "spec": {"runMode": {"pause": {"enabled": True}}}}
    guarded.as_(bob, "patch", "pj/train", "--type=merge", "-p", json.dumps(pause))
    assert guarded.actor_of("train", 2) == (bob.name, "verified")
    guarded.ask("train/resume", ada, "POST")
    assert guarded.actor_of("train", 3) == (ada.name, "verified")
    jobs.kubectl("scale", "pj/train", "--replicas=2")
    assert guarded.actor_of("train", 4) == ("kubectl", "manager")
    why = guarded.ask("train/why", guarded.front)
    says = " ".join(incident["says"] for incident in why["incidents"])
    assert f"by {bob.name} (verified)" in says
    assert "(field manager kubectl)" in says


@pytest.mark.parametrize("guarded", [VALIDATING], indirect=True)
def test_an_older_api_server_refuses_the_name_of_somebody_else(guarded: Scene) -> None:
    ada, bob, jobs = guarded.ada, guarded.bob, guarded.jobs
    guarded.as_(ada, "create", "-f", "-", input=job("train"))
    assert guarded.actor_of("train", 1) == ("kubectl-create", "manager")
    forged = f"jobledger.dev/actor={ada.name}"
    assert "who asks" in jobs.refused("--as", bob.name, "annotate", "pj/train", forged)
    assert "who asks" in jobs.refused(
        "--as", bob.name, "annotate", "pj/train", f"jobledger.dev/deleted-by={ada.name}"
    )
    ahead = jobs.refused("--as", bob.name, "annotate", "pj/train", "jobledger.dev/actor-of=2")
    assert "take the annotation out" in ahead
    guarded.ask("train/pause", ada, "POST")
    assert guarded.actor_of("train", 2) == (ada.name, "verified")
    guarded.ask("train/pause", bob, "POST")  # which changes nothing, and may not claim what is there
    guarded.as_(
        bob, "patch", "pj/train", "--type=merge", "-p", '{"spec":{"runMode":{"pause":{"enabled":false}}}}'
    )
    assert guarded.actor_of("train", 3) == ("kubectl-patch", "manager")


@pytest.mark.parametrize("guarded", [VALIDATING], indirect=True)
def test_names_are_not_verified_any_more_once_the_policy_has_gone(guarded: Scene) -> None:
    guarded.as_(guarded.ada, "create", "-f", "-", input=job("train"))
    before = guarded.controller.said.count(UNVERIFIED)
    guarded.plane.kubectl("delete", "validatingadmissionpolicybinding", "jobledger-actor")
    wait_for("the bridge has looked", lambda: guarded.controller.said.count(UNVERIFIED) > before, 60)
    guarded.ask("train/pause", guarded.ada, "POST")
    assert guarded.actor_of("train", 2) == (guarded.ada.name, "stated")


def test_without_a_policy_an_annotation_names_nobody_and_programs_are_said_to_be_programs(
    scene: Scene,
) -> None:
    typed = job("train")
    typed["metadata"]["annotations"] = {"jobledger.dev/actor": "the boss", "jobledger.dev/actor-of": "1"}
    scene.jobs.kubectl("create", "-f", "-", input=typed)
    assert scene.actor_of("train", 1) == ("kubectl-create", "manager")
    # in the second of its creation, as Kueue does it
    suspended = '{"spec":{"runMode":{"pause":{"enabled":true}}}}'
    scene.jobs.kubectl("patch", "pj/train", "--type=merge", "--field-manager=kueue", "-p", suspended)
    assert scene.actor_of("train", 2) == ("kueue", "manager")
    scene.ask("train/resume", scene.ada, "POST")
    assert scene.actor_of("train", 3) == (scene.ada.name, "stated")
