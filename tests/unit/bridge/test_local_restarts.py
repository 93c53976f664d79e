"""When a local pod's container is started again, and after how long."""

from datetime import timedelta

import pytest

from k8s_bridge.kubelet.containers import LOST, NEVER, Ended
from k8s_bridge.kubelet.restarts import ContainerRun, again, wait
from k8s_bridge.port import Manifest
from tests.unit.bridge.words import AT, pod


def ended(code: int | None, reason: str = "Error") -> Ended:
    return Ended(code, AT, reason)


def with_policy(policy: str | None) -> Manifest:
    return pod(spec={"restartPolicy": policy} if policy else {"restartPolicy": None})


@pytest.mark.parametrize(
    ("policy", "end", "main", "init"),
    [
        ("Never", ended(1), False, False),
        ("OnFailure", ended(1), True, True),
        ("OnFailure", ended(0), False, False),
        ("OnFailure", ended(None, LOST), True, True),
        ("Always", ended(0), True, False),
        ("Always", ended(1), True, True),
        (None, ended(0), True, False),
        ("Always", ended(None, NEVER), False, False),
    ],
)
def test_the_pods_policy_says_who_is_started_again(
    policy: str | None, end: Ended, main: bool, init: bool
) -> None:
    pod_spec = with_policy(policy)
    assert (again(pod_spec, end, init=False), again(pod_spec, end, init=True)) == (main, init)


def runs(*minutes: float) -> list[ContainerRun]:
    """Runs that lasted so long, the first one first; given the last one first."""
    return [ContainerRun(AT - timedelta(minutes=minute), ended(1)) for minute in reversed(minutes)]


@pytest.mark.parametrize(
    ("lasted", "seconds"),
    [
        ((1,), 0),
        ((1, 1), 10),
        ((1, 1, 1), 20),
        ((1,) * 5, 80),
        ((1,) * 7, 300),
        ((1,) * 500, 300),
        ((1, 1, 10), 0),
        ((1, 1, 10, 1), 10),
        ((10, 1, 1), 20),
        ((10,), 0),
    ],
)
def test_the_wait_doubles_and_is_forgotten_after_a_long_run(
    lasted: tuple[float, ...], seconds: float
) -> None:
    assert wait(runs(*lasted)) == seconds


def test_a_container_that_never_became_a_process_had_a_short_run() -> None:
    assert wait([ContainerRun(None, ended(127)), ContainerRun(None, ended(127))], first=3.0) == 3.0
