"""Following a job through the server's watch, with a deadline."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobledger.client.server import Client

_SILENCE = 30.0
_IMPRECISION = 1.0
"""Seconds by which a deadline may be missed; the watch is opened again no more often than that."""


def changes(
    asked: "Client", namespace: str, name: str, deadline: float | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the watch says of jobs of this name, until `deadline` (monotonic; None: for ever).

    After those that exist comes `SYNCED`, here with their uids as the object's keys. The watch is opened
    again where it was silent, so everything may come more than once.
    """
    from jobledger.client.server import Silent

    while True:
        silence = _SILENCE if deadline is None else min(_SILENCE, deadline - time.monotonic())
        if silence <= 0:
            return
        uids: dict[str, Any] = {}
        try:
            for type_, job in asked.watch(silence=silence, namespace=namespace, name=name):
                if type_ == "SYNCED":
                    yield type_, uids
                elif job:
                    uids[job["metadata"]["uid"]] = True
                    yield type_, job
                if deadline is not None and deadline - time.monotonic() < silence - _IMPRECISION:
                    break  # once more, with as much patience as is left
        except Silent:
            continue
