"""Making `Rule`s: from a claim that holds or not, and from the model's own bounds."""

from collections.abc import Callable, Iterator

from statemachine.errors import Problem
from statemachine.kinds.common.canonical import aliases
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.fields import SpecPart
from statemachine.schema.lookup import number
from statemachine.schema.problems import GENERIC, problem

Claim = Callable[[Draft], bool]


def claim(
    id_: str, sentence: str, holds: Claim, *, says: str, cel: str, cel_at: str = "spec", source: str = ""
) -> Rule:
    """A layer C rule with one fixed sentence: broken when `holds` denies what `cel` denies."""

    def check(draft: Draft) -> Iterator[Problem]:
        if not holds(draft):
            yield problem(id_, sentence)

    return Rule(id_, Layer.CEL, says, sentence, check, cel, cel_at, source=source)


def bounds(id_: str, *fields: str, says: str, text: str = GENERIC, source: str = "") -> Rule:
    """A layer S rule: the model holds it, in these fields; `text` replaces the API server's sentence."""
    return Rule(id_, Layer.SCHEMA, says, text, fields=fields, source=source)


def bounded(id_: str, path: str, *, least: int, says: str, source: str) -> Rule:
    """A layer S rule: the number at `spec.<path>` is `least` at least.

    For a bound that is younger than jobs which may break it: the CRD has it, the model has not, and reads those jobs.
    """

    def check(draft: Draft) -> Iterator[Problem]:
        value = number(draft.spec, path)
        if value is not None and 0 <= value < least:
            sentence = f"Invalid value: {value}: must be greater than or equal to {least}"
            yield Problem(id_, f"spec.{path}", sentence)

    return Rule(id_, Layer.SCHEMA, says, GENERIC, check, fields=(f"spec.{path}",), source=source)


def alias_rules(model: type[SpecPart]) -> Iterator[Rule]:
    """G12 for every old spelling in the model; `canonical.read` finds breaches, later the old one is gone."""
    for was, now in aliases(model):
        yield Rule(
            "G12",
            Layer.CEL,
            says=f"`{was}` and `{now}` may both be present only with equal values",
            text=f"{was} is a deprecated alias of {now}; set only one",
            cel=both_or_equal(was.removeprefix("spec."), now.rpartition(".")[2]),
            source="spec R2, G12",
        )


def both_or_equal(was: str, now: str, on: str = "self") -> str:
    """CEL: the field at path `was` and its sibling `now` do not contradict each other."""
    parent, _, rest = was.partition("[].")
    if rest:
        inside = both_or_equal(rest, now, "each")
        return f"{unless_absent(parent, on)} || {on}.{parent}.all(each, {inside})"
    above, _, name = was.rpartition(".")
    owner = f"{on}.{above}" if above else on
    guard = f"{unless_absent(above, on)} || " if above else ""
    return f"{guard}!has({owner}.{name}) || !has({owner}.{now}) || {owner}.{name} == {owner}.{now}"


def unless_absent(path: str, on: str = "self") -> str:
    """CEL: some object on the way to `path`, or what is there, is absent."""
    steps = path.split(".")
    return " || ".join(f"!has({on}.{'.'.join(steps[: end + 1])})" for end in range(len(steps)))
