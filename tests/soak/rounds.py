"""What a soak has done so far: kept in a file after every round, so that one that was stopped can go on."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from tests.soak.parts import Part

_FILE: Final = "rounds.json"


@dataclass(frozen=True)
class Round:
    """One round of a part that came to its end."""

    seconds: float
    seed: int
    """The JOBLEDGER_SEED that it ran with."""
    commit: str
    findings: Sequence[str] = ()


@dataclass
class Rounds:
    """What became of one part."""

    part: Part
    rounds: list[Round] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How often it came to its end."""
        return len(self.rounds)

    @property
    def seconds(self) -> float:
        """Of all its rounds."""
        return sum(one.seconds for one in self.rounds)

    @property
    def expected(self) -> float:
        """Seconds that one more round is expected to take."""
        return self.seconds / self.count if self.count else 0.0

    @property
    def findings(self) -> list[str]:
        """Of all its rounds."""
        return [finding for one in self.rounds for finding in one.findings]

    @property
    def verdict(self) -> str:
        """`fine`, or all findings."""
        if not self.rounds:
            return "not run"
        return "\n\n".join(self.findings) or "fine"

    @property
    def again(self) -> str:
        """The commands that repeat the rounds with findings; the last round where there is none."""
        chosen = [one for one in self.rounds if one.findings] or self.rounds[-1:]
        return "\n".join(f"JOBLEDGER_SEED={one.seed} make soak PARTS={self.part.name}" for one in chosen)

    @property
    def commits(self) -> str:
        """What was tested, in the order of the rounds."""
        return " ".join(dict.fromkeys(one.commit for one in self.rounds))


def begin(parts: Sequence[Part], folder: Path) -> list[Rounds]:
    """The rounds that were done before the soak of this folder was stopped; none if it came to its end."""
    file = folder / _FILE
    done: dict[str, Any] = {}
    if file.exists():
        kept = json.loads(file.read_text(encoding="utf-8"))
        done = {} if kept["ended"] else kept["rounds"]
    return [Rounds(part, [Round(**one) for one in done.get(part.name, ())]) for part in parts]


def keep(rounds: Iterable[Rounds], folder: Path, *, ended: bool) -> None:
    """Writes what was done; whole, or as it was before."""
    done = {one.part.name: [asdict(ended) for ended in one.rounds] for one in rounds}
    draft = folder / f"{_FILE}.part"
    draft.write_text(json.dumps({"ended": ended, "rounds": done}, indent=1) + "\n", encoding="utf-8")
    draft.replace(folder / _FILE)


def forget(folder: Path) -> None:
    """The next soak of this folder begins with its first part."""
    (folder / _FILE).unlink(missing_ok=True)


def table(rounds: Sequence[Rounds]) -> Table:
    """A row a part."""
    made = Table("part", "what", "rounds", "minutes", "commit", "verdict", "to repeat it", show_lines=True)
    for one in rounds:
        minutes = f"{one.seconds / 60:.1f}"
        made.add_row(
            one.part.name, one.part.what, str(one.count), minutes, one.commits, one.verdict, one.again
        )
    return made
