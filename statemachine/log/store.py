"""One SQLite file, one connection, one thread: where the log, the history view and others keep their tables.

A thread of the store does all calls, as SQLite blocks. Writes that arrive while a transaction
becomes durable share the next one, so that many small appends cost one sync.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from statemachine.errors import StoreFull, StoreUnusable
from statemachine.log import storefile
from statemachine.log.lock import StoreLock
from statemachine.log.room import Room

T = TypeVar("T")

Work = Callable[[sqlite3.Connection], T]
"""Statements on the store's connection, which begin and end no transaction, and have no other effects: the store
repeats them when a transaction fails that they shared with others."""


@dataclass(frozen=True, slots=True)
class _Call:
    work: Work[Any]
    answer: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class _Outcome:
    value: Any = None
    error: Exception | None = None


class SqliteStore:
    """An open store. Belongs to the event loop that opened it; `close` it there."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        thread: ThreadPoolExecutor,
        lock: StoreLock | None,
        *,
        read_only: bool,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self.room = Room()
        self._connection = connection
        self._thread = thread
        self._lock = lock
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Call] = []
        self._group: asyncio.Future[list[_Outcome]] | None = None
        self._closed = False

    @classmethod
    async def open(cls, path: Path, *, read_only: bool = False, beside: bool = False) -> Self:
        """The store at `path`, made if there is none, with this process as its owner.

        With `beside` this process may write, but is not the owner, which alone appends to the log. With `read_only`
        the store has to exist. In both cases another process may be the owner.

        Raises:
            StoreInUse: another process owns the store.
            StoreUnusable: the store cannot be opened; the message says why.
            LogUnavailable: the store cannot be opened now.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="jobledger-store")
        start = storefile.open_owner
        if read_only or beside:
            start = storefile.open_reader if read_only else storefile.open_beside
        try:
            opened = await asyncio.get_running_loop().run_in_executor(thread, start, path)
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(opened.path, opened.connection, thread, opened.lock, read_only=read_only)

    @property
    def is_owned(self) -> bool:
        """Only this process may append to the log in the store."""
        return self._lock is not None

    async def run(self, work: Work[T]) -> T:
        """The result of `work`, whose changes are durable; if it raises, it has changed nothing.

        Raises:
            LogUnavailable: the store cannot be written now; nothing was changed.
            StoreUnusable: the store can never be written, or is closed or read-only.
        """
        self._check_open()
        if self.read_only:
            raise StoreUnusable(f"store {self.path} is open for reading only")
        call = _Call(work, self._loop.create_future())
        self._waiting.append(call)
        if self._group is None:
            self._start()
        answer: T = await call.answer
        return answer

    async def read(self, work: Work[T]) -> T:
        """The result of `work`; everything that it reads is durable, and of one moment.

        Raises:
            LogUnavailable: the store cannot be read now.
            StoreUnusable: the store can never be read, or is closed.
        """
        self._check_open()
        outcome = await self._loop.run_in_executor(self._thread, self._look, work)
        if outcome.error:
            raise outcome.error
        value: T = outcome.value
        return value

    async def close(self) -> None:
        """Finishes all calls, and releases everything; idempotent."""
        if self._closed:
            return
        self._closed = True
        while self._group is not None:
            await asyncio.wait([self._group])  # `_settle` runs first, and may have started another group
        try:
            await self._loop.run_in_executor(self._thread, self._connection.close)
        finally:
            self._thread.shutdown(wait=False)
            if self._lock:
                self._lock.release()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnusable(f"store {self.path} is closed")

    # ---- in the event loop ----

    def _start(self) -> None:
        """Starts a transaction with all calls that wait."""
        calls, self._waiting = self._waiting, []
        self._group = self._loop.run_in_executor(self._thread, self._do, [call.work for call in calls])
        self._group.add_done_callback(lambda group: self._settle(calls, group))

    def _settle(self, calls: Sequence[_Call], group: "asyncio.Future[list[_Outcome]]") -> None:
        self._group = None
        if self._waiting:
            self._start()
        for call, outcome in zip(calls, group.result(), strict=True):
            if isinstance(outcome.error, StoreFull):
                self.room.failed(str(outcome.error), self._loop.time())
            if call.answer.done():
                continue  # the caller was cancelled, but the work was done
            if outcome.error:
                call.answer.set_exception(outcome.error)
            else:
                call.answer.set_result(outcome.value)

    # ---- in the thread ----

    def _do(self, group: Sequence[Work[Any]]) -> list[_Outcome]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except (
            sqlite3.Error
        ) as error:  # another process writes for too long: no call of this group is at fault
            return [self._failed(error) for _ in group]
        try:
            return self._together(group)
        except Exception as error:  # noqa: BLE001 - the callers get it
            self._abandon()
            if len(group) == 1:
                return [self._failed(error)]
        # one by one, so that only the faulty call fails
        return [outcome for work in group for outcome in self._do([work])]

    def _together(self, group: Sequence[Work[Any]]) -> list[_Outcome]:
        outcomes = [self._one(work) for work in group]
        self._connection.execute("COMMIT")
        return outcomes

    def _one(self, work: Work[Any]) -> _Outcome:
        """Does the work within the transaction; if it raises, none of its changes stay."""
        self._connection.execute("SAVEPOINT call")
        try:
            value = work(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:
                raise  # on some errors (disk full) SQLite gives up the whole transaction
            self._connection.execute("ROLLBACK TO call")
            self._connection.execute("RELEASE call")
            return self._failed(error)
        self._connection.execute("RELEASE call")
        return _Outcome(value)

    def _look(self, work: Work[Any]) -> _Outcome:
        try:
            self._connection.execute("BEGIN")
            return _Outcome(work(self._connection))
        except Exception as error:  # noqa: BLE001 - the caller gets it
            return self._failed(error)
        finally:
            self._abandon()

    def _abandon(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _failed(self, error: Exception) -> _Outcome:
        if not isinstance(error, sqlite3.Error):
            return _Outcome(error=error)
        ours = storefile.translated(error, self.path)
        ours.__cause__ = error
        return _Outcome(error=ours)
