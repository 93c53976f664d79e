"""PyTorchTrainingJobs with nothing wrong in them, and what their users change."""

from typing import Any

from hypothesis import strategies as st

from tests.support.scenario import workers

POLICIES = ["Never", "OnFailure", "Always", "ExitCode"]


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """Of up to four workers, elastic or not."""
    run: dict[str, Any] = {"backoffLimit": draw(st.integers(0, 3))}
    run["cleanUpPolicy"] = draw(st.sampled_from(["None", "All", "Unfinished"]))
    if draw(st.booleans()):
        run["activeDeadlineSeconds"] = draw(st.integers(1, 100))
    spec = workers(draw(st.integers(1, 3)), policy=draw(st.sampled_from(POLICIES)), runPolicy=run)
    if draw(st.booleans()):
        spec["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    if draw(st.booleans()):
        spec["runMode"] = {"pause": {"enabled": draw(st.booleans())}}
    if draw(st.booleans()):
        spec["torchrunConfig"] = {"enabled": True}
        spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["train.py"]
        spec["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}
    return spec


EDITS = st.one_of(
    st.builds(lambda limit: {"runPolicy": {"backoffLimit": limit}}, st.integers(0, 5)),
    st.builds(lambda scale: {"elastic": {"expectedReplicas": scale}}, st.integers(0, 5)),
)
