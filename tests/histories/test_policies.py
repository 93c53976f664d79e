"""What older policies decided is decided alike today, or the difference is approved in `approved.toml`."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from statemachine.decide import POLICY
from statemachine.events import Event, ReplicaRequested, TimerCleared, TimerSet
from statemachine.ids import Seq, replica_name
from statemachine.log.codec import decode
from tests.histories import archive
from tests.histories.differences import Approval, Sign, approvals, decided_again, signs, stale, unapproved
from tests.histories.record import HERE
from tests.support.logs import START

WORKER = replica_name("worker", 0)


@pytest.fixture(scope="module")
def differing() -> Sequence[Sign]:
    """Every difference between what any recorded history says and what is decided today."""
    folders = [
        sign
        for path in sorted(HERE.glob("*/*.jsonl"))
        for sign in decided_again(f"{path.parent.name}/{path.stem}", path.read_bytes().splitlines())
    ]
    archives = [sign for path in archive.archives() for sign in _of_archive(path)]
    return [*folders, *archives]


def _of_archive(path: Path) -> list[Sign]:
    name = path.name.removesuffix(archive.SUFFIX)
    return [sign for life in archive.read(path) for sign in decided_again(f"{name}/{life.name}", life.bodies)]


def test_every_difference_from_an_older_policy_is_approved(differing: Sequence[Sign]) -> None:
    assert unapproved(differing, approvals()) == []


def test_every_approval_is_needed_and_has_a_reason(differing: Sequence[Sign]) -> None:
    assert stale(differing, approvals()) == []
    assert [str(approval) for approval in approvals() if len(approval.reason) < 20] == []


def test_nothing_is_approved_for_the_policy_of_today() -> None:
    assert [str(approval) for approval in approvals() if POLICY in approval.policies] == []


def test_every_policy_so_far_has_been_recorded() -> None:
    bodies = (body for path in HERE.glob("*/*.jsonl") for body in path.read_bytes().splitlines())
    assert {decode(body).policy for body in bodies} == set(range(1, POLICY + 1))


# ---- how differences are named ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "now", "expected"),
    [
        ([], [], []),
        ([TimerCleared(timer="retry")], [TimerCleared(timer="retry")], []),
        ([TimerCleared(timer="retry")], [], ["-TimerCleared"]),
        ([], [TimerCleared(timer="retry")], ["+TimerCleared"]),
        ([TimerCleared(timer="retry")], [TimerCleared(timer="deadline")], ["TimerCleared.~timer"]),
        (
            [ReplicaRequested(replica=WORKER, attempt=2)],
            [ReplicaRequested(replica=WORKER, attempt=2, row=1)],
            ["ReplicaRequested.+row"],
        ),
        (
            [ReplicaRequested(replica=WORKER, attempt=2, row=1)],
            [ReplicaRequested(replica=WORKER, attempt=2)],
            ["ReplicaRequested.-row"],
        ),
        (
            [TimerCleared(timer="retry"), TimerSet(timer="a", due_at=START)],
            [TimerSet(timer="b", due_at=START), TimerCleared(timer="retry")],
            ["+TimerSet", "-TimerSet"],
        ),
    ],
)
def test_a_difference_is_named_by_its_signs(
    recorded: Sequence[Event], now: Sequence[Event], expected: list[str]
) -> None:
    assert signs(recorded, now) == expected


SIGN = Sign("0.1.0-kinds/let_in", 2, Seq(4), "-TimerSet")


def _approval(at: str = "*", policies: tuple[int, ...] = (2,), differs: str = "-TimerSet") -> Approval:
    return Approval(frozenset(policies), at, frozenset({differs}), "because it is meant")


@pytest.mark.parametrize(
    "approval", [_approval(), _approval("*/let_in:4"), _approval("0.1.0-kinds/*"), _approval("*:4", (2,))]
)
def test_a_line_approves_what_its_pattern_meets(approval: Approval) -> None:
    assert unapproved([SIGN], [approval]) == []
    assert stale([SIGN], [approval]) == []


@pytest.mark.parametrize(
    "approval",
    [
        _approval("*/let_in:5"),
        _approval(policies=(3,)),
        _approval(differs="+TimerSet"),
        _approval("let_in:4"),
    ],
)
def test_a_line_for_something_else_approves_nothing_and_is_stale(approval: Approval) -> None:
    assert unapproved([SIGN], [approval]) == ["0.1.0-kinds/let_in:4 (policy 2): -TimerSet"]
    assert len(stale([SIGN], [approval])) == 1


def test_a_line_that_is_needed_for_one_of_its_policies_is_stale_for_the_other() -> None:
    (line,) = stale([SIGN], [_approval(policies=(2, 3))])
    assert line.endswith("(not needed: [3])")
