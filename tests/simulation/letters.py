"""Worlds in which nothing can be decided of some jobs any more: what is reported of them are dead letters."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from statemachine.log.codec import decode_observation
from statemachine.observations import Observation, PodObserved
from statemachine.wire import plain
from tests.simulation import chaos, versions
from tests.simulation.chaos import Action
from tests.simulation.crash_points import LETTERS
from tests.simulation.shapes import NAMESPACE

_TIMES: Final = ("at", "happened_at", "written_at")


class LettersWorld(versions.VersionsWorld):
    """Jobs in whose histories a newer release has written what cannot be folded; their pods go on."""

    points: ClassVar[Mapping[str, int]] = LETTERS
    share: ClassVar[float] = 0.7
    actions: ClassVar[Sequence[Action]] = (
        *[versions.newer_event] * 4,
        chaos.end_pod,
        chaos.delete_pod,
        chaos.edit_spec,
        chaos.relabel_job,
        chaos.log_down,
        chaos.stop,
    )

    def findings(self) -> Iterator[str]:
        """See World. A report that could not be decided is kept once, and that of what each pod is now is kept."""
        yield from super().findings()
        letters = [letter for letter in self.log._letters if letter.job in self.unreadable]
        kept = [(letter.job, letter.error, decode_observation(letter.observation)) for letter in letters]
        alike = Counter((job, error, _timeless(report)) for job, error, report in kept)
        yield from (
            f"{count} letters of {job}: {text}" for (job, _, text), count in alike.items() if count > 1
        )
        pods = {(report.uid, report.phase) for _, _, report in kept if isinstance(report, PodObserved)}
        there = {job["metadata"]["uid"] for job in self.live_jobs()}
        for job in self.unreadable & there:
            for child in self.cluster.objects.peek_children(NAMESPACE, job):
                now = child["metadata"]["uid"], child.get("status", {}).get("phase")
                if child["kind"] == "Pod" and now not in pods:
                    yield f"no letter says of pod {now[0]} of {job} that it is {now[1]}"


def _timeless(report: Observation) -> str:
    """The report without its times, in which alone two reports of the same may differ."""
    return repr({name: value for name, value in plain(report).items() if name not in _TIMES})
