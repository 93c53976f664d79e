"""Mutants of the log and the engine on Kafka, as far as tests without a broker reach them."""

from typing import Final

from tests.mutants.model import Mutant

_WRITING: Final = "statemachine.log.kafka.writing"
_LOG: Final = "statemachine.log.kafka.log"
_RECORDS: Final = "statemachine.log.kafka.records"
_LANE: Final = "statemachine.engine.kafka.lane"
_LANES: Final = "statemachine.engine.kafka.lanes"
_PRIVATES: Final = "statemachine.log.kafka.privates"
_OFFSETS: Final = "statemachine.engine.kafka.offsets"

_ON_WRITER: Final = ("tests/unit/log/test_kafka_writer.py",)
_ON_RECORDS: Final = ("tests/unit/log/test_kafka_records.py",)
_ON_LANES: Final = ("tests/unit/engine/test_lanes.py",)
_ON_PRIVATES: Final = ("tests/unit/log/test_kafka_privates.py",)
_ON_OFFSETS: Final = ("tests/unit/engine/test_offsets.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "privates-any-version-will-do",
        _PRIVATES,
        "        if release not in tried:\n",
        "        if False:\n",
        _ON_PRIVATES,
    ),
    Mutant(
        "privates-static-member-stays",
        _PRIVATES,
        "        coordinator._group_instance_id = None\n",
        "        pass\n",
        _ON_PRIVATES,
    ),
    Mutant(
        "privates-what-a-sender-waits-for-goes-on",
        _PRIVATES,
        'return [sender, *(frame.f_locals.get("tasks", ()) if frame else ())]',
        "return [sender]",
        _ON_PRIVATES,
    ),
    Mutant(
        "writer-tries-again-after-its-end",
        _WRITING,
        "            if self._lost:\n                raise OwnerLost(self._lost)\n",
        "",
        _ON_WRITER,
    ),
    Mutant(
        "writer-fenced-without-a-word",
        _WRITING,
        "if isinstance(error, ProducerFenced | InvalidProducerEpoch):",
        "if False:",
        _ON_WRITER,
    ),
    Mutant(
        "writer-goes-on-after-a-broken-append",
        _WRITING,
        '                self._end("the last append was broken off: it is not known whether it took effect")\n',
        "",
        _ON_WRITER,
    ),
    Mutant(
        "writer-transactions-run-together",
        _WRITING,
        "        async with self._turn:\n",
        "        if True:\n",
        _ON_WRITER,
    ),
    Mutant(
        "writer-does-not-commit",
        _WRITING,
        "                    await self._producer.commit_transaction()\n",
        "                    pass\n",
        _ON_WRITER,
    ),
    Mutant(
        "writer-offsets-all-the-same",
        _WRITING,
        "offsets += range(first, first + count)",
        "offsets += [first] * count",
        _ON_WRITER,
    ),
    Mutant(
        "writer-loses-the-row-that-does-not-fit",
        _WRITING,
        "                batch = self._producer.create_batch()\n                _add(batch, row)\n",
        "                batch = self._producer.create_batch()\n",
        _ON_WRITER,
    ),
    Mutant(
        "writer-believes-records-without-a-place",
        _WRITING,
        "            if first < 0:\n",
        "            if False:\n",
        _ON_WRITER,
    ),
    Mutant(
        "writer-compares-its-own-times",
        _WRITING,
        "if said.timestamp_type == _LOG_APPEND_TIME and said.timestamp > 0:",
        "if said.timestamp > 0:",
        _ON_WRITER,
    ),
    Mutant(
        "writer-hides-that-brokers-say-no",
        _WRITING,
        "return refused if isinstance(refused, StoreUnusable) else OwnerLost(self._lost)",
        "return OwnerLost(self._lost)",
        _ON_WRITER,
    ),
    Mutant(
        "writer-writes-after-it-was-closed",
        _WRITING,
        "        self._lost = why\n",
        "        self._lost = self._lost\n",
        _ON_WRITER,
    ),
    Mutant("kafka-taken-number-appended", _LOG, "            self._refuse_taken(drafts)\n", "", _ON_WRITER),
    Mutant(
        "kafka-last-number-appended-again",
        _LOG,
        "if each.seq <= last or (each.job, each.seq) in keys:",
        "if each.seq < last or (each.job, each.seq) in keys:",
        _ON_WRITER,
    ),
    Mutant(
        "kafka-two-drafts-of-a-number",
        _LOG,
        "if each.seq <= last or (each.job, each.seq) in keys:",
        "if each.seq <= last:",
        _ON_WRITER,
    ),
    Mutant(
        "kafka-position-is-the-offset",
        _LOG,
        "Record(offset + 1, each.job",
        "Record(offset, each.job",
        _ON_WRITER,
    ),
    Mutant(
        "kafka-large-entry-ends-the-writer",
        _LOG,
        "                if not row.fits:\n",
        "                if False:\n",
        _ON_WRITER,
    ),
    Mutant(
        "kafka-append-dies-with-its-caller",
        _LOG,
        "return await asyncio.shield(task)",
        "return await task",
        _ON_WRITER,
    ),
    Mutant(
        "records-anything-is-an-entry",
        _RECORDS,
        'is_entry = bool(message.key) and headers.get("type") == b"entry"',
        "is_entry = bool(message.key)",
        _ON_RECORDS,
    ),
    Mutant(
        "records-number-of-any-length",
        _RECORDS,
        "text.isdigit() and len(text) <= _DIGITS",
        "text.isdigit()",
        _ON_RECORDS,
    ),
    Mutant(
        "records-large-snapshot-not-written",
        _RECORDS,
        'return row if row.fits else _snapshot_row(snapshot, 0, b"")',
        "return row",
        _ON_RECORDS,
    ),
    Mutant(
        "records-letter-is-a-retry",
        _RECORDS,
        "return (id_, at) if id_ and at and message.value is None else None",
        "return (id_, at) if id_ and at else None",
        _ON_RECORDS,
    ),
    Mutant(
        "records-large-letter-not-cut",
        _RECORDS,
        "    if row.fits:\n        return row\n    room",
        "    if True:\n        return row\n    room",
        _ON_RECORDS,
    ),
    Mutant(
        "records-moved-entry-looks-native",
        _RECORDS,
        "    if draft.moved:\n        headers.append",
        "    if False:\n        headers.append",
        _ON_RECORDS,
    ),
    Mutant(
        "records-time-without-zone",
        _RECORDS,
        "return found if found.tzinfo else None",
        "return found",
        _ON_RECORDS,
    ),
    Mutant(
        "lane-hole-passed-over",
        _LANE,
        "        elif place != self._put + 1:\n",
        "        elif False:\n",
        _ON_LANES,
    ),
    Mutant(
        "lane-before-its-beginning",
        _LANE,
        "        elif place < self._first:\n            raise Hole(self.partition, self._first, place)\n",
        "",
        _ON_LANES,
    ),
    Mutant(
        "lane-repeat-decided-again",
        _LANE,
        "        elif place <= self._put:\n",
        "        elif place < self._put:\n",
        _ON_LANES,
    ),
    Mutant(
        "lane-new-topic-not-noticed", _LANE, "        if decided > end:\n", "        if False:\n", _ON_LANES
    ),
    Mutant(
        "lane-begun-again",
        _LANE,
        "        if self._put is not None:\n            return\n        decided",
        "        decided",
        _ON_LANES,
    ),
    Mutant(
        "lane-acknowledges-what-was-dropped",
        _LANE,
        "            if done:\n                self._counts",
        "            if True:\n                self._counts",
        _ON_LANES,
    ),
    Mutant(
        "lane-acknowledges-without-a-confirmed-writer",
        _LANE,
        "                if self._owner.appended:\n",
        "                if True:\n",
        _ON_LANES,
    ),
    Mutant(
        "lane-kept-though-others-wrote",
        _LANES,
        "not (wanted and await lane.is_current())",
        "(lane.is_dead or not wanted)",
        _ON_LANES,
    ),
    Mutant(
        "lane-decides-jobs-of-other-partitions", _LANE, "if home != self.partition:", "if False:", _ON_LANES
    ),
    Mutant(
        "lane-loses-a-letter",
        _LANE,
        "            while not await self._kept(letter):\n                if",
        "            while False:\n                if",
        _ON_LANES,
    ),
    Mutant(
        "lane-hands-over-without-saving",
        _LANE,
        "        await asyncio.wait([task])\n        await self._engine.save()\n",
        "        await asyncio.wait([task])\n",
        _ON_LANES,
    ),
    Mutant(
        "lane-hands-over-while-it-decides",
        _LANE,
        "        while self._in_hand:  # noqa: ASYNC110 - milliseconds\n"
        "            await asyncio.sleep(0.002)\n",
        "",
        _ON_LANES,
    ),
    Mutant(
        "lane-left-open-after-a-failed-start",
        _LANE,
        "        except BaseException:\n            await self._log.close()\n            raise\n",
        "        except BaseException:\n            raise\n",
        _ON_LANES,
    ),
    Mutant(
        "lane-batch-without-bound",
        _LANE,
        "while len(batch) < BATCH and not self._queue.empty():",
        "while not self._queue.empty():",
        _ON_LANES,
    ),
    Mutant(
        "lanes-failure-while-partitions-are-dealt-out",
        _LANES,
        "if isinstance(error, OwnerLost) and not self._settled:",
        "if False:",
        _ON_LANES,
    ),
    Mutant(
        "lanes-taking-over-looks-like-waiting",
        _LANES,
        "return not (self.is_ready and self._settled) and not self._changing.locked()",
        "return not (self.is_ready and self._settled)",
        (*_ON_LANES, *_ON_OFFSETS),
    ),
    Mutant(
        "offsets-stuck-feed-not-named",
        _OFFSETS,
        "                if look.still < _SAID:\n",
        "                if True:\n",
        _ON_OFFSETS,
    ),
    Mutant(
        "offsets-full-lane-looks-stuck",
        _OFFSETS,
        "reached < end and lanes.room(partition) > 0",
        "reached < end",
        _ON_OFFSETS,
    ),
    Mutant(
        "offsets-stuck-feed-never-ended",
        _OFFSETS,
        "                if look.still > _STILL:\n",
        "                if False:\n",
        _ON_OFFSETS,
    ),
    Mutant(
        "offsets-forgotten-member-waits-for-ever",
        _OFFSETS,
        "            if waiting > _WAITING:\n",
        "            if False:\n",
        _ON_OFFSETS,
    ),
    Mutant(
        "offsets-old-topics-place-believed",
        _OFFSETS,
        "            if oldest[each] <= committed[each] <= newest[each]\n",
        "            if oldest[each] <= committed[each]\n",
        _ON_OFFSETS,
    ),
    Mutant(
        "offsets-new-topic-not-noticed",
        _OFFSETS,
        "                if before[partition] > end:\n",
        "                if False:\n",
        _ON_OFFSETS,
    ),
    Mutant(
        "offsets-bereft-member-stays",
        _OFFSETS,
        "            if lanes.is_bereft:\n",
        "            if False:\n",
        _ON_OFFSETS,
    ),
)
