"""Mutants of the work queue, the sweeper and the expiry of jobs."""

from typing import Final

from tests.mutants.model import Mutant

_QUEUE: Final = "projectors.workqueue"
_SWEEPER: Final = "projectors.sweeper"
_EXPIRY: Final = "projectors.expiry"

_AT: Final = "tests/unit/projectors/"
_ON_QUEUE: Final = (_AT + "test_workqueue.py",)
_ON_SWEEPER: Final = (_AT + "test_sweeper.py",)
_ON_EXPIRY: Final = (_AT + "test_expiry.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "queue-later-wish-shadows-an-earlier-one",
        _QUEUE,
        "if timer is not None and timer.when() <= loop.time() + delay:",
        "if timer is not None:",
        _ON_QUEUE,
    ),
    Mutant(
        "queue-later-wish-replaces-an-earlier-one",
        _QUEUE,
        "if timer is not None and timer.when() <= loop.time() + delay:",
        "if False:",
        _ON_QUEUE,
    ),
    Mutant(
        "queue-replaced-wish-fires-too",
        _QUEUE,
        "            timer.cancel()\n",
        "            pass\n",
        _ON_QUEUE,
    ),
    Mutant("queue-due-wish-blocks-later-ones", _QUEUE, "        self._later.pop(key, None)\n", "", _ON_QUEUE),
    Mutant("queue-key-visited-twice-at-once", _QUEUE, "if key in self._busy:", "if False:", _ON_QUEUE),
    Mutant(
        "queue-key-added-meanwhile-is-lost",
        _QUEUE,
        "                    self.add(key)\n                if",
        "                if",
        _ON_QUEUE,
    ),
    Mutant("queue-keys-behind-starve", _QUEUE, "self._passed < _SHARE - 1", "True", _ON_QUEUE),
    Mutant("queue-keys-behind-come-first", _QUEUE, "if self._ready and (not", "if False and (not", _ON_QUEUE),
    Mutant(
        "queue-wanted-key-stays-behind",
        _QUEUE,
        "if not behind and key in self._behind:",
        "if False:",
        _ON_QUEUE,
    ),
    Mutant(
        "queue-back-off-does-not-grow",
        _QUEUE,
        "backoff(count, first",
        "backoff(1, first",
        _ON_QUEUE,
    ),
    Mutant(
        "queue-back-off-without-bound",
        _QUEUE,
        "most=_LONGEST_DELAY",
        "most=_LONGEST_DELAY * 2",
        _ON_QUEUE,
    ),
    Mutant(
        "queue-server-is-asked-too-soon",
        _QUEUE,
        "delay = max(delay, error.retry_after)",
        "delay = min(delay, error.retry_after)",
        _ON_QUEUE,
    ),
    Mutant(
        "queue-visits-after-the-end",
        _QUEUE,
        "            if self._ending.is_set():\n                continue\n",
        "",
        _ON_QUEUE,
    ),
    Mutant(
        "queue-end-does-not-wait",
        _QUEUE,
        "            await self._at_rest.wait()\n",
        "            return\n",
        _ON_QUEUE,
    ),
    Mutant(
        "sweeper-releases-at-the-first-look",
        _SWEEPER,
        'if pod["metadata"]["uid"] in before:',
        "if True:",
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-remembers-every-look",
        _SWEEPER,
        'self._before, {pod["metadata"]["uid"] for pod in orphans}',
        'self._before, self._before | {pod["metadata"]["uid"] for pod in orphans}',
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-leaves-pods-of-closed-jobs",
        _SWEEPER,
        "return state is None or state.closed",
        "return state is None",
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-takes-pods-of-jobs-that-live",
        _SWEEPER,
        "return state is None or state.closed",
        "return True",
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-takes-pods-of-other-shares",
        _SWEEPER,
        "if not self._is_mine(JobUid(job)):",
        "if False:",
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-takes-pods-that-the-log-has",
        _SWEEPER,
        'if pod["metadata"]["uid"] not in counted',
        "if True",
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-takes-pods-that-jobs-wait-for",
        _SWEEPER,
        "or Ref.of(pod) not in awaited",
        "or True",
        (*_ON_SWEEPER, "tests/unit/wiring/test_spread.py"),
    ),
    Mutant(
        "sweeper-holds-what-is-being-deleted",
        _SWEEPER,
        'or "deletionTimestamp" in pod["metadata"]',
        "or False",
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-holds-pods-of-other-controllers",
        _SWEEPER,
        "is_controlled(pod) or",
        "False or",
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-releases-by-name",
        _SWEEPER,
        "await self._cluster.release(ref, uid)",
        'await self._cluster.release(ref, "")',
        _ON_SWEEPER,
    ),
    Mutant(
        "sweeper-stops-at-a-refusal",
        _SWEEPER,
        "except (Missing, Conflict, Refused) as error:",
        "except (Missing, Conflict) as error:",
        _ON_SWEEPER,
    ),
    Mutant(
        "expiry-deletes-by-name",
        _EXPIRY,
        "await self._cluster.delete(ref, uid=job)",
        "await self._cluster.delete(ref)",
        _ON_EXPIRY,
    ),
    Mutant(
        "expiry-deletes-what-has-not-expired",
        _EXPIRY,
        "if state is None or not state.expired or state.deleted:",
        "if state is None or state.deleted:",
        _ON_EXPIRY,
    ),
    Mutant(
        "expiry-deletes-again",
        _EXPIRY,
        "if state is None or not state.expired or state.deleted:",
        "if state is None or not state.expired:",
        _ON_EXPIRY,
    ),
    Mutant(
        "expiry-refusal-forgotten",
        _EXPIRY,
        "except Refused as error:\n            raise",
        "except Refused as error:\n            return\n            raise",
        _ON_EXPIRY,
    ),
    Mutant(
        "queue-back-off-is-not-forgotten",
        _QUEUE,
        "        self._failures.pop(key, None)\n",
        "",
        _ON_QUEUE,
    ),
)
