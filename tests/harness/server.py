"""What the servers of the harness have in common: a `with` block is their life."""

from abc import ABC, abstractmethod
from typing import Final, Self

GUARDED: Final = 'exec 3<&0; "$@" & pid=$!; (cat <&3 >/dev/null; kill -9 $pid) & wait $pid'
"""Runs a command, for `bash -c`, until standard input ends, or the process that holds its other end does."""


class Server(ABC):
    """Runs as long as its `with` block lasts; nothing is left of one that does not come up."""

    @abstractmethod
    def start(self) -> None:
        """It runs and answers."""

    @abstractmethod
    def stop(self) -> None:
        """Nothing runs any more, and nothing is left of it."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
