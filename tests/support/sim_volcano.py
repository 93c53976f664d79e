"""Volcano in a simulated cluster: what it does with PodGroups of its own, and what somebody does with them.

A PodGroup is Pending, then let in, then Running; some are put back to Pending for a while, and some are deleted by
hand, in any phase. What becomes of one is drawn from its uid.
"""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Final

from k8s_bridge.port import Change, Manifest, Ref, Verb
from statemachine.kinds.pytorchjob.gang import POD_GROUP, VOLCANO_VERSION
from tests.support.memory_cluster import MemoryCluster

_LONGEST: Final = 60.0
"""Seconds in a queue."""


class Volcano:
    """Acts on PodGroups as soon as they exist."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        cluster.objects.subscribe(self._changed)

    def _changed(self, change: Change) -> None:
        group = change.object
        if change.verb is Verb.ADDED and (group["apiVersion"], group["kind"]) == (VOLCANO_VERSION, POD_GROUP):
            loop = asyncio.get_running_loop()
            for seconds, phase in _life(Random(f"volcano {group['metadata']['uid']}")):
                loop.call_later(seconds, self._move, group, phase)

    def _move(self, group: Manifest, phase: str) -> None:
        objects, ref, uid = self._cluster.objects, Ref.of(group), group["metadata"]["uid"]
        if phase:
            objects.set_status(ref, uid, {"phase": phase})
        elif (there := objects.peek(ref)) is not None and there["metadata"]["uid"] == uid:
            objects.delete(ref)


def _life(chance: Random) -> Iterator[tuple[float, str]]:
    """Seconds since its creation, and its phase from then on; "": somebody deletes it."""
    passed = 0.1
    yield passed, "Pending"
    for _ in range(chance.choice((1, 1, 1, 2))):
        passed += min(_LONGEST, chance.expovariate(1 / 3))
        yield passed, "Inqueue"
        passed += min(_LONGEST, chance.expovariate(1 / 3))
        yield passed, chance.choice(("Running", "Running", "Pending"))
    passed += min(_LONGEST, chance.expovariate(1 / 10))
    yield passed, chance.choice(("Running", "Running", "Running", ""))
