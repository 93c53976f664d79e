"""What can be said in the field for labels: keys that jobs have, and values of the key that is being typed."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from jobledger.console.frame import Console, Route, page
from jobledger.console.listing import listable
from jobledger.web.cache import Cache
from jobledger.web.rights import Caller, caller_of
from projectors.history import JobFilter
from projectors.history.known_labels import KnownLabels
from statemachine.kinds import KNOWN

_KEPT: Final = 10.0
"""Seconds for which an answer is good: the same keys are asked for with every letter."""

_SHOWN: Final = 50
_LONGEST: Final = 2000

_Asked = tuple[frozenset[str] | None, str, str | None, str]
"""Kinds and namespace that may be seen; key and beginning of its values, or no key."""


def routes(console: Console) -> APIRouter:
    """`/jobs/labels`."""
    router = APIRouter(route_class=Route)
    kept: Cache[_Asked, Sequence[str]] = Cache(lambda _: _KEPT, 256)

    @router.get("/jobs/labels")
    async def labels(
        request: Request,
        caller: Annotated[Caller, Depends(caller_of)],
        label: Annotated[str, Query(max_length=_LONGEST)] = "",
    ) -> Response:
        """What the last label of the text may become, each with all that stands before it."""
        namespace = console.options.namespace
        kinds = await listable(caller, namespace)
        wanted = None if len(kinds) == len(KNOWN) else frozenset(kinds)
        known = (await console.ready()).known_labels
        before, key, start = split(label)
        asked = (wanted, namespace, key, start if key is not None else "")
        names = await kept.get(asked, lambda: _ask(known, *asked))
        fit = [name for name in names if (name.startswith if key is not None else name.__contains__)(start)]
        named = fit if key is None else [f"{key}={value}" for value in fit]
        return page(
            request, "jobs/known-labels.html", options=[f"{before}{option}" for option in named[:_SHOWN]]
        )

    return router


async def _ask(
    known: KnownLabels, kinds: frozenset[str] | None, namespace: str, key: str | None, start: str
) -> Sequence[str]:
    wanted = JobFilter(kinds, namespace)
    return await known.keys(wanted) if key is None else await known.values(wanted, key, start)


def split(text: str) -> tuple[str, str | None, str]:
    """`team=a, tier=go` as `team=a, `, `tier`, `go`; without `=` the key is None, and the rest begins one."""
    head, comma, last = text.rpartition(",")
    space = last[: len(last) - len(last.lstrip())]
    key, equals, value = last.strip().partition("=")
    before = f"{head}{comma}{space or ' '}" if comma else ""
    return (before, key.strip(), value.lstrip("= ")) if equals else (before, None, key)
