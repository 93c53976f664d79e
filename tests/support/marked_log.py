"""A log in memory whose positions are not only those of entries, as in Kafka."""

from statemachine.ids import Position
from tests.support.memory_log import MemoryLog


class Marked(MemoryLog):
    """Behind the last entry stand `marks` of transactions."""

    def __init__(self) -> None:
        super().__init__()
        self.marks = 0

    async def end(self) -> Position:
        """See EventLog."""
        return await super().end() + self.marks
