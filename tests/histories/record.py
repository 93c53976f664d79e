"""Writes the histories of a release: `python -m tests.histories.record VERSION [LIFE ...]`.

All lives, or those that are named, go into a new folder; one that exists is refused.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from statemachine.evolve import fold
from statemachine.log.codec import decode
from statemachine.state import JobState
from statemachine.status import status
from tests.histories import lives, lives_of_kinds
from tests.support.scenario import Story

HERE = Path(__file__).parent

Life = Callable[[], Story]

LIVES: tuple[Life, ...] = (
    lives.succeeded,
    lives.restarted,
    lives.paused_and_resumed,
    lives.back_in_sight,
    lives.elastic,
    lives.deadline,
    lives.refused,
    lives.refused_for_two_reasons,
    lives.boarded,
    lives.labelled,
    lives.labelled_by_version,
    lives.terminating,
    lives.adopted,
    lives.backed_off,
    lives.sharing_a_service,
    lives.adopted_with_services_of_their_own,
    *lives_of_kinds.LIVES,
)


def folded(uid: str, bodies: list[bytes]) -> dict[str, Any]:
    """What a history folds to: phases and status digests by entry, and the last status."""
    state, phases, digests = JobState(uid), [], []  # type: ignore[arg-type]
    for body in bodies:
        state = fold(state, decode(body).events)
        phases.append(state.phase.value)
        digests.append(hashlib.sha256(json.dumps(status(state), sort_keys=True).encode()).hexdigest())
    return {"phases": phases, "statuses": digests, "last": status(state)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write lives of `LIVES` into the folder of a version."""
    by_name = {life.__name__: life for life in LIVES}
    parser = argparse.ArgumentParser("python -m tests.histories.record", description="Record histories.")
    parser.add_argument("version", help="name of the folder to make")
    parser.add_argument("lives", nargs="*", metavar="LIFE", help="what to record (default: all)")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.lives if name not in by_name]
    if unknown:
        parser.error(f"no such life: {', '.join(unknown)}; there are {', '.join(by_name)}")
    folder = HERE / asked.version
    if folder.exists():
        parser.error(f"there are histories of {asked.version} already, and those are never written again")
    folder.mkdir()
    for name in asked.lives or by_name:
        write(folder, by_name[name])


def write(folder: Path, life: Life) -> None:
    """One life: its entries, and what they fold to."""
    story = life()
    (folder / f"{life.__name__}.jsonl").write_bytes(b"".join(body + b"\n" for body in story.bodies))
    expected = json.dumps(folded(story.uid, story.bodies), indent=1) + "\n"
    (folder / f"{life.__name__}.expected.json").write_text(expected)


if __name__ == "__main__":
    main()
