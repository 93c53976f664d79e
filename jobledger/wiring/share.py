"""Which partitions a process projects."""

from collections.abc import Callable
from typing import Protocol

from statemachine.engine.source import Pulse


class Share(Protocol):
    """This process's part of the partitions, where several processes project."""

    mine: frozenset[int]
    """The partitions that are this process's now."""
    listeners: list[Callable[[], None]]
    """Called when they have changed."""
    error: str
    """Why no share can be had at the moment; empty while one can."""

    async def run(self) -> None:
        """Takes part, for ever; gives its share back in the end."""

    def pulse(self) -> Pulse:
        """How it is doing."""
