"""The part of kubectl's JSONPath that `wait` understands."""

import pytest

from jobledger.jobs.jsonpath import Path, PathInvalid

JOB = {
    "metadata": {"labels": {"a.b/c": "x"}},
    "status": {
        "phase": "Running",
        "ready": True,
        "tasks": [{"replicas": [{"name": "a"}, {"name": "b"}]}, {"replicas": [{"name": "c"}]}],
        "conditions": [{"type": "Running", "status": "True"}, {"type": "Failed", "status": "False"}],
    },
}


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        (".status.phase", ["Running"]),
        ("status.phase", ["Running"]),
        (".status.ready", ["true"]),
        (".status['phase']", ["Running"]),
        ('.metadata.labels["a.b/c"]', ["x"]),
        (".status.tasks[0].replicas[-1].name", ["b"]),
        (".status.tasks[*].replicas[*].name", ["a", "b", "c"]),
        ('.status.conditions[?(@.type=="Failed")].status', ["False"]),
        (".status.conditions[?(@.type=='Running')].status", ["True"]),
        (".status.nothing.here", []),
        (".status.tasks[7].name", []),
        (".status.phase[0]", []),
    ],
)
def test_a_path_gives_the_texts_that_stand_there(path: str, texts: list[str]) -> None:
    assert Path.parse(path).texts(JOB) == texts


@pytest.mark.parametrize("path", ["..", ".a[", ".a[b]", ".a b", "[?(@.x>1)]"])
def test_what_is_no_path_is_refused_with_what_is(path: str) -> None:
    with pytest.raises(PathInvalid, match="is no path: use steps such as"):
        Path.parse(path)
