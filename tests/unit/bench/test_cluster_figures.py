"""Goals are judged by the measurements that they are about."""

import pytest

from tests.bench.cluster.figures import OURS, PEER, RAW, STEPS, Run, Sort, verdicts
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


def met(who: str, sort: Sort, size: int, key: str, ours: float) -> list[bool | None]:
    """Whether our `ours` beside 100 of `who`'s is good enough: of each goal for it at that size."""
    runs = [Run(OURS, sort, size, {key: ours}), Run(who, sort, size, {key: 100.0})]
    return [verdict.met for verdict in verdicts(runs) if verdict.goal.key == key]


@pytest.mark.parametrize(
    ("who", "sort", "size", "key", "most"),
    [
        (PEER, Sort.MANY, 300, "pods_exist", 60),
        (PEER, Sort.MANY, 1000, "pods_exist", 50),
        (PEER, Sort.MANY, 300, "jobs_succeeded", 60),
        (PEER, Sort.MANY, 1000, "jobs_succeeded", 60),
        *((PEER, Sort.MANY, size, "cpu", 40) for size in (100, 300, 1000)),
        (PEER, Sort.MANY, 1000, "memory", 140),
        *((PEER, Sort.IDLE, 50, step.key, 80) for step in STEPS),
    ],
)
def test_a_figure_is_at_most_its_share_of_the_peers(
    who: str, sort: Sort, size: int, key: str, most: float
) -> None:
    assert met(who, sort, size, key, most) == [True]
    assert met(who, sort, size, key, most + 1) == [False]


@pytest.mark.parametrize("size", [100, 300, 1000])
def test_children_are_made_at_four_fifths_of_the_bare_clients_rate(size: int) -> None:
    assert met(RAW, Sort.MANY, size, "children_per_second", 80) == [True]
    assert met(RAW, Sort.MANY, size, "children_per_second", 79) == [False]


@pytest.mark.parametrize("key", ["pods_exist", "jobs_succeeded", "memory"])
def test_some_figures_are_judged_at_the_sizes_that_the_goals_name_alone(key: str) -> None:
    assert met(PEER, Sort.MANY, 100, key, 1_000) == []


def test_times_are_in_doubt_where_others_had_much_of_the_machine() -> None:
    figures = {"jobs_succeeded": 1.0, "memory": 1.0, "others": 11.0}
    doubtful = {
        verdict.goal.key
        for verdict in verdicts([Run(OURS, Sort.MANY, 1000, figures), Run(PEER, Sort.MANY, 1000, figures)])
        if verdict.doubtful
    }
    assert "jobs_succeeded" in doubtful
    assert "memory" not in doubtful


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
