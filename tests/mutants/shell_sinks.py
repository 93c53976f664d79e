"""Mutants of the ways by which public events leave: a topic in Kafka, HTTP, web hooks."""

from typing import Final

from tests.mutants.model import Mutant

_RESUMING: Final = ("tests/unit/projectors/test_resuming_sinks.py",)
_ON_TOPIC: Final = ("tests/unit/sinks/test_kafka.py",)
_ON_HTTP: Final = ("tests/unit/api/test_public_events.py",)
_ON_HOOKS: Final = ("tests/unit/sinks/test_webhook.py",)


def _topic(name: str, old: str, new: str, module: str = "projectors.sinks.kafka") -> Mutant:
    return Mutant(f"topic-{name}", module, old, new, _ON_TOPIC)


def _publishing(name: str, old: str, new: str) -> Mutant:
    return _topic(name, old, new, "statemachine.log.kafka.publishing")


def _http(module: str, name: str, old: str, new: str) -> Mutant:
    return Mutant(f"events-{name}", f"jobledger.{module}", old, new, _ON_HTTP)


def _hook(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"hook-{name}", "projectors.sinks.webhook", old, new, _ON_HOOKS)


MUTANTS: Final = (
    *(
        Mutant(f"own-topic-{name}", "projectors.sinks.topic", old, new, ("tests/unit/sinks/test_topic.py",))
        for name, old, new in (
            ("late-commit-ends-half-of-a-batch", "rows, whole=True)", "rows)"),
            ("batch-of-unknown-end-repeated", "if last == newest:", "if False:"),
            ("written-beside-another", "if last != self._lasts.get(number):", "if False:"),
            ("forgets-what-it-wrote", "self._lasts[number] = newest", "pass"),
        )
    ),
    Mutant(
        "sinks-scrubbed-events-are-not-counted",
        "projectors.sinks.feeding",
        "self.scrubbed += sum(event.is_scrubbed for event in events)",
        "pass",
        ("tests/unit/wiring/test_sinks.py",),
    ),
    *(
        Mutant(f"sinks-marks-{name}", f"projectors.sinks.{module}", old, "pass", _RESUMING)
        for name, module, old in (
            ("are-not-passed", "resuming", "self._position = max(self._position, end)"),
            ("count-as-lag", "feeding", "self._upto = tail.upto"),
        )
    ),
    Mutant(
        "sinks-marks-are-entries",
        "jobledger.publishing.operating",
        "if not 0 < distance <= _COUNTED:",
        "if True:",
        ("tests/unit/publishing/test_operating.py",),
    ),
    Mutant(
        "sinks-stop-is-an-error",
        "jobledger.wiring.fed_sink",
        "await asyncio.gather(work, return_exceptions=True)",
        "await asyncio.wait([work])",
        ("tests/unit/wiring/test_sinks.py",),
    ),
    Mutant(
        "sinks-delivery-that-is-broken-off-is-an-error",
        "projectors.sinks.feeding",
        "await asyncio.gather(delivery, return_exceptions=True)",
        "await asyncio.wait([delivery])",
        ("tests/unit/sinks/test_batches.py",),
    ),
    Mutant(
        "sinks-of-every-partition-are-fed",
        "jobledger.wiring.sinks",
        "if loop.reached < self._end(loop.number):",
        "if True:",
        ("tests/unit/wiring/test_sinks.py",),
    ),
    Mutant(
        "sinks-reset-is-no-order",
        "statemachine.log.positions",
        "elif what == _RESET:",
        "elif what == _OFF:",
        ("tests/ports/test_positions.py", "tests/unit/wiring/test_sinks.py"),
    ),
    _topic("commit-is-repeated", "if publisher.mark == mark:", "if False:"),
    _topic("lost-partition-is-taken-back", "batch.partition, again=True)", "batch.partition, again=False)"),
    _topic("fenced-publisher-gives-up", "except OwnerLost as error:", "except LookupError as error:"),
    _topic("pauses-stay-short", "broker_wait(failures)", "broker_wait(1)"),
    _topic("nobody-waits-for-brokers", "if isinstance(error, OwnerLost) and again:", "if True:"),
    _topic("any-number-of-partitions", "if count != partitions:", "if False:"),
    _topic("topic-that-is-not-there-has-none", "if not count:", "if False:"),
    _topic("begins-anew-each-time", "if publisher.position is not None else None", "if False else None"),
    _publishing("everybody-has-the-partition", "!= name.encode():", '== b"":'),
    _publishing("nobody-says-who-has-it", "if not again:", "if False:"),
    _publishing(
        "position-without-mark", "{**fields, _MARK: mark, _END: self._end}", "{**fields, _END: self._end}"
    ),
    _http("publishing.browsing", "page-has-one-more", "if len(events) >= most:", "if len(events) > most:"),
    _http(
        "publishing.browsing",
        "end-is-the-beginning",
        "return await stream.ends()",
        "return await stream.earliest()",
    ),
    _http("publishing.browsing", "nobody-waits", "elif events or left <= 0:", "elif True:"),
    _http("publishing.cursors", "foreign-cursor-goes-on", "cursor.ledger != ledger or", ""),
    _http("publishing.cursors", "future-cursor-goes-on", "place.whole > end.position", "False"),
    _http("publishing.selection", "everything-is-visible", "and await self._visible(envelope)", "and True"),
    _http(
        "publishing.selection",
        "graver-ones-only",
        '["severitynumber"]) >= self',
        '["severitynumber"]) > self',
    ),
    _http("publishing.selection", "any-namespace", 'or envelope["namespace"] == self.namespace', "or True"),
    _http("publishing.selection", "any-kind", 'or envelope["kind"] in self.kinds', "or True"),
    _http("publishing.selection", "any-type", "any(fnmatchcase(name, pattern) for", "all(True for"),
    _http("publishing.selection", "no-uids", "len(self.job) >= _SHORTEST_UID", "False"),
    _http("publishing.selection", "labels-are-not-asked", "if not selector:", "if True:"),
    _http(
        "api.public_events",
        "one-stream-more",
        "if self._open[name] >= self._most:",
        "if self._open[name] > self._most:",
    ),
    _http("api.public_events", "streams-stay-open", "            self._leave()", "            pass"),
    _http("api.public_events", "last-event-is-forgotten", "last or after", "after"),
    _http("api.public_events", "always-at-the-end", "str(page.at_end)", "str(True)"),
    _http("api.public_events", "next-page-is-this-one", "('after', page.cursor)", "('after', asked.after)"),
    _http(
        "api.public_events",
        "rights-of-one-namespace-do",
        "return await caller.may(everywhere) or",
        "return True or",
    ),
    _hook("refused-once-more", "is_over = refusals > len(", "is_over = refusals >= len("),
    _hook("redirects-are-followed", "follow_redirects=False", "follow_redirects=True"),
    _hook("failures-are-silent", "await self._failed(failure)", "pass"),
    _hook("gone-goes-on", "self._is_gone = True", "pass"),
    _hook("bodies-are-read-to-their-end", "async with asyncio.timeout(_BODY_TIMEOUT):", "if True:"),
    _hook(
        "order-is-lost",
        "group.create_task(self._job(of_job, places))",
        "group.create_task(self._job(of_job[::-1], places))",
    ),
)
