"""PyTorchJobs with nothing wrong in them, and what their users change."""

from typing import Any

from hypothesis import strategies as st

from tests.properties.of_kinds.pytorchtrainingjob import POLICIES
from tests.support.pytorchjob import training


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """With and without a Master, an elastic policy, and each part of the run policy."""
    run: dict[str, Any] = {"cleanPodPolicy": draw(st.sampled_from(["None", "Running", "All"]))}
    optional = {"backoffLimit": (0, 3), "activeDeadlineSeconds": (1, 100), "ttlSecondsAfterFinished": (0, 50)}
    for name, ends in optional.items():
        if draw(st.booleans()):
            run[name] = draw(st.integers(*ends))
    run["suspend"] = draw(st.booleans())
    elastic = draw(st.sampled_from([None, {"minReplicas": 1, "maxReplicas": 4, "metrics": []}]))
    spec = training(
        master=draw(st.booleans()),
        workers=draw(st.integers(1, 3)),
        policy=draw(st.sampled_from(POLICIES)),
        elastic=elastic,
        **run,
    )
    if draw(st.booleans()):
        spec["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = draw(st.sampled_from(POLICIES))
    return spec


EDITS = st.one_of(
    st.builds(lambda limit: {"runPolicy": {"backoffLimit": limit}}, st.integers(0, 5)),
    st.builds(
        lambda number: {"pytorchReplicaSpecs": {"Worker": {"replicas": number}}},
        st.integers(1, 4),
    ),
)


def settings(spec: dict[str, Any]) -> dict[str, str]:
    """A gang scheduler for every job with a Master."""
    return {"gang_scheduler": "volcano" if len(spec["pytorchReplicaSpecs"]) > 1 else "none"}
