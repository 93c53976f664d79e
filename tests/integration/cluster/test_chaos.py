"""Jobs run, their log on three brokers, while roles are killed and stand still, brokers, nodes, API servers die.

`make chaos` runs the same with more of everything.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

import pytest

from jobledger.settings.sections import KafkaSettings
from jobledger.wiring.ledger import Kafka
from statemachine.log.kafka.address import Address
from tests.harness import JOB_CRDS, ControlPlane, wait_for
from tests.harness.broker import Kafka as KafkaServer
from tests.harness.fixtures import ledger_topics_on
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_crowd import Crowd, Size
from tests.support.cluster_log import Ledger, back_up
from tests.support.cluster_toll import (
    API_SERVER_KILLS,
    BROKER_KILLS,
    EARLY,
    KILLS_AT_WORK,
    NODE_KILLS,
    OTHER_KILLS,
    STOPS,
    at_work,
)

_ASKED: Final = "JOBLEDGER_CHAOS_"
"""What variables begin with that say how much of everything."""

SIZE: Final = Size.asked(_ASKED, JOBS=6, KILLS=2, STOPS=1, APISERVER_KILLS=1, NODE_KILLS=1, BROKER_KILLS=1)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(
        0 if os.environ.get(f"{_ASKED}JOBS") else 600
    ),  # a caller who asks for more has the time
]

PARTITIONS: Final = 6

SESSION: Final = 6.0
"""Seconds after which the others take over from an engine that says nothing."""

ENGINES: Final = (("faust", "one"), ("aiokafka", "two"), ("faust", ""), ("aiokafka", ""))
"""Feed and name of each; one without a name is a new one whenever it starts."""


class Chaos:
    """What is harmed, and those who do it."""

    def __init__(
        self, crowd: Crowd, brokers: KafkaServer, log: Address, processes: Sequence[ControllerProcess]
    ) -> None:
        self.crowd, self.size, self.brokers, self.log = crowd, crowd.size, brokers, log
        self._processes = [(process, Lock()) for process in processes]
        self._engines = self._processes[: len(ENGINES)]

    def kill_processes(self) -> None:
        """Three in four are engines."""
        chance = self.size.chance("killer")
        for number in range(1, self.size["KILLS"] + 1):
            victim, turn = chance.choice(self._engines if chance.random() < 0.4 else self._processes)
            if number % EARLY:
                with turn:
                    self.crowd.waits_for(victim)
            time.sleep(chance.uniform(0.0, 2 * SESSION))
            with turn:
                self.crowd.toll.add(KILLS_AT_WORK if victim.kill() else OTHER_KILLS)
                time.sleep(chance.uniform(0.0, 1.5 * SESSION))
                victim.start()

    def stop_engines(self) -> None:
        """They stand still until others have taken over."""
        chance = self.size.chance("hypnotist")
        pause = 3 * SESSION * self.size["KILLS"] / max(1, self.size["STOPS"])
        for _ in range(self.size["STOPS"]):
            victim, turn = chance.choice(self._engines)
            time.sleep(chance.uniform(0.0, pause))
            with turn:
                self.crowd.waits_for(victim)
                victim.freeze()
                self.crowd.toll.add(STOPS)
                time.sleep(SESSION + chance.uniform(1.0, 6.0))
                victim.resume()

    def kill_brokers(self) -> None:
        """One after the other; now and then what they led is given back to them."""
        chance = self.size.chance("broker")
        pause = 3 * SESSION * self.size["KILLS"] / max(1, self.size["BROKER_KILLS"])
        for number in range(self.size["BROKER_KILLS"]):
            time.sleep(chance.uniform(0.0, pause))
            self.brokers.kill(chance.randint(1, self.brokers.nodes))
            self.crowd.toll.add(BROKER_KILLS)
            time.sleep(chance.uniform(0.0, 4.0))
            self.brokers.start()
            if number % 2 == 0:
                wait_for("all have caught up and lead again", self.brokers.lead)


@pytest.fixture(autouse=True)
def cluster(killable_plane: ControlPlane) -> ControlPlane:
    """A control plane that is seen at etcd."""
    killable_plane.install(JOB_CRDS)
    return killable_plane


@pytest.fixture
def brokers(killable_kafkas: KafkaServer) -> KafkaServer:
    return killable_kafkas


def process(
    cluster: ControlPlane, folder: Path, address: Address, *options: str, feed: str = "", name: str = ""
) -> ControllerProcess:
    folder.mkdir()
    variables = {"SESSION": str(SESSION), **({"FEED": feed} if feed else {}), "INSTANCE": name}
    return ControllerProcess(
        cluster,
        folder,
        *options,
        log=str(address),
        **{f"JOBLEDGER_KAFKA__{key}": value for key, value in variables.items()},
    )


@pytest.fixture
def chaos(cluster: ControlPlane, brokers: KafkaServer, tmp_path: Path, size: Size) -> Iterator[Chaos]:
    """Four engines, a bridge and two that project."""
    with ExitStack() as stack:
        namespace = stack.enter_context(cluster.namespace("chaos"))
        address = stack.enter_context(ledger_topics_on(brokers, PARTITIONS))
        there = ("--namespaces", namespace, "--roles")
        made = [
            process(cluster, tmp_path / f"engine-{n}", address, *there, "engine", feed=feed, name=name)
            for n, (feed, name) in enumerate(ENGINES)
        ]
        for number, roles in enumerate(("bridge", "projectors", "projectors")):
            made.append(process(cluster, tmp_path / f"{roles}-{number}", address, *there, roles))
        ledger = Ledger(Kafka.of(str(address), KafkaSettings()))
        crowd = stack.enter_context(Crowd(cluster, namespace, size, ledger))
        for one in made:
            stack.enter_context(one)
        yield Chaos(crowd, brokers, address, made)


@pytest.mark.slow
@pytest.mark.parametrize("size", [SIZE], ids=str)
def test_in_chaos_every_job_ends_right_and_every_view_is_what_the_log_tells(
    chaos: Chaos, tmp_path: Path
) -> None:
    size, lasts = chaos.size, 2 * SESSION * chaos.size["KILLS"]
    api_servers, nodes = partial(chaos.crowd.kill_api_servers, lasts), partial(chaos.crowd.kill_nodes, lasts)
    least = {
        KILLS_AT_WORK: at_work(size["KILLS"]),
        STOPS: size["STOPS"],
        API_SERVER_KILLS: size["APISERVER_KILLS"],
        NODE_KILLS: size["NODE_KILLS"],
        BROKER_KILLS: size["BROKER_KILLS"],
    }
    disasters = (chaos.kill_processes, chaos.stop_engines, api_servers, nodes, chaos.kill_brokers)
    chaos.crowd.lives_through(*disasters, least=least)
    back_up(str(chaos.log), tmp_path / "ledger.db")
