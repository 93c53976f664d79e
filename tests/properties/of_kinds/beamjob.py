"""BeamJobs with nothing wrong in them, and what their users change."""

from hypothesis import strategies as st

from tests.unit.kinds.beam import flink, job_template, spec
from tests.unit.kinds.build import Spec


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """One to three TaskManagers, with properties or without, and a Job that tries again or not."""
    properties = draw(
        st.dictionaries(st.sampled_from(["parallelism.default", "a.b"]), st.sampled_from(["1", "x y"]))
    )
    number = draw(st.integers(1, 3))
    more: Spec = {"runPolicy": {"cleanUpCluster": draw(st.booleans())}}
    if draw(st.booleans()):
        more["runMode"] = {"debug": {"enabled": True}}
    if draw(st.booleans()):
        more["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    job = job_template(restartPolicy=draw(st.sampled_from(["Never", "OnFailure"])))
    job["spec"]["backoffLimit"] = draw(st.integers(0, 3))
    return spec(number, cluster=flink(number, flinkProperties=properties), job=job, **more)


EDITS = st.builds(lambda clean: {"runPolicy": {"cleanUpCluster": clean}}, st.booleans())
