"""What an invariant says, and how often each said something.

An invariant yields a verdict for each thing that it examined: None if it holds, a sentence if it does not, an
`Excuse` where it does not have to, or a `Met` where it counts cases. One that yields nothing has examined nothing; a
run that never came to a case of it has not tested it, which the table of a long run shows.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple


class Excuse(NamedTuple):
    """Why something does not have to hold here: the name of an exemption, one of EXEMPTIONS."""

    name: str


class Met(NamedTuple):
    """It holds, and this case of it was met: it is counted by its name."""

    name: str


class Exemption(NamedTuple):
    """Why something does not have to hold, and in what share of all seeds at most."""

    why: str
    at_most: float


NAMESAKE: Final = "name of a namesake's"

EXEMPTIONS: Final = {
    "stray pod": Exemption(
        "made, released or deleted by a controller believed dead, or made when its create had been given up",
        0.04,
    ),
    "evidence removed by force": Exemption(
        "somebody removed the pod, or an earlier one of its attempt, whatever held it", 0.15
    ),
    "ended before all was made": Exemption("a job that has ended gets no new Services", 0.2),
    NAMESAKE: Exemption(
        "a job of another kind has the same name, and a child of the name that this one needs: it says so, and waits",
        0.03,
    ),
    "namespace is going": Exemption("it takes no Events any more, and nobody announces them again", 0.01),
    "pod without owner": Exemption("somebody took its owner references away: it is nobody's", 0.01),
    "pod relabelled": Exemption(
        "somebody changed its labels before the log had it, and its job gave it up before they were put back",
        0.01,
    ),
    "pod without labels": Exemption("somebody took labels of ours off it: no Service selects it", 0.01),
    "snapshot damaged": Exemption("somebody changed its bytes, and no newer one was saved", 0.04),
    "report of the present": Exemption("refusals and TensorBoards go to and fro: an old report is news", 0.3),
    "labels from before": Exemption(
        "an older release named no version of a job, or a cluster was put back and uses versions again: old labels "
        "are news, and the newest report makes them good",
        0.05,
    ),
    "controller killed before rest": Exemption(
        "an object that no watch tells of was made or deleted, or old labels were sent: only the next visit sees it",
        0.4,
    ),
}
"""Every exemption by name. A run in which one of them is used in more seeds than it may fails."""

Verdicts = Iterator[str | Excuse | Met | None]


@dataclass
class Tally:
    """How often each invariant examined something, each exemption was used, and each case was met."""

    examined: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)

    def judge(self, rule: Any, about: str, verdicts: Verdicts) -> list[str]:
        """What does not hold, each sentence with the name of the rule; everything is counted."""
        wrong = []
        for verdict in verdicts:
            self.examined[rule.__name__] += 1
            if isinstance(verdict, Excuse):
                self.excuse(verdict.name)
            elif isinstance(verdict, Met):
                self.met[verdict.name] += 1
            elif verdict is not None:
                wrong.append(f"{rule.__name__}: {about}: {verdict}")
        return wrong

    def excuse(self, name: str) -> None:
        """An exemption was used."""
        if name not in EXEMPTIONS:
            raise KeyError(f"no exemption is called {name!r}")
        self.excused[name] += 1
