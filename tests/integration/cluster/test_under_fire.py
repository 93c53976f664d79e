"""Jobs run while the controller, the API server and the broker are killed again and again, and people meddle.

A recorder at etcd sees every version of every pod and job, whoever is dead. What it saw and what the log says have to
agree. `make fire` runs the same with more of everything; a seed repeats the choices, not the moments.
"""

import logging
import os
import random
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import httpx
import pytest
import yaml

from jobledger.settings import KafkaSettings
from jobledger.wiring.ledger import Kafka
from statemachine import events as e
from statemachine.ids import JobUid
from statemachine.observations import PodObserved
from statemachine.status import status
from tests.harness import JOB_CRDS, ControlPlane
from tests.harness.broker import Kafka as KafkaServer
from tests.harness.fixtures import ledger_topics_on, own_control_plane, own_kafka
from tests.simulation.invariants import Story
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import CHILDREN, SIMULATED, job, replica_type
from tests.support.cluster_log import Ledger
from tests.support.cluster_recorder import JobRecord, PodRecord, Recorder

_ASKED: Final = "JOBLEDGER_FIRE_"
"""What variables begin with that say how much of everything."""

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(0 if os.environ.get(f"{_ASKED}JOBS") else 400),  # whoever asks for more has the time
]

KILL: Final = 137
"""The exit code that policy `ExitCode` restarts; the other one here, 1, it does not (spec R8)."""

LIFE: Final = 4.0
"""Most seconds that a controller works."""


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    jobs: int
    kills: int
    apiserver_kills: int
    broker_kills: int
    seed: int

    @classmethod
    def asked(cls) -> Self:
        """As the environment says, else the small one."""

        def number(name: str, default: int) -> int:
            return int(os.environ.get(f"{_ASKED}{name}") or default)

        seed = number("SEED", random.randrange(1_000_000))
        return cls(
            number("JOBS", 12),
            number("KILLS", 5),
            number("APISERVER_KILLS", 2),
            number("BROKER_KILLS", 0),
            seed,
        )

    def __str__(self) -> str:
        """What has to be said to have it again; the name of a test that failed."""
        return (
            f"JOBS={self.jobs} KILLS={self.kills} APISERVER_KILLS={self.apiserver_kills} "
            f"BROKER_KILLS={self.broker_kills} SEED={self.seed}"
        )

    @property
    def patience(self) -> float:
        """Seconds that the system may take to come to rest."""
        return 90 + 2.0 * self.jobs

    def chance(self, who: str) -> random.Random:
        """Choices of one actor: they do not depend on what others do meanwhile."""
        return random.Random(f"{self.seed} {who}")


class Hands:
    """Somebody who asks the API server again and again until it answers."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        config = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._http = httpx.Client(
            base_url=cluster["server"],
            verify=ssl.create_default_context(cafile=cluster["certificate-authority"]),
            headers={"Authorization": f"Bearer {user['token']}"},
            timeout=30,
            trust_env=False,
        )
        self._ended: set[str] = set()
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._services = f"/api/v1/namespaces/{namespace}/services"
        self._jobs = f"/apis/batch.tensorstack.dev/v1beta1/namespaces/{namespace}/pytorchtrainingjobs"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def create(self, manifest: dict[str, Any]) -> None:
        self._ask("POST", self._jobs, json=manifest)

    def edit(self, job: JobRecord, spec: dict[str, Any]) -> None:
        self._merge(f"{self._jobs}/{job.name}", {"spec": spec})

    def pause(self, job: JobRecord, wish: bool) -> None:
        self.edit(job, {"runMode": {"pause": {"enabled": wish}}})

    def delete_job(self, job: JobRecord) -> None:
        self._ask("DELETE", f"{self._jobs}/{job.name}")

    def delete_pod(self, pod: PodRecord) -> None:
        precondition = {"preconditions": {"uid": pod.uid}}
        self._ask("DELETE", f"{self._pods}/{pod.name}", json=precondition)

    def end(self, pod: PodRecord, code: int) -> None:
        """The container of this very pod ends; once: a simulated node would make it end again, another way."""
        if pod.is_doomed or pod.uid in self._ended:
            return
        self._ended.add(pod.uid)
        life = {f"{SIMULATED}exit-code": str(code), f"{SIMULATED}run-seconds": "0"}
        self._merge(f"{self._pods}/{pod.name}", {"metadata": {"uid": pod.uid, "annotations": life}})

    def left(self) -> list[str]:
        """What is left of jobs, and what holds it."""
        children = {"labelSelector": CHILDREN}
        found: list[str] = []
        for path, query in ((self._jobs, {}), (self._pods, children), (self._services, children)):
            for each in self._ask("GET", path, params=query).json()["items"]:
                meta = each["metadata"]
                found.append(f"{path}/{meta['name']} held by {meta.get('finalizers')}")
        return found

    def _merge(self, path: str, patch: dict[str, Any]) -> None:
        self._ask("PATCH", path, json=patch, headers={"Content-Type": "application/merge-patch+json"})

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        until = time.monotonic() + 120
        while True:
            try:
                answer = self._http.request(method, path, **more)
                if answer.status_code < 429:  # gone, or another by now: somebody else was quicker
                    assert answer.status_code in (200, 201, 202, 404, 409, 422), answer.text
                    return answer
            except httpx.TransportError:
                pass
            assert time.monotonic() < until, f"no answer to {method} {path}"
            time.sleep(0.2)


class Brokers(NamedTuple):
    """A Kafka whose broker may be killed, and the log in it."""

    kafka: KafkaServer
    log: Kafka


class Fire:
    """Everything that takes part."""

    def __init__(
        self, plane: ControlPlane, namespace: str, folder: Path, size: Size, brokers: Brokers | None
    ) -> None:
        self.size, self.plane, self.brokers = size, plane, brokers
        self.controller = ControllerProcess(
            plane,
            folder,
            *("--namespaces", namespace),
            log=str(brokers.log) if brokers else "",
            JOBLEDGER_KAFKA__INSTANCE="under-fire",
        )
        self.ledger = Ledger(brokers.log if brokers else self.controller.store)
        self.hands = Hands(plane, namespace)
        self.pods = Recorder(plane, f"/registry/pods/{namespace}/", PodRecord)
        self.jobs = Recorder(
            plane, f"/registry/batch.tensorstack.dev/pytorchtrainingjobs/{namespace}/", JobRecord
        )

    # ---- those who kill ----

    def kill_controllers(self) -> None:
        chance = self.size.chance("controller")
        for _ in range(self.size.kills):
            if chance.random() < 0.8:  # else it may die before it has begun
                comes_true("the controller works", self._why_idle, 60)
            time.sleep(chance.uniform(0.0, LIFE))
            self.controller.kill()
            time.sleep(chance.uniform(0.0, 1.0))
            self.controller.start()

    def _why_idle(self) -> list[str]:
        return [] if "action=working" in self.controller.latest else [self.controller.latest]

    def kill_api_servers(self) -> None:
        chance = self.size.chance("API server")
        for _ in range(self.size.apiserver_kills):
            time.sleep(chance.uniform(0.0, 2 * LIFE * self.size.kills / self.size.apiserver_kills))
            self.plane.kill("kube-apiserver")
            time.sleep(chance.uniform(0.0, 2.0))
            self.plane.start()

    def kill_brokers(self) -> None:
        if self.brokers is None:
            return
        chance = self.size.chance("broker")
        for _ in range(self.size.broker_kills):
            time.sleep(chance.uniform(0.0, 2 * LIFE * self.size.kills / self.size.broker_kills))
            self.brokers.kafka.kill()
            time.sleep(chance.uniform(0.0, 2.0))
            self.brokers.kafka.start()

    # ---- those who meddle ----

    def hand_in(self) -> None:
        """Jobs of four; some of them fail again and again by themselves."""
        chance = self.size.chance("owner")
        for number in range(self.size.jobs):
            doomed = (
                {"run-seconds": chance.uniform(1, 4), "exit-code": KILL} if chance.random() < 0.15 else {}
            )
            worker = replica_type("worker", 4, restartPolicy="ExitCode", life=doomed)
            limit = {"backoffLimit": chance.randint(1, 8)}
            self.hands.create(job(f"train-{number}", worker, runPolicy=limit))

    def meddle(self, while_: Callable[[], bool]) -> None:
        """People act as long as `while_`, and at least three times a job."""
        chance, acted = self.size.chance("people"), 0
        while while_() or acted < 3 * self.size.jobs:
            acted += 1
            act, weight = self._acts(chance)
            chance.choices(act, weight)[0]()
            time.sleep(chance.uniform(0.0, 6.0 / self.size.jobs))

    def _acts(self, chance: random.Random) -> tuple[list[Callable[[], object]], list[float]]:
        """What people do, and how often."""
        jobs = [each for each in self.jobs.living() if not each.is_final]
        pods = [each for each in self.pods.living() if each.is_running]
        if not jobs or not pods:
            return [lambda: time.sleep(0.2)], [1]
        job, pod = chance.choice(jobs), chance.choice(pods)
        limit = {"runPolicy": {"backoffLimit": chance.randint(0, 8)}}
        acts: list[tuple[float, Callable[[], object]]] = [
            (8, lambda: self.hands.end(pod, KILL)),
            (0.5, lambda: self.hands.end(pod, 1)),
            (0.5, lambda: self.hands.end(pod, 0)),
            (4, lambda: self.hands.delete_pod(pod)),
            (2, lambda: self.hands.edit(job, limit)),
            (2, lambda: self.hands.pause(job, not job.is_paused)),
            (0.3, lambda: self.hands.delete_job(job)),
        ]
        return [act for _, act in acts], [weight for weight, _ in acts]

    # ---- the end ----

    def run(self) -> None:
        """Jobs are handed in, and people meddle as long as somebody kills."""
        with ThreadPoolExecutor(3) as killers:
            kill = (self.kill_controllers, self.kill_api_servers, self.kill_brokers)
            killing = [killers.submit(each) for each in kill]
            self.hand_in()
            self.meddle(while_=lambda: _none_failed(killing) and not all(each.done() for each in killing))
            for each in killing:
                each.result()

    def let_end(self) -> None:
        """Nobody kills any more: all jobs are resumed, their masters succeed, and objects say what the log says."""
        comes_true("every job has ended", self._help_to_end, self.size.patience)
        comes_true("every status is the one that the log tells", self.unlike_the_log, self.size.patience)

    def _help_to_end(self) -> list[str]:
        if self.plane.down():
            self.plane.start()
        unfinished = {each.uid: each for each in self.jobs.living() if not each.is_final}
        for each in unfinished.values():
            if each.is_paused:
                self.hands.pause(each, False)
        for pod in self.pods.living():
            if pod.job in unfinished and pod.replica == "worker-0" and pod.is_running:
                self.hands.end(pod, 0)
        return [f"{each.name}: {each.status}" for each in unfinished.values()]

    def unlike_the_log(self) -> list[str]:
        stories = self.ledger.stories()
        return [
            f"{each.name} says {each.status}"
            for each in self.jobs.living()
            if each.uid not in stories or each.status != status(stories[each.uid].state)
        ]

    def clear(self) -> None:
        """Every job is deleted, and nothing is left but the histories."""
        for each in self.jobs.living():
            self.hands.delete_job(each)
        comes_true("nothing is left", self.hands.left, self.size.patience)
        comes_true("every history is closed", self._open, self.size.patience)
        comes_true("all was recorded", lambda: [*self.pods.living(), *self.jobs.living()], 10)

    def _open(self) -> list[str]:
        stories = self.ledger.stories()
        return [
            each.name
            for each in self.jobs.seen()
            if each.uid not in stories or not stories[each.uid].state.closed
        ]


def _none_failed(running: Iterable[Future[None]]) -> bool:
    return not any(each.done() and each.exception() for each in running)


def comes_true(what: str, against: Callable[[], list[Any]], within: float) -> None:
    """Nothing speaks against it any more."""
    until = time.monotonic() + within
    while found := against():
        assert time.monotonic() < until, f"{what}: not within {within:.0f} s; against it: {found[:5]}"
        time.sleep(0.5)


@pytest.fixture(autouse=True)
def cluster(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane of our own, whose parts may be killed."""
    with own_control_plane(tmp_path / "plane", nodes=2, readable=True) as plane:
        plane.install(JOB_CRDS)
        yield plane


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers | None]:
    """Where the log is, if it is in Kafka: only when asked for, as it burns there still (docs/critiques.md)."""
    if os.environ.get(f"{_ASKED}LOG") != "kafka":
        yield None
        return
    with own_kafka(tmp_path / "kafka") as server, ledger_topics_on(server) as address:
        yield Brokers(server, Kafka.of(str(address), KafkaSettings()))


@pytest.fixture
def fire(cluster: ControlPlane, brokers: Brokers | None, tmp_path: Path, size: Size) -> Iterator[Fire]:
    with ExitStack() as stack:
        namespace = stack.enter_context(cluster.namespace("fire"))
        made = Fire(cluster, namespace, tmp_path, size, brokers)
        for part in (made.hands, made.pods, made.jobs, made.controller):
            stack.enter_context(part)
        yield made


@pytest.mark.parametrize("size", [Size.asked()], ids=str)
def test_under_fire_nothing_is_doubled_lost_or_left(fire: Fire) -> None:
    fire.run()
    fire.let_end()
    pods, jobs = fire.pods.seen(), fire.jobs.seen()
    fire.clear()
    assert fire.pods.trouble == fire.jobs.trouble == ""
    stories = fire.ledger.stories()
    assert fire.ledger.findings() == []
    assert len(jobs) == fire.size.jobs
    assert [each for each in pods if not each.job or not each.attempt] == []
    assert twins(pods) == []
    assert unknown_ends(pods, stories) == []
    assert unjust_verdicts(pods, stories) == []
    assert changed_minds(jobs) == []
    logging.getLogger(__name__).info(account(pods, jobs, stories))


# ---- what was seen against what is told ----


def twins(pods: list[PodRecord]) -> list[str]:
    """Attempts of which there was more than one pod."""
    made = Counter((each.job, each.replica, each.attempt) for each in pods)
    return [f"{count} pods are {attempt}" for attempt, count in made.items() if count > 1]


End = e.ReplicaSucceeded | e.ReplicaFailed | e.ReplicaEnded


def unknown_ends(pods: list[PodRecord], stories: dict[JobUid, Story]) -> list[str]:
    """Pods whose end, with its exit codes, is not in the log exactly once."""
    told: dict[str, list[tuple[str, dict[str, int]]]] = {}
    for story in stories.values():
        for _, event in story.events():
            if isinstance(event, End):
                codes = {each.name: each.exit_code for each in event.containers if each.exit_code is not None}
                told.setdefault(event.uid, []).append((event.type, codes))
    found = []
    for pod in pods:
        ends = told.get(pod.uid, [])
        right = {f"Replica{pod.ended}", "ReplicaEnded"}
        if pod.ended and not (len(ends) == 1 and ends[0][0] in right and ends[0][1] == pod.codes):
            found.append(f"{pod} ended, and the log says {ends}")
        if ends and not pod.ended:
            found.append(f"{pod} did not end, and the log says {ends}")
    return found


def unjust_verdicts(pods: list[PodRecord], stories: dict[JobUid, Story]) -> list[str]:
    """Failures that were not judged as `ExitCode` and the budget want it, and ends that were not counted as failures.

    That each was judged exactly once is a rule of histories (`every_failure_is_judged_once`).
    """
    codes = {each.uid: each.codes.get("pytorch") for each in pods}
    found = []
    for story in stories.values():
        for before, event in story.events():
            match event:
                case e.RestartScheduled():
                    just = codes.get(event.cause.pod_uid) == KILL
                case e.RestartDenied(exhausted=True):
                    just = codes.get(event.cause.pod_uid) == KILL and before.spent >= (event.limit or 0)
                case e.RestartDenied():
                    just = codes.get(event.cause.pod_uid) in (0, 1)
                case _:
                    continue
            if not just:
                found.append(f"{event}, spent {before.spent}, the pod ended with {codes}")
        found += uncounted(story)
    return found


def uncounted(story: Story) -> list[str]:
    """Pods that the log calls ended, and not failed, although nobody had asked for their end."""
    return [
        f"entry {entry.seq}: {event}"
        for before, entry, _ in story.steps
        for event in entry.events
        if isinstance(event, e.ReplicaEnded)
        and not before.replicas[event.replica].leaving
        and not (isinstance(entry.cause, PodObserved) and entry.cause.deleting)
    ]


def changed_minds(jobs: list[JobRecord]) -> list[str]:
    """Jobs whose object showed another phase after a final one."""
    return [f"{each.name}: {each.phases}" for each in jobs if {"Succeeded", "Failed"} & set(each.phases[:-1])]


def account(pods: list[PodRecord], jobs: list[JobRecord], stories: dict[JobUid, Story]) -> str:
    """What there was, in a line: fire that burns nothing shows nothing."""
    restarts = sum(story.state.spent for story in stories.values())
    lost = sum(isinstance(event, e.ReplicaLost) for story in stories.values() for _, event in story.events())
    phases = dict(Counter(each.phases[-1] if each.phases else "none" for each in jobs))
    return f"{len(pods)} pods, {restarts} restarts, {lost} lost, jobs {phases}"
