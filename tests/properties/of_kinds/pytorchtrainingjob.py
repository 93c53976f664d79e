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


TYPES = st.lists(
    st.sampled_from(["worker", "ps", "master", "node", "a"]), min_size=1, max_size=4, unique=True
)


@st.composite
def written(draw: st.DrawFn) -> dict[str, Any]:
    """Of several replica types, in every spelling."""
    items = [_item(draw, type_) for type_ in draw(TYPES)]
    items[0]["replicas"] = draw(st.integers(1, 5))
    spec: dict[str, Any] = {"replicaSpecs": items}
    switch = st.sampled_from(["enabled", "enable"])
    if draw(st.booleans()):
        spec["torchrunConfig"] = {draw(switch): True, "procPerNode": draw(st.sampled_from([2, "gpu"]))}
        low = len(items) + sum(item["replicas"] for item in items)
        ends = {"minReplicas": low, "maxReplicas": low + 5, "expectedReplicas": low + draw(st.integers(0, 5))}
        spec["elastic"] = {draw(switch): draw(st.booleans()), **ends}
    if draw(st.booleans()):
        spec["runMode"] = {"pause": {draw(switch): draw(st.booleans())}, "debug": {draw(switch): False}}
    if draw(st.booleans()):
        spec["scheduler"] = {"t9kScheduler": {"priority": draw(st.integers(0, 100))}}
    return spec


def _item(draw: st.DrawFn, type_: str) -> dict[str, Any]:
    container = {"name": draw(st.sampled_from(["python", "pytorch", "x"])), "image": "i", "args": ["a.py"]}
    item = {
        "type": type_,
        "replicas": draw(st.integers(0, 5)),
        "template": {"spec": {"containers": [container]}},
    }
    return item | draw(st.fixed_dictionaries({}, optional={"scalingWeight": st.integers(1, 4)}))
