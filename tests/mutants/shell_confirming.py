"""Mutants of what the projector of children asks before it makes or takes back anything."""

from typing import Final

from tests.mutants.model import Mutant

_CONFIRMING: Final = "projectors.confirming"
_TAKING_BACK: Final = "projectors.taking_back"

_AT: Final = "tests/unit/projectors/"
_ON_CALLS: Final = (_AT + "test_calls.py", _AT + "test_creations.py")
_ON_ADOPTION: Final = (_AT + "test_adoption.py",)
_ON_CONFIRMING: Final = (_AT + "test_confirming.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "confirming-another-spec-confirmed",
        _CONFIRMING,
        "look.verdict is Confirmation.CONFIRMED and look.spec is state.spec",
        "look.verdict is Confirmation.CONFIRMED",
        _ON_CONFIRMING,
    ),
    Mutant(
        "confirming-asks-often",
        _CONFIRMING,
        "return _FIRST if look.refusals == 1 else _LATER",
        "return _FIRST",
        _ON_CALLS,
    ),
    Mutant(
        "confirming-terminating-job-confirmed",
        _CONFIRMING,
        "if job.terminating_since is not None:",
        "if False:",
        _ON_CONFIRMING,
    ),
    Mutant(
        "confirming-same-generation-is-ahead",
        _CONFIRMING,
        "if job.generation > state.generation:",
        "if job.generation >= state.generation:",
        _ON_CONFIRMING,
    ),
    Mutant(
        "confirming-another-place",
        _CONFIRMING,
        "job.job != state.uid or _place(job) != _place(state)",
        "job.job != state.uid",
        _ON_CONFIRMING,
    ),
    Mutant(
        "confirming-another-uid",
        _CONFIRMING,
        "not isinstance(job, JobObserved) or job.job != state.uid or",
        "not isinstance(job, JobObserved) or",
        _ON_CONFIRMING,
    ),
    Mutant(
        "confirming-a-longer-list",
        _CONFIRMING,
        "len(part) == len(whole) and all(map(within, part, whole))",
        "all(map(within, part, whole))",
        _ON_CONFIRMING,
    ),
    Mutant(
        "confirming-true-is-one",
        _CONFIRMING,
        "part == whole and isinstance(part, bool) is isinstance(whole, bool)",
        "part == whole",
        _ON_CONFIRMING,
    ),
    Mutant(
        "confirming-any-update-ignored",
        _CONFIRMING,
        "return paths == {problem.path for problem in state.ignored}",
        "return True",
        _ON_CONFIRMING,
    ),
    Mutant(
        "confirming-refusal-not-counted",
        _CONFIRMING,
        "return sum(look.verdict is Confirmation.REFUSED for look in self._looks.values())",
        "return len(self._looks)",
        (*_ON_CONFIRMING, *_ON_CALLS),
    ),
    Mutant(
        "taking-back-for-a-job-that-goes",
        _TAKING_BACK,
        ' or "deletionTimestamp" in job["metadata"]',
        "",
        (*_ON_ADOPTION, *_ON_CALLS),
    ),
    Mutant(
        "taking-back-without-version",
        _TAKING_BACK,
        '        "resourceVersion": meta["resourceVersion"],\n',
        "",
        _ON_CALLS,
    ),
    Mutant(
        "taking-back-finalizer-on-a-terminating-pod",
        _TAKING_BACK,
        'if evidence and "deletionTimestamp" not in meta:',
        "if evidence:",
        _ON_CALLS,
    ),
    Mutant(
        "taking-back-without-attempt",
        _TAKING_BACK,
        "if attempt > attempt_of(pod):",
        "if False:",
        (*_ON_ADOPTION, *_ON_CALLS),
    ),
    Mutant(
        "taking-back-without-labels",
        _TAKING_BACK,
        "not is_controlled(pod) and all(has.get(key) == value for key, value in wants.items())",
        "not is_controlled(pod)",
        _ON_CALLS,
    ),
    Mutant(
        "taking-back-a-pod-that-goes",
        _TAKING_BACK,
        ' and "deletionTimestamp" not in meta\n',
        "\n",
        _ON_CALLS,
    ),
)
