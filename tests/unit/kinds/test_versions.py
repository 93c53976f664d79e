"""A spec is parsed once a version, and judged once a change: by counting, not by the clock."""

from collections import Counter
from typing import Any

import pytest

from statemachine.desired import desired
from statemachine.evolve import fold
from statemachine.kind import NO_UID
from statemachine.kinds import kind_of
from statemachine.kinds.common import stored
from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.common.stored import Version
from statemachine.log.codec import decode
from statemachine.rulebook import Draft
from statemachine.schema.problems import parsed
from statemachine.state import JobState
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import API, KIND, UID, Story, workers

STORIES = [lambda: Story(workers(3)), lambda: TorchStory(training(workers=2))]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a spec was parsed, and judged by the rules."""
    counts: Counter[str] = Counter()
    judged = ModelKind._judged

    def counted(*arguments: Any) -> Any:
        counts["judged"] += 1
        return judged(*arguments)

    def counting(model: Any, spec: object, root: str = "spec") -> Any:
        counts["parsed"] += 1
        return parsed(model, spec, root)

    monkeypatch.setattr(ModelKind, "_judged", counted)
    monkeypatch.setattr(stored, "parsed", counting)
    return counts


def taken(calls: Counter[str]) -> dict[str, int]:
    counts = dict(calls)
    calls.clear()
    return counts


@pytest.mark.parametrize("make", STORIES)
def test_a_version_is_parsed_when_it_is_admitted_and_never_for_its_children(
    make: Any, calls: Counter[str]
) -> None:
    story = make().submit()
    assert taken(calls) == {"parsed": 1, "judged": 1}
    for _ in range(3):
        assert [child.build() for child in desired(story.state)]
    assert taken(calls) == {}


@pytest.mark.parametrize("make", STORIES)
def test_of_a_change_in_which_nothing_is_wrong_only_the_spec_behind_it_is_judged(
    make: Any, calls: Counter[str]
) -> None:
    story = make().submit()
    taken(calls)
    story.at(1).edit(runPolicy={"backoffLimit": 7})
    assert story.state.running_plan.backoff_limit == 7
    assert taken(calls) == {"parsed": 1, "judged": 1}
    assert [child.build() for child in desired(story.state)]
    assert taken(calls) == {}


@pytest.mark.parametrize("make", STORIES)
def test_the_rules_are_asked_once_of_a_spec_by_itself(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts: list[Draft] = []
    findings = ModelKind._findings

    def kept(kind: Any, draft: Draft) -> Any:
        drafts.append(draft)
        return findings(kind, draft)

    monkeypatch.setattr(ModelKind, "_findings", kept)
    story = make().submit()
    first = story.state.spec
    story.at(1).edit(runPolicy={"backoffLimit": 7})
    assert [draft.spec for draft in drafts if draft.old is None] == [first]
    assert [draft.old for draft in drafts if draft.old is not None] == [first]


def test_what_is_refused_is_parsed_once_and_leaves_the_version_that_holds(calls: Counter[str]) -> None:
    story = Story(workers(1)).submit()
    taken(calls)
    story.at(1).edit(runPolicy={"backoffLimit": -1})
    assert taken(calls) == {"parsed": 1, "judged": 2}
    assert [child.build() for child in desired(story.state)]
    assert taken(calls) == {}


def test_a_version_that_was_read_from_the_log_is_parsed_once(calls: Counter[str]) -> None:
    story = Story(workers(1)).submit()
    state = JobState(story.uid)
    for body in story.bodies:
        state = fold(state, decode(body).events)
    taken(calls)
    for _ in range(2):
        assert [child.build() for child in desired(state)]
    assert taken(calls) == {"parsed": 1}


def test_values_that_are_equal_and_not_the_same_are_two_versions() -> None:
    kind = kind_of(API, KIND)
    spec = {"replicaSpecs": [], "elastic": {}, "one": 1}
    assert Version(kind.model, UID, spec) == Version(kind.model, UID, dict(spec))
    assert Version(kind.model, UID, spec) != Version(kind.model, UID, spec | {"one": True})


def test_a_look_up_compares_a_version_with_itself_alone_however_many_its_job_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind, compared = kind_of(API, KIND), Counter[str]()
    specs = [{"replicaSpecs": [], "runPolicy": {"backoffLimit": limit}} for limit in range(50)]
    same = Version.__eq__

    def counted(version: Version[Any], other: object) -> bool:
        compared["versions"] += 1
        return same(version, other)

    monkeypatch.setattr(Version, "__eq__", counted)
    kept = {Version(kind.model, UID, spec): spec for spec in specs}
    assert all(kept[Version(kind.model, UID, dict(reversed(spec.items())))] is spec for spec in specs)
    assert compared["versions"] <= 2 * len(specs)


def test_what_no_job_has_is_not_kept(calls: Counter[str]) -> None:
    version = Version(kind_of(API, KIND).model, NO_UID, workers(1))
    assert version.parsed() == version.parsed()
    assert taken(calls) == {"parsed": 2}
