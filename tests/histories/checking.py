"""A recorded life against today's code."""

from collections.abc import Iterator

from projectors.verify import Verification
from tests.histories.archive import Life, expected


def problems(life: Life) -> Iterator[str]:
    """What is not as it was recorded: the chain, a decision of today's version, a phase, a status."""
    verification = Verification()
    for record in life.records():
        verification.take(record)
    for verdict in verification.verdicts():
        if verdict.difference is not None:
            yield f"{life.name}: entry {verdict.difference.seq}: {verdict.difference.says}"
    phases, statuses = expected(life.bodies)
    for seq, (now, then) in enumerate(zip(phases, life.phases, strict=True), 1):
        if now != then:
            yield f"{life.name}: phase {then} behind entry {seq} is {now} now"
    for seq, (status, recorded) in enumerate(zip(statuses, life.statuses, strict=True), 1):
        if status != recorded:
            yield f"{life.name}: the status behind entry {seq} is another one now"
