"""Goals are judged by the measurements that they are about."""

import pytest

from tests.bench.cluster.figures import OURS, RAW, Run, Sort, verdicts
from tests.bench.cluster.scrape import total
from tests.bench.cluster.shapes import PYTORCH_JOB, PYTORCH_TRAINING_JOB, Shape


def reached(*runs: Run) -> dict[str, float | None]:
    return {verdict.goal.key: verdict.value for verdict in verdicts(list(runs))}


def test_a_wide_job_is_compared_with_the_bare_client_of_as_many_replicas() -> None:
    values = reached(
        Run(RAW, Sort.WIDE, 10, {"pods_running": 1.0}),
        Run(RAW, Sort.WIDE, 20, {"pods_running": 2.0}),
        Run(OURS, Sort.WIDE, 20, {"pods_running": 3.0, "failed_to_replaced": 80.0}),
    )
    assert values == {"pods_running": 1.5, "failed_to_replaced": 80.0}


def test_a_start_beside_many_jobs_has_goals_of_its_own() -> None:
    (first, memory) = verdicts([Run(OURS, Sort.GROWN, 10_000, {"start_to_decision": 21.0, "memory": 590.0})])
    assert (first.goal.key, first.met) == ("start_to_decision", False)
    assert (memory.goal.key, memory.met) == ("memory", True)


def test_roles_apart_have_no_goals() -> None:
    assert verdicts([Run("2 processes", Sort.MANY, 100, {"memory": 1.0})]) == []


@pytest.mark.parametrize(("shape", "services"), [(PYTORCH_TRAINING_JOB, 1), (PYTORCH_JOB, 1000)])
def test_a_shape_has_as_many_workers_as_it_is_given(shape: Shape, services: int) -> None:
    wide = shape.of(999)
    assert (wide.pods, wide.children) == (1000, 1000 + services)
    assert (wide.replicas[0], wide.replicas[-1]) == ("master-0", "worker-998")
    assert "999" in str(wide.manifest("job")["spec"])
    assert "worker" not in str(shape.of(0).manifest("job")["spec"]).lower()


def test_series_of_one_name_are_added_up() -> None:
    text = 'depth{name="a"} 2\ndepth{name="b"} 3.5\ndepth_more 9\nseconds_sum 0.25\n'
    assert (total(text, "depth"), total(text, "seconds_sum"), total(text, "missing")) == (5.5, 0.25, 0)
