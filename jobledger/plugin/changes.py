"""Following lists of the API server: one watch each, their changes in one stream."""

import json
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from jobledger.plugin.apiserver import ApiServer
from statemachine.errors import ClusterUnavailable, Expired, JobledgerError

Manifest = dict[str, Any]

_SECONDS: Final = 300
"""How long the server is asked to let a watch live; it is opened again where it was."""

_RETRY: Final = 1.0


def selected_by(selector: str) -> dict[str, str]:
    """The part of a list's or watch's query that says which labels are meant."""
    return {"labelSelector": selector} if selector else {}


def watched(
    api: ApiServer, places: Sequence[tuple[str, str]], selector: str = ""
) -> Iterator[tuple[str, Manifest]]:
    """Every change of the lists at `places` (path, resourceVersion), with its type, for ever.

    Raises:
        NoRight, Unauthenticated: a list may not be watched (any more).
    """
    changes: queue.SimpleQueue[tuple[str, Manifest] | Exception] = queue.SimpleQueue()
    for path, version in places:
        # daemons: they wait for the server, and a caller that does not listen any more must not wait for them
        threading.Thread(
            target=_Watch(api, path, version, selected_by(selector), changes).run, daemon=True
        ).start()
    while True:
        item = changes.get()
        if isinstance(item, Exception):
            raise item
        yield item


class _Watch:
    """One list, from a version on."""

    def __init__(
        self,
        api: ApiServer,
        path: str,
        version: str,
        which: Mapping[str, str],
        changes: "queue.SimpleQueue[Any]",
    ) -> None:
        self._api, self._path, self._version, self._which, self._changes = api, path, version, which, changes
        self._pause = threading.Event()

    def run(self) -> None:
        """Changes come for ever; an error that another attempt cannot remove comes as the last item."""
        while True:
            try:
                self._once()
            except Expired:
                self._relist()
            except ClusterUnavailable:
                self._pause.wait(_RETRY)
            except JobledgerError as error:
                self._changes.put(error)
                return

    def _once(self) -> None:
        query = {
            **self._which,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(_SECONDS),
        }
        with self._api.stream(self._path, query, silence=_SECONDS + 30.0) as pieces:
            for line in pieces.lines():
                self._take(json.loads(line))

    def _take(self, change: dict[str, Any]) -> None:
        type_, item = change["type"], change["object"]
        if type_ == "ERROR":
            raise Expired(str(item.get("message", "")))  # the server has forgotten where we were
        self._version = item["metadata"]["resourceVersion"]
        if type_ != "BOOKMARK":
            self._changes.put((type_, item))

    def _relist(self) -> None:
        """What exists is reported again: what happened meanwhile is not known."""
        with suppress(ClusterUnavailable):
            listed = self._api.get(self._path, self._which)
            self._version = listed["metadata"]["resourceVersion"]
            for item in listed["items"]:
                self._changes.put(("MODIFIED", item))
