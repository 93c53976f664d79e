"""The frame of an exhibit: a check of jobledger, the public issue behind it, and the same mistake made on purpose.

A check runs twice: on jobledger as it is, where it has to pass, and with the parts in `wrong` swapped for ones that
make the mistake, where one of its assertions has to fail. Whatever a check needs for its scene comes of `given`, so
that only the claim itself is an assertion, and a swapped part that breaks the scene is an error, not a failure.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import pytest

Check = Callable[[], None]


class Swap(NamedTuple):
    """A part of jobledger, by the object that holds it and its name, and what takes its place."""

    owner: object
    name: str
    mistaken: object


class Exhibit(NamedTuple):
    """An issue (`owner/repository#number`), its mistake in a sentence, and our test."""

    issue: str
    mistake: str
    module: str
    test: str


EXHIBITS: Final[list[Exhibit]] = []
"""All exhibits of the modules that have been imported."""


class NoScene(Exception):
    """The check could not set up what it wants to look at."""


def given(condition: object, what: str) -> None:
    """Something that a check needs, and does not claim.

    Raises:
        NoScene: it does not hold.
    """
    if not condition:
        raise NoScene(what)


def swap(owner: object, name: str, mistaken: object) -> Swap:
    """`owner.name`, which has to exist, is `mistaken` while the check runs for the second time."""
    return Swap(owner, name, mistaken)


def slug(issue: str) -> str:
    """The issue as the names of tests begin: `kubeflow/trainer#2045` is `kubeflow_trainer_2045`."""
    return re.sub(r"\W+", "_", issue).lower()


def exhibit(
    issue: str, mistake: str, *, wrong: tuple[Swap, ...]
) -> Callable[[Check], Callable[[bool, pytest.MonkeyPatch], None]]:
    """Turns a check into a test of `issue` with two cases: jobledger, and jobledger with the mistake."""

    def framed(check: Check) -> Callable[[bool, pytest.MonkeyPatch], None]:
        name = check.__name__
        if not name.startswith(f"test_{slug(issue)}_"):
            raise ValueError(f"{name} is to begin with test_{slug(issue)}_")
        EXHIBITS.append(Exhibit(issue, mistake, check.__module__, name))

        def test(mistaken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
            if not mistaken:
                check()
                return
            for part in wrong:
                monkeypatch.setattr(part.owner, part.name, part.mistaken)
            with pytest.raises(AssertionError):
                check()

        test.__name__, test.__qualname__ = name, name
        test.__module__, test.__doc__ = check.__module__, mistake
        return pytest.mark.parametrize("mistaken", [False, True], ids=["jobledger", "mistake"])(test)

    return framed
