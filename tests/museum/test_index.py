"""The page of exhibits says what there is, and the frame lets no exhibit pass that shows nothing."""

import re
from collections.abc import Callable

import pytest

from tests.museum import exhibit as frame
from tests.museum.exhibit import NoScene, exhibit, given, slug, swap
from tests.museum.index import ELSEWHERE, PAGE, collected, page


class Part:
    """A part of a product that has a limit."""

    limit = 3


def judged(
    check: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *, mistaken: bool, value: object = 9
) -> None:
    """The check is run as an exhibit, in one of its two cases."""
    monkeypatch.setattr(frame, "EXHIBITS", [])
    check.__name__ = "test_some_one_1_limit"
    test = exhibit("some/one#1", "The limit was another.", wrong=(swap(Part, "limit", value),))(check)
    test(mistaken, monkeypatch)


def holds() -> None:
    assert Part.limit == 3


def never_fails() -> None:
    assert Part.limit in (3, 9)


def has_no_scene() -> None:
    given(Part.limit == 3, "a limit of three")


def test_the_page_is_that_of_the_exhibits() -> None:
    assert PAGE.read_text() == page(), "write it anew: make museum"


def test_there_are_as_many_exhibits_as_promised_and_no_two_of_one_issue() -> None:
    issues = [one.issue for one in collected()]
    assert len(issues) >= 40
    assert len(set(issues)) == len(issues)
    assert not ELSEWHERE.keys() & set(issues)


def test_an_exhibit_names_a_repository_and_a_number_and_says_what_went_wrong_in_a_sentence() -> None:
    for one in collected():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", one.issue), one
        assert re.fullmatch(r"[A-Z][^|\n]{40,}\.", one.mistake), one
        assert one.test.startswith(f"test_{slug(one.issue)}_"), one


def test_a_check_that_holds_and_fails_on_the_mistake_passes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    judged(holds, monkeypatch, mistaken=False)
    judged(holds, monkeypatch, mistaken=True)
    assert Part.limit == 9, "what is swapped is put back by the fixture"
    monkeypatch.undo()
    assert Part.limit == 3


def test_a_check_that_no_mistake_makes_fail_is_no_exhibit(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        judged(never_fails, monkeypatch, mistaken=True)


def test_a_mistake_that_breaks_the_scene_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoScene):
        judged(has_no_scene, monkeypatch, mistaken=True)


def test_a_part_that_does_not_exist_cannot_be_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Part, "limit")
    with pytest.raises(AttributeError):
        judged(holds, monkeypatch, mistaken=True)


def test_a_test_is_named_by_its_issue() -> None:
    with pytest.raises(ValueError, match="is to begin with test_kubeflow_trainer_2045_"):
        exhibit("kubeflow/trainer#2045", "A mistake.", wrong=())(holds)
