"""Label selectors: what they say, what they select, and what is none. Source: Kubernetes, Labels and Selectors."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8s_bridge.selectors import EVERYTHING, Requirement, Selector
from statemachine.errors import ConfigError

GOLD = {"team": "a", "tier": "gold", "example.com/x": ""}
PLAIN = {"team": "b"}
NONE: dict[str, str] = {}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", [GOLD, PLAIN, NONE]),
        (" \t", [GOLD, PLAIN, NONE]),
        ("team", [GOLD, PLAIN]),
        ("!team", [NONE]),
        ("! team", [NONE]),
        ("team=a", [GOLD]),
        ("team==a", [GOLD]),
        (" team = a ", [GOLD]),
        ("team=A", []),
        ("team!=a", [PLAIN, NONE]),
        ("team in (a)", [GOLD]),
        ("team in(a,b)", [GOLD, PLAIN]),
        ("team in ( a , c )", [GOLD]),
        ("team notin (a, c)", [PLAIN, NONE]),
        ("tier notin (silver),team", [GOLD, PLAIN]),
        ("team=a,team=b", []),
        ("team,tier!=gold", [PLAIN]),
        ("example.com/x", [GOLD]),
        ("example.com/x=", [GOLD]),
        ("example.com/x in (,y)", [GOLD]),
        ("example.com/x in (y,)", [GOLD]),
        ("team=,team", []),
        ("in", []),
        ("in in (in)", []),
    ],
)
def test_a_selector_selects_what_meets_all_its_requirements(
    text: str, selected: list[dict[str, str]]
) -> None:
    selector = Selector.of(text)
    assert [labels for labels in (GOLD, PLAIN, NONE) if selector.selects({"labels": labels})] == selected
    assert Selector.of(str(selector)) == selector


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (",", 'the name of a label is missing where "," is'),
        ("a,", "the name of a label is missing at its end"),
        ("a,,b", 'the name of a label is missing where "," is'),
        ("=x", 'the name of a label is missing where "=" is'),
        ("!", "the name of a label is missing at its end"),
        ("!a=b", '"," is missing before "="'),
        ("a b", '"b" after "a" is none of =, ==, !=, in and notin'),
        ("a=b c", '"," is missing before "c"'),
        ("a=(b)", 'a value is missing where "(" is'),
        ("a in b", '"(" is missing after "in"'),
        ("a notin", '"(" is missing after "notin"'),
        ("a in ()", 'there is no value in the parentheses after "in"'),
        ("a in (b", '"," or ")" is missing after "in (b"'),
        ("a in (b c)", '"," or ")" is missing after "in (b"'),
        ("a in (", "a value is missing at its end"),
        ("a in (b)c", '"," is missing before "c"'),
        ("a>5", '">" compares numbers, and labels are texts'),
        ("-a", '"-a" cannot be the name of a label'),
        ("A/b", '"A/b" cannot be the name of a label'),
        ("é=1", '"é" cannot be the name of a label'),
        ("a=" + "b" * 64, "cannot be the value of a label"),
        ("a=b;c", '"b;c" cannot be the value of a label'),
        ("a' OR '1'='1", """"a'" cannot be the name of a label"""),
    ],
)
def test_what_is_no_selector_is_refused_with_one_sentence(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Selector.of(text)
    said = str(caught.value)
    assert said.startswith(f'"{text}" is no label selector: ')
    assert why in said
    assert "\n" not in said


def test_a_long_text_is_not_repeated_whole() -> None:
    with pytest.raises(ConfigError) as caught:
        Selector.of("a b\n" * 1000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("labels", [None, "team=a", ["team"], {"team": 7}, {"team": ["a"]}])
def test_labels_that_are_none_are_not_selected_by(labels: object) -> None:
    assert not Selector.of("team=a").selects({"labels": labels})
    assert Selector.of("team!=a").selects({"labels": labels})
    assert EVERYTHING.selects({"labels": labels})


_VALUES = st.from_regex(r"([a-z0-9]([a-z0-9._-]{0,8}[a-z0-9])?)?", fullmatch=True)
_REQUIREMENTS = st.builds(
    Requirement,
    st.from_regex(r"([a-z]{1,5}[.][a-z]{1,5}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True),
    st.none() | st.lists(_VALUES, min_size=1, max_size=4, unique=True).map(tuple),
    st.booleans(),
)


@given(st.lists(_REQUIREMENTS, max_size=4).map(tuple))
def test_a_selector_that_is_written_down_and_read_again_is_the_same(wanted: tuple[Requirement, ...]) -> None:
    assert Selector.of(str(Selector(wanted))) == Selector(wanted)


@given(st.text(alphabet="ab=!(), in\t<>é-", max_size=20))
def test_every_text_is_a_selector_or_is_refused_as_none(text: str) -> None:
    with suppress(ConfigError):
        selector = Selector.of(text)
        assert Selector.of(str(selector)) == selector
