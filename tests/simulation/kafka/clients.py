"""A process of the simulated world with a way of its own to the brokers."""

from typing import TYPE_CHECKING, Final

from statemachine.log.kafka.address import Address
from tests.support.kafka_model.wire import Link, linked
from tests.support.processes import Process

if TYPE_CHECKING:
    from tests.simulation.kafka.world import World

_WRITES: Final = 10.0
"""How much likelier a process ends at a request that writes than at any other: there are few of them."""


class Client:
    """A process, from its start until it has ended or was killed."""

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.process = Process(name)
        server = f"{name}:9092"
        self.address = Address((server,))
        self.link = Link(world.brokers, name, world.odds, moment=self.moment)
        linked(server, self.link)

    def moment(self, produces: bool) -> None:
        """It sends something, or was heard: it may end here, or stand still. `produces`: others see what it sends."""
        if self.process.is_running and not self.process.is_frozen:
            self.world.at_request(self, _WRITES if produces else 1.0)

    def kill(self) -> None:
        """As `kill -9`: nothing it had not sent is ever sent."""
        self.process.kill()
        self.link.is_cut = True

    def stop(self) -> None:
        """As `kill -15`: it hands over."""
        if self.process.task is not None:
            self.process.task.cancel()

    @property
    def is_running(self) -> bool:
        """It lives, even if it does nothing at the moment."""
        return self.process.is_running
