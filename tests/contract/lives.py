"""All recorded lives, with their public events."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from projectors.contract.page import PublicEvent
from projectors.contract.publication import Publication
from projectors.contract.stream import Publisher
from statemachine.log.codec import decode
from statemachine.log.identity import Identity
from statemachine.log.port import Record
from tests.histories import archive
from tests.histories.record import HERE

PUBLICATION: Final = Publication("prod-1")
IDENTITY: Final = Identity("0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d", PUBLICATION.ledger)


async def identified() -> Identity:
    """That of the ledger of these lives."""
    return IDENTITY


class Life(NamedTuple):
    """A recorded job: where it is recorded, and its records."""

    name: str
    records: Sequence[Record]


def recorded() -> Iterator[Life]:
    """The lives that are a file each, all kinds and all releases among them."""
    for path in sorted(HERE.glob("[0-9]*/*.jsonl")):
        bodies = path.read_bytes().splitlines()
        job = decode(bodies[0]).job
        records = [Record(seq, job, seq, body) for seq, body in enumerate(bodies, 1)]
        yield Life(f"{path.parent.name}/{path.stem}", records)


@cache
def lives() -> Sequence[Life]:
    """Those, and all in archives."""
    packed = (
        Life(f"{path.name.partition('.jsonl')[0]}/{life.name}", life.records())
        for path in archive.archives()
        for life in archive.read(path)
    )
    return (*recorded(), *packed)


def events_of(life: Life, publication: Publication = PUBLICATION) -> Sequence[PublicEvent]:
    """The public events of a life."""
    return tuple(Publisher(publication).all(iter(life.records)))
