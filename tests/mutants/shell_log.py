"""Mutants of the log: SQLite file, memory, inboxes, snapshots, seals."""

from typing import Final

from tests.mutants.model import Mutant

_SQLITE: Final = "statemachine.log.sqlite"
_STORE: Final = "statemachine.log.store"
_FILE: Final = "statemachine.log.storefile"
_LOCK: Final = "statemachine.log.lock"
_MEMORY: Final = "tests.support.memory_log"
_INBOX: Final = "statemachine.log.inbox"
_SQLITE_INBOX: Final = "statemachine.log.sqlite_inbox"
_SNAPSHOTS: Final = "statemachine.log.sqlite_snapshots"
_SEAL: Final = "statemachine.log.seal"
_ROOM: Final = "statemachine.log.room"

_AT: Final = "tests/unit/log/"
_PORT: Final = "tests/ports/test_event_log.py"
_ON_SQLITE: Final = (_AT + "test_sqlite.py", _PORT)
_ON_STORE: Final = (_AT + "test_sqlite.py",)
_ON_FILE: Final = (_AT + "test_storefile.py",)
_ON_PORT: Final = (_PORT,)
_ON_INBOX: Final = ("tests/ports/test_inbox.py",)
_ON_SEALS: Final = (_AT + "test_seals.py",)
_ON_READER: Final = (_AT + "test_reader.py",)
_ON_ROOM: Final = (_AT + "test_room.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "sqlite-two-entries-of-a-number",
        _SQLITE,
        "body BLOB NOT NULL,\n        UNIQUE (job, seq))",
        "body BLOB NOT NULL)",
        _ON_PORT,
    ),
    Mutant(
        "sqlite-positions-from-zero",
        _SQLITE,
        "enumerate(drafts, before + 1)",
        "enumerate(drafts, before)",
        _ON_PORT,
    ),
    Mutant(
        "sqlite-conflict-counts-the-refused-batch",
        _SQLITE,
        'last = "SELECT max(seq) FROM entries WHERE job = ? AND position <= ?"\n'
        "            raise SeqConflict(draft.job, draft.seq, _number(last, (draft.job, before), db)) from error",
        'last = "SELECT max(seq) FROM entries WHERE job = ?"\n'
        "            raise SeqConflict(draft.job, draft.seq, _number(last, (draft.job,), db)) from error",
        _ON_PORT,
    ),
    Mutant(
        "sqlite-scan-repeats-the-last-record",
        _SQLITE,
        'WHERE position > ? AND position <= ? "  # noqa: S608 - a constant\n        "ORDER',
        'WHERE position >= ? AND position <= ? "  # noqa: S608 - a constant\n        "ORDER',
        _ON_PORT,
    ),
    Mutant(
        "sqlite-scan-of-a-job-without-after",
        _SQLITE,
        "WHERE job = ? AND seq > ? AND position > ?",
        "WHERE job = ? AND seq >= ? AND position > ?",
        _ON_PORT,
    ),
    Mutant(
        "sqlite-anybody-appends",
        _SQLITE,
        "if not self.store.is_owned and not self.store.read_only:",
        "if False:",
        (_AT + "test_sqlite.py", _AT + "test_processes.py::test_only_the_owner_appends"),
    ),
    Mutant(
        "sqlite-edited-body-is-text",
        _SQLITE,
        '_RECORD = "position, job, seq, CAST(body AS BLOB)"',
        '_RECORD = "position, job, seq, body"',
        _ON_SQLITE,
    ),
    Mutant(
        "sqlite-letters-in-any-order",
        _SQLITE,
        "FROM dead_letters ORDER BY id",
        "FROM dead_letters ORDER BY id DESC",
        _ON_PORT,
    ),
    Mutant(
        "sqlite-letter-loses-its-retry",
        _SQLITE,
        "if letter.retried_at and inserted.lastrowid:",
        "if False:",
        _ON_PORT,
    ),
    Mutant(
        "sqlite-older-store-without-retries", _SQLITE, "if has_retries else {}", "if True else {}", _ON_SQLITE
    ),
    Mutant(
        "sqlite-broken-save-believed",
        _SQLITE,
        "        self._held = None  # if the change fails half-way, the next one reads the table again\n",
        "",
        _ON_SEALS,
    ),
    Mutant(
        "store-synchronous-normal",
        _FILE,
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = NORMAL",
        _ON_FILE,
    ),
    Mutant("store-no-full-fsync", _FILE, 'connection.execute("PRAGMA fullfsync = ON")', "pass", _ON_FILE),
    Mutant(
        "store-rollback-journal-accepted",
        _FILE,
        'if _write_ahead(connection) != "wal":',
        "if False:",
        _ON_FILE,
    ),
    Mutant(
        "store-newer-format-opened",
        _FILE,
        'if int(meta["format"]) > FORMAT:',
        'if int(meta["format"]) > FORMAT + 1:',
        _ON_FILE,
    ),
    Mutant(
        "store-another-programs-database-opened",
        _FILE,
        "if application != APPLICATION:",
        "if False:",
        _ON_FILE,
    ),
    Mutant(
        "store-lock-by-another-name",
        _FILE,
        "path = path.resolve()  # a store has one lock, under any name of its file",
        "pass",
        _ON_STORE,
    ),
    Mutant(
        "store-lock-kept-after-a-failure",
        _FILE,
        "    except BaseException:\n        lock.release()\n        raise\n\n\ndef open_beside",
        "    except BaseException:\n        raise\n\n\ndef open_beside",
        _ON_FILE,
    ),
    Mutant("store-name-not-durable", _FILE, "        os.fsync(place)\n", "        pass\n", _ON_FILE),
    Mutant("store-readable-by-others", _LOCK, "PRIVATE = 0o600", "PRIVATE = 0o644", _ON_STORE),
    Mutant(
        "store-lock-waits", _LOCK, "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB", _ON_STORE
    ),
    Mutant(
        "store-full-disk-is-a-broken-file",
        _FILE,
        "case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN if _is_full(path):",
        "case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN if False:",
        _ON_FILE,
    ),
    Mutant(
        "store-busy-is-final",
        _FILE,
        "case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:",
        "case sqlite3.SQLITE_LOCKED:",
        (*_ON_FILE, *_ON_STORE),
    ),
    Mutant(
        "store-failed-work-leaves-changes",
        _STORE,
        '            self._connection.execute("ROLLBACK TO call")\n',
        "",
        _ON_STORE,
    ),
    Mutant(
        "store-one-failure-fails-the-group",
        _STORE,
        "        return [outcome for work in group for outcome in self._do([work])]",
        "        return [self._failed(StoreUnusable(str(self.path))) for _ in group]",
        _ON_FILE,
    ),
    Mutant(
        "store-read-leaves-a-transaction",
        _STORE,
        "        finally:\n            self._abandon()",
        "        finally:\n            pass",
        _ON_STORE,
    ),
    Mutant(
        "store-closed-before-its-work-is-done",
        _STORE,
        "        while self._group is not None:\n            await asyncio.wait([self._group])",
        "        while False:\n            await asyncio.wait([self._group])",
        _ON_STORE,
    ),
    Mutant(
        "store-answers-before-the-commit",
        _STORE,
        '        self._connection.execute("COMMIT")\n        return outcomes',
        "        return outcomes",
        _ON_STORE,
    ),
    Mutant(
        "memory-two-drafts-of-a-number",
        _MEMORY,
        "if key in self._taken or key in keys:",
        "if key in self._taken:",
        _ON_PORT,
    ),
    Mutant(
        "memory-part-of-a-refused-append",
        _MEMORY,
        "            keys.add(key)\n        self._taken |= keys\n",
        "            keys.add(key)\n            self._taken.add(key)\n",
        _ON_PORT,
    ),
    Mutant(
        "memory-conflict-says-nothing",
        _MEMORY,
        "max((record.seq for record in self._of_job.get(job, ())), default=0)",
        "0",
        _ON_PORT,
    ),
    Mutant(
        "memory-scan-of-a-job-from-its-first",
        _MEMORY,
        "record.position > after and record.seq > after_seq",
        "record.position > after",
        _ON_PORT,
    ),
    Mutant(
        "memory-dropped-snapshots-cover",
        _MEMORY,
        "        self._covered = self._source = 0\n",
        "        self._source = 0\n",
        _ON_READER,
    ),
    Mutant(
        "inbox-late-acknowledgement-takes-more",
        _INBOX,
        "del self._posts[: max(0, token - self._acked)]",
        "del self._posts[:token]",
        _ON_INBOX,
    ),
    Mutant(
        "inbox-acknowledgement-goes-back",
        _INBOX,
        "self._acked = max(self._acked, token)",
        "self._acked = token",
        _ON_INBOX,
    ),
    Mutant(
        "inbox-numbers-used-again",
        _SQLITE_INBOX,
        "id INTEGER PRIMARY KEY AUTOINCREMENT",
        "id INTEGER PRIMARY KEY",
        _ON_INBOX,
    ),
    Mutant(
        "inbox-last-one-comes-again",
        _SQLITE_INBOX,
        "DELETE FROM inbox WHERE id <= ?",
        "DELETE FROM inbox WHERE id < ?",
        _ON_INBOX,
    ),
    Mutant(
        "inbox-newest-first",
        _SQLITE_INBOX,
        "FROM inbox ORDER BY id LIMIT ?",
        "FROM inbox ORDER BY id DESC LIMIT ?",
        _ON_INBOX,
    ),
    Mutant(
        "snapshots-deleted-one-not-missed",
        _SNAPSHOTS,
        "if count and count == _checkpoint(_COUNT, db) else 0",
        "if count else 0",
        (*_ON_SEALS, *_ON_SQLITE),
    ),
    Mutant(
        "snapshots-body-not-compared",
        _SNAPSHOTS,
        "if not holds(mac, mark.mac) or not (body is None or digest == _digest(body)):",
        "if not holds(mac, mark.mac):",
        _ON_SEALS,
    ),
    Mutant(
        "snapshots-mac-not-compared",
        _SNAPSHOTS,
        "if not holds(mac, mark.mac) or not (body is None or digest == _digest(body)):",
        "if not (body is None or digest == _digest(body)):",
        _ON_SEALS,
    ),
    Mutant(
        "snapshots-older-set-believed",
        _SNAPSHOTS,
        "        held.is_another = covered > 0\n        covered = 0\n",
        "        held.is_another = covered > 0\n",
        _ON_SEALS,
    ),
    Mutant(
        "snapshots-replaced-one-stays-in-the-sum",
        _SNAPSHOTS,
        "        total -= sum(mark.member for mark in _present(snapshots, seal, db))\n",
        "        total -= 0\n",
        _ON_SEALS,
    ),
    Mutant(
        "snapshots-refused-ones-stay",
        _SNAPSHOTS,
        "        _remove(held.refused, db)\n",
        "        pass\n",
        _ON_SEALS,
    ),
    Mutant(
        "snapshots-closed-job-looks-open",
        _SNAPSHOTS,
        "return ~snapshot.version if snapshot.closed else snapshot.version",
        "return snapshot.version",
        (_PORT, "tests/unit/engine/test_ended_jobs.py"),
    ),
    Mutant(
        "seal-key-and-value-run-together",
        _SEAL,
        'b"%d %b%b" % (len(key), key, value)',
        'b"%b%b" % (key, value)',
        _ON_SEALS,
    ),
    Mutant("seal-set-not-in-the-mac", _SEAL, "(total % _SUMS).to_bytes(_HALF) + value", "value", _ON_SEALS),
    Mutant("seal-scope-ignored", _SEAL, 'b"snapshot " + scope.encode()', 'b"snapshot "', _ON_SEALS),
    Mutant(
        "seal-anything-holds",
        _SEAL,
        "return isinstance(claimed, bytes) and hmac.compare_digest(claimed, mac)",
        "return isinstance(claimed, bytes)",
        _ON_SEALS,
    ),
    Mutant(
        "room-lack-for-ever",
        _ROOM,
        "if self._error and now - self._last < QUIET else",
        "if self._error else",
        _ON_ROOM,
    ),
    Mutant(
        "room-lack-begins-anew-each-time",
        _ROOM,
        "        if not self.lack(now):\n            self._first = now",
        "        if True:\n            self._first = now",
        _ON_ROOM,
    ),
)
