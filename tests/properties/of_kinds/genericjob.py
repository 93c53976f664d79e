"""GenericJobs with nothing wrong in them, and what their users change."""

from typing import Any

from hypothesis import strategies as st

from tests.unit.kinds.build import Spec
from tests.unit.kinds.generic import HTTP, container, replicas, spec

POLICIES = st.sampled_from(["Never", "OnFailure", "Always"])
CLEAN_UPS = st.sampled_from(["None", "All", "Unfinished"])
WORDS = st.sampled_from(["$(type)", "$(rank)", "$(replicas[worker])", "$$(rank)", "$(HOME)", "--lr"])


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Of one or two types, with restarts of their own, and with rules or without."""
    items = [_item(draw, type_) for type_ in draw(st.sampled_from([["worker"], ["ps", "worker"]]))]
    more: Spec = {"cleanUpPolicy": draw(CLEAN_UPS)}
    for name in ("successRules", "failureRules"):
        if draw(st.booleans()):
            more[name] = draw(st.lists(_rules(items), min_size=1, max_size=3))
    if draw(st.booleans()):
        more |= HTTP
    if draw(st.booleans()):
        more["runMode"] = {draw(st.sampled_from(["pause", "debug"])): {"enabled": True}}
    if draw(st.booleans()):
        more["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    return spec(*items, **more)


def _item(draw: st.DrawFn, type_: str) -> Spec:
    policy: dict[str, Any] = {"policy": draw(POLICIES), "limit": draw(st.integers(0, 2))}
    words = draw(st.lists(WORDS, max_size=3))
    return replicas(type_, draw(st.integers(1, 3)), container(args=words), restartPolicy=policy)


def _rules(items: list[Spec]) -> st.SearchStrategy[Spec]:
    """A rule about some replicas of these types; ranks are numbers or decimal strings."""
    ranks = {item["type"]: _ranks(item["replicas"]) for item in items}
    return st.fixed_dictionaries({}, optional=ranks).filter(bool)


def _ranks(scale: int) -> st.SearchStrategy[list[int | str]]:
    ranks: list[int | str] = [*range(scale), *map(str, range(scale))]
    rank: st.SearchStrategy[int | str] = st.sampled_from(ranks)
    return st.lists(rank, min_size=1, max_size=scale, unique_by=int)


EDITS = st.one_of(
    st.builds(lambda policy: {"cleanUpPolicy": policy}, CLEAN_UPS),
    st.just({"successRules": [{"worker": [0]}]}),
)
