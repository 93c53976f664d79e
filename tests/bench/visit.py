"""What a visit to a large job costs where nothing is to be written: children compared, a status made and hashed."""

from collections.abc import Iterator
from typing import Final

from k8s_bridge.port import EVIDENCE, Manifest
from projectors.diff import diff
from projectors.status import digest_of
from statemachine.desired import desired
from statemachine.owned import Child
from statemachine.state import JobState
from statemachine.status import status
from tests.bench.results import Result, stopwatch
from tests.support.scenario import Story, workers

_REPLICAS: Final = 1_000
_RUNS: Final = 25


def visits() -> Iterator[Result]:
    """Milliseconds for a job whose thousand pods run."""
    state = Story(workers(_REPLICAS)).submit().at(5).all_pods("Running").state
    live = [_live(state, child) for child in desired(state)]
    values = []
    for _ in range(_RUNS):
        with stopwatch() as watch:
            assert not list(diff(state, desired(state), live))
            digest_of(status(state))
        values.append(watch.seconds * 1000)
    yield Result("visit of 1,000 replicas", "ms", tuple(values), 5, "most", "children, status and its digest")


def _live(state: JobState, child: Child) -> Manifest:
    """The child as the cluster has it."""
    made = child.build()
    uid = state.replicas[child.replica].uid if child.replica else f"uid of {child.name}"
    held = {"finalizers": [EVIDENCE]} if child.replica else {}
    meta = made["metadata"] | {"uid": uid, "resourceVersion": "1", **held}
    return made | {"metadata": meta, "status": {"phase": "Running"}}
