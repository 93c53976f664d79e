"""Mutants of what reads public events for others: cursors, and the topic."""

from typing import Final

from tests.mutants.model import Mutant

_AT: Final = "tests/unit/publishing/"
_ON_BEGINNINGS: Final = (f"{_AT}test_beginnings.py",)
_ON_CURSORS: Final = (f"{_AT}test_cursors.py", f"{_AT}test_topical.py")
_ON_LOOKING: Final = (f"{_AT}test_looking.py",)
_ON_CARRYING: Final = ("tests/unit/wiring/test_carrying.py",)
_ON_HOOKS: Final = ("tests/unit/sinks/test_webhook.py",)
_ON_SETTING: Final = ("tests/unit/wiring/test_topics.py",)
_ON_TOPIC: Final = (f"{_AT}test_topical.py",)


def _of(module: str, name: str, old: str, new: str, tests: tuple[str, ...]) -> Mutant:
    return Mutant(f"publishing-{name}", f"jobledger.publishing.{module}", old, new, tests)


def _carrying(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"publishing-{name}", "jobledger.wiring.carrying", old, new, _ON_CARRYING)


def _feeding(name: str, old: str, new: str) -> Mutant:
    return Mutant(
        f"publishing-{name}", "projectors.sinks.feeding", old, new, ("tests/unit/sinks/test_starts.py",)
    )


def _hook(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"publishing-{name}", "projectors.sinks.webhook", old, new, _ON_HOOKS)


def _tls(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"publishing-{name}", "projectors.sinks.tls", old, new, ("tests/unit/sinks/test_tls.py",))


def _topic(name: str, module: str, old: str, new: str) -> Mutant:
    return Mutant(f"publishing-{name}", f"jobledger.wiring.{module}", old, new, _ON_SETTING)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _of("beginnings", "places-may-move", "if begin.moves:", "if False:", _ON_BEGINNINGS),
    _of("dating", "clocks-agree", "at - disorder)", "at)", _ON_BEGINNINGS),
    _feeding("start-is-not-kept", "if self._begun.passed is None:", "if False:"),
    _feeding("start-gives-whole-entries", "if index_of(event) > passed]", "]"),
    _feeding("gap-before-the-start", "if before < start.position - 1:", "if False:"),
    _of(
        "cursors", "topic-place-behind-its-entry", "self.position - 1)) if", "self.position)) if", _ON_CURSORS
    ),
    _of(
        "cursors",
        "every-offset-is-in-the-log",
        " if self.position or not self.offset else None",
        "",
        _ON_CURSORS,
    ),
    _of("cursors", "topic-is-written-as-log", '"2" if isinstance', '"1" if isinstance', _ON_CURSORS),
    _of("cursors", "any-ledger", "cursor.ledger != ledger or ", "", _ON_CURSORS),
    _of("cursors", "ahead-of-the-log", "place.whole > end.position for", "False for", _ON_CURSORS),
    _of(
        "topical",
        "place-before-the-event",
        "TopicPlace(message.offset + 1,",
        "TopicPlace(message.offset,",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "gap-after-retention",
        "if await self._followed.partition.begin() > start:",
        "if False:",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "range-without-end",
        "end = min(end, start + _AT_ONCE)",
        "end = start + _AT_ONCE",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "nothing-is-dropped",
        "while self._events and self._size",
        "while False and self._size",
        _ON_TOPIC,
    ),
    _of("topical", "start-stays", "self._start = dropped.place.offset", "pass", _ON_TOPIC),
    _of("topical", "more-than-asked", "first, first + most))", "first, None))", _ON_TOPIC),
    _of(
        "topical",
        "emptied-topic-goes-on",
        "position_of(before.headers) != place.position",
        "False",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "beyond-the-end",
        "if place.offset > await followed",
        "if False and await followed",
        _ON_TOPIC,
    ),
    _of(
        "cursors",
        "whole-entry-is-left-out",
        "return place.event is not None and ",
        "return False and ",
        _ON_TOPIC,
    ),
    _of("topics", "late-is-left-out", "return record.offset\n", "return record.offset + 1\n", _ON_TOPIC),
    _of(
        "topics", "halving-goes-back", "            low = behind\n", "            high = middle\n", _ON_TOPIC
    ),
    _of("looking", "one-look-is-enough", "if newest is not None or not start:", "if True:", _ON_LOOKING),
    _of(
        "looking", "whole-log-at-once", "max(0, end - span)\n        newest", "0\n        newest", _ON_LOOKING
    ),
    _of("looking", "job-in-whole-log", "max(0, end - span)\n        parts", "0\n        parts", _ON_LOOKING),
    _of("looking", "last-part-is-enough", " and parts[0][0].seq == 1)", ")", _ON_LOOKING),
    _of("looking", "first-partition-wins", "or last.entry.seen_at > newest.entry.seen_at", "", _ON_LOOKING),
    _of(
        "looking", "reads-on-behind-it", "if record.seq == int(seq):", "if record.seq == 10**9:", _ON_LOOKING
    ),
    _carrying("position-stays-a-number", "_replace(position=place, held=held)", "_replace(held=held)"),
    _carrying("copy-begins-anew", "    if not lacking:\n        return end\n", "    return 0\n"),
    _carrying("lag-is-forgotten", "lacking |= await", "await"),
    _carrying("reset-is-forgotten", "            known[number] = asked\n", "            pass\n"),
    _carrying("off-is-forgotten", "        if carried.disabled:\n", "        if False:\n"),
    _carrying("failures-stay", "for failure in carried.failures:", "for failure in ():"),
    _carrying("lacking-is-left-out", "return record.position - 1", "return record.position"),
    _hook("nobody-is-asked", "not receiver.origin\n", "True\n"),
    _hook("any-answer-is-leave", ' and allowed in {"*", origin}', ""),
    _hook("all-is-no-leave", '{"*", origin}', "{origin}"),
    _hook("single-attempt-without-leave", "if not self._is_allowed and (refused", "if False and (refused"),
    _tls("cause-is-not-looked-for", "cause = cause.__cause__ or cause.__context__", "cause = None"),
    _tls("expired-is-not-said", '10: "has expired"', '11: "has expired"'),
    _tls(
        "all-certificates-are-right",
        "return httpx.create_ssl_context()",
        "return httpx.create_ssl_context(False)",
    ),
    _topic("own-topic-is-elsewhere", "topics", 'return "" if is_own else', "return"),
    _topic("other-brokers-are-own", "topics", 'servers == ",".join(where.address.servers) and ', ""),
    _topic("store-without-default", "sinks", " or settings.events.kafka.address)", ")"),
    _topic("topic-of-the-ledger-has-runs", "configured_sinks", "if name in own:", "if False:"),
    _topic("filtered-topic-is-full", "sinks", "sink.url or sink.types or", "sink.url or"),
    Mutant(
        "publishing-a-position-that-another-sink-hides-is-not-waited-for",
        "statemachine.log.kafka.publishing",
        "                await positions.end(tail)\n            records",
        "            records",
        ("tests/unit/sinks/test_kafka.py",),
    ),
)
