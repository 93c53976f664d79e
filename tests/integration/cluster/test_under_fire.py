"""Jobs run while the controller, the API server, nodes and the broker are killed again and again, and people meddle.

`make fire` runs the same with more of everything. The controller is one process, or one for each role: then one
is away while another lives.
"""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from jobledger.settings.sections import KafkaSettings
from jobledger.wiring.ledger import Kafka
from tests.harness import JOB_CRDS, ControlPlane
from tests.harness.broker import Kafka as KafkaServer
from tests.harness.fixtures import ledger_topics_on, own_kafka
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
    at_work,
)

_ASKED: Final = "JOBLEDGER_FIRE_"
"""What variables begin with that say how much of everything, where the log is, and how the roles are shared out."""

LOGS: Final = [asked] if (asked := os.environ.get(f"{_ASKED}LOG")) else ["sqlite", "kafka"]
ROLES: Final = {
    "together": ("bridge,engine,projectors,front",),
    "apart": ("bridge", "engine", "projectors"),
}
"""The roles of each process."""

SHARED: Final = {
    log: os.environ.get(f"{_ASKED}ROLES") or usual
    for log, usual in (("sqlite", "apart"), ("kafka", "together"))
}
"""How the roles are shared out, by log."""

SIZE: Final = Size.asked(_ASKED, JOBS=8, KILLS=3, APISERVER_KILLS=1, NODE_KILLS=1, BROKER_KILLS=1)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(
        0 if os.environ.get(f"{_ASKED}JOBS") else 1200
    ),  # a caller who asks for more has the time
]

LIFE: Final = 4.0
"""Most seconds that a controller works."""


class Brokers(NamedTuple):
    """A Kafka whose broker may be killed, and the log in it."""

    kafka: KafkaServer
    log: Kafka


class Fire:
    """What burns, and those who kill it."""

    def __init__(
        self, crowd: Crowd, controllers: Sequence[ControllerProcess], brokers: Brokers | None
    ) -> None:
        self.crowd, self.size = crowd, crowd.size
        self.controllers, self.brokers = controllers, brokers

    def rages(self) -> None:
        """Each process is killed by itself, so that one is dead while another lives, and the other way round."""
        killers = [partial(self._kill, number) for number, _ in enumerate(self.controllers)]
        lasts = 2 * LIFE * self.size["KILLS"]
        plane = (partial(self.crowd.kill_api_servers, lasts), partial(self.crowd.kill_nodes, lasts))
        self.crowd.lives_through(*killers, *plane, self._kill_brokers, least=self._least())

    def _least(self) -> dict[str, int]:
        """What has to have happened."""
        return {
            KILLS_AT_WORK: len(self.controllers) * at_work(self.size["KILLS"]),
            API_SERVER_KILLS: self.size["APISERVER_KILLS"],
            NODE_KILLS: self.size["NODE_KILLS"],
            BROKER_KILLS: self.size["BROKER_KILLS"] if self.brokers else 0,
        }

    def _kill(self, number: int) -> None:
        chance, victim = self.size.chance(f"controller {number}"), self.controllers[number]
        apart = len(self.controllers) > 1
        for turn in range(1, self.size["KILLS"] + 1):
            if turn % EARLY:
                self.crowd.waits_for(victim)
            time.sleep(chance.uniform(0.0, LIFE))
            self.crowd.toll.add(KILLS_AT_WORK if victim.kill() else OTHER_KILLS)
            time.sleep(chance.uniform(0.0, LIFE if apart else 1.0))
            victim.start()

    def _kill_brokers(self) -> None:
        if self.brokers is None:
            return
        chance = self.size.chance("broker")
        for _ in range(self.size["BROKER_KILLS"]):
            time.sleep(chance.uniform(0.0, 2 * LIFE * self.size["KILLS"] / self.size["BROKER_KILLS"]))
            self.brokers.kafka.kill()
            self.crowd.toll.add(BROKER_KILLS)
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
def fire(
    cluster: ControlPlane, brokers: Brokers | None, tmp_path: Path, log: str, size: Size
) -> Iterator[Fire]:
    store = tmp_path / "ledger.db"
    with ExitStack() as stack:
        namespace = stack.enter_context(cluster.namespace("fire"))
        made = []
        for roles in ROLES[SHARED[log]]:
            folder = tmp_path / roles
            folder.mkdir()
            options = ("--namespaces", namespace, "--roles", roles)
            address = str(brokers.log) if brokers else f"sqlite://{store}"
            made.append(
                ControllerProcess(
                    cluster, folder, *options, log=address, JOBLEDGER_KAFKA__INSTANCE=f"fire-{roles}"
                )
            )
        crowd = stack.enter_context(
            Crowd(cluster, namespace, size, Ledger(brokers.log if brokers else store))
        )
        for process in made:
            stack.enter_context(process)
        yield Fire(crowd, made, brokers)
        for process in made:
            logging.getLogger(__name__).warning("a controller said last: %s", process.latest[-4000:])


@pytest.mark.slow
@pytest.mark.parametrize("size", [SIZE], ids=str)
@pytest.mark.parametrize("log", LOGS)
def test_under_fire_nothing_is_doubled_lost_or_left(fire: Fire, tmp_path: Path) -> None:
    fire.rages()
    if fire.brokers:
        back_up(str(fire.brokers.log), tmp_path / "ledger.db")
