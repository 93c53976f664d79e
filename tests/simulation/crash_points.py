"""Every point at which a process can die, by name: the boundaries of each effect, and of what it takes in.

"before" is on the way there, when nothing has been done; "after" is on the way back, when it has been done and the
process does not know. What lies between two of them is between an observation and the entry, an entry and the write
that it asks for, or the halves of what belongs together: a snapshot and the checkpoint, a pod and its Service.

Half of all seeds aim at some points (`aimed`), the more of them the seldomer a point is passed; at those that jobs of
some kind alone pass, seeds with such jobs.
"""

from collections.abc import Mapping
from random import Random
from typing import Final

from statemachine.kinds import KINDS

_LOG_CALLS: Final = (
    "before append",
    "after append",
    "before saved",
    "after saved",
    "before scan",
    "after a batch of scan",
    "before checkpoint",
    "after checkpoint",
    "before save_checkpoint",
    "after save_checkpoint",
)
_OFTEN: Final = (
    *_LOG_CALLS,
    "before watch",
    "before the end of the list",
    "after the end of the list",
    "before news of a job",
    "after news of a job",
    "before news of a Pod",
    "after news of a Pod",
    "before children",
    "after children",
    "before get job",
    "after get job",
    "before create Pod",
    "after create Pod",
    "before create Service",
    "after create Service",
    "before delete Pod",
    "after delete Pod",
    "before release",
    "after release",
    "before patch_status",
    "after patch_status",
    "before emit",
    "after emit",
    "before orphans",
    "after orphans",
    "before end",
    "after end",
)
OF_THE_LOG: Final = frozenset(
    {
        *_LOG_CALLS,
        "before end",
        "after end",
        "before save_snapshots",
        "after save_snapshots",
        "after the log did not answer",
        "after a lost reply of the log",
    }
)
"""Those of calls of the log. On the partitioned one a process may die at any request (`on_kafka`)."""

_SOMETIMES: Final = (
    "after the log did not answer",
    "after the cluster did not answer",
    "after a lost reply of the cluster",
    "after a refused create",
    "after a refused delete",
    "after a watch expired",
    "before save_snapshots",
    "after save_snapshots",
    "before create Secret",
    "after create Secret",
    "before create ConfigMap",
    "after create ConfigMap",
    "before get Secret",
    "after get Secret",
    "before get Pod",
)
_SELDOM: Final = (
    "after a create that was given up",
    "before delete Service",
    "after delete Service",
    "before get Service",
    "before look",
    "after look",
    "before get another child",
    "before create PodGroup",
    "after create PodGroup",
    "before delete PodGroup",
    "after delete PodGroup",
)
_RARELY: Final = (
    "before delete Secret",
    "after delete Secret",
    "before delete ConfigMap",
    "after delete ConfigMap",
    "after a lost reply of the log",
    "after get Pod",
    "after get Service",
    "after get another child",
    "before patch another child",
    "after patch another child",
)

KUBEFLOW: Final[Mapping[str, int]] = {
    "before delete job": 160,
    "after delete job": 160,
    "before news of a PodGroup": 100,
    "after news of a PodGroup": 100,
    "before create HorizontalPodAutoscaler": 120,
    "after create HorizontalPodAutoscaler": 120,
    "before delete HorizontalPodAutoscaler": 160,
    "after delete HorizontalPodAutoscaler": 160,
}
"""Those of jobs that have a time to live, a gang that is let in, or an autoscaler: PyTorchJobs."""

BOARDS: Final[Mapping[str, int]] = {
    "before create TensorBoard": 20,
    "after create TensorBoard": 20,
    "before delete TensorBoard": 120,
    "after delete TensorBoard": 120,
    "before news of a TensorBoard": 12,
    "after news of a TensorBoard": 12,
}
"""Those of jobs that may have a TensorBoard."""

JOBS: Final[Mapping[str, int]] = {
    "before create Job": 24,
    "after create Job": 24,
    "before delete Job": 160,
    "after delete Job": 160,
    "before news of a Job": 12,
    "after news of a Job": 12,
}
"""Those of jobs that another controller decides."""

_OF_SHAPES: Final[Mapping[str, int]] = {**KUBEFLOW, **BOARDS, **JOBS}
_OWNED: Final = tuple(
    f"{when} {effect} {owned.kind}"
    for kind in KINDS
    for owned in kind.owns
    for effect in ("create", "delete", *(("news of a",) if owned.facts else ()))
    for when in ("before", "after")
)
_NAMED: Final = (*_OFTEN, *_SOMETIMES, *_SELDOM, *_RARELY, *_OF_SHAPES)

USUAL: Final[Mapping[str, int]] = {
    **dict.fromkeys(_OFTEN, 1),
    **dict.fromkeys(_SOMETIMES, 3),
    **dict.fromkeys(_SELDOM, 12),
    **dict.fromkeys(_RARELY, 40),
    **{point: 12 for point in _OWNED if point not in _NAMED},
}
"""Each point that every family of worlds has, with jobs of any shape, and how often seeds aim at it: its share."""

INBOX: Final[Mapping[str, int]] = {
    "before put": 12,
    "after put": 12,
    "before take": 12,
    "after take": 12,
    "before ack": 12,
    "after ack": 12,
    "after the inbox did not answer": 60,
    "after a lost reply of the inbox": 200,
}
"""Those of the inbox, where the roles are apart."""

HISTORY: Final[Mapping[str, int]] = {
    "before a query": 12,
    "after a query": 12,
    "before a transaction": 12,
    "after a transaction": 12,
    "after the database did not answer": 24,
    "after a lost reply of the database": 24,
}
"""Those of the database of the history."""

LETTERS: Final[Mapping[str, int]] = {
    "before add_dead_letter": 20,
    "after add_dead_letter": 20,
    "before dead_letters": 20,
    "after dead_letters": 20,
    "before note_retry": 20,
    "after note_retry": 20,
    "before dead_letter_count": 40,
    "after dead_letter_count": 40,
}
"""Those of dead letters, where observations cannot be decided."""

POINTS: Final[Mapping[str, int]] = {**USUAL, **_OF_SHAPES, **INBOX, **HISTORY, **LETTERS}
"""All points."""

BY_CHANCE: Final = frozenset({"before list", "after a refused patch"})
"""Points that one seed of thousands passes: aiming there would hit none, so a process dies there by the odds alone.

Only the audit lists, for what it misses and the bridge has never seen. Only TensorBoards and autoscalers are patched.
"""

_WHOLE: Final = 160
"""At a point of this share every seed aims that aims at all."""

LEAST: Final = 50
"""Deaths at each point in 10,000 seeds."""


def aimed(chance: Random, points: Mapping[str, int]) -> dict[str, int]:
    """Where processes of this seed die in any case, if they come there while the chaos lasts: some of `points`.

    Behind each stands at which passing; there may be no other, where few pass.
    """
    if chance.random() < 0.5:
        return {}
    drawn = (point for point, share in points.items() if chance.random() < share / _WHOLE)
    return {point: 1 if points[point] > 1 else 1 + int(chance.expovariate(1 / 3)) for point in drawn}
