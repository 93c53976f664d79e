"""Entries of older policies decided again: how today's events differ, and which differences are approved.

A difference is named by its signs. Events are paired by their types, in order: `+TimerSet` is decided now and was not
recorded, `-TimerSet` the reverse; of a pair `ReplicaStarted.+at` has a field today that was left at its default,
`.-at` the reverse, and `.~at` has another value in it. Approvals stand in `approved.toml`, a line and a reason each.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from statemachine.decide import POLICY, decide
from statemachine.engine.undecided import NO_POLICY
from statemachine.events import Event
from statemachine.evolve import fold
from statemachine.ids import Seq
from statemachine.log.codec import decode
from statemachine.state import JobState
from statemachine.wire import plain

APPROVED: Final = Path(__file__).parent / "approved.toml"


class Sign(NamedTuple):
    """One sign of a difference: in which life, decided by which policy, in which entry."""

    life: str
    policy: int
    seq: Seq
    sign: str

    @property
    def place(self) -> str:
        """`0.1.0-kinds/let_in:4`."""
        return f"{self.life}:{self.seq}"


@dataclass(frozen=True, slots=True)
class Approval:
    """Differences that are meant: `at` is a pattern of places, `policies` are those that decided otherwise."""

    policies: frozenset[int]
    at: str
    differs: frozenset[str]
    reason: str

    def covers(self, sign: Sign) -> bool:
        """This difference is one of them."""
        return sign.policy in self.policies and sign.sign in self.differs and fnmatchcase(sign.place, self.at)

    def __str__(self) -> str:
        return f"{self.at} {sorted(self.differs)} of policies {sorted(self.policies)}: {self.reason}"


def approvals(path: Path = APPROVED) -> list[Approval]:
    """What the file of approved differences says."""
    return [
        Approval(frozenset(row["policies"]), row["at"], frozenset(row["differs"]), row["reason"])
        for row in tomllib.loads(path.read_text())["approved"]
    ]


def decided_again(life: str, bodies: Sequence[bytes]) -> Iterator[Sign]:
    """How today's decisions differ from those of older policies, each on the state that the log has before it.

    Entries of today's policy are not looked at: `checking` wants their bytes again, and nothing of them is approved.
    """
    entries = [decode(body) for body in bodies]
    if all(entry.policy == POLICY for entry in entries):
        return
    state = JobState(entries[0].job)
    for entry in entries:
        if entry.policy not in (POLICY, NO_POLICY):
            for sign in signs(entry.events, decide(state, entry.cause)):
                yield Sign(life, entry.policy, entry.seq, sign)
        state = fold(state, entry.events)


def signs(recorded: Sequence[Event], now: Sequence[Event]) -> list[str]:
    """How the events that are decided now differ from those that were recorded; none if they do not."""
    then, today = [_plain(event) for event in recorded], [_plain(event) for event in now]
    pairs = SequenceMatcher(
        None, [event["type"] for event in then], [event["type"] for event in today], autojunk=False
    )
    result: set[str] = set()
    for tag, first, last, begin, end in pairs.get_opcodes():
        if tag == "equal":
            for old, new in zip(then[first:last], today[begin:end], strict=True):
                result.update(_fields(old, new))
        else:
            result.update(f"-{event['type']}" for event in then[first:last])
            result.update(f"+{event['type']}" for event in today[begin:end])
    return sorted(result)


def _plain(event: Event) -> dict[str, Any]:
    return plain(event)


def _fields(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for field in sorted({*old, *new}):
        if field not in old:
            yield f"{new['type']}.+{field}"
        elif field not in new:
            yield f"{new['type']}.-{field}"
        elif old[field] != new[field]:
            yield f"{new['type']}.~{field}"


def unapproved(differing: Sequence[Sign], allowed: Sequence[Approval]) -> list[str]:
    """Differences that no approval covers."""
    return [
        f"{sign.place} (policy {sign.policy}): {sign.sign}"
        for sign in differing
        if not any(approval.covers(sign) for approval in allowed)
    ]


def stale(differing: Sequence[Sign], allowed: Sequence[Approval]) -> list[str]:
    """Approvals, or single signs or policies of them, that no difference needs."""
    result = []
    for approval in allowed:
        covered = [sign for sign in differing if approval.covers(sign)]
        missing = sorted(approval.differs - {sign.sign for sign in covered})
        idle = sorted(approval.policies - {sign.policy for sign in covered})
        if missing or idle:
            result.append(f"{approval} (not needed: {missing or idle})")
    return result
