"""Mutants of the history view on SQLite: projector, statements, queries, list."""

from typing import Final

from tests.mutants.model import Mutant

_PROJECTOR: Final = "projectors.history.projector"
_SQLITE: Final = "projectors.history.sqlite"
_QUERIES: Final = "projectors.history.queries"
_LISTING: Final = "projectors.history.listing"

_ON_VIEW: Final = ("tests/ports/test_history_view.py",)
_ON_LISTING: Final = ("tests/ports/test_history_listing.py",)
_ON_SQLITE: Final = ("tests/unit/test_history_sqlite.py", *_ON_VIEW)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "history-entries-again",
        _PROJECTOR,
        "new = [step for step in steps if step[0].position > reached.position]",
        "new = list(steps)",
        _ON_VIEW,
    ),
    Mutant(
        "history-a-view-that-was-put-back-is-believed",
        _PROJECTOR,
        "since = max(reader.position, self._past.seen)",
        "since = reader.position",
        ("tests/unit/test_history_sqlite.py",),
    ),
    Mutant(
        "history-view-set-back-is-ignored",
        _PROJECTOR,
        "fits = reached.position >= since",
        "fits = True",
        _ON_VIEW,
    ),
    Mutant(
        "history-put-back-while-the-log-rests-is-believed",
        _PROJECTOR,
        "if rested_at == reader.position and",
        "if False and",
        ("tests/unit/test_history_sqlite.py",),
    ),
    Mutant(
        "history-reader-kept-after-a-failure",
        _PROJECTOR,
        "        self._reader = None  # if the rest fails half-way, it is ahead of the rows, and they may be gone\n",
        "",
        _ON_SQLITE,
    ),
    Mutant(
        "history-of-another-log-not-refused",
        _PROJECTOR,
        "        if reached > end:\n",
        "        if False:\n",
        _ON_VIEW,
    ),
    Mutant(
        "history-clock-changes-the-order",
        _PROJECTOR,
        "began_at = max(latest, entry.seen_at)",
        "began_at = entry.seen_at",
        _ON_VIEW,
    ),
    Mutant(
        "history-closed-job-stays-listed",
        _PROJECTOR,
        "Statement(UNLIST, [(step[2].uid,) for step in last.values() if step[2].closed])",
        "Statement(UNLIST, [])",
        _ON_LISTING,
    ),
    Mutant(
        "history-closed-job-is-listed",
        _PROJECTOR,
        "here = [step for step in last.values() if not step[2].closed]",
        "here = list(last.values())",
        _ON_LISTING,
        "Whatever is listed of closed jobs is taken off the list by the next statement.",
    ),
    Mutant(
        "history-labels-not-replaced",
        _PROJECTOR,
        "Statement(UNLABEL, [(state.uid,) for state in labelled])",
        "Statement(UNLABEL, [])",
        (*_ON_LISTING, "tests/ports/test_history_known_labels.py", *_ON_VIEW),
    ),
    Mutant(
        "history-zero-characters",
        _PROJECTOR,
        'return text.replace("\\0", "\\N{REPLACEMENT CHARACTER}")',
        "return text",
        _ON_VIEW,
    ),
    Mutant(
        "history-other-layout-read", _SQLITE, "return rows == [(LAYOUT,)]", "return bool(rows)", _ON_SQLITE
    ),
    Mutant(
        "history-instants-of-other-zones",
        _SQLITE,
        'return instant.astimezone(UTC).isoformat(timespec="microseconds")',
        "return instant.isoformat()",
        _ON_SQLITE,
    ),
    Mutant(
        "history-read-only-store-made",
        _SQLITE,
        "        if self.store.read_only:\n",
        "        if False:\n",
        _ON_SQLITE,
    ),
    Mutant(
        "history-oldest-of-a-name",
        _QUERIES,
        '_NEWEST: Final = "ORDER BY began_at DESC, partition DESC, first_position DESC"',
        '_NEWEST: Final = "ORDER BY began_at, partition, first_position"',
        _ON_VIEW,
    ),
    Mutant("list-no-kind-is-all", _LISTING, 'if wanted else "1 = 0"', 'if wanted else "1 = 1"', _ON_LISTING),
    Mutant(
        "list-text-is-a-pattern",
        _LISTING,
        '        text = text.replace(special, f"!{special}")\n',
        "        pass\n",
        _ON_LISTING,
    ),
    Mutant(
        "list-error-is-a-phase", _LISTING, '["is_error"] if ERROR in wanted.phases else []', "[]", _ON_LISTING
    ),
    Mutant(
        "list-total-of-a-full-page",
        _LISTING,
        "if len(uids) == size or (start and not uids):",
        "if start and not uids:",
        _ON_LISTING,
    ),
    Mutant(
        "list-total-behind-the-end",
        _LISTING,
        "if len(uids) == size or (start and not uids):",
        "if len(uids) == size:",
        _ON_LISTING,
    ),
    Mutant(
        "list-ties-in-any-order",
        _LISTING,
        "ORDER BY {column} {way}, uid {way} {limits}",
        "ORDER BY {column} {way} {limits}",
        _ON_LISTING,
    ),
    Mutant(
        "list-part-of-a-resource-name",
        _LISTING,
        'named = [_contains(f" {name} ") for name in wanted.resources]',
        "named = [_contains(name) for name in wanted.resources]",
        _ON_LISTING,
    ),
    Mutant(
        "list-few-labels-not-looked-at",
        _LISTING,
        "            where.parts.append(is_of_few(few, where.place))\n",
        "            pass\n",
        _ON_LISTING,
    ),
    Mutant(
        "history-beside-a-reader-that-is-further",
        "projectors.history.projector",
        "self._beside.position == reached",
        "self._beside.position >= reached",
        ("tests/unit/test_history_sqlite.py",),
    ),
    Mutant(
        "history-copy-without-its-jobs",
        "statemachine.log.reader",
        "        other._jobs = {job: self._jobs[job] for job in self._open}\n",
        "",
        ("tests/unit/test_history_sqlite.py",),
    ),
    Mutant(
        "history-not-beside-the-reader",
        "jobledger.wiring.projector_role",
        "                stream.stand_beside(reader)\n",
        "                pass\n",
        ("tests/unit/wiring/test_streams.py",),
    ),
)
