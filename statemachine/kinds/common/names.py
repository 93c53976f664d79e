"""How long a job's name may be: with it begin the names of pods and Services, which are DNS labels. Rules G2 and K1.

An index needs as many digits as the largest one has that the spec allows now. Source: spec R2, G2.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from statemachine.kinds.common.rule_builders import claim
from statemachine.rulebook import Rule

_MOST: Final = 63


def digits(replicas: int) -> int:
    """The digits of the largest index among so many replicas; one where there is none yet."""
    return len(str(max(0, replicas - 1)))


def name_length(
    id_: str, tail: Callable[[Mapping[str, Any]], int], *, says: str, cel: str, source: str
) -> Rule:
    """G2 with the kind's own formula: `tail` is the length of what follows the job name in the longest name."""
    sentence = "metadata.name is too long: the name of a replica would exceed 63 characters"
    return claim(
        id_,
        sentence,
        lambda draft: len(draft.name) + tail(draft.spec) <= _MOST,
        says=says,
        cel=cel,
        cel_at="",
        source=source,
    )


def cel_fits(before: int | str, replicas: str) -> str:
    """CEL: `<job>`, `before` more characters and an index among `replicas` fit. The list gives the number a name."""
    size = f"size(self.metadata.name) + {before} + size(string(n > 0 ? n - 1 : 0))"
    return f"[{replicas}].all(n, {size} <= {_MOST})"
