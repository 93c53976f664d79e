"""What the tests of the console say: a browser without a screen, over an application with a read model."""

import html
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from jobledger.api import create
from jobledger.console.frame import ConsoleOptions
from jobledger.console.queries import PHASES
from jobledger.service.app import App
from jobledger.wiring import running
from k8s_bridge.admission import admit
from k8s_bridge.attended import Attended
from projectors.history import HistoryProjector, SqliteDatabase
from statemachine.engine.clock import WallClock
from statemachine.log.sqlite import SqliteLog
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.words import until, written

KIND = "PyTorchTrainingJob"
HTMX = {"HX-Request": "true"}


@dataclass
class Browser:
    """Keeps cookies, and sends the token of the page that it saw last."""

    client: httpx.AsyncClient
    app: App
    token: str = ""

    async def get(self, path: str, **headers: str) -> httpx.Response:
        answer = await self.client.get(
            path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        match = re.search(r'csrf-token" content="(\w+)"', answer.text)
        self.token = match[1] if match else self.token
        return answer

    async def piece(self, path: str) -> httpx.Response:
        """What htmx gets."""
        return await self.client.get(path, headers=HTMX)

    async def post(
        self, path: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        return await self.client.post(path, data={"_token": self.token, **fields}, headers=headers)

    async def submit(self, *jobs: dict[str, Any]) -> None:
        """The jobs exist, and are in the read model."""
        await self.app.submit(written(*jobs), "test")
        for job in jobs:
            await self.listed(job["metadata"]["name"])

    async def listed(self, name: str, says: str = "") -> str:
        """The row of the job, once it is there and says so: a phase as its status, conditions are called so too."""
        markup, wanted = "", f'<span class="phase {says.lower()}">' if says in PHASES else says

        async def look() -> bool:
            nonlocal markup
            markup = row((await self.piece("/jobs?size=50")).text, name)
            return bool(markup) and wanted in markup

        await until(look)
        return markup


def row(page: str, name: str) -> str:
    """The part of the list that is about one job."""
    bodies = re.findall(r"<tbody id=.*?(?=<tbody id=|</table>\s*<nav|\Z)", page, re.DOTALL)
    return next((body for body in bodies if re.search(rf">{name}</a>", body)), "")


def names(page: str) -> list[str]:
    """The names of the jobs in the list, in order."""
    return re.findall(r'data-label="Name">\s*<a href="[^"]*">([^<]*)</a>', page)


def errors(page: str) -> dict[str, list[str]]:
    """What is written at which field."""
    blocks = re.findall(r'<ul class="errors" id="e-([^"]*)"[^>]*>(.*?)</ul>', page, re.DOTALL)
    lists = {
        path: [html.unescape(text) for text in re.findall(r"<li>(.*?)</li>", said)] for path, said in blocks
    }
    return {path: said for path, said in lists.items() if said}


def inputs(page: str) -> dict[str, str]:
    """The form as a browser would send it."""
    values: dict[str, str] = {}
    editor = page[page.index('<form id="editor"') :]
    for tag in re.findall(r"<input [^>]*>", editor):
        at = dict(re.findall(r'([a-z-]+)="([^"]*)"', tag))
        if at.get("type") == "checkbox" and " checked" not in tag:
            continue
        if "name" in at:
            values[at["name"]] = html.unescape(at.get("value", ""))
    for name, options in re.findall(r'<select [^>]*name="([^"]*)"[^>]*>(.*?)</select>', editor, re.DOTALL):
        chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
        first = re.search(r'<option value="([^"]*)"', options)
        values[name] = html.unescape(
            (chosen[1] if chosen[1] is not None else chosen[2]) if chosen else first[1] if first else ""
        )
    for name, text in re.findall(r'<textarea [^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', editor, re.DOTALL):
        values[name] = html.unescape(text)
    values.pop("_token", None)
    return values


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of the question on a page."""
    ask = page[page.index('class="ask"') :]
    return dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', ask))


def editor_text(page: str) -> str:
    """The YAML in the editor."""
    match = re.search(r'<textarea id="yaml"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    assert match, page
    return html.unescape(match[1])


@asynccontextmanager
async def console(
    folder: Path, options: ConsoleOptions | None = None, *, raises: bool = True
) -> AsyncIterator[Browser]:
    """A running application with a read model, and a browser at it; bugs are raised, or answered as by a server."""
    log = await SqliteLog.open(folder / "store.db")
    streams = [[HistoryProjector(log, SqliteDatabase(log.store))]]
    quick = Attended(kept={"restart.backoff": "0.1"})
    cluster = MemoryCluster(admit=admit)
    controller = controller_of(log, cluster, WallClock(), streams=streams, attended=quick)
    app = App(controller)
    async with running(controller):
        transport = httpx.ASGITransport(create(app, options=options), raise_app_exceptions=raises)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield Browser(client, app)
    await app.cluster.close()
    await log.close()
