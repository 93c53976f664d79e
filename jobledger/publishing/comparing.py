"""A file of public events against those of the log: what is missing, different, twice, or not from there."""

from collections.abc import Iterable
from typing import Final

from projectors.contract.envelope import id_of, structured
from projectors.contract.page import PublicEvent

_SHOWN: Final = 20
"""Differences of one sort that are named."""


class Comparison:
    """Lines of a file, and then the events of the log in their order. Keeps a digest a line, not the lines."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.lines = self.expected = 0
        self._digests: dict[str, tuple[int, int]] = {}
        self._last: dict[str, int] = {}
        self._wrong: dict[str, list[str]] = {}
        for number, line in enumerate(lines, 1):
            self.lines += 1
            self._line(number, line)

    def _line(self, number: int, line: bytes) -> None:
        id_ = id_of(line)
        if not id_ or not line.endswith(b"\n"):
            self._note("damaged", f"line {number}")
        elif id_ in self._digests:
            self._note("duplicate", f"{id_} in line {number}")
        else:
            self._digests[id_] = number, hash(line.rstrip(b"\n"))

    def take(self, event: PublicEvent) -> None:
        """One more event that the log gives."""
        self.expected += 1
        id_, job = str(event.attributes["id"]), str(event.attributes["partitionkey"])
        number, digest = self._digests.pop(id_, (0, 0))
        if not number:
            self._note("missing", id_)
            return
        if digest != hash(structured(event)):
            self._note("different", f"{id_} in line {number}")
        if number < self._last.get(job, 0):
            self._note("out of order", f"{id_} in line {number}")
        self._last[job] = number

    def differences(self) -> list[str]:
        """All that is wrong, once the log has no more; what is left in the file is not from it."""
        for id_, (number, _) in self._digests.items():
            self._note("extra", f"{id_} in line {number}")
        self._digests.clear()
        return [sentence for sort, places in self._wrong.items() for sentence in _sentences(sort, places)]

    def _note(self, sort: str, place: str) -> None:
        self._wrong.setdefault(sort, []).append(place)


def _sentences(sort: str, places: list[str]) -> list[str]:
    more = [f"{sort}: {len(places) - _SHOWN} more"] if len(places) > _SHOWN else []
    return [f"{sort}: {place}" for place in places[:_SHOWN]] + more
