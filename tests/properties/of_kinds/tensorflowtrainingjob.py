"""TensorFlowTrainingJobs with nothing wrong in them, and what their users change."""

from hypothesis import strategies as st

from tests.properties.of_kinds.pytorchtrainingjob import POLICIES
from tests.unit.kinds.build import Spec
from tests.unit.kinds.tensorflow import listening, replicas, spec


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """A chief, workers, or both; perhaps parameter servers and an evaluator; in any order, some with other ports."""
    types = draw(st.sampled_from([("chief",), ("worker",), ("chief", "worker")]))
    numbers = {type_: 1 if type_ == "chief" else draw(st.integers(1, 3)) for type_ in types}
    for type_ in ("ps", "evaluator"):
        if draw(st.booleans()):
            numbers[type_] = draw(st.integers(0, 2 if type_ == "ps" else 1))
    items = []
    for type_, number in numbers.items():
        containers = [listening(draw(st.integers(1, 4)))] if draw(st.booleans()) else []
        policy = draw(st.sampled_from(POLICIES))
        items.append(replicas(type_, number, *containers, restartPolicy=policy))
    run: Spec = {"backoffLimit": draw(st.integers(0, 3))}
    run["cleanUpPolicy"] = draw(st.sampled_from(["None", "All", "Unfinished"]))
    if draw(st.booleans()):
        run["activeDeadlineSeconds"] = draw(st.integers(1, 100))
    more: Spec = {"runPolicy": run}
    if draw(st.booleans()):
        more["runMode"] = {draw(st.sampled_from(["pause", "debug"])): {"enabled": True}}
    if draw(st.booleans()):
        more["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    if draw(st.booleans()):
        more["tensorboardSpec"] = {"image": "tensorboard:2"}
    return spec(*draw(st.permutations(items)), **more)


EDITS = st.one_of(
    st.builds(lambda limit: {"runPolicy": {"backoffLimit": limit}}, st.integers(0, 5)),
    st.just({"tensorboardSpec": {"image": "tensorboard:3"}}),
)
