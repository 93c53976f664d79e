"""Mutants of the engine: owner, letters, timers, queue, follower, clock, inbox."""

from typing import Final

from tests.mutants.model import Mutant

_STEP: Final = "statemachine.engine.step"
_UNDECIDED: Final = "statemachine.engine.undecided"
_TIMERS: Final = "statemachine.engine.timers"
_DECISIONS: Final = "statemachine.engine.decisions"
_EMBEDDED: Final = "statemachine.engine.embedded"
_FOLLOWER: Final = "statemachine.engine.follower"
_SKEW: Final = "statemachine.engine.skew"
_DRAIN: Final = "statemachine.engine.drain"

_AT: Final = "tests/unit/engine/"
_ON_OWNER: Final = (_AT + "test_owner.py",)
_ON_UNDECIDED: Final = (_AT + "test_undecided.py",)
_ON_TIMERS: Final = (_AT + "test_timers.py",)
_ON_EMBEDDED: Final = (_AT + "test_embedded.py",)
_ON_FRESH: Final = (_AT + "test_fresh.py",)
_ON_FOLLOWER: Final = (_AT + "test_follower.py",)
_ON_SKEW: Final = (_AT + "test_skew.py",)
_ON_DRAIN: Final = (_AT + "test_drain.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "owner-last-place-decided-again",
        _STEP,
        "if 0 < delivery.place <= head.source:",
        "if 0 < delivery.place < head.source:",
        _ON_OWNER,
    ),
    Mutant(
        "owner-batch-decided-on-the-first-state",
        _STEP,
        "                heads[observation.job] = decision.head\n",
        "",
        _ON_OWNER,
    ),
    Mutant(
        "owner-letter-not-kept",
        _STEP,
        "                await self._keep(failure)\n",
        "                continue\n",
        _ON_OWNER,
    ),
    Mutant(
        "owner-gives-up-for-good",
        _STEP,
        'raise LogUnavailable(\n            f"another',
        'raise RuntimeError(\n            f"another',
        _ON_OWNER,
    ),
    Mutant(
        "owner-conflict-not-read",
        _STEP,
        "                await self._catch_up()\n                continue\n",
        "                continue\n",
        _ON_OWNER,
    ),
    Mutant(
        "owner-entries-of-another-writer-passed-over",
        _STEP,
        "if records and not self._log.is_exclusive and records[0].position != self.reader.position + 1:",
        "if False:",
        _ON_OWNER,
    ),
    Mutant("owner-timer-forgets-the-place", _STEP, "place or head.source)", "place)", _ON_OWNER),
    Mutant("owner-entry-without-place", _STEP, "source=place,", "source=0,", _ON_OWNER),
    Mutant(
        "owner-entry-of-the-largest-size-refused",
        _STEP,
        "if 0 < self._log.entry_limit < len(body):",
        "if 0 < self._log.entry_limit <= len(body):",
        _ON_OWNER,
    ),
    Mutant(
        "owner-entry-too-large", _STEP, "if 0 < self._log.entry_limit < len(body):", "if False:", _ON_OWNER
    ),
    Mutant("owner-decides-in-quarantine", _STEP, "if tracked.quarantined:", "if False:", _ON_OWNER),
    Mutant(
        "owner-gives-entries-twice",
        _STEP,
        "folded, self._unreturned = self._unreturned, []",
        "folded = self._unreturned",
        _ON_OWNER,
    ),
    Mutant(
        "owner-new-job-without-entry-after-a-crash",
        _STEP,
        "if head is not None and head.state.phase is Phase.NEW:",
        "if False:",
        _ON_UNDECIDED,
    ),
    Mutant(
        "owner-fallback-decided-by-the-rules",
        _STEP,
        "fold(head.state, events), NO_POLICY)",
        "fold(head.state, events), POLICY)",
        _ON_UNDECIDED,
    ),
    Mutant(
        "owner-letters-never-said", _STEP, "            self._known_failures.appended()\n", "", _ON_UNDECIDED
    ),
    Mutant(
        "owner-letters-of-others-not-looked-up",
        _STEP,
        "if failures and not await self._known_failures.refresh(failures):",
        "if False:",
        _ON_UNDECIDED,
    ),
    Mutant(
        "undecided-said-of-an-ended-job",
        _UNDECIDED,
        "return () if state.closed or state.is_final else (_warning(message),)",
        "return () if state.closed else (_warning(message),)",
        _ON_UNDECIDED,
    ),
    Mutant(
        "undecided-retried-letter-still-counts",
        _UNDECIDED,
        "if letter.retried_at is None:",
        "if True:",
        _ON_UNDECIDED,
    ),
    Mutant(
        "undecided-adopted-job-fails",
        _UNDECIDED,
        "if not isinstance(observation, JobObserved) or observation.recorded is not None:",
        "if not isinstance(observation, JobObserved):",
        _ON_UNDECIDED,
    ),
    Mutant(
        "undecided-time-makes-another-letter", _UNDECIDED, "if name not in _WHEN}", "if True}", _ON_UNDECIDED
    ),
    Mutant(
        "timers-moved-one-fires-twice",
        _TIMERS,
        "if self._wanted.get((job, name)) == due_at:",
        "if True:",
        _ON_TIMERS,
    ),
    Mutant(
        "timers-cleared-one-fires",
        _TIMERS,
        "            if name not in timers:\n                self._wanted.pop((job, name), None)",
        "            pass",
        _ON_TIMERS,
    ),
    Mutant("timers-late-by-a-look", _TIMERS, "                self._changed.set()\n", "", _ON_TIMERS),
    Mutant(
        "timers-sleep-through-a-jump",
        _TIMERS,
        "wait = min(wait, max(0.001,",
        "wait = max(wait, max(0.001,",
        _ON_TIMERS,
    ),
    Mutant(
        "timers-fire-by-a-clock-that-is-off",
        _TIMERS,
        "return self._check.is_trusted\n\n    def _pop_due",
        "return True\n\n    def _pop_due",
        _ON_SKEW,
    ),
    Mutant(
        "timers-clock-not-compared",
        _TIMERS,
        "            await self._compare()\n",
        "            pass\n",
        _ON_SKEW,
    ),
    Mutant(
        "timers-untrusted-clock-looked-at-rarely",
        _TIMERS,
        "            if self._is_due():\n                wait = _UNTRUSTED\n            elif",
        "            if",
        _ON_SKEW,
    ),
    Mutant(
        "engine-cancelled-observation-waited-for",
        _EMBEDDED,
        "        except asyncio.CancelledError:\n            self._forget(observation.job)\n            raise",
        "        except asyncio.CancelledError:\n            raise",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-timers-not-set-at-the-start",
        _DECISIONS,
        "self._timers.sync(job, reader.tracked(job).state.timers, {})",
        "pass",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-batch-lost-while-the-log-is-away",
        _EMBEDDED,
        "while batch and not await self.decided(batch):",
        "if batch and not await self.decided(batch):",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-error-stays",
        _DECISIONS,
        '            self.log_error = ""\n            self._announce(entries)',
        "            self._announce(entries)",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-asker-left-waiting",
        _EMBEDDED,
        "asker.set_exception(LogUnavailable(self.log_error))",
        "pass",
        _ON_FRESH,
    ),
    Mutant(
        "engine-fresh-without-what-others-wrote",
        _EMBEDDED,
        "        await self._read_what_others_wrote()\n\n    async def _queue_taken",
        "\n    async def _queue_taken",
        _ON_FRESH,
    ),
    Mutant(
        "engine-what-others-wrote-unread-without-an-observation",
        _EMBEDDED,
        '            tasks.create_task(self._follow_others(), name="others")\n',
        "",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-ends-when-what-others-wrote-cannot-be-read",
        _EMBEDDED,
        "            with suppress(LogUnavailable):\n",
        "            with suppress():\n",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-what-others-wrote-not-announced",
        _DECISIONS,
        "self._announce(await self._owner.catch_up())",
        "await self._owner.catch_up()",
        _ON_FRESH,
    ),
    Mutant(
        "engine-fresh-without-the-inbox", _EMBEDDED, "elif job in self._in_hand:", "elif False:", _ON_FRESH
    ),
    Mutant(
        "engine-fresh-without-the-queue",
        _EMBEDDED,
        "        if self._waiting[job]:\n            await",
        "        if False:\n            await",
        _ON_FRESH,
    ),
    Mutant(
        "engine-saves-after-every-batch",
        _DECISIONS,
        "        self._entries = 0\n        reader",
        "        reader",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-never-saves-by-itself",
        _DECISIONS,
        "if self._entries >= _SNAPSHOT_EVERY:",
        "if False:",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-unsaved-states-count-as-saved",
        _DECISIONS,
        "        else:\n            reader.saved(snapshots)",
        "        reader.saved(snapshots)",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-end-waits-for-a-log-that-is-away",
        _EMBEDDED,
        "        if not self.log_error:\n            await self._queue.join()",
        "        await self._queue.join()",
        _ON_EMBEDDED,
    ),
    Mutant(
        "engine-batch-without-bound",
        _EMBEDDED,
        "while len(taken) < _BATCH and not self._queue.empty():",
        "while not self._queue.empty():",
        _ON_EMBEDDED,
    ),
    Mutant(
        "follower-collects-what-the-engine-saves",
        _FOLLOWER,
        "        reader.leave_saving()\n\n    async def _send",
        "\n    async def _send",
        _ON_FOLLOWER,
    ),
    Mutant(
        "follower-refused-record-not-said",
        _FOLLOWER,
        "                    refused()\n",
        "                    pass\n",
        _ON_FOLLOWER,
    ),
    Mutant(
        "follower-fresh-by-an-older-look",
        _FOLLOWER,
        "if self._looked >= called:",
        "if self._looked > 0:",
        _ON_FOLLOWER,
    ),
    Mutant(
        "follower-look-counts-from-its-end",
        _FOLLOWER,
        "self._looked = begun",
        "self._looked = asyncio.get_running_loop().time()",
        _ON_FOLLOWER,
    ),
    Mutant(
        "follower-fresh-waits-for-a-log-that-is-away",
        _FOLLOWER,
        "            if self.error:\n                raise LogUnavailable(self.error)\n",
        "",
        _ON_FOLLOWER,
    ),
    Mutant(
        "follower-drops-what-cannot-be-sent",
        _FOLLOWER,
        "            while error := await self._put(batch):",
        "            if error := await self._put(batch):",
        _ON_FOLLOWER,
    ),
    Mutant(
        "follower-error-stays",
        _FOLLOWER,
        'self.error, self._reached, self.behind = "", position, behind',
        "self._reached, self.behind = position, behind",
        _ON_FOLLOWER,
    ),
    Mutant(
        "skew-older-answer-replaces-a-newer-one",
        _SKEW,
        "if self._base is not None and sent.tick < self._base.tick:",
        "if False:",
        _ON_SKEW,
    ),
    Mutant(
        "skew-jump-is-ignored",
        _SKEW,
        "return self._ahead + (now.at - self._base.at) - timedelta(seconds=now.tick - self._base.tick)",
        "return self._ahead",
        _ON_SKEW,
    ),
    Mutant(
        "skew-resolution-ignored",
        _SKEW,
        "ahead, behind = sent - (theirs + resolution), sent + took - theirs",
        "ahead, behind = sent - theirs, sent + took - theirs",
        _ON_SKEW,
    ),
    Mutant(
        "skew-slow-answer-is-a-slow-clock",
        _SKEW,
        "ahead, behind = sent - (theirs + resolution), sent + took - theirs",
        "ahead, behind = sent - (theirs + resolution), sent - theirs",
        _ON_SKEW,
    ),
    Mutant(
        "skew-unknown-clock-trusted",
        _SKEW,
        "return self._base is not None and abs(self.ahead) <= LIMIT",
        "return abs(self.ahead) <= LIMIT",
        _ON_SKEW,
    ),
    Mutant(
        "skew-slow-clock-trusted",
        _SKEW,
        "return self._base is not None and abs(self.ahead) <= LIMIT",
        "return self._base is not None and self.ahead <= LIMIT",
        _ON_SKEW,
    ),
    Mutant(
        "drain-acknowledges-what-was-not-decided",
        _DRAIN,
        "        if not await self._engine.decided(readable):\n            return _RETRY\n",
        "        await self._engine.decided(readable)\n",
        _ON_DRAIN,
    ),
    Mutant("drain-never-acknowledges", _DRAIN, "        await self._inbox.ack(taken.token)\n", "", _ON_DRAIN),
    Mutant(
        "drain-loses-what-cannot-be-read",
        _DRAIN,
        "            await self._log.add_dead_letter(letter)\n",
        "",
        _ON_DRAIN,
    ),
    Mutant(
        "drain-pauses-between-batches",
        _DRAIN,
        "return 0.0 if len(taken.posts) == _BATCH else",
        "return 0.0 if False else",
        _ON_DRAIN,
    ),
    Mutant(
        "drain-ends-when-the-inbox-is-away",
        _DRAIN,
        "            except LogUnavailable as error:\n                fields",
        "            except EntryUnreadable as error:\n                fields",
        _ON_DRAIN,
    ),
)
