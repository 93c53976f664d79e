"""Mutants of the views beside the children: statuses, Events, verification."""

from typing import Final

from tests.mutants.model import Mutant

_STATUS: Final = "projectors.status"
_EVENTS: Final = "projectors.kube_events"
_VERIFY: Final = "projectors.verify"

_AT: Final = "tests/unit/projectors/"
_ON_STATUS: Final = (_AT + "test_status.py",)
_ON_EVENTS: Final = (_AT + "test_kube_events.py",)
_ON_VERIFY: Final = ("tests/unit/test_verify.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "status-entry-shown-twice",
        _STATUS,
        "if seq <= self._seqs.get(job, 0) or after.deleted:",
        "if after.deleted:",
        _ON_STATUS,
    ),
    Mutant(
        "status-behind-pods-for-ever",
        _STATUS,
        "self._yielding.setdefault(job, now) + _BEHIND_PODS - now",
        "_BEHIND_PODS",
        _ON_STATUS,
    ),
    Mutant(
        "status-of-an-end-behind-pods",
        _STATUS,
        "if state is None or state.phase.is_final or not _awaits_pods(state):",
        "if state is None or not _awaits_pods(state):",
        _ON_STATUS,
    ),
    Mutant(
        "status-not-behind-pods-that-go",
        _STATUS,
        "replica.leaving or replica.awaits_pod",
        "replica.awaits_pod",
        _ON_STATUS,
    ),
    Mutant(
        "status-behind-no-pods",
        _STATUS,
        "        if yielding := self._behind_pods(job):\n            return yielding\n",
        "",
        _ON_STATUS,
    ),
    Mutant("status-changes-without-bound", _STATUS, "deque(maxlen=MOST_KEPT)", "deque()", _ON_STATUS),
    Mutant(
        "status-rewritten-for-ever",
        _STATUS,
        "since is None or self._rewrites.get(job, 0) >= _REWRITES",
        "since is None",
        _ON_STATUS,
    ),
    Mutant(
        "status-refused-change-blocks",
        _STATUS,
        "                _drop(changes, change)  # the cluster may take the next ones\n",
        "",
        _ON_STATUS,
    ),
    Mutant(
        "status-of-a-missing-job-counts-as-written",
        _STATUS,
        "            self._written.pop(job, None)\n            return _MISSING_AGAIN",
        "            return _MISSING_AGAIN",
        _ON_STATUS,
    ),
    Mutant(
        "status-failed-write-counts-as-written",
        _STATUS,
        "            self._written.pop(job, None)\n            self._seqs[job] = before",
        "            self._seqs[job] = before",
        _ON_STATUS,
    ),
    Mutant(
        "status-failed-write-counts-as-reached",
        _STATUS,
        "            self._seqs[job] = before\n",
        "",
        _ON_STATUS,
    ),
    Mutant(
        "status-late-report-rewritten-at-once",
        _STATUS,
        "return since + _LOOK_AGAIN - asyncio",
        "return since - asyncio",
        _ON_STATUS,
    ),
    Mutant(
        "events-of-an-entry-share-a-name",
        _EVENTS,
        "{short_hash(entry.job)}.{entry.seq}.{number}",
        "{short_hash(entry.job)}.{entry.seq}",
        _ON_EVENTS,
    ),
    Mutant(
        "events-after-a-takeover-from-an-old-place",
        _EVENTS,
        "        self._position = None\n\n    async def _emit_all",
        "        pass\n\n    async def _emit_all",
        _ON_EVENTS,
    ),
    Mutant(
        "events-without-checkpoint",
        _EVENTS,
        "await self._log.save_checkpoint(READER, self._position)",
        "pass",
        _ON_EVENTS,
    ),
    Mutant(
        "events-stop-in-a-namespace-that-goes",
        _EVENTS,
        "except (Refused, Conflict, Missing) as error:",
        "except (Refused, Conflict) as error:",
        _ON_EVENTS,
    ),
    Mutant(
        "events-quote-secrets",
        _EVENTS,
        "redacted_text(event.message, secrets_of(spec))",
        "event.message",
        ("tests/unit/privacy/test_exits.py", *_ON_EVENTS),
    ),
    Mutant(
        "secrets-of-a-spec-are-not-looked-for",
        "statemachine.redact",
        "return Secrets(_found_in(spec.held))",
        "return Secrets()",
        ("tests/unit/privacy/test_redact.py",),
    ),
    Mutant(
        "verify-decides-entries-of-other-policies",
        _VERIFY,
        "if entry.policy != POLICY:",
        "if False:",
        _ON_VERIFY,
    ),
    Mutant(
        "verify-snapshot-at-another-entry",
        _VERIFY,
        "if snapshot.head != self._reader.tracked(verdict.job).head:",
        "if False:",
        _ON_VERIFY,
    ),
    Mutant(
        "verify-snapshot-ahead-of-the-log",
        _VERIFY,
        "if snapshot is not None and snapshot.version != UNUSABLE:",
        "if False:",
        _ON_VERIFY,
    ),
    Mutant(
        "verify-only-the-last-difference",
        _VERIFY,
        "verdict.difference = verdict.difference or difference",
        "verdict.difference = difference",
        _ON_VERIFY,
    ),
    Mutant(
        "verify-snapshot-of-another-state", _VERIFY, "        if not same:", "        if False:", _ON_VERIFY
    ),
)
