"""Asks servers of jobs what their kinds want to know (`Kind.inquiries`), and reports news as any child is reported.

States of jobs come in; observations go to the engine, so that a replay asks nobody. An answer comes from a user's
program: it is read up to a bound, and whatever is wrong with it is the same as none. Nothing waits for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from pydantic_core import from_json

from projectors.base import States
from statemachine import events as e
from statemachine.engine.clock import Clock
from statemachine.ids import CLUSTER_DOMAIN, JobUid
from statemachine.kinds import kind_of
from statemachine.observations import ChildObserved, Observation
from statemachine.owned import Inquiry
from statemachine.state import JobState

Ask = Callable[[str], Awaitable[bytes]]
"""URL → the body of the answer. Raises OSError: there is none that can be used."""

TIMEOUT: Final = 5.0
"""Seconds for a whole answer."""

MOST_BYTES: Final = 1 << 18

_FIRST: Final = 5.0
_LONGEST: Final = 60.0
_MOST_AFTER_THE_END: Final = 6
"""How often a job that has ended is still asked in vain."""

log = logging.getLogger(__name__)


async def ask(url: str) -> bytes:
    """The body of the answer to a GET, of status 200 and without a redirect. Raises OSError."""
    import httpx  # only controllers of clusters ask

    try:
        async with (
            asyncio.timeout(TIMEOUT),
            # without `verify` no certificates are loaded: plain HTTP has none
            httpx.AsyncClient(trust_env=False, verify=False, timeout=TIMEOUT) as client,  # noqa: S501
            client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as answer,
        ):
            if answer.status_code != httpx.codes.OK:
                raise OSError(f"the answer is {answer.status_code}")
            body = bytearray()
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MOST_BYTES:
                    raise OSError(f"the answer has more than {MOST_BYTES} bytes")
            return bytes(body)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OSError(str(error) or type(error).__name__) from error


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
        return any(isinstance(event, e.ChildChanged) for event in events)

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
        except (OSError, ValueError) as error:  # a timeout is an OSError
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
