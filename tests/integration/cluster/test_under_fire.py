"""Jobs run while the controller, the API server and the broker are killed again and again, and people meddle.

`make fire` runs the same with more of everything.
"""

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from jobledger.settings import KafkaSettings
from jobledger.wiring.ledger import Kafka
from tests.harness import JOB_CRDS, ControlPlane, wait_for
from tests.harness.broker import Kafka as KafkaServer
from tests.harness.fixtures import ledger_topics_on, own_kafka
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_crowd import Crowd, Size
from tests.support.cluster_log import Ledger

_ASKED: Final = "JOBLEDGER_FIRE_"
"""What variables begin with that say how much of everything, and where the log is."""

LOGS: Final = [asked] if (asked := os.environ.get(f"{_ASKED}LOG")) else ["sqlite", "kafka"]
SIZE: Final = Size.asked(_ASKED, JOBS=8, KILLS=3, APISERVER_KILLS=1, BROKER_KILLS=1)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(0 if os.environ.get(f"{_ASKED}JOBS") else 1200),  # whoever asks for more has the time
]

LIFE: Final = 4.0
"""Most seconds that a controller works."""


class Brokers(NamedTuple):
    """A Kafka whose broker may be killed, and the log in it."""

    kafka: KafkaServer
    log: Kafka


class Fire:
    """What burns, and those who kill it."""

    def __init__(self, crowd: Crowd, controller: ControllerProcess, brokers: Brokers | None) -> None:
        self.crowd, self.size, self.plane = crowd, crowd.size, crowd.plane
        self.controller, self.brokers = controller, brokers

    def kill_controllers(self) -> None:
        chance = self.size.chance("controller")
        for _ in range(self.size["KILLS"]):
            if chance.random() < 0.8:  # else it may die before it has begun
                wait_for("the controller works", lambda: self.controller.is_working)
            time.sleep(chance.uniform(0.0, LIFE))
            self.controller.kill()
            time.sleep(chance.uniform(0.0, 1.0))
            self.controller.start()

    def kill_api_servers(self) -> None:
        chance = self.size.chance("API server")
        for _ in range(self.size["APISERVER_KILLS"]):
            time.sleep(chance.uniform(0.0, 2 * LIFE * self.size["KILLS"] / self.size["APISERVER_KILLS"]))
            self.plane.kill("kube-apiserver")
            time.sleep(chance.uniform(0.0, 2.0))
            self.plane.start()

    def kill_brokers(self) -> None:
        if self.brokers is None:
            return
        chance = self.size.chance("broker")
        for _ in range(self.size["BROKER_KILLS"]):
            time.sleep(chance.uniform(0.0, 2 * LIFE * self.size["KILLS"] / self.size["BROKER_KILLS"]))
            self.brokers.kafka.kill()
            time.sleep(chance.uniform(0.0, 2.0))
            self.brokers.kafka.start()


@pytest.fixture(autouse=True)
def cluster(killable_plane: ControlPlane) -> ControlPlane:
    """A control plane whose parts may be killed."""
    killable_plane.install(JOB_CRDS)
    return killable_plane


@pytest.fixture
def brokers(log: str, tmp_path: Path) -> Iterator[Brokers | None]:
    """Where the log is, if it is in Kafka."""
    if log != "kafka":
        yield None
        return
    with own_kafka(tmp_path / "kafka") as server, ledger_topics_on(server) as address:
        yield Brokers(server, Kafka.of(str(address), KafkaSettings()))


@pytest.fixture
def fire(cluster: ControlPlane, brokers: Brokers | None, tmp_path: Path, size: Size) -> Iterator[Fire]:
    with cluster.namespace("fire") as namespace:
        controller = ControllerProcess(
            cluster,
            tmp_path,
            *("--namespaces", namespace),
            log=str(brokers.log) if brokers else "",
            JOBLEDGER_KAFKA__INSTANCE="under-fire",
        )
        ledger = Ledger(brokers.log if brokers else controller.store)
        with Crowd(cluster, namespace, size, ledger) as crowd, controller:
            yield Fire(crowd, controller, brokers)
            logging.getLogger(__name__).warning("the controller said last: %s", controller.latest[-4000:])


@pytest.mark.slow
@pytest.mark.parametrize("size", [SIZE], ids=str)
@pytest.mark.parametrize("log", LOGS)
def test_under_fire_nothing_is_doubled_lost_or_left(fire: Fire) -> None:
    fire.crowd.lives_through(fire.kill_controllers, fire.kill_api_servers, fire.kill_brokers)
