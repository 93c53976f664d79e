"""Mutants of what reads a log: reader, codec, auditor, copies."""

from typing import Final

from tests.mutants.model import Mutant

_READER: Final = "statemachine.log.reader"
_CLOSED: Final = "statemachine.log.closed_jobs"
_CODEC: Final = "statemachine.log.codec"
_SHARING: Final = "statemachine.log.sharing"
_WIRE: Final = "statemachine.wire"
_AUDIT: Final = "statemachine.log.audit"
_COPYING: Final = "statemachine.log.copying"
_LIFE: Final = "statemachine.log.life"
_SQLITE: Final = "statemachine.log.sqlite"
_FINDING: Final = "jobledger.lives.history"

_AT: Final = "tests/unit/log/"
_ON_READER: Final = (_AT + "test_reader.py",)
_ON_ENDED: Final = ("tests/unit/engine/test_ended_jobs.py",)
_ON_CLOSED: Final = (_AT + "test_closed_jobs.py",)
_ON_CODEC: Final = (_AT + "test_codec.py",)
_ON_SHARING: Final = (_AT + "test_sharing.py",)
_ON_AUDIT: Final = (_AT + "test_audit.py",)
_ON_COPYING: Final = (_AT + "test_copying.py",)
_ON_LIFE: Final = (_AT + "test_life.py",)
_ON_PORT: Final = ("tests/ports/test_event_log.py",)
_ON_MOMENTS: Final = ("tests/unit/cli_offline/test_reading.py",)
_ON_FINDING: Final = ("tests/unit/test_finding_jobs.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "reader-recovers-to-where-it-folded-last",
        _READER,
        "self.position = max(self.position, batch[-1].position)",
        "pass",
        _ON_READER,
    ),
    Mutant(
        "reader-hole-accepted",
        _READER,
        "if record.seq != last.seq + 1:",
        "if record.seq < last.seq + 1:",
        _ON_READER,
    ),
    Mutant("reader-broken-chain-accepted", _READER, "if entry.prev != last.head:", "if False:", _ON_READER),
    Mutant(
        "reader-entry-behind-the-end-accepted",
        _READER,
        "        if last.state.closed:\n            self._refuse",
        "        if False:\n            self._refuse",
        _ON_ENDED,
    ),
    Mutant(
        "reader-goes-on-in-quarantine",
        _READER,
        "        if last.quarantined:\n            self._skip",
        "        if False:\n            self._skip",
        _ON_READER,
    ),
    Mutant(
        "reader-place-of-another-log-believed",
        _READER,
        "source = last.source if record.moved else entry.source or last.source",
        "source = entry.source or last.source",
        _ON_COPYING,
    ),
    Mutant(
        "reader-repeat-casts-doubt",
        _READER,
        "if record.seq > last.seq and not last.suspicious and not last.state.closed:",
        "if not last.suspicious and not last.state.closed:",
        _ON_READER,
    ),
    Mutant(
        "reader-late-record-goes-back",
        _READER,
        "        self.position = max(self.position, record.position)\n"
        "        last = self.tracked(record.job)\n"
        "        try:",
        "        self.position = record.position\n        last = self.tracked(record.job)\n        try:",
        _ON_READER,
        "Records come in the order of their positions: no reader is given one that goes back.",
    ),
    Mutant(
        "reader-snapshot-of-another-layout-read",
        _READER,
        "if snapshot.version != STATE_VERSION:",
        "if snapshot.version > STATE_VERSION:",
        _ON_READER,
    ),
    Mutant(
        "reader-snapshot-ahead-read-twice",
        _READER,
        "if record.seq > (ahead.get(record.job) or closed.get(record.job, 0)):",
        "if True:",
        _ON_READER,
    ),
    Mutant(
        "reader-useless-snapshot-covers",
        _READER,
        "if record.position <= covered and record.job not in useless:",
        "if record.position <= covered:",
        _ON_READER,
    ),
    Mutant(
        "reader-moved-on-job-counts-as-saved",
        _READER,
        "if snapshot.seq == last.seq and fits:",
        "if fits:",
        _ON_READER,
    ),
    Mutant(
        "reader-doubtful-job-has-a-snapshot",
        _READER,
        "        if _doubtful(last):\n"
        '            return Snapshot(job, last.seq, last.head, UNUSABLE, b"", last.source)\n',
        "",
        _ON_READER,
    ),
    Mutant(
        "reader-forgets-the-newest",
        _READER,
        "self._forget(next(iter(self._closed)))",
        "self._forget(next(reversed(self._closed)))",
        _ON_ENDED,
    ),
    Mutant(
        "reader-keeps-one-more",
        _READER,
        "while len(self._closed) > self._keeps:",
        "while len(self._closed) > self._keeps + 1:",
        _ON_ENDED,
    ),
    Mutant(
        "reader-unmarked-closed-snapshot-not-saved",
        _READER,
        "if state.closed and not snapshot.closed:",
        "if False:",
        _ON_ENDED,
    ),
    Mutant(
        "reader-entry-of-another-job",
        _READER,
        "if entry.seq != record.seq or entry.job != record.job:",
        "if entry.seq != record.seq:",
        _ON_READER,
    ),
    Mutant(
        "reader-one-bad-history-ends-all",
        _READER,
        "        except Exception as error:  # noqa: BLE001 - no history of one job may stop",
        "        except ZeroDivisionError as error:  # no history of one job may stop",
        _ON_READER,
    ),
    Mutant(
        "reader-places-stay-in-a-new-topic",
        _READER,
        "                self._jobs[job] = replace(tracked, source=0)\n",
        "",
        ("tests/unit/engine/test_assignment.py",),
    ),
    Mutant(
        "closed-job-between-two-others-known",
        _CLOSED,
        "    while place > 0 and place % _SIZE:",
        "    while False:",
        _ON_CLOSED,
    ),
    Mutant(
        "closed-job-noted-twice",
        _CLOSED,
        "        if place < 0:\n            shelf += uid + number",
        "        if True:\n            shelf += uid + number",
        _ON_CLOSED,
    ),
    Mutant(
        "closed-job-by-another-spelling",
        _CLOSED,
        "if _UUID.fullmatch(job) else None",
        "if _UUID.fullmatch(job.lower()) else None",
        _ON_CLOSED,
    ),
    Mutant("codec-defaults-written", _WIRE, "omit_defaults=True", "omit_defaults=False", _ON_CODEC),
    Mutant(
        "codec-unknown-fields-taken",
        _WIRE,
        "forbid_unknown_fields=True",
        "forbid_unknown_fields=False",
        _ON_CODEC,
    ),
    Mutant(
        "codec-another-version-written",
        _WIRE,
        "field(default_factory=lambda: default)",
        "field(default_factory=lambda: 9)",
        _ON_CODEC,
    ),
    Mutant("sharing-order-of-keys-matters", _SHARING, 'Encoder(order="sorted")', "Encoder()", _ON_SHARING),
    Mutant(
        "sharing-other-specs-shared",
        _SHARING,
        "_SORTED.encode(stated[1]) != _SORTED.encode(cause.spec)",
        "stated[1] != cause.spec",
        _ON_SHARING,
    ),
    Mutant("sharing-spec-written-twice", _SHARING, "    return REFERRING", "    return WHOLE", _ON_SHARING),
    Mutant(
        "sharing-other-spec-lost",
        _SHARING,
        " or entry.cause.spec != stated[1]:",
        ":",
        _ON_SHARING,
    ),
    Mutant(
        "sharing-damage-read",
        _SHARING,
        "if entry.cause.spec != _reference(stated[0]):",
        "if False:",
        _ON_SHARING,
    ),
    Mutant(
        "sharing-reference-shown",
        _SHARING,
        'return {**raw, "cause": {**cause, "spec": event["spec"]}}',
        "return raw",
        _ON_SHARING,
    ),
    Mutant(
        "codec-header-of-another-version",
        _CODEC,
        "return REFERRING if body.startswith(_REFERRING) else WHOLE",
        "return ENTRY_VERSION",
        _ON_SHARING,
    ),
    Mutant(
        "codec-whole-entry-lifted-to-the-newest",
        _CODEC,
        'WHOLE if raw.get("v") == WHOLE else ENTRY_VERSION',
        "ENTRY_VERSION",
        _ON_CODEC,
    ),
    Mutant("codec-present-entry-lifted", _CODEC, "if lifted == raw:", "if False:", _ON_CODEC),
    Mutant(
        "audit-branch-reported-for-each-entry",
        _AUDIT,
        "        if is_known:\n            return None\n",
        "",
        _ON_AUDIT,
    ),
    Mutant(
        "audit-unreadable-entry-breaks-the-chain",
        _AUDIT,
        "        if record.seq == last + 1:\n"
        "            self.heads[record.job] = record.seq, own\n"
        "        return _flaw",
        "        return _flaw",
        _ON_AUDIT,
    ),
    Mutant(
        "audit-numbers-not-looked-at",
        _AUDIT,
        "if prev == head and record.seq == last + 1:",
        "if prev == head:",
        _ON_AUDIT,
    ),
    Mutant("copy-entries-not-marked", _COPYING, "record.body, moved=True)", "record.body)", _ON_COPYING),
    Mutant(
        "copy-not-looked-at-again",
        _COPYING,
        "    _compare(histories, await hashes(*target.logs))\n",
        "",
        _ON_COPYING,
    ),
    Mutant(
        "copy-other-beginning-accepted",
        _COPYING,
        "                _compare({record.job: own}, {record.job: copied[: len(own)]})\n",
        "                pass\n",
        _ON_COPYING,
    ),
    Mutant(
        "copy-letters-again",
        _COPYING,
        "        if there[_content(letter)]:\n",
        "        if False:\n",
        _ON_COPYING,
    ),
    Mutant(
        "copy-one-letter-for-two",
        _COPYING,
        "            there[_content(letter)] -= 1\n",
        "            pass\n",
        _ON_COPYING,
    ),
    Mutant(
        "copy-last-entries-left",
        _COPYING,
        "    await _write(target.logs, pending, least=1)\n",
        "",
        _ON_COPYING,
    ),
    Mutant(
        "life-events-with-the-states-behind-them",
        _LIFE,
        "zip(self.events, self.states, strict=False)",
        "zip(self.events, self.states[1:], strict=False)",
        _ON_LIFE,
    ),
    Mutant(
        "life-goes-on-behind-what-cannot-be-read",
        _LIFE,
        "            self._whole = False\n",
        "",
        _ON_LIFE,
    ),
    Mutant(
        "life-refused-record-counts",
        _LIFE,
        "self._why_not(record), whole=False)",
        "self._why_not(record))",
        _ON_LIFE,
    ),
    Mutant(
        "life-read-twice",
        _LIFE,
        "        return decode(body)\n    except",
        "        return decode(body) and decode(body)\n    except",
        _ON_LIFE,
    ),
    Mutant("finds-a-part-of-a-name", _SQLITE, "(as_string(text),", "(text.encode(),", _ON_PORT),
    Mutant(
        "finds-beside-a-lone-snapshot",
        _SQLITE,
        "    if _number(_SAVED_ALONE, (), db):\n",
        "    if False:\n",
        _ON_PORT,
    ),
    Mutant(
        "finds-only-by-first-entries",
        _FINDING,
        "    return await _history_of(log, await known_jobs(log), job,",
        "    return await _history_of(log, jobs, job,",
        _ON_FINDING,
    ),
    Mutant(
        "moment-too-long",
        _FINDING,
        "            still = still and moment.covers(step.entry)\n",
        "",
        _ON_MOMENTS,
    ),
)
