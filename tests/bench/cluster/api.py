"""The API server as a bare client sees it: JSON over one session, no retries, no limits, no models."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from ssl import create_default_context
from typing import Any, Final, Self

import aiohttp
import yaml
from pydantic_core import from_json, to_json

from tests.bench.cluster.scrape import series

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"

_PAGE: Final = 500

_LONGEST_LINE: Final = 1 << 22
"""Bytes of one watch event; a pod has some 4,000."""


class Api:
    """A session with the API server of a kubeconfig. `sent` counts its requests as the server does."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self.sent: Counter[str] = Counter()

    @classmethod
    @asynccontextmanager
    async def opened(cls, kubeconfig: Path) -> AsyncIterator[Self]:
        """A session as the kubeconfig's first user, who has a token."""
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        tls = create_default_context(cafile=cluster["certificate-authority"])
        async with aiohttp.ClientSession(
            cluster["server"],
            connector=aiohttp.TCPConnector(limit=0, ssl=tls),
            headers={"Authorization": f"Bearer {user['token']}", "Accept": JSON},
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=_LONGEST_LINE,
        ) as session:
            yield cls(session)

    async def send(self, method: str, path: str, data: bytes | None = None, content: str = JSON) -> bytes:
        """The server did as it was asked; what it answered, unread. Raises RuntimeError."""
        headers = {"Content-Type": content} if data is not None else None
        async with self._session.request(method, path, data=data, headers=headers) as answer:
            body = await answer.read()
            if answer.status >= 400:
                raise RuntimeError(f"{method} {path}: {answer.status} {body[:300].decode()}")
        self.sent[f"{method} {_resource(path)}"] += 1
        return body

    async def call(self, method: str, path: str, body: Any = None, content: str = JSON) -> Any:
        """What the server answered, as plain data. Raises RuntimeError."""
        return from_json(await self.send(method, path, None if body is None else to_json(body), content))

    async def listed(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """What is there, page by page."""
        place: str | None = ""
        while place is not None:
            page = await self.call("GET", f"{path}?limit={_PAGE}" + (f"&continue={place}" if place else ""))
            for item in page["items"] or ():
                yield item
            place = page["metadata"].get("continue") or None

    async def watch(self, path: str, version: str) -> AsyncIterator[dict[str, Any]]:
        """The events after `version`, until the server ends the watch: it does so when we lag."""
        query = {"watch": "1", "resourceVersion": version}
        try:
            async with self._session.get(path, params=query) as answer:
                async for line in answer.content:
                    yield from_json(line, cache_strings="keys")
        except aiohttp.ClientPayloadError:
            return

    async def requests(self) -> Counter[str]:
        """How many requests of everybody's the API server has served, such as `POST pods` or `PATCH pods/status`.

        Events of the core API only: those of events.k8s.io are the scheduler's.
        """
        text = (await self.send("GET", "/metrics")).decode()
        counts: Counter[str] = Counter()
        for labels, value in series(text, "apiserver_request_total"):
            if labels["resource"] == "events" and labels["group"]:
                continue
            subresource = f"/{labels['subresource']}" if labels["subresource"] else ""
            counts[f"{labels['verb']} {labels['resource']}{subresource}"] += value
        return counts


def _resource(path: str) -> str:
    """`pods` of `/api/v1/namespaces/x/pods/y`; what is outside of namespaces by its last part."""
    _, _, inside = path.partition("/namespaces/")
    parts = inside.split("/")
    return parts[1] if len(parts) > 1 else path.rsplit("/", 1)[-1]
