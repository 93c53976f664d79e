"""Jobs of four on a cluster that burns, people who meddle with them, and what has to be true in the end.

A recorder at etcd sees every version of every pod and job, also while controllers are dead. What it saw has to
agree with the log. What was done to them is counted, and must be as much as the size asks for. A seed repeats the
choices, not the moments.
"""

import logging
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Final, Self

from statemachine.ids import JobUid
from statemachine.status import status
from tests.harness import ControlPlane, wait_for
from tests.simulation.histories import Story
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_hands import Hands
from tests.support.cluster_jobs import job, replica_type
from tests.support.cluster_log import Ledger
from tests.support.cluster_recorder import JobRecord, PodRecord, Recorder
from tests.support.cluster_toll import ACTS, API_SERVER_KILLS, ENDED, LOST, NODE_KILLS, PODS, RESTARTS, Toll
from tests.support.cluster_verdicts import (
    KILL,
    account,
    changed_minds,
    lost,
    twins,
    unjust_verdicts,
    unknown_ends,
)
from tests.support.seeds import seed

_OVERLOOKED: Final = 20.0
"""Seconds after which a pod that was to end by itself, and runs, was overlooked by the part that plays its node:
those that are doomed run for 4."""

_PARTS: Final = ("kwok", "kube-scheduler", "kwok", "kube-controller-manager")
"""What is killed of a control plane beside its API server, by turns: above all what plays nodes and kubelets."""

KIND: Final = "batch.tensorstack.dev/pytorchtrainingjobs"


@dataclass(frozen=True)
class Size:
    """How much of everything, by its name: `JOBS`, and what else there is; `SEED` says which choices are made."""

    recipe: str
    """Of the Makefile, that runs a test of this size."""
    numbers: Mapping[str, int]

    @classmethod
    def asked(cls, prefix: str, **small: int) -> Self:
        """As variables of the environment say that begin with `prefix` (`JOBLEDGER_FIRE_`), else `small`."""
        numbers = {name: int(os.environ.get(prefix + name) or number) for name, number in small.items()}
        recipe = prefix.removeprefix("JOBLEDGER_").strip("_").lower()
        return cls(recipe, {**numbers, "SEED": seed(1, f"{prefix}SEED")})

    def __getitem__(self, name: str) -> int:
        return self.numbers[name]

    def __str__(self) -> str:
        """What has to be said to have it again; the name of a test that failed."""
        return " ".join(f"{name}={number}" for name, number in self.numbers.items())

    def chance(self, who: str) -> random.Random:
        """Choices of one actor: they do not depend on what others do meanwhile."""
        return random.Random(f"{self['SEED']} {who}")


class Crowd:
    """The jobs, those who meddle with them, and what etcd and the log tell of it; a `with` block records."""

    def __init__(self, plane: ControlPlane, namespace: str, size: Size, ledger: Ledger) -> None:
        self.size, self.plane, self.ledger = size, plane, ledger
        self.hands = Hands(plane, namespace)
        self.pods = Recorder(plane, f"/registry/pods/{namespace}/", PodRecord)
        self.jobs = Recorder(plane, f"/registry/{KIND}/{namespace}/", JobRecord)
        self.toll = Toll()
        self._stack = ExitStack()
        self._starting = Lock()  # two who start what is missing would start it twice
        # Seconds that the system may take to come to rest. After an API server was killed again and again, the
        # scheduler of the cluster alone may wait a minute until it looks again.
        self._patience = 240 + 2.0 * size["JOBS"]
        self._woken = 0.0  # on the monotonic clock

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            for part in (self.hands, self.pods, self.jobs):
                entered.enter_context(part)
            self._stack = entered.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def lives_through(self, *disasters: Callable[[], None], least: Mapping[str, int]) -> None:
        """Jobs are handed in, and people meddle for as long as the `disasters` last; what is left is right.

        What the disasters did is counted in `toll`, and is the `least` that there is to be, or more.
        """
        print(f"to repeat these choices: make {self.size.recipe} {self.size}")  # noqa: T201
        with ThreadPoolExecutor(len(disasters)) as pool:
            running = [pool.submit(disaster) for disaster in disasters]
            self._hand_in()
            self._meddle(
                while_=lambda: _none_failed(running) and not all(future.done() for future in running)
            )
            for future in running:
                future.result()
        self._meddle_more()
        self._let_end()
        pods, jobs = self.pods.recorded(), self.jobs.recorded()
        self._clear()
        self._judge(pods, jobs)
        print(f"there were {self.toll}")  # noqa: T201
        much = {ACTS: 3 * self.size["JOBS"], **self._enough(), **least}
        assert list(self.toll.short_of(much)) == [], "too little happened to show anything"

    def kill_api_servers(self, lasts: float) -> None:
        """As often as the size says, in about so many seconds."""
        chance, kills = self.size.chance("API server"), self.size["APISERVER_KILLS"]
        for _ in range(kills):
            time.sleep(chance.uniform(0.0, lasts / kills))
            self._kill("kube-apiserver", API_SERVER_KILLS, chance.uniform(0.0, 2.0))

    def kill_nodes(self, lasts: float) -> None:
        """The same with what plays the nodes, the scheduler and the controllers of Kubernetes."""
        chance, kills = self.size.chance("nodes"), self.size["NODE_KILLS"]
        for number in range(kills):
            time.sleep(chance.uniform(0.0, lasts / kills))
            self._kill(_PARTS[number % len(_PARTS)], NODE_KILLS, chance.uniform(0.0, 4.0))

    def waits_for(self, process: ControllerProcess) -> None:
        """The process works; one that has ended by itself is started again, as its Deployment would do."""
        if not process.is_running:
            self.toll.add(ENDED)
            process.start()
        wait_for("a process works", lambda: process.is_working)

    def _kill(self, part: str, what: str, away: float) -> None:
        """A part of the control plane runs, is dead for so many seconds, and is back."""
        with self._starting:
            if part in self.plane.down():
                self.plane.start()
            self.plane.kill(part)
        self.toll.add(what)
        time.sleep(away)
        with self._starting:
            self.plane.start()

    # ---- those who meddle ----

    def _hand_in(self) -> None:
        """Jobs of four; some of them fail again and again by themselves."""
        chance = self.size.chance("owner")
        for number in range(self.size["JOBS"]):
            doomed = (
                {"run-seconds": chance.uniform(1, 4), "exit-code": KILL} if chance.random() < 0.15 else {}
            )
            worker = replica_type("worker", 4, restartPolicy="ExitCode", life=doomed)
            limit = {"backoffLimit": chance.randint(1, 8)}
            self.hands.create(job(f"train-{number}", worker, runPolicy=limit))

    def _meddle(self, while_: Callable[[], bool]) -> None:
        """People act as long as `while_`, and at least three times a job, as long as a job is left to act on.

        On a busy machine it takes its time until pods run: who finds nothing to act on has not acted.
        """
        chance, acted = self.size.chance("people"), 0
        while while_() or (acted < 3 * self.size["JOBS"] and self._are_jobs_left()):
            self._check_recorders()
            acts, weights = self._acts(chance)
            if acts:
                acted += 1
                chance.choices(acts, weights)[0]()
                self.toll.add(ACTS)
            time.sleep(chance.uniform(0.0, 6.0 / self.size["JOBS"]))

    def _enough(self) -> dict[str, int]:
        """What the log has to tell of the pods that people end and delete."""
        return {RESTARTS: self.size["JOBS"] // 2, LOST: self.size["JOBS"] // 4}

    def _meddle_more(self) -> None:
        """People end and delete pods that run until the log tells enough of both, as long as a job is left.

        In the fire most jobs may have been paused, and few pods have been there to act on.
        """
        chance, enough = self.size.chance("latecomers"), self._enough()
        acts = {RESTARTS: self._end_by_kill, LOST: self.hands.delete_pod}
        for _ in range(int(self._patience)):
            counts = _counts(self.ledger.stories())
            missing = [act for what, act in acts.items() if counts[what] < enough[what]]
            if not missing or not self._are_jobs_left():
                return
            unfinished = self._let_run()
            pods = [pod for pod in self.pods.living() if pod.job in unfinished and pod.is_running]
            for act in missing if pods else ():
                act(chance.choice(pods))
            time.sleep(1.0)

    def _end_by_kill(self, pod: PodRecord) -> None:
        self.hands.end(pod, KILL)

    def _are_jobs_left(self) -> bool:
        return any(not job.is_final for job in self.jobs.living())

    def _acts(self, chance: random.Random) -> tuple[list[Callable[[], object]], list[float]]:
        """What people do, and how often."""
        jobs = [record for record in self.jobs.living() if not record.is_final]
        pods = [record for record in self.pods.living() if record.is_running]
        ended = [record for record in self.pods.living() if record.ended and not record.is_deleting]
        if not jobs or not pods:
            return [], []
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
        if ended:  # the part that reports its end may be dead
            acts.append((3, partial(self.hands.delete_pod, chance.choice(ended))))
        return [act for _, act in acts], [weight for weight, _ in acts]

    # ---- the end ----

    def _let_end(self) -> None:
        """Nobody kills any more: all jobs are resumed, their masters succeed, and objects say what the log says."""
        comes_true("every job has ended", self._help_to_end, self._patience)
        comes_true("every status is the one that the log tells", self._unlike_the_log, self._patience)

    def _help_to_end(self) -> list[str]:
        self._check_recorders()
        unfinished = self._let_run()
        for pod in self.pods.living():
            if pod.job in unfinished and pod.replica == "worker-0" and pod.is_running:
                self.hands.end(pod, 0)
        return [
            f"{record.name}: {self._pods_of(record.uid)}, {record.status}" for record in unfinished.values()
        ]

    def _let_run(self) -> dict[JobUid, JobRecord]:
        """Nothing of the control plane is down, and no job is paused; gives those that have not ended, by uid."""
        self.plane.bring_back()
        self._wake_nodes()
        unfinished = {record.uid: record for record in self.jobs.living() if not record.is_final}
        for paused in [record for record in unfinished.values() if record.is_paused]:
            self.hands.pause(paused, False)
        return unfinished

    def _wake_nodes(self) -> None:
        """The player of the nodes begins anew if it has overlooked a pod, which is no fault of ours.

        On a busy machine it takes seconds to list what there is: begun anew all the time, it never ends a pod.
        """
        has_had_time = time.monotonic() - self._woken > _OVERLOOKED
        if has_had_time and any(record.is_overlooked(_OVERLOOKED) for record in self.pods.living()):
            logging.getLogger(__name__).warning("KWOK has overlooked pods, and begins anew")
            self.plane.restart("kwok")
            self._woken = time.monotonic()

    def _pods_of(self, job: str) -> list[str]:
        """How the job's pods stand, as etcd has them."""
        return [str(record) for record in self.pods.living() if record.job == job]

    def _unlike_the_log(self) -> list[str]:
        stories = self.ledger.stories()
        return [
            f"{record.name} says {record.status}"
            for record in self.jobs.living()
            if record.uid not in stories or record.status != status(stories[record.uid].state)
        ]

    def _clear(self) -> None:
        """Every job is deleted, and nothing is left but the histories."""
        for record in self.jobs.living():
            self.hands.delete_job(record)
        comes_true("nothing is left", self.hands.left, self._patience)
        comes_true("every history is closed", self._open, self._patience)
        comes_true("all was recorded", lambda: [*self.pods.living(), *self.jobs.living()], 30)

    def _open(self) -> list[str]:
        stories = self.ledger.stories()
        return [
            record.name
            for record in self.jobs.recorded()
            if record.uid not in stories or not stories[record.uid].state.closed
        ]

    def _check_recorders(self) -> None:
        """Raises AssertionError when a recorder has stopped: nothing could be judged."""
        trouble = self.pods.trouble + self.jobs.trouble
        assert not trouble, f"objects are not recorded any more: {trouble}"

    def _judge(self, pods: list[PodRecord], jobs: list[JobRecord]) -> None:
        """What was seen, the log, and what was kept of it besides, say the same."""
        self._check_recorders()
        stories = self.ledger.stories()
        assert self.ledger.findings() == []
        assert self.ledger.differences() == []
        assert len(jobs) == self.size["JOBS"]
        assert [pod for pod in pods if not pod.job or not pod.attempt] == []
        assert twins(pods) == []
        assert unknown_ends(pods, stories) == []
        assert unjust_verdicts(pods, stories) == []
        assert changed_minds(jobs) == []
        self.toll.add(PODS, len(pods))
        for what, number in _counts(stories).items():
            self.toll.add(what, number)
        logging.getLogger(__name__).info(account(pods, jobs, stories))


def _counts(stories: dict[JobUid, Story]) -> dict[str, int]:
    """What the log tells of the pods that people end and delete."""
    return {RESTARTS: sum(story.state.spent for story in stories.values()), LOST: lost(stories)}


def _none_failed(running: Iterable[Future[None]]) -> bool:
    return not any(future.done() and future.exception() for future in running)


def comes_true(what: str, against: Callable[[], list[Any]], within: float) -> None:
    """Nothing speaks against it any more."""
    until = time.monotonic() + within
    while objections := against():
        assert time.monotonic() < until, f"{what}: not within {within:.0f} s; against it: {objections[:5]}"
        time.sleep(0.5)
