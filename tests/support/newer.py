"""Entries of a made-up newer release, which this one cannot read in full."""

from statemachine.ids import Seq
from statemachine.log.codec import entry_hash
from statemachine.log.port import EntryDraft
from tests.support.logs import JOB, admitted, chain, said

NEWER_CAUSE = b'"cause":{"type":"WeatherObserved","clouds":7'
NEWER_EVENT = b'"events":[{"type":"ItRained","v":1}]'


def newer_cause() -> list[EntryDraft]:
    """The second of three entries was caused by what only a newer release observes; it announces something."""
    first = chain(admitted())
    plain = chain(said("rain"), after=1, prev=entry_hash(first[0].body))[0]
    head, _, rest = plain.body.partition(b'"cause":{"type":"TimerFired"')
    second = EntryDraft(JOB, Seq(2), head + NEWER_CAUSE + rest)
    return [*first, second, *chain(said("sun"), after=2, prev=entry_hash(second.body))]


def newer_event() -> list[EntryDraft]:
    """The first entry holds an event that only a newer release knows, beside an announcement."""
    body = chain(admitted())[0].body
    announced = b'"events":[{"type":"Announced","v":1,"reason":"R","message":"m"},'
    unknown = body[: body.index(b'"events":[')] + NEWER_EVENT.replace(b'"events":[', announced) + b"}"
    return [EntryDraft(JOB, Seq(1), unknown)]
