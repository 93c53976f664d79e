"""DeepSpeedJobs with nothing wrong in them, and what their users change."""

from hypothesis import strategies as st

from tests.properties.of_kinds.pytorchtrainingjob import POLICIES
from tests.unit.kinds.build import Spec
from tests.unit.kinds.deepspeed import spec, worker


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Of up to four workers, elastic or not."""
    run: Spec = {"backoffLimit": draw(st.integers(0, 3))}
    run["cleanUpPolicy"] = draw(st.sampled_from(["None", "All", "Unfinished"]))
    more: Spec = {"runPolicy": run}
    if draw(st.booleans()):
        more["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}
    if draw(st.booleans()):
        more["runMode"] = {draw(st.sampled_from(["pause", "debug"])): {"enabled": True}}
    if draw(st.booleans()):
        more["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    return spec(worker(draw(st.integers(1, 3)), restartPolicy=draw(st.sampled_from(POLICIES))), **more)


EDITS = st.one_of(
    st.builds(lambda limit: {"runPolicy": {"backoffLimit": limit}}, st.integers(0, 5)),
    st.builds(lambda scale: {"elastic": {"expectedReplicas": scale}}, st.integers(0, 5)),
)
