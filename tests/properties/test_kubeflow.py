"""Laws of PyTorchJobs: nothing trips admission, canonical forms stay as they are, what is admitted can be made."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from statemachine.kinds.pytorchjob.spec import PyTorchJobSpec
from statemachine.schema.tables import walk
from tests.properties.test_kinds import SCALARS
from tests.unit.kinds.build import children, pods
from tests.unit.kinds.kubeflow import admit, state, types

NAMES = sorted({path.rpartition(".")[2].removesuffix("[]") for path, _ in walk(PyTorchJobSpec)})

WORDS = st.sampled_from([
    *NAMES, "master", "WORKER", "spec", "metadata", "labels", "annotations", "containers", "initContainers", "name",
    "image", "args", "env", "ports", "containerPort", "protocol", "resources", "requests", "limits", "schedulerName",
])  # fmt: skip


def _inside(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(of, max_size=3) | st.dictionaries(WORDS, of, max_size=5)


JSON = st.recursive(SCALARS, _inside, max_leaves=30)

TEXT = st.text(max_size=5)
NAMED = {"name": st.text(min_size=1, max_size=5)}
PARTS = {
    "env": st.lists(st.fixed_dictionaries(NAMED, optional={"value": TEXT, "valueFrom": JSON}), max_size=2),
    "ports": st.lists(
        st.fixed_dictionaries(
            {"containerPort": st.none() | st.integers(1, 9)},
            optional={"name": st.none() | st.just("pytorchjob-port") | TEXT, "protocol": SCALARS},
        ),
        max_size=3,
    ),
    "resources": st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("requests", "limits"), st.none() | st.dictionaries(TEXT, SCALARS, max_size=2)
        ),
    ),
    "args": st.lists(TEXT, max_size=2),
}


def containers(*names: str) -> st.SearchStrategy[Any]:
    """Containers with nothing wrong that admission looks at, one of each name."""
    one = [
        st.fixed_dictionaries({"name": st.just(name), "image": st.just("i")}, optional=PARTS)
        for name in names
    ]
    return st.tuples(*one).map(list)


TEMPLATES = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"containers": containers("side", "pytorch") | containers("pytorch")},
            optional={
                "initContainers": st.none() | containers("fetch"),
                "schedulerName": SCALARS,
                "restartPolicy": SCALARS,
            },
        )
    },
    optional={
        "metadata": st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("labels", "annotations"), st.none() | st.dictionaries(TEXT, TEXT))
        )
    },
)

METRICS = st.none() | st.lists(st.dictionaries(TEXT, JSON, max_size=2), max_size=2)
NUMBERS = st.none() | st.integers(1, 5)

SPECS = st.fixed_dictionaries(
    {
        "pytorchReplicaSpecs": st.fixed_dictionaries(
            {"worker": st.fixed_dictionaries({"template": TEMPLATES}, optional={"replicas": NUMBERS})},
            optional={
                "MASTER": st.fixed_dictionaries({"template": TEMPLATES}),
            },
        )
    },
    optional={
        "nprocPerNode": st.sampled_from(["auto", "4"]),
        "elasticPolicy": st.fixed_dictionaries(
            {}, optional={"minReplicas": NUMBERS, "maxReplicas": NUMBERS, "metrics": METRICS}
        ),
        "runPolicy": st.fixed_dictionaries(
            {},
            optional={
                "suspend": st.booleans(),
                "schedulingPolicy": st.fixed_dictionaries(
                    {},
                    optional={
                        "minAvailable": NUMBERS,
                        "minResources": st.dictionaries(TEXT, JSON),
                        "queue": st.just("a"),
                    },
                ),
            },
        ),
    },
)

GANGS = st.sampled_from(["none", "volcano", "scheduler-plugins"])


@given(st.dictionaries(WORDS, JSON, max_size=5), st.sampled_from(NAMES), JSON)
def test_admission_never_raises(anything: dict[str, Any], name: str, part: Any) -> None:
    good = {"pytorchReplicaSpecs": types()}
    for new, old in (
        (anything, None),
        ({**good, name: part}, None),
        ({**good, name: part}, good),
        (good, anything),
    ):
        admission = admit(new, old)
        assert (admission.plan is None) is bool(admission.problems)


@given(SPECS)
def test_a_canonical_form_is_its_own(spec: dict[str, Any]) -> None:
    admission = admit(spec)
    again = admit(admission.spec)
    assert (again.spec, again.plan) == (admission.spec, admission.plan)
    if admission.plan is not None:
        assert admit(spec, admission.spec).changes == {}


@given(SPECS, GANGS)
def test_what_is_admitted_can_be_made(spec: dict[str, Any], gang: str) -> None:
    admission = admit(spec)
    if admission.plan is None:
        return
    job = state(spec, settings={"gang_scheduler": gang})
    made = [(child["kind"], child["metadata"]["name"]) for child in children(job)]
    assert len(set(made)) == len(made)
    names = [manifest["metadata"]["name"] for manifest in pods(job).values()]
    assert names == [f"mnist-{replica}" for replica in admission.plan.replicas()]
    assert len(names) == admission.plan.scale
