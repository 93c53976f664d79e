"""Which labels of a raw object are taken for labels."""

from typing import Any

import pytest

from k8s_bridge.labels import labels
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Verb
from statemachine.observations import MOST_LABELS, JobObserved
from tests.unit.bridge.words import AT, job


def test_a_job_is_observed_with_its_labels_in_order() -> None:
    raw = job(uid="j-1", labels={"tier": "", "app.kubernetes.io/name": "mnist", "Team": "A_1.x"})
    (observation,) = observe(Change(Verb.MODIFIED, raw, AT))
    assert isinstance(observation, JobObserved)
    assert list(observation.labels.items()) == [
        ("Team", "A_1.x"),
        ("app.kubernetes.io/name", "mnist"),
        ("tier", ""),
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("team", 7),
        ("team", None),
        ("team", ["a"]),
        ("team", "a b"),
        ("team", "-a"),
        ("team", "a\n"),
        ("team", "a\0"),
        ("team", "\ud800"),
        ("team", "é"),
        ("team", "v" * 64),
        ("", "a"),
        ("te=am", "a"),
        ("/team", "a"),
        ("a/b/c", "a"),
        ("k" * 64, "a"),
        ("p" * 254 + "/team", "a"),
        (7, "a"),
    ],
)
def test_what_is_no_label_is_left_out_and_the_job_is_observed_all_the_same(key: Any, value: Any) -> None:
    raw = job(uid="j-1", labels={key: value, "good": "one"})
    (observation,) = observe(Change(Verb.MODIFIED, raw, AT))
    assert isinstance(observation, JobObserved)
    assert observation.labels == {"good": "one"}


@pytest.mark.parametrize("wrong", [None, "team=a", ["team"], 7])
def test_labels_that_are_no_map_are_none(wrong: Any) -> None:
    assert labels({"labels": wrong}) == {}


def test_the_longest_labels_that_kubernetes_takes_are_taken() -> None:
    longest = {"p" * 253 + "/" + "k" * 63: "v" * 63}
    (observation,) = observe(Change(Verb.MODIFIED, job(uid="j-1", labels=longest), AT))
    assert isinstance(observation, JobObserved)
    assert observation.labels == longest


def test_of_too_many_the_first_are_taken_whatever_their_order() -> None:
    many = {f"key-{number:03}": "" for number in range(MOST_LABELS + 5)}
    kept = labels({"labels": dict(reversed(many.items()))})
    assert list(kept) == list(many)[:MOST_LABELS]
