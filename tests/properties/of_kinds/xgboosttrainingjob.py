"""XGBoostTrainingJobs with nothing wrong in them, and what their users change."""

from hypothesis import strategies as st

from tests.properties.of_kinds.pytorchtrainingjob import POLICIES
from tests.unit.kinds.build import Spec
from tests.unit.kinds.xgboost import replicas, spec


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """A master and up to three workers, in either order."""
    policy = st.sampled_from(POLICIES)
    items = [replicas("master", restartPolicy=draw(policy))]
    if draw(st.booleans()):
        items.append(replicas("worker", draw(st.integers(0, 3)), restartPolicy=draw(policy)))
    run: Spec = {"backoffLimit": draw(st.integers(0, 3))}
    run["cleanUpPolicy"] = draw(st.sampled_from(["None", "All", "Unfinished"]))
    if draw(st.booleans()):
        run["activeDeadlineSeconds"] = draw(st.integers(1, 100))
    more: Spec = {"runPolicy": run}
    if draw(st.booleans()):
        more["runMode"] = {draw(st.sampled_from(["pause", "debug"])): {"enabled": True}}
    if draw(st.booleans()):
        more["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    return spec(*draw(st.permutations(items)), **more)


EDITS = st.builds(lambda limit: {"runPolicy": {"backoffLimit": limit}}, st.integers(0, 5))
