"""Asks servers of jobs what their kinds want to know (`Kind.inquiries`), and reports news as any child is reported.

States of jobs come in; observations go to the engine, so that a replay asks nobody. An answer comes from a user's
program: it is read up to a bound, and whatever is wrong with it is the same as none. Nothing waits for it.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from pydantic_core import from_json

from projectors.base import States
from projectors.http_get import GetFailed, GetLimits, get
from statemachine import events as e
from statemachine.engine.clock import Clock
from statemachine.ids import CLUSTER_DOMAIN, JobUid
from statemachine.kinds import kind_of
from statemachine.observations import ChildObserved, Observation
from statemachine.owned import Inquiry
from statemachine.state import JobState

Ask = Callable[[str], Awaitable[bytes]]
"""URL → the body of the answer. Raises GetFailed: there is none that can be used."""

LIMITS: Final = GetLimits(seconds=5.0, most_bytes=1 << 18)

_FIRST: Final = 5.0
_LONGEST: Final = 60.0
_MOST_AFTER_THE_END: Final = 6
"""How often a job that has ended is still asked in vain."""

log = logging.getLogger(__name__)


async def ask(url: str) -> bytes:
    """The body of an answer of status 200. Raises GetFailed."""
    answer = await get(url, LIMITS)
    if not answer.is_ok:
        raise GetFailed(f"the answer is {answer.status}")
    return answer.body


class Asking:
    """The level projector of inquiries: it changes no view, and reports."""

    name = "asking"

    def __init__(
        self,
        states: States,
        observe: Callable[[Observation], Awaitable[None]],
        clock: Clock,
        reach: Ask = ask,
    ) -> None:
        self._states, self._observe, self._clock, self._reach = states, observe, clock, reach
        self._in_vain: dict[JobUid, int] = {}
        """How often in a row there was no news."""

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """A child is not as it was: its server may have something to tell."""
        return e.ChildChanged in map(type, events)

    def is_urgent(self, _events: Sequence[e.Event]) -> bool:
        """Nothing waits for an answer."""
        return False

    async def visit(self, job: JobUid) -> float | None:
        """Asks what is due. Returns after how many seconds to ask again: 5, doubling to 60 while there is no news."""
        state = self._states.state(job)
        due = [] if state is None else [inquiry for inquiry in _inquiries(state) if inquiry.is_due(state)]
        if state is None or not due:
            self._in_vain.pop(job, None)
            return None
        news = [inquiry for inquiry in due if await self._has_news(state, inquiry)]
        count = self._in_vain[job] = 0 if news else self._in_vain.get(job, 0) + 1
        if state.is_final and count >= _MOST_AFTER_THE_END:
            return None
        return min(_LONGEST, _FIRST * 2.0 ** min(count, 8))

    async def _has_news(self, state: JobState, inquiry: Inquiry) -> bool:
        service = inquiry.service(state)
        try:
            uid = inquiry.read(_parsed(await self._reach(_url(state, service, inquiry))))
        except (GetFailed, ValueError) as error:
            fields = {"action": "ask", "job": state.uid, "service": service, "error": str(error)}
            log.debug("a server of a job gave no answer", extra=fields)
            return False
        known = state.child(inquiry.kind, service)
        if not uid or (known is not None and known.uid == uid):
            return False
        observation = ChildObserved(
            job=state.uid, at=self._clock.now(), kind=inquiry.kind, name=service, uid=uid
        )
        await self._observe(observation)
        return True


def _inquiries(state: JobState) -> Sequence[Inquiry]:
    """None where Services have no names in DNS."""
    return kind_of(state.api_version, state.kind).inquiries if state.settings.get(CLUSTER_DOMAIN) else ()


def _url(state: JobState, service: str, inquiry: Inquiry) -> str:
    host = f"{service}.{state.namespace}.svc.{state.settings[CLUSTER_DOMAIN]}"
    return f"http://{host}:{inquiry.port}{inquiry.path}"


def _parsed(body: bytes) -> Any:
    """The JSON in `body`. Raises ValueError."""
    return from_json(body)
