"""A file or topic of public events against those of the log: what is missing, different, twice, or not from there."""

from collections.abc import Callable
from typing import Final

from projectors.contract.envelope import id_of, structured
from projectors.contract.page import PublicEvent

_SHOWN: Final = 20
"""Differences of one sort that are named."""


def in_line(number: int) -> str:
    """Where an event is in a file."""
    return f"line {number}"


class Comparison:
    """Lines of a file or topic, and then the events of the log in their order. Keeps a digest a line, not the lines.

    Lines have numbers that grow; `place` says in words where one is.
    """

    def __init__(self, place: Callable[[int], str] = in_line) -> None:
        self._place = place
        self.lines = self.expected = 0
        self._digests: dict[str, tuple[int, int]] = {}
        self._last: dict[str, int] = {}
        self._wrong: dict[str, list[str]] = {}

    def add(self, number: int, line: bytes) -> None:
        """One more line, which ends with a line break if it is whole."""
        self.lines += 1
        id_ = id_of(line)
        if not id_ or not line.endswith(b"\n"):
            self._note("damaged", self._place(number))
        elif id_ in self._digests:
            self._note("duplicate", f"{id_} in {self._place(number)}")
        else:
            self._digests[id_] = number, hash(line.rstrip(b"\n"))

    def take(self, event: PublicEvent) -> None:
        """One more event that the log gives."""
        self.expected += 1
        id_, job = str(event.attributes["id"]), str(event.attributes["partitionkey"])
        if (line := self._digests.pop(id_, None)) is None:
            self._note("missing", id_)
            return
        number, digest = line
        if digest != hash(structured(event)):
            self._note("different", f"{id_} in {self._place(number)}")
        if number < self._last.get(job, 0):
            self._note("out of order", f"{id_} in {self._place(number)}")
        self._last[job] = number

    def differences(self) -> list[str]:
        """All that is wrong, once the log has no more; what is left in the file is not from it."""
        for id_, (number, _) in self._digests.items():
            self._note("extra", f"{id_} in {self._place(number)}")
        self._digests.clear()
        return [sentence for sort, places in self._wrong.items() for sentence in _sentences(sort, places)]

    def _note(self, sort: str, place: str) -> None:
        self._wrong.setdefault(sort, []).append(place)


def _sentences(sort: str, places: list[str]) -> list[str]:
    more = [f"{sort}: {len(places) - _SHOWN} more"] if len(places) > _SHOWN else []
    return [f"{sort}: {place}" for place in places[:_SHOWN]] + more
